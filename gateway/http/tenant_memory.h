/* Memory of one kind that tenants share, as that for outputs on their way to clients, or for bodies of
 * requests: a limit for the gateway, and a share for each tenant. A tenant may hold as much as stays free for
 * all others together: half of the limit when it is alone, a third each of two. So there is room for whoever
 * comes next, however slowly the clients of the others read or send.
 *
 * Ownership: a claim lives in its owner's struct, from memory_claim_open() to memory_claim_close().
 * Threads:   the memory is shared by all loops; a claim belongs to its loop, or to a job thread that works
 *            for its owner and does not wait for room.
 * Errors:    a claim that finds no room waits or is refused; nothing is ever taken beyond the limit. */
#pragma once

#include "shared/base/uuid.h"
#include "shared/net/loop.h"

typedef struct TenantMemory TenantMemory;
typedef struct MemoryWait MemoryWait;
typedef struct MemoryClaim MemoryClaim;
typedef struct MemoryAccount MemoryAccount;

/* Returns NULL without memory. */
TenantMemory *tenant_memory_new(size_t size_max);
void tenant_memory_free(TenantMemory *memory); /* all claims are closed; NULL is allowed */
size_t tenant_memory_held(TenantMemory *memory);
size_t tenant_memory_most(const TenantMemory *memory); /* bytes: what a tenant can hold when it is alone */

struct MemoryClaim {
    TenantMemory *memory; /* NULL: closed */
    MemoryAccount *account;
    Loop *loop;
    size_t held; /* bytes */
    size_t wide; /* those of them that a wide window has */
    MemoryWait *wait;
    void (*granted)(MemoryClaim *claim); /* what was waited for has been added to what is held */
};

/* False without memory. A claim that is zeroed is closed. */
MUST_USE bool memory_claim_open(MemoryClaim *claim, TenantMemory *memory, TenantId tenant, Loop *loop);
void memory_claim_close(MemoryClaim *claim); /* gives all back and ends its wait; closed ones are allowed */

typedef enum MemoryRoom {
    MEMORY_ROOM_TAKEN,
    MEMORY_ROOM_LATER, /* there is too little now */
    MEMORY_ROOM_NEVER, /* it is more than a tenant can get, or there is no memory to wait with */
} MemoryRoom;

/* Adds `size` bytes to what is held, if there is room now. */
MUST_USE MemoryRoom memory_claim_take(MemoryClaim *claim, size_t size);

/* Does the same or waits for the room; `granted` is called on the loop, never from within. One wait at a
 * time. */
MUST_USE MemoryRoom memory_claim_await(MemoryClaim *claim, size_t size);

/* Takes memory for a wide window, of which all tenants together get an eighth of the limit, so that readers
 * who begin fast and stop hold little. False when there is none. */
MUST_USE bool memory_claim_widen(MemoryClaim *claim, size_t size);

/* Gives a part back. */
void memory_claim_give(MemoryClaim *claim, size_t size);

/* Moves a part of what the claim holds to a closed one, which is opened for the same tenant and belongs to
 * this loop from then on. */
void memory_claim_split(MemoryClaim *claim, size_t size, Loop *loop, MemoryClaim *part);
