/* onnx::ScatterND and onnx::ScatterElements, by the rules of the reference kernels (shared/ops/scatter): the
 * updates of an element are combined with it in their order, each with one rounding. */
#include "worker/cuda/kernels/scatter_onnx.h"

#include "worker/cuda/errors.h"
#include "worker/cuda/operands/types.h"
#include "worker/cuda/run.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

static const struct {
    const char *name;
    CudaFoldRule rule;
} reductions[] = {
    {"none", CUDA_FOLD_REPLACE},
    {"add", CUDA_FOLD_ADD},
    {"mul", CUDA_FOLD_MULTIPLY},
    {"min", CUDA_FOLD_MINIMUM},
    {"max", CUDA_FOLD_MAXIMUM},
};

/* Returns COUNT_OF(reductions) for a name that none has. */
static size_t
reduction_of(const Node *node)
{
    Slice name = node_attr_string(node, "reduction");
    size_t index = 0;
    while (index < COUNT_OF(reductions) && !slice_equals_string(name, reductions[index].name)) {
        index++;
    }
    return index;
}

static bool
supports_scatter(const Node *node)
{
    Dtype dtype = node->input_dtypes[0];
    Dtype indices = node->input_dtypes[1];
    size_t reduction = reduction_of(node);
    bool is_real = dtype_is_floating(dtype) || dtype_is_integer(dtype);
    return (indices == DTYPE_INT32 || indices == DTYPE_INT64) && reduction < COUNT_OF(reductions) &&
           (reductions[reduction].rule == CUDA_FOLD_REPLACE ? dtype_is_copyable(dtype) : is_real);
}

/* Makes the output, which begins as the data. */
static Status
copy_data(KernelContext *context, Tensor **ret_output)
{
    const void *data = context->inputs[0].data;
    Tensor *output = NULL;
    TRY(output_forward(context, 0, &output));
    *ret_output = output;
    if (output->data == NULL || output->data == data) {
        return STATUS_OK;
    }
    int error = (int)cudaMemcpyAsync(
        output->data, data, tensor_byte_size(output), cudaMemcpyDeviceToDevice, cuda_stream(context));
    return cuda_check(context->call, error, "a copy of elements");
}

/* Combines the updates with the target, by the places that were found. */
static Status
combine_updates(KernelContext *context, CudaFold *fold)
{
    CudaFoldRule rule = reductions[reduction_of(context->node)].rule;
    const Tensor *updates = &context->inputs[2];
    Tensor *output = NULL;
    TRY(copy_data(context, &output));
    fold->from = updates->data;
    fold->to = output->data;
    CudaChange change = {.fold = *fold};
    int error = rule == CUDA_FOLD_REPLACE
                    ? cuda_fold_last(dtype_size(output->dtype), fold, cuda_stream(context))
                    : cuda_change(cuda_type(output->dtype), rule, &change, cuda_stream(context));
    return cuda_check(context->call, error, "a scatter");
}

static CudaIndices
indices_of(const KernelContext *context)
{
    const Tensor *indices = &context->inputs[1];
    return (CudaIndices){.data = indices->data, .type = cuda_type(indices->dtype), .count_from_end = true};
}

/* Slices without elements are not looked at. */
static Status
compute_slices(KernelContext *context)
{
    const Shape *data = &context->inputs[0].shape;
    const Shape *indices = &context->inputs[1].shape;
    AUTO_TENSOR found = {0};
    Shape shape;
    CudaBlame blame;
    TRY(output_shapes(context, &shape));
    TRY(cuda_blame(context, CUDA_REFUSES_INDEX, &blame));
    CudaPlaces places = {
        .indices = indices_of(context), .depth = (int)indices->dims[indices->rank - 1], .count = 1};
    CudaFold fold = {.rows = 1, .inner = 1};
    for (int dimension = 0; dimension < indices->rank - 1; dimension++) {
        places.count *= indices->dims[dimension];
    }
    for (int dimension = 0; dimension < data->rank; dimension++) {
        bool is_named = dimension < places.depth;
        *(is_named ? &fold.rows : &fold.inner) *= data->dims[dimension];
        places.sizes[dimension] = is_named ? data->dims[dimension] : 0;
    }
    places.count = fold.inner == 0 ? 0 : places.count;
    Shape vector = shape_vector(places.count);
    TRY(scratch_new(context, DTYPE_INT64, &vector, &found));
    places.places = found.data;
    fold.places = found.data;
    fold.count = places.count;
    TRY(cuda_check(
        context->call, cuda_find_places(&places, &blame, cuda_stream(context)), "the search for places"));
    return combine_updates(context, &fold);
}

/* Describes where indices point: a scalar has one element, along no axis. */
static CudaGatherElements
describe_elements(const KernelContext *context)
{
    const Shape *data = &context->inputs[0].shape;
    const Shape *indices = &context->inputs[1].shape;
    int64_t given = node_attr_int(context->node, "axis");
    int64_t axis = given < 0 ? given + data->rank : given;
    CudaGatherElements gather = {.indices = indices_of(context),
        .count = tensor_element_count(&context->inputs[1]),
        .rank = indices->rank,
        .size = data->rank == 0 ? 1 : data->dims[axis]};
    int64_t stride = 1;
    for (int dimension = indices->rank - 1; dimension >= 0; dimension--) {
        gather.sizes[dimension] = indices->dims[dimension];
        gather.strides[0][dimension] = dimension == axis ? 0 : stride;
        gather.along = dimension == axis ? stride : gather.along;
        stride *= data->dims[dimension];
    }
    return gather;
}

static Status
compute_elements(KernelContext *context)
{
    AUTO_TENSOR found = {0};
    Shape shape;
    CudaBlame blame;
    TRY(output_shapes(context, &shape));
    TRY(cuda_blame(context, CUDA_REFUSES_INDEX, &blame));
    CudaGatherElements gather = describe_elements(context);
    Shape vector = shape_vector(gather.count);
    TRY(scratch_new(context, DTYPE_INT64, &vector, &found));
    TRY(cuda_check(context->call, cuda_place_elements(&gather, found.data, &blame, cuda_stream(context)),
        "the search for places"));
    CudaFold fold = {.places = found.data,
        .count = gather.count,
        .rows = tensor_element_count(&context->inputs[0]),
        .inner = 1};
    return combine_updates(context, &fold);
}

static const Kernel scatter_onnx_kernels[] = {
    {.op = "onnx::ScatterND",
        .supports = supports_scatter,
        .compute = compute_slices,
        .sharing = KERNEL_FORWARDS},
    {.op = "onnx::ScatterElements",
        .supports = supports_scatter,
        .compute = compute_elements,
        .sharing = KERNEL_FORWARDS},
};

KERNEL_FAMILY(cuda_kernels, scatter_onnx, scatter_onnx_kernels);
