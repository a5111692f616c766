/* Parts of variables changed and read by index, by the rules of the reference kernels
 * (shared/ops/variable/scatter_kernel.c). The elements lie on the card. An index out of range, found there,
 * fails the run, and the variable stays as it was. */
#include "worker/cuda/operands/variable.h"
#include "shared/ops/variable/positions_rule.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/move.h"
#include "worker/cuda/kernels/scatter.h"
#include "worker/cuda/operands/types.h"
#include "worker/cuda/run.h"
#include "worker/reference/scratch.h"

typedef struct Part {
    CudaFoldRule rule;
    bool is_nd;
} Part;

static CudaIndices
indices_of(const Tensor *indices)
{
    return (CudaIndices){.data = indices->data, .type = cuda_type(indices->dtype)};
}

/* Finds the parts on the card; their indices are checked there. */
static Status
find_parts(KernelContext *context, const Positions *positions, Tensor *ret_places)
{
    Shape vector = shape_vector(positions->count);
    CudaBlame blame;
    CudaPlaces places = {
        .indices = indices_of(positions->indices), .count = positions->count, .depth = (int)positions->depth};
    for (int64_t n = 0; n < positions->depth; n++) {
        places.sizes[n] = positions->shape->dims[n];
    }
    TRY(scratch_new(context, DTYPE_INT64, &vector, ret_places));
    TRY(cuda_blame(context, CUDA_REFUSES_INDEX, &blame));
    places.places = ret_places->data;
    int error = cuda_find_places(&places, &blame, cuda_stream(context));
    return cuda_check(context->call, error, "the search for places");
}

/* Moves the old elements to where the new ones go. */
static Status
move_elements_to(KernelContext *context, const Tensor *value, void *place)
{
    CudaMove move = {.from = value->data,
        .to = place,
        .count = tensor_element_count(value),
        .rank = 1,
        .sizes = {tensor_element_count(value)},
        .strides = {{1}, {1}}};
    int error = cuda_move(dtype_size(value->dtype), &move, cuda_stream(context));
    return cuda_check(context->call, error, "a copy of a variable");
}

static Status
change_parts(KernelContext *context, Variable *variable, const Part *part, Tensor *made)
{
    const Tensor *updates = &context->inputs[2];
    const Tensor *value = variable_value(variable);
    AUTO_TENSOR places = {0};
    Positions positions;
    void *place = NULL;
    TRY(variable_reach(context, variable));
    TRY(positions_describe(context->call, &value->shape, &context->inputs[1], part->is_nd, &positions));
    TRY(positions_check_updates(context->call, &positions, updates));
    TRY(find_parts(context, &positions, &places));
    TRY(cuda_variable_place(context, variable, made, &place));
    if (place != value->data) {
        TRY(move_elements_to(context, value, place));
    }
    CudaChange change = {.fold = {.places = places.data,
                             .from = updates->data,
                             .to = place,
                             .count = positions.count,
                             .rows = 1,
                             .inner = positions.inner},
        .is_scalar = updates->shape.rank == 0 && !part->is_nd,
        .refused = cuda_refused(context)};
    for (int64_t n = 0; n < positions.depth; n++) {
        change.fold.rows *= value->shape.dims[n];
    }
    int error = cuda_change(cuda_type(updates->dtype), part->rule, &change, cuda_stream(context));
    TRY(cuda_check(context->call, error, "a scatter into a variable"));
    if (made->dtype != DTYPE_INVALID) {
        variable_replace(variable, made);
    }
    return STATUS_OK;
}

static Status
compute_change(KernelContext *context, const Part *part)
{
    Variable *variable = NULL;
    AUTO_TENSOR made = {0};
    TRY(kernel_variable(context, 0, &variable));
    TRY(variable_check_dtype(context->call, variable, context->inputs[2].dtype, "the updates are"));
    variables_lock(&variable, 1);
    Status status = change_parts(context, variable, part, &made);
    variables_unlock(&variable, 1);
    if (status == STATUS_OK && context->output_count > 0) {
        Shape scalar = shape_scalar();
        kernel_alias(context, 0, 0, &scalar); /* the reference */
    }
    return status;
}

#define CHANGES(name, how, nd)                                                                               \
    static Status name(KernelContext *context)                                                               \
    {                                                                                                        \
        static const Part part = {.rule = (how), .is_nd = (nd)};                                             \
        return compute_change(context, &part);                                                               \
    }

