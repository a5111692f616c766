#include "shared/ops/generate/rule.h"

#include <math.h>

static Status
count_integers(Call *call, int64_t start, int64_t limit, int64_t delta, int64_t *ret_count)
{
    if (delta == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "delta is 0");
    }
    bool is_rising = delta > 0;
    if (is_rising ? start >= limit : start <= limit) {
        *ret_count = start == limit ? 0 : -1;
        return STATUS_OK;
    }
    uint64_t distance = is_rising ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    uint64_t step = is_rising ? (uint64_t)delta : 0 - (uint64_t)delta;
    uint64_t count = distance / step + (distance % step != 0 ? 1 : 0);
    if (count > INT64_MAX) {
        return call_fail(
            call, STATUS_RESOURCE_EXHAUSTED, "%llu elements are too many", (unsigned long long)count);
    }
    *ret_count = (int64_t)count;
    return STATUS_OK;
}

static Status
count_floats(Call *call, double start, double limit, double delta, int64_t *ret_count)
{
    double steps = (limit - start) / delta;
    double count = ceil(steps);
    if (delta == 0 || isnan(count)) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "a range from %g to %g by %g has no count", start, limit, delta);
    }
    if (count >= 0x1p62) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED, "%g elements are too many", count);
    }
    *ret_count = steps < 0 ? -1 : (int64_t)count;
    return STATUS_OK;
}

static bool
read_float(const Tensor *tensor, double *ret_value)
{
    if (tensor->dtype == DTYPE_FLOAT32) {
        *ret_value = (double)*(const float *)tensor->data;
        return true;
    }
    if (tensor->dtype == DTYPE_FLOAT64) {
        *ret_value = *(const double *)tensor->data;
        return true;
    }
    return false;
}

Status
generation_range_count(Call *call, const Tensor *const *values, int64_t *ret_count)
{
    int64_t integers[3] = {0};
    double floats[3] = {0};
    bool are_integers = true;
    bool are_floats = true;
    for (int index = 0; index < 3; index++) {
        if (tensor_element_count(values[index]) != 1) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "input %d is not one number", index);
        }
        are_integers = are_integers && tensor_to_int64(values[index], 0, &integers[index]);
        are_floats = are_floats && read_float(values[index], &floats[index]);
    }
    if (are_integers) {
        return count_integers(call, integers[0], integers[1], integers[2], ret_count);
    }
    if (are_floats) {
        return count_floats(call, floats[0], floats[1], floats[2], ret_count);
    }
    return call_fail(
        call, STATUS_INVALID_ARGUMENT, "ranges of %s are not counted", dtype_name(values[0]->dtype));
}
