#include "worker/runtime/run/node_tensors.h"

#include <inttypes.h>

static __attribute__((noinline)) bool
is_reference_right(Call *call, const Node *node, uint32_t index, Dtype made)
{
    if (made == DTYPE_RESOURCE && node_output_is_reference(node, index)) {
        return true;
    }
    Status status =
        call_fail(call, STATUS_INTERNAL, "the kernel made output %" PRIu32 " of type %s instead of %s", index,
            dtype_name(made), dtype_name(node->output_dtypes[index]));
    (void)status;
    return false;
}

bool
outputs_are_right(Call *call, const ScheduleNode *node, const Tensor *outputs)
{
    for (uint32_t i = 0; i < node->node->output_count; i++) {
        if (outputs[i].dtype != node->node->output_dtypes[i] &&
            !is_reference_right(call, node->node, i, outputs[i].dtype)) {
            return false;
        }
    }
    return true;
}
