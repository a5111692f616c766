/* Tensors made from a few numbers. */
#include <math.h>

#include "shared/ops/family.h"
#include "shared/ops/infer.h"

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

/* Returns ceil((limit - start) / delta), or -1 when delta leads away from the limit. INVALID_ARGUMENT when
 * an input is not one number or delta is 0 or NaN; RESOURCE_EXHAUSTED past int64. */
static Status
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

static Status
infer_fill(Call *call, InferContext *context)
{
    return infer_shape_input(call, context, 0);
}

static bool
knows_range(const InferContext *context)
{
    return context->values[0] != NULL && context->values[1] != NULL && context->values[2] != NULL;
}

static Status
infer_range(Call *call, InferContext *context)
{
    int64_t count = -1;
    if (knows_range(context)) {
        TRY(generation_range_count(call, context->values, &count));
        if (count < 0) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "delta leads from start away from limit");
        }
    }
    context->outputs[0] = shape_vector(count);
    return infer_check_size(call, &context->outputs[0]);
}

/* A delta that leads away from the limit gives an empty range. */
static Status
infer_onnx_range(Call *call, InferContext *context)
{
    int64_t count = -1;
    if (knows_range(context)) {
        TRY(generation_range_count(call, context->values, &count));
        count = count < 0 ? 0 : count;
    }
    context->outputs[0] = shape_vector(count);
    return infer_check_size(call, &context->outputs[0]);
}

static Status
infer_lin_space(Call *call, InferContext *context)
{
    int64_t count = -1;
    bool is_known = false;
    TRY(infer_int(call, context, 2, &count, &is_known));
    if (is_known && count < 1) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "num is %lld, not at least 1", (long long)count);
    }
    context->outputs[0] = shape_vector(is_known ? count : -1);
    return infer_check_size(call, &context->outputs[0]);
}

static const OpDefinition generate_ops[] = {
    OP("Fill(dims:index_type, value:T)->(output:T) {T:type, index_type:type=DT_INT32}", 0, infer_fill),
    OP("Range(start:Tidx, limit:Tidx, delta:Tidx)->(output:Tidx) {Tidx:type=DT_INT32}", 0, infer_range),
    OP("LinSpace(start:T, stop:T, num:Tidx)->(output:T) {T:type, Tidx:type=DT_INT32}", 0, infer_lin_space),
    OP("onnx::ConstantOfShape(input:int64)->(output:dtype) {value:tensor, dtype:type}", 0, infer_fill),
    OP("onnx::Range(start:T, limit:T, delta:T)->(output:T) {T:type}", 0, infer_onnx_range),
};

OP_FAMILY(generate, generate_ops);
