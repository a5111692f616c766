#include "worker/cpu/convolve/shape.h"

int64_t
convolve_product(const int64_t *values, int64_t first, int64_t count)
{
    int64_t result = 1;
    for (int64_t i = first; i < count; i++) {
        result *= values[i];
    }
    return result;
}
