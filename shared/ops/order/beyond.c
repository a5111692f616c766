#include "shared/ops/order/beyond.h"

#include <float.h>

#include "worker/reference/elements.h"

/* The largest finite numbers. */
#define MOST_FLOAT16 65504.0F
#define MOST_BFLOAT16 0x1.FEp127F
#define MOST_FLOAT32 FLT_MAX
#define MOST_FLOAT64 DBL_MAX

#define BEYOND_LOOP(name, unused, upper, lower, storage, compute, read, write)                               \
    static bool name##_##lower(const void *line, int64_t left, int64_t right, bool largest)                  \
    {                                                                                                        \
        compute a = read(((const storage *)line)[left]);                                                     \
        compute b = read(((const storage *)line)[right]);                                                    \
        return (largest ? a > b : a < b) || (a != a && b == b);                                              \
    }

#define LARGER_LOOP(name, unused, upper, lower, storage, compute, read, write)                               \
    static bool name##_##lower(const void *line, int64_t left, int64_t right, bool largest)                  \
    {                                                                                                        \
        compute a = read(((const storage *)line)[largest ? left : right]);                                   \
        compute b = read(((const storage *)line)[largest ? right : left]);                                   \
        return a > b || (a != a && b == b);                                                                  \
    }

/* The comparisons are false for NaN. */
#define LIMITED_LOOP(name, unused, upper, lower, storage, compute, read, write)                              \
    static bool name##_##lower(const void *line, int64_t left, int64_t right, bool largest)                  \
    {                                                                                                        \
        compute end = largest ? -MOST_##upper : MOST_##upper;                                                \
        compute a = read(((const storage *)line)[left]);                                                     \
        compute b = read(((const storage *)line)[right]);                                                    \
        b = (largest ? b > end : b < end) ? b : end;                                                         \
        return largest ? a > b : a < b;                                                                      \
    }

REAL_ELEMENTS(BEYOND_LOOP, is_beyond, )
FLOATING_ELEMENTS(LARGER_LOOP, is_larger, )
FLOATING_ELEMENTS(LIMITED_LOOP, is_beyond_limited, )
static const IsBeyond is_beyond_loops[NAN_PLACES][DTYPE_COUNT] = {
    [NAN_BEYOND] = {REAL_LOOPS(is_beyond)},
    [NAN_LARGEST] = {FLOATING_LOOPS(is_larger) INTEGER_LOOPS(is_beyond)},
    [NAN_BEHIND] = {FLOATING_LOOPS(is_beyond_limited) INTEGER_LOOPS(is_beyond)},
};

IsBeyond
is_beyond_of(Dtype dtype, NanPlace place)
{
    return is_beyond_loops[place][dtype];
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
