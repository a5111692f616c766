/* Counts how much device memory one run holds: bytes now, the peak, and a limit.
 *
 * A device counts an allocation in the account that the thread charges (Device.charge) and remembers the
 * account of each buffer, so that freeing it is counted there too, on any thread and at any time.
 *
 * Ownership: memory_account_end() gives up the owner's share; the account is freed with its last buffer.
 * Threads:   any. A thread batches up to 64 KiB before it adds to the account: the peak of a run may be
 * too low by that much for each of its threads. */
#pragma once

#include "shared/base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct MemoryAccount {
    uint64_t limit;   /* bytes; 0: no limit. Set before the account is charged */
    uint64_t tenant;  /* a number that no other tenant of this process has, never UINT64_MAX; 0: not known.
                       * Set as above */
    int64_t counted;  /* atomic: bytes in use, plus OWNER (memory_account.c) until the owner has ended it */
    int64_t peak;     /* atomic: bytes */
    int32_t refusals; /* atomic: allocations refused because of the limit */
    /* Atomic: bytes that its tenant may hold on the device that refused it more; 0: none has. */
    uint64_t tenant_limit;
} MemoryAccount;

/* Makes an account without a limit. NULL without memory. */
MUST_USE MemoryAccount *memory_account_new(void);
/* Gives up the owner's share; the account must not be charged any more. NULL is allowed. */
void memory_account_end(MemoryAccount *account);

/* Adds `change` bytes. On the way to the new sum the count was at most `highest` above the old one, which
 * may raise the peak. Frees the account when its owner has ended it and no bytes are left. */
void memory_account_count(MemoryAccount *account, int64_t change, int64_t highest);

/* Returns whether `more` bytes fit under the limit; counts a refusal when not. */
bool memory_account_admits(MemoryAccount *account, int64_t more);

uint64_t memory_account_in_use(const MemoryAccount *account);
uint64_t memory_account_peak(const MemoryAccount *account);
bool memory_account_has_refused(const MemoryAccount *account);

/* Notes that a device refused an allocation because the tenant would hold more than `limit` bytes of it. */
void memory_account_refuse_tenant(MemoryAccount *account, uint64_t limit);
uint64_t memory_account_tenant_limit(const MemoryAccount *account); /* the limit noted; 0: none */

/* Zeroes peak, refusals, limits and tenant for the next run. False: buffers are still in use. */
bool memory_account_reset(MemoryAccount *account);
