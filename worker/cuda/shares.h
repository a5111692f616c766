/* The bytes of the card's memory that each tenant holds, of which none may hold more than a limit.
 *
 * Threads: one at a time. */
#pragma once

#include <stdint.h>

#include "shared/base/map.h"

typedef struct CudaShares {
    uint64_t limit; /* bytes; 0: nobody's is counted */
    Map *held;      /* tenant → bytes, for those that hold any */
} CudaShares;

/* False without memory. */
MUST_USE bool cuda_shares_init(CudaShares *shares, uint64_t limit);
void cuda_shares_done(CudaShares *shares); /* also of zeroes */

/* Takes `size` bytes for the tenant; 0 is nobody, and has no limit. False: it would hold too much, or there
 * is no memory to note it. */
MUST_USE bool cuda_shares_take(CudaShares *shares, uint64_t tenant, uint64_t size);
void cuda_shares_give(CudaShares *shares, uint64_t tenant, uint64_t size);
