/* The largest or smallest elements of lines, and the one at a place in their order. The ops' own rules check
 * shapes. */
#include "worker/cuda/kernels/order.h"

#include "worker/cuda/errors.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/abreast.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

static bool
supports_numbers(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]) || dtype_is_integer(node->input_dtypes[0]);
}

static bool
supports_top_k(const Node *node)
{
    return supports_numbers(node) &&
           (node->output_dtypes[1] == DTYPE_INT32 || node->output_dtypes[1] == DTYPE_INT64);
}

/* Makes room, and launches. */
static Status
run_sort(KernelContext *context, CudaSort *sort)
{
    const Tensor *input = &context->inputs[0];
    AUTO_TENSOR places = {0};
    int64_t lines = sort->outer * sort->inner;
    if (lines * sort->count == 0) {
        return STATUS_OK;
    }
    int64_t room = cuda_sort_places(sort);
    sort->abreast = count_abreast(lines, (size_t)room * sizeof(CudaPlace));
    Shape shape = shape_vector(sort->abreast * room * (int64_t)sizeof(CudaPlace));
    TRY(scratch_new(context, DTYPE_UINT8, &shape, &places));
    sort->places = places.data;
    sort->input = input->data;
    int error = cuda_sort(cuda_type(input->dtype), sort, cuda_stream(context));
    return cuda_check(context->call, error, "a sort");
}

static Status
run_top_k(KernelContext *context, int64_t axis, bool is_largest_first, bool is_sorted)
{
    const Tensor *input = &context->inputs[0];
    Shape shapes[2];
    Tensor *values = NULL;
    Tensor *indices = NULL;
    TRY(output_shapes(context, shapes));
    TRY(kernel_output(context, 0, input->dtype, &shapes[0], &values));
    TRY(kernel_output(context, 1, context->node->output_dtypes[1], &shapes[1], &indices));
    int dimension = (int)(axis < 0 ? axis + input->shape.rank : axis);
    Lines lines = lines_along(&input->shape, dimension);
    CudaSort sort = {
        .values = values->data,
        .indices = indices->data,
        .outer = lines.outer,
        .size = lines.size,
        .inner = lines.inner,
        .count = shapes[0].dims[dimension],
        .is_largest_first = is_largest_first,
        .keeps_heap = !is_sorted,
        .is_wide = indices->dtype == DTYPE_INT64,
    };
    return run_sort(context, &sort);
}

static Status
top_k_compute(KernelContext *context)
{
    return run_top_k(context, -1, true, node_attr_bool(context->node, "sorted"));
}

static Status
onnx_top_k_compute(KernelContext *context)
{
    const Node *node = context->node;
    return run_top_k(context, node_attr_int(node, "axis"), node_attr_int(node, "largest") != 0, true);
}

static Status
nth_element_compute(KernelContext *context)
{
    const Shape *shape = &context->inputs[0].shape;
    int64_t position = 0;
    size_t count = 0;
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    TRY(kernel_input_ints(context, 1, &position, 1, &count));
    Lines lines = lines_along(shape, shape->rank - 1);
    CudaSort sort = {
        .values = output->data,
        .outer = lines.outer,
        .size = lines.size,
        .inner = lines.inner,
        .first = node_attr_bool(context->node, "reverse") ? lines.size - 1 - position : position,
        .count = 1,
    };
    return run_sort(context, &sort);
}

static const Kernel order_kernels[] = {
    {.op = "TopK", .supports = supports_top_k, .compute = top_k_compute},
    {.op = "TopKV2", .supports = supports_top_k, .compute = top_k_compute, .host_inputs = 1 << 1},
    {.op = "onnx::TopK", .supports = supports_top_k, .compute = onnx_top_k_compute, .host_inputs = 1 << 1},
    {.op = "NthElement", .supports = supports_numbers, .compute = nth_element_compute, .host_inputs = 1 << 1},
};

KERNEL_FAMILY(cuda_kernels, order, order_kernels);
