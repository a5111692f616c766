/* Elements selected by index, by the rules of the reference kernels (shared/ops/gather). */
#include "worker/cuda/kernels/gather.h"

#include "worker/cuda/errors.h"
#include "worker/cuda/operands/pieces.h"
#include "worker/cuda/operands/types.h"
#include "worker/cuda/run.h"
#include "worker/reference/gather.h"
#include "worker/reference/outputs.h"

_Static_assert((int)CUDA_GATHER_RANK_MAX == (int)SHAPE_RANK_MAX, "a gather holds every shape");

static bool
supports_gather(const Node *node)
{
    return dtype_is_copyable(node->input_dtypes[0]) && dtype_is_integer(node->input_dtypes[1]);
}

static CudaIndices
indices_of(const KernelContext *context)
{
    const Tensor *indices = &context->inputs[1];
    return (CudaIndices){.data = indices->data,
        .type = cuda_type(indices->dtype),
        .count_from_end = slice_starts_with(context->node->op->name, SLICE("onnx::"))};
}

static Status
compute_gather(KernelContext *context)
{
    const Tensor *params = &context->inputs[0];
    GatherRows rows;
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    TRY(gather_rows_read(context, &rows));
    CudaGatherRows gather = {
        .indices = indices_of(context),
        .from = params->data,
        .to = output->data,
        .outer = rows.lines.outer,
        .lines = rows.batches == 0 ? 0 : rows.lines.outer / rows.batches,
        .count = rows.count,
        .size = rows.lines.size,
        .inner = rows.lines.inner,
    };
    size_t piece = cuda_cut_rows(dtype_size(params->dtype), &gather.inner, gather.from, gather.to);
    CudaBlame blame;
    TRY(cuda_blame(context, CUDA_REFUSES_INDEX, &blame));
    int error = cuda_gather_rows(piece, &gather, &blame, cuda_stream(context));
    return cuda_check(context->call, error, "a Gather kernel");
}

/* Describes the tuples of coordinates, which are lines of the indices. */
static CudaGatherSlices
slices_of(const KernelContext *context, const Tensor *output)
{
    const Tensor *params = &context->inputs[0];
    const Shape *indices = &context->inputs[1].shape;
    const AttrValue *batch_dims = node_attr(context->node, "batch_dims");
    int batch = batch_dims == NULL ? 0 : (int)batch_dims->value.i;
    CudaGatherSlices gather = {
        .indices = indices_of(context),
        .from = params->data,
        .to = output->data,
        .batches = 1,
        .tuples = 1,
        .slices = 1,
        .inner = 1,
        .depth = (int)indices->dims[indices->rank - 1],
    };
    for (int index = 0; index < indices->rank - 1; index++) {
        *(index < batch ? &gather.batches : &gather.tuples) *= indices->dims[index];
    }
    for (int index = batch; index < params->shape.rank; index++) {
        bool is_named = index < batch + gather.depth;
        *(is_named ? &gather.slices : &gather.inner) *= params->shape.dims[index];
        if (is_named) {
            gather.sizes[index - batch] = params->shape.dims[index];
        }
    }
    return gather;
}

static Status
compute_gather_nd(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    CudaGatherSlices gather = slices_of(context, output);
    size_t piece = cuda_cut_rows(dtype_size(output->dtype), &gather.inner, gather.from, gather.to);
    CudaBlame blame;
    TRY(cuda_blame(context, CUDA_REFUSES_INDEX, &blame));
    int error = cuda_gather_slices(piece, &gather, &blame, cuda_stream(context));
    return cuda_check(context->call, error, "a GatherND kernel");
}

static Status
compute_gather_elements(KernelContext *context)
{
    const Tensor *data = &context->inputs[0];
    const Shape *indices = &context->inputs[1].shape;
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    int64_t given = node_attr_int(context->node, "axis");
    int axis = (int)(given < 0 ? given + data->shape.rank : given);
    CudaGatherElements gather = {
        .indices = indices_of(context),
        .from = data->data,
        .to = output->data,
        .count = tensor_element_count(output),
        .rank = indices->rank,
        .size = data->shape.dims[axis],
    };
    int64_t stride = 1;
    for (int dimension = indices->rank - 1; dimension >= 0; dimension--) {
        gather.sizes[dimension] = indices->dims[dimension];
        gather.strides[0][dimension] = dimension == axis ? 0 : stride;
        gather.along = dimension == axis ? stride : gather.along;
        stride *= data->shape.dims[dimension];
    }
    CudaBlame blame;
    TRY(cuda_blame(context, CUDA_REFUSES_INDEX, &blame));
    int error = cuda_gather_elements(dtype_size(data->dtype), &gather, &blame, cuda_stream(context));
    return cuda_check(context->call, error, "a GatherElements kernel");
}

static const Kernel gather_kernels[] = {
    {.op = "Gather", .supports = supports_gather, .compute = compute_gather},
    {.op = "GatherV2", .supports = supports_gather, .compute = compute_gather, .host_inputs = 1 << 2},
    {.op = "GatherNd", .supports = supports_gather, .compute = compute_gather_nd},
    {.op = "onnx::Gather", .supports = supports_gather, .compute = compute_gather},
    {.op = "onnx::GatherND", .supports = supports_gather, .compute = compute_gather_nd},
    {.op = "onnx::GatherElements", .supports = supports_gather, .compute = compute_gather_elements},
};

KERNEL_FAMILY(cuda_kernels, gather, gather_kernels);
