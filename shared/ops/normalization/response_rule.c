#include "shared/ops/normalization/response_rule.h"

static Status
check_channels(Call *call, const Shape *shape, int rank_min)
{
    return shape->rank >= rank_min
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT, "an input of rank %d has no channels", shape->rank);
}

static Status
tensorflow_rule(Call *call, const Node *node, const Shape *shape, ResponseRule *ret_rule)
{
    TRY(check_channels(call, shape, 1));
    int axis = shape->rank - 1;
    int64_t channels = shape->dims[axis];
    int64_t radius = node_attr_int(node, "depth_radius");
    if (radius < 0) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "depth_radius is %lld, not at least 0", (long long)radius);
    }
    radius = radius < channels ? radius : channels;
    *ret_rule = (ResponseRule){
        .axis = axis,
        .before = radius,
        .after = radius,
        .bias = (double)node_attr_float(node, "bias"),
        .alpha = (double)node_attr_float(node, "alpha"),
        .beta = (double)node_attr_float(node, "beta"),
    };
    return STATUS_OK;
}

/* ONNX divides alpha by the size of the region. */
static Status
onnx_rule(Call *call, const Node *node, const Shape *shape, ResponseRule *ret_rule)
{
    TRY(check_channels(call, shape, 2));
    int64_t size = node_attr_int(node, "size");
    if (size < 1) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "size is %lld", (long long)size);
    }
    *ret_rule = (ResponseRule){
        .axis = 1,
        .before = (size - 1) / 2,
        .after = size - 1 - (size - 1) / 2,
        .bias = (double)node_attr_float(node, "bias"),
        .alpha = (double)node_attr_float(node, "alpha") / (double)size,
        .beta = (double)node_attr_float(node, "beta"),
    };
    return STATUS_OK;
}

Status
response_rule(Call *call, const Node *node, const Shape *shape, ResponseRule *ret_rule)
{
    bool is_onnx = node_attr(node, "size") != NULL;
    return is_onnx ? onnx_rule(call, node, shape, ret_rule) : tensorflow_rule(call, node, shape, ret_rule);
}
