#include "shared/ops/order/beyond.h"

#include "worker/reference/elements.h"

#define BEYOND_LOOP(name, unused, upper, lower, storage, compute, read, write)                               \
    static bool name##_##lower(const void *line, int64_t left, int64_t right, bool largest)                  \
    {                                                                                                        \
        compute a = read(((const storage *)line)[left]);                                                     \
        compute b = read(((const storage *)line)[right]);                                                    \
        return (largest ? a > b : a < b) || (a != a && b == b);                                              \
    }

REAL_ELEMENTS(BEYOND_LOOP, is_beyond, )
static const IsBeyond is_beyond_loops[DTYPE_COUNT] = {REAL_LOOPS(is_beyond)};

IsBeyond
is_beyond_of(Dtype dtype)
{
    return is_beyond_loops[dtype];
}

void
write_index(Tensor *tensor, int64_t position, int64_t index)
{
    if (tensor->dtype == DTYPE_INT64) {
        ((int64_t *)tensor->data)[position] = index;
    } else {
        ((int32_t *)tensor->data)[position] = (int32_t)index;
    }
}
