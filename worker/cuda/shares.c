#include "worker/cuda/shares.h"

#include <assert.h>

#include "shared/base/memory.h"

static Slice
key_of(const uint64_t *tenant)
{
    return slice_of(tenant, sizeof *tenant);
}

static bool
counts(const CudaShares *shares, uint64_t tenant)
{
    return shares->limit != 0 && tenant != 0;
}

/* Finds or adds what the tenant holds; NULL without memory. */
static uint64_t *
obtain_held(const CudaShares *shares, uint64_t tenant)
{
    uint64_t *held = map_get(shares->held, key_of(&tenant));
    if (held != NULL) {
        return held;
    }
    held = memory_new(1, sizeof *held);
    if (held != NULL && !map_put(shares->held, key_of(&tenant), held)) {
        memory_free(held);
        return NULL;
    }
    return held;
}

static void
forget_held(const CudaShares *shares, uint64_t tenant)
{
    memory_free(map_remove(shares->held, key_of(&tenant)));
}

bool
cuda_shares_init(CudaShares *shares, uint64_t limit)
{
    *shares = (CudaShares){.limit = limit, .held = map_new()};
    return shares->held != NULL;
}

void
cuda_shares_done(CudaShares *shares)
{
    if (shares->held != NULL) {
        assert(map_count(shares->held) == 0);
        map_free(shares->held);
    }
}

bool
cuda_shares_take(CudaShares *shares, uint64_t tenant, uint64_t size)
{
    if (!counts(shares, tenant)) {
        return true;
    }
    uint64_t *held = obtain_held(shares, tenant);
    bool fits = held != NULL && size <= shares->limit && *held <= shares->limit - size;
    if (fits) {
        *held += size;
    } else if (held != NULL && *held == 0) {
        forget_held(shares, tenant);
    }
    return fits;
}

void
cuda_shares_give(CudaShares *shares, uint64_t tenant, uint64_t size)
{
    if (!counts(shares, tenant)) {
        return;
    }
    uint64_t *held = map_get(shares->held, key_of(&tenant));
    assert(held != NULL && *held >= size);
    *held -= size;
    if (*held == 0) {
        forget_held(shares, tenant);
    }
}