CHANGES(compute_update, CUDA_FOLD_REPLACE, false)
CHANGES(compute_add, CUDA_FOLD_ADD, false)
CHANGES(compute_subtract, CUDA_FOLD_SUBTRACT, false)
CHANGES(compute_multiply, CUDA_FOLD_MULTIPLY, false)
CHANGES(compute_divide, CUDA_FOLD_DIVIDE, false)
CHANGES(compute_minimum, CUDA_FOLD_MINIMUM, false)
CHANGES(compute_maximum, CUDA_FOLD_MAXIMUM, false)
CHANGES(compute_nd_update, CUDA_FOLD_REPLACE, true)
CHANGES(compute_nd_add, CUDA_FOLD_ADD, true)
CHANGES(compute_nd_subtract, CUDA_FOLD_SUBTRACT, true)

static bool
supports_change(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[2]) && dtype_is_integer(node->input_dtypes[1]);
}

/* A table that is gathered from on the card lies there from then on. */
static Status
take_value(KernelContext *context, Variable *variable, Tensor *ret_value)
{
    variables_lock(&variable, 1);
    Status status = variable_reach(context, variable);
    if (status == STATUS_OK) {
        *ret_value = tensor_ref(variable_value(variable));
    }
    variables_unlock(&variable, 1);
    return status;
}

static Status
gather_rows(KernelContext *context, const Tensor *value)
{
    const Tensor *indices = &context->inputs[1];
    Positions positions;
    Shape shape;
    Tensor *output = NULL;
    CudaBlame blame;
    TRY(positions_describe(context->call, &value->shape, indices, false, &positions));
    TRY(positions_shape(context->call, &positions, &shape));
    TRY(kernel_output(context, 0, value->dtype, &shape, &output));
    TRY(cuda_blame(context, CUDA_REFUSES_INDEX, &blame));
    CudaGatherRows gather = {.indices = indices_of(indices),
        .from = value->data,
        .to = output->data,
        .outer = 1,
        .lines = 1,
        .count = positions.count,
        .size = value->shape.dims[0],
        .inner = positions.inner};
    int error = cuda_gather_rows(dtype_size(value->dtype), &gather, &blame, cuda_stream(context));
    return cuda_check(context->call, error, "a gather from a variable");
}

static Status
compute_gather(KernelContext *context)
{
    Dtype wanted = context->node->output_dtypes[0];
    Variable *variable = NULL;
    AUTO_TENSOR value = {0};
    TRY(kernel_variable(context, 0, &variable));
    if (variable_dtype(variable) != wanted) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "the variable is %s, not %s",
            dtype_name(variable_dtype(variable)), dtype_name(wanted));
    }
    TRY(take_value(context, variable, &value));
    return gather_rows(context, &value);
}

static bool
supports_gather(const Node *node)
{
    return dtype_is_floating(node->output_dtypes[0]) && dtype_is_integer(node->input_dtypes[1]) &&
           node_attr_int(node, "batch_dims") == 0;
}

#define CHANGE(name, function)                                                                               \
    {                                                                                                        \
        .op = (name), .supports = supports_change, .compute = (function), .visits_variables = true           \
    }

static const Kernel variable_kernels[] = {
    CHANGE("ScatterUpdate", compute_update),
    CHANGE("ScatterAdd", compute_add),
    CHANGE("ScatterSub", compute_subtract),
    CHANGE("ScatterMul", compute_multiply),
    CHANGE("ScatterDiv", compute_divide),
    CHANGE("ScatterMin", compute_minimum),
    CHANGE("ScatterMax", compute_maximum),
    CHANGE("ScatterNdUpdate", compute_nd_update),
    CHANGE("ScatterNdAdd", compute_nd_add),
    CHANGE("ScatterNdSub", compute_nd_subtract),
    CHANGE("ResourceScatterUpdate", compute_update),
    CHANGE("ResourceScatterAdd", compute_add),
    CHANGE("ResourceScatterSub", compute_subtract),
    CHANGE("ResourceScatterMul", compute_multiply),
    CHANGE("ResourceScatterDiv", compute_divide),
    CHANGE("ResourceScatterMin", compute_minimum),
    CHANGE("ResourceScatterMax", compute_maximum),
    CHANGE("ResourceScatterNdUpdate", compute_nd_update),
    CHANGE("ResourceScatterNdAdd", compute_nd_add),
    CHANGE("ResourceScatterNdSub", compute_nd_subtract),
    {.op = "ResourceGather",
        .supports = supports_gather,
        .compute = compute_gather,
        .visits_variables = true},
};

KERNEL_FAMILY(cuda_kernels, variable, variable_kernels);
