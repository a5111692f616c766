/* The memory for outputs on their way from workers to clients: a limit for the gateway, and a share for each
 * tenant. A tenant may hold as much as stays free for all others together: half of the limit when it is
 * alone, a third each of two. So there is room for whoever comes next, however little the readers of the
 * others read.
 *
 * Ownership: a claim lives in its owner's struct, from output_claim_open() to output_claim_close().
 * Threads:   the memory is shared by all loops; a claim belongs to its loop.
 * Errors:    a claim that finds no room waits or is refused; nothing is ever taken beyond the limit. */
#pragma once

#include "shared/base/uuid.h"
#include "shared/net/loop.h"

typedef struct OutputMemory OutputMemory;
typedef struct OutputWait OutputWait;
typedef struct OutputClaim OutputClaim;
typedef struct OutputAccount OutputAccount;

/* Returns NULL without memory. */
OutputMemory *output_memory_new(size_t size_max);
void output_memory_free(OutputMemory *memory); /* all claims are closed; NULL is allowed */
size_t output_memory_held(OutputMemory *memory);

struct OutputClaim {
    OutputMemory *memory; /* NULL: closed */
    OutputAccount *account;
    Loop *loop;
    size_t held; /* bytes */
    size_t wide; /* those of them that a wide window has */
    OutputWait *wait;
    void (*granted)(OutputClaim *claim); /* what was waited for has been added to what is held */
};

/* False without memory. A claim that is zeroed is closed. */
MUST_USE bool output_claim_open(OutputClaim *claim, OutputMemory *memory, TenantId tenant, Loop *loop);
void output_claim_close(OutputClaim *claim); /* gives all back and ends its wait; closed ones are allowed */

typedef enum OutputRoom {
    OUTPUT_ROOM_TAKEN,
    OUTPUT_ROOM_LATER, /* there is too little now */
    OUTPUT_ROOM_NEVER, /* it is more than a tenant can get, or there is no memory to wait with */
} OutputRoom;

/* Adds `size` bytes to what is held, if there is room now. */
MUST_USE OutputRoom output_claim_take(OutputClaim *claim, size_t size);

/* Does the same or waits for the room; `granted` is called on the loop, never from within. One wait at a
 * time. */
MUST_USE OutputRoom output_claim_await(OutputClaim *claim, size_t size);

/* Takes memory for a wide window, of which all tenants together get an eighth of the limit, so that readers
 * who begin fast and stop hold little. False when there is none. */
MUST_USE bool output_claim_widen(OutputClaim *claim, size_t size);

/* Gives a part back. */
void output_claim_give(OutputClaim *claim, size_t size);
