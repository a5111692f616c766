/* Counts what one run holds of a device's memory: bytes now, the most there ever were, and how many there may
 * be.
 *
 * A device counts what a thread allocates to the account that the thread charges (Device.charge) and knows of
 * each buffer whom it was counted to, so that giving it back counts there too, on any thread, however late.
 *
 * Ownership: memory_account_end() gives up the owner's part; the account goes with its last buffer.
 * Threads:   any. A thread that charges an account may keep a little of it to itself until it charges
 * another: the peak of a run on several threads may miss 64 KiB for each of them. */
#pragma once

#include "shared/base/compiler.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct MemoryAccount {
    uint64_t limit;   /* bytes; 0: none. Set before it is charged */
    int64_t counted;  /* atomic: bytes, and OWNER while somebody owns it */
    int64_t peak;     /* atomic: bytes */
    int32_t refusals; /* atomic: allocations that would have passed the limit */
} MemoryAccount;

/* Makes an account without a limit. NULL without memory. */
MUST_USE MemoryAccount *memory_account_new(void);
/* The account is not to be charged any more. NULL is allowed. */
void memory_account_end(MemoryAccount *account);

/* Counts `change` bytes, on the way to which there were `highest` more than before. The account may be gone
 * behind it when it was ended before. */
void memory_account_count(MemoryAccount *account, int64_t change, int64_t highest);

/* Returns whether `more` bytes fit under the limit, and notes a refusal when not. */
bool memory_account_admits(MemoryAccount *account, int64_t more);

uint64_t memory_account_in_use(const MemoryAccount *account);
uint64_t memory_account_peak(const MemoryAccount *account);
bool memory_account_has_refused(const MemoryAccount *account);

/* Zeroes the peak of an account that holds nothing, for the next run. False: it holds something. */
bool memory_account_reset(MemoryAccount *account);
