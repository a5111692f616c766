/* Parts of variables written by index. All indices and shapes are checked before the first element
 * changes: a refused scatter leaves the variable unchanged. Updates apply in the order of the indices. */
#include "shared/ops/variable/positions_rule.h"
#include "worker/reference/combine.h"
#include "worker/runtime/variable.h"

static bool
supports_scatter(const Node *node, Combine combine)
{
    return dtype_is_integer(node->input_dtypes[1]) && combine_supports(combine, node->input_dtypes[2]);
}

static Status
check_divisors(KernelContext *context, Combine combine)
{
    const Tensor *updates = &context->inputs[2];
    bool is_checked = combine == COMBINE_DIV && dtype_is_integer(updates->dtype);
    int64_t count = is_checked ? tensor_element_count(updates) : 0;
    for (int64_t element = 0; element < count; element++) {
        int64_t value = 1;
        if (tensor_to_int64(updates, element, &value) && value == 0) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "an integer is divided by 0");
        }
    }
    return STATUS_OK;
}

static Status
scatter_parts(KernelContext *context, Variable *variable, Combine combine, bool is_nd)
{
    const Tensor *updates = &context->inputs[2];
    Tensor *target = NULL;
    Positions positions;
    TRY(variable_check_dtype(context->call, variable, updates->dtype, "the updates are"));
    TRY(variable_own(context, variable, &target));
    TRY(positions_find(context->call, &target->shape, &context->inputs[1], is_nd, &positions));
    TRY(positions_check_updates(context->call, &positions, updates));
    TRY(check_divisors(context, combine));
    size_t size = dtype_size(target->dtype);
    bool is_scalar = updates->shape.rank == 0 && !is_nd;
    const char *source = updates->data;
    for (int64_t n = 0; n < positions.count; n++) {
        char *row = (char *)target->data + (size_t)(positions_at(&positions, n) * positions.inner) * size;
        (void)!combine_elements(combine, target->dtype, row, source, is_scalar ? 0 : 1, positions.inner);
        source += is_scalar ? 0 : (size_t)positions.inner * size;
    }
    return STATUS_OK;
}

static Status
scatter_any(KernelContext *context, Combine combine, bool is_nd)
{
    Variable *variable = NULL;
    TRY(kernel_variable(context, 0, &variable));
    variables_lock(&variable, 1);
    Status status = scatter_parts(context, variable, combine, is_nd);
    variables_unlock(&variable, 1);
    TRY(status);
    if (context->output_count > 0) {
        Shape scalar = shape_scalar();
        kernel_alias(context, 0, 0, &scalar);
    }
    return STATUS_OK;
}

/* The functions of a kernel: `is_nd` says whether the indices are coordinates, not numbers of rows. */
#define SCATTERS(name, combine, is_nd)                                                                       \
    static bool name##_supports(const Node *node)                                                            \
    {                                                                                                        \
        return supports_scatter(node, combine);                                                              \
    }                                                                                                        \
    static Status name##_compute(KernelContext *context)                                                     \
    {                                                                                                        \
        return scatter_any(context, combine, is_nd);                                                         \
    }

SCATTERS(update, COMBINE_SET, false)
SCATTERS(add, COMBINE_ADD, false)
SCATTERS(subtract, COMBINE_SUB, false)
SCATTERS(multiply, COMBINE_MUL, false)
SCATTERS(divide, COMBINE_DIV, false)
SCATTERS(minimum, COMBINE_MIN, false)
SCATTERS(maximum, COMBINE_MAX, false)
SCATTERS(nd_update, COMBINE_SET, true)
SCATTERS(nd_add, COMBINE_ADD, true)
SCATTERS(nd_subtract, COMBINE_SUB, true)

static bool
gather_supports(const Node *node)
{
    return dtype_is_copyable(node->output_dtypes[0]) && dtype_is_integer(node->input_dtypes[1]);
}

static Status
gather_parts(KernelContext *context, const Tensor *value, bool is_nd)
{
    Positions positions;
    Shape shape;
    Tensor *output = NULL;
    if (value->dtype != context->node->output_dtypes[0]) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "the variable is %s, not %s",
            dtype_name(value->dtype), dtype_name(context->node->output_dtypes[0]));
    }
    TRY(positions_find(context->call, &value->shape, &context->inputs[1], is_nd, &positions));
    TRY(positions_shape(context->call, &positions, &shape));
    TRY(kernel_output(context, 0, value->dtype, &shape, &output));
    size_t size = dtype_size(value->dtype) * (size_t)positions.inner;
    for (int64_t n = 0; n < positions.count && size > 0; n++) {
        memcpy((char *)output->data + (size_t)n * size,
            (const char *)value->data + (size_t)positions_at(&positions, n) * size, size);
    }
    return STATUS_OK;
}

static Status
gather_any(KernelContext *context, bool is_nd)
{
    Variable *variable = NULL;
    AUTO_TENSOR value = {0};
    TRY(kernel_variable(context, 0, &variable));
    TRY(variable_fetch(context, variable, &value));
    return gather_parts(context, &value, is_nd);
}

static bool
gather_rows_supports(const Node *node)
{
    return gather_supports(node) && node_attr_int(node, "batch_dims") == 0;
}

static Status
gather_compute(KernelContext *context)
{
    return gather_any(context, false);
}

static Status
gather_nd_compute(KernelContext *context)
{
    return gather_any(context, true);
}

#define SCATTER(name, function)                                                                              \
    {                                                                                                        \
        .op = (name), .supports = function##_supports, .compute = function##_compute,                        \
        .visits_variables = true                                                                             \
    }

static const Kernel variable_scatter_kernels[] = {
    SCATTER("ScatterUpdate", update),
    SCATTER("ScatterAdd", add),
    SCATTER("ScatterSub", subtract),
    SCATTER("ScatterMul", multiply),
    SCATTER("ScatterDiv", divide),
    SCATTER("ScatterMin", minimum),
    SCATTER("ScatterMax", maximum),
    SCATTER("ScatterNdUpdate", nd_update),
    SCATTER("ScatterNdAdd", nd_add),
    SCATTER("ScatterNdSub", nd_subtract),
    SCATTER("ResourceScatterUpdate", update),
    SCATTER("ResourceScatterAdd", add),
    SCATTER("ResourceScatterSub", subtract),
    SCATTER("ResourceScatterMul", multiply),
    SCATTER("ResourceScatterDiv", divide),
    SCATTER("ResourceScatterMin", minimum),
    SCATTER("ResourceScatterMax", maximum),
    SCATTER("ResourceScatterNdUpdate", nd_update),
    SCATTER("ResourceScatterNdAdd", nd_add),
    SCATTER("ResourceScatterNdSub", nd_subtract),
    {.op = "ResourceGather",
        .supports = gather_rows_supports,
        .compute = gather_compute,
        .visits_variables = true},
    {.op = "ResourceGatherNd",
        .supports = gather_supports,
        .compute = gather_nd_compute,
        .visits_variables = true},
};

KERNEL_FAMILY(reference, variable_scatter, variable_scatter_kernels);
