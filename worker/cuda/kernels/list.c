/* Lists of tensors whose elements lie on the card. A list itself is on the host: the reference kernels run as
 * they are, and leave what they move to the card (operands/movement.h). */
#include "worker/cuda/operands/movement.h"

enum { FIRST = 1 << 0, SECOND = 1 << 1, THIRD = 1 << 2, FOURTH = 1 << 3 };

/* The dtype of a list's elements decides where they lie, for all ops alike (Kernel.handles_list). */
static bool
supports_list(const Node *node)
{
    const char *dtype = node_attr(node, "T") != NULL ? "T" : "dtype";
    return dtype_is_floating(node_attr_type(node, dtype)) && cuda_movement_supports(node);
}

/* `inputs` and `outputs` lie on the host: handles, flows, indices and lengths. */
#define LIST(name, inputs, outputs)                                                                          \
    {                                                                                                        \
        .op = (name), .supports = supports_list, .create = cuda_movement_create,                             \
        .destroy = cuda_movement_destroy, .compute = cuda_movement_compute, .handles_list = true,            \
        .host_inputs = (inputs), .host_outputs = (outputs)                                                   \
    }

static const Kernel list_kernels[] = {
    LIST("TensorArrayWriteV3", FIRST | SECOND | FOURTH, FIRST),
    LIST("TensorArrayReadV3", FIRST | SECOND | THIRD, 0),
    LIST("TensorArrayScatterV3", FIRST | SECOND | FOURTH, FIRST),
    LIST("TensorArraySplitV3", FIRST | THIRD | FOURTH, FIRST),
    LIST("TensorArrayGatherV3", FIRST | SECOND | THIRD, 0),
    LIST("TensorArrayConcatV3", FIRST | SECOND, SECOND),
};

KERNEL_FAMILY(cuda_kernels, list, list_kernels);
