#include "shared/ops/normalization/response_rule.h"

Status
response_radius(Call *call, const Node *node, int64_t channels, int64_t *ret_radius)
{
    int64_t radius = node_attr_int(node, "depth_radius");
    *ret_radius = radius < channels ? radius : channels;
    return radius >= 0 ? STATUS_OK
                       : call_fail(call, STATUS_INVALID_ARGUMENT, "depth_radius is %lld, not at least 0",
                             (long long)radius);
}
