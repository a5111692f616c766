/* Singular values of matrices, by the rule of the reference kernel (shared/ops/linear_algebra). */
#include "worker/cuda/kernels/svd.h"

#include "worker/cuda/errors.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/abreast.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

enum { VALUES, LEFT, RIGHT, OUTPUTS };

static bool
supports_wide_floats(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32 || node->input_dtypes[0] == DTYPE_FLOAT64;
}

/* Makes the outputs, which stay zeros where there is nothing to decompose. */
static Status
make_outputs(KernelContext *context)
{
    Shape shapes[OUTPUTS];
    TRY(output_shapes(context, shapes));
    for (uint32_t index = 0; index < OUTPUTS; index++) {
        Tensor *output = NULL;
        TRY(kernel_output(context, index, context->node->output_dtypes[index], &shapes[index], &output));
        size_t size = tensor_byte_size(output);
        int error = size == 0 ? 0 : (int)cudaMemsetAsync(output->data, 0, size, cuda_stream(context));
        TRY(cuda_check(context->call, error, "clearing the output of an Svd"));
    }
    return STATUS_OK;
}

/* Describes the matrices, of which there are some with elements. */
static CudaSvd
describe(const KernelContext *context, bool has_bases)
{
    const Tensor *input = &context->inputs[0];
    const Shape *shape = &input->shape;
    int64_t rows = shape->dims[shape->rank - 2];
    int64_t columns = shape->dims[shape->rank - 1];
    bool is_turned = rows < columns;
    const Tensor *longer = &context->outputs[is_turned ? RIGHT : LEFT];
    return (CudaSvd){
        .input = input->data,
        .values = context->outputs[VALUES].data,
        .longer = has_bases ? longer->data : NULL,
        .shorter = has_bases ? context->outputs[is_turned ? LEFT : RIGHT].data : NULL,
        .count = tensor_element_count(input) / (rows * columns),
        .rows = is_turned ? columns : rows,
        .columns = is_turned ? rows : columns,
        .basis = has_bases   ? longer->shape.dims[longer->shape.rank - 1]
                 : is_turned ? rows
                             : columns,
        .is_turned = is_turned,
    };
}

static Status
compute_svd(KernelContext *context)
{
    AUTO_TENSOR room = {0};
    TRY(make_outputs(context));
    if (tensor_element_count(&context->inputs[0]) == 0) {
        return STATUS_OK;
    }
    CudaSvd svd = describe(context, node_attr_bool(context->node, "compute_uv"));
    int64_t numbers = cuda_svd_room(&svd);
    svd.abreast = count_abreast(svd.count, (size_t)numbers * sizeof(double));
    Shape shape = shape_vector(svd.abreast * numbers);
    TRY(scratch_new(context, DTYPE_FLOAT64, &shape, &room));
    svd.room = room.data;
    int error = cuda_svd(cuda_type(context->inputs[0].dtype), &svd, cuda_stream(context));
    return cuda_check(context->call, error, "an Svd kernel");
}

static const Kernel svd_kernels[] = {
    {.op = "Svd", .supports = supports_wide_floats, .compute = compute_svd},
};

KERNEL_FAMILY(cuda_kernels, svd, svd_kernels);
