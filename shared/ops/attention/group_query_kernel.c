/* com.microsoft::GroupQueryAttention, its sums in double. */
#include "worker/reference/group_query.h"

static Status
group_query_compute(KernelContext *context)
{
    return group_query_run(context, group_query_attend);
}

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]) && node_attr_int(node, "qk_output") == 0;
}

static const Kernel attention_group_query_kernels[] = {
    {.op = "com.microsoft::GroupQueryAttention", .supports = supports_floats, .compute = group_query_compute},
};

KERNEL_FAMILY(reference, attention_group_query, attention_group_query_kernels);
