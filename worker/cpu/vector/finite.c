#include "worker/cpu/vector/finite.h"

#include <float.h>
#include <math.h>

#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"

VECTOR_FUNCTION void
find_infinite_body(const float *numbers, int64_t count, int32_t *ret_found)
{
    int32_t found = 0;
    _Pragma("omp simd reduction(|:found)") for (int64_t n = 0; n < count; n++)
    {
        found |= fabsf(numbers[n]) <= FLT_MAX ? 0 : 1;
    }
    *ret_found = found;
}

VECTOR_VARIANTS(
    find_infinite, (const float *numbers, int64_t count, int32_t *ret_found), (numbers, count, ret_found))

bool
are_finite(const float *numbers, int64_t count)
{
    int32_t found = 0;
    find_infinite(numbers, count, &found);
    return found == 0;
}
