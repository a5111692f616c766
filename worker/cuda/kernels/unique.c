/* The different slices along an axis, in the order of their first appearance or of their elements, by the
 * rules of the reference kernels (shared/ops/count). */
#include "worker/cuda/kernels/unique.h"

#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/chosen.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/counted.h"
#include "worker/cuda/operands/taken.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"

enum { PLACES, EQUALS, TILES }; /* of Counting.kept */
enum { OUTPUTS_MAX = 4 };

static bool
supports_unique(const Node *node)
{
    return cuda_type(node->input_dtypes[0]) != CUDA_INVALID &&
           (node->output_dtypes[1] == DTYPE_INT32 || node->output_dtypes[1] == DTYPE_INT64);
}

static bool
supports_onnx_unique(const Node *node)
{
    return cuda_type(node->input_dtypes[0]) != CUDA_INVALID;
}

static bool
is_onnx(const KernelContext *context)
{
    return node_attr(context->node, "axis") != NULL;
}

/* Reads the axis: an attribute of ONNX's op, INT64_MIN where elements are told apart; UniqueV2's is an input,
 * and Unique's is 0. */
static Status
read_axis(KernelContext *context, int64_t *ret_axis)
{
    size_t count = 0;
    *ret_axis = is_onnx(context) ? node_attr_int(context->node, "axis") : 0;
    return context->input_count > 1 ? kernel_input_ints(context, 1, ret_axis, 1, &count) : STATUS_OK;
}

/* Reads how the slices lie, and the shape of what is found, but for its dimension *ret_axis. */
static Status
read_slices(KernelContext *context, Lines *ret_lines, Shape *ret_shape, int *ret_axis)
{
    const Tensor *input = &context->inputs[0];
    Shape shapes[OUTPUTS_MAX];
    int64_t axis = 0;
    TRY(output_rule(context, shapes));
    TRY(read_axis(context, &axis));
    if (axis == INT64_MIN) {
        *ret_lines = (Lines){.outer = 1, .size = tensor_element_count(input), .inner = 1};
        *ret_shape = shape_vector(ret_lines->size);
        *ret_axis = 0;
        return STATUS_OK;
    }
    *ret_axis = (int)(axis < 0 ? axis + input->shape.rank : axis);
    *ret_lines = lines_along(&input->shape, *ret_axis);
    *ret_shape = input->shape;
    return STATUS_OK;
}

static CudaSlices
slices_of(const Tensor *input, const Lines *lines)
{
    return (CudaSlices){.data = input->data,
        .type = cuda_type(input->dtype),
        .outer = lines->outer,
        .size = lines->size,
        .inner = lines->inner};
}

/* The slices that are the first of their kind: those that equal themselves. */
static CudaChosen
firsts_of(const Counting *counting)
{
    const Tensor *equals = &counting->kept[EQUALS];
    return (CudaChosen){.data = equals->data,
        .type = CUDA_INT64,
        .rule = CUDA_CHOSEN_OWN,
        .count = tensor_element_count(equals),
        .tiles = counting->kept[TILES].data};
}

static Status
count_unique(Counting *counting)
{
    KernelContext *context = counting->context;
    Tensor *kept = counting->kept;
    Lines lines;
    Shape shape;
    int axis = 0;
    TRY(read_slices(context, &lines, &shape, &axis));
    CudaSlices slices = slices_of(&context->inputs[0], &lines);
    Shape room = shape_vector(cuda_sort_room(lines.size) * (int64_t)sizeof(CudaPlace));
    TRY(counting_begin(counting, 1));
    TRY(scratch_new(context, DTYPE_UINT8, &room, &kept[PLACES]));
    TRY(counted_numbers(context, lines.size, &kept[EQUALS]));
    TRY(counted_numbers(context, cuda_chosen_tiles(lines.size), &kept[TILES]));
    if (lines.size == 0) {
        return STATUS_OK;
    }
    CudaChosen firsts = firsts_of(counting);
    cudaStream_t stream = cuda_stream(context);
    int error = cuda_find_equal(&slices, kept[PLACES].data, kept[EQUALS].data, stream);
    TRY(cuda_check(context->call, error, "a search for equal slices"));
    error = cuda_count_chosen(&firsts, counting->counts.data, stream);
    return cuda_check(context->call, error, "a count of slices");
}

/* Makes the indices, which are output `index`, and the counts behind them, where they are wanted. */
static Status
number_slices(Counting *counting, const Tensor *found, const Tensor *numbers, uint32_t index)
{
    KernelContext *context = counting->context;
    if (context->output_count <= index) {
        return STATUS_OK;
    }
    Shape by_slice = counting->kept[EQUALS].shape;
    Shape by_number = shape_vector(*counting->counted);
    Tensor *indices = NULL;
    Tensor *counts = NULL;
    TRY(kernel_output(context, index, context->node->output_dtypes[index], &by_slice, &indices));
    if (context->output_count > index + 1) {
        TRY(kernel_output(context, index + 1, context->node->output_dtypes[index + 1], &by_number, &counts));
    }
    CudaNumbering numbering = {
        .firsts = found->data,
        .count = *counting->counted,
        .equals = counting->kept[EQUALS].data,
        .size = by_slice.dims[0],
        .numbers = numbers->data,
        .indices = indices->data,
        .counts = counts == NULL ? NULL : counts->data,
        .is_wide = indices->dtype == DTYPE_INT64,
    };
    int error = numbering.size == 0 ? cudaSuccess : cuda_number_slices(&numbering, cuda_stream(context));
    return cuda_check(context->call, error, "the numbers of slices");
}

/* Finds the slices in the order of the input or, where ONNX's node says so, of their elements. */
static Status
find_firsts(Counting *counting, const Lines *lines, Tensor *ret_found)
{
    KernelContext *context = counting->context;
    int64_t count = *counting->counted;
    CudaChosen firsts = firsts_of(counting);
    CudaSlices slices = slices_of(&context->inputs[0], lines);
    TRY(counted_numbers(context, count, ret_found));
    int error = count == 0 ? cudaSuccess : cuda_write_chosen(&firsts, ret_found->data, cuda_stream(context));
    if (error == cudaSuccess && count > 0 && is_onnx(context) &&
        node_attr_int(context->node, "sorted") != 0) {
        error = cuda_order_slices(
            &slices, counting->kept[PLACES].data, ret_found->data, count, cuda_stream(context));
    }
    return cuda_check(context->call, error, "a search for slices");
}

/* Makes output 1 of ONNX's op: where each slice is first. */
static Status
write_firsts(KernelContext *context, const Tensor *found)
{
    Tensor *output = NULL;
    if (context->output_count < 2) {
        return STATUS_OK;
    }
    TRY(kernel_output(context, 1, found->dtype, &found->shape, &output));
    int error = output->data == NULL
                    ? cudaSuccess
                    : (int)cudaMemcpyAsync(output->data, found->data, tensor_byte_size(found),
                          cudaMemcpyDeviceToDevice, cuda_stream(context));
    return cuda_check(context->call, error, "a copy of numbers");
}

static Status
fill_unique(Counting *counting)
{
    KernelContext *context = counting->context;
    Tensor *output = NULL;
    AUTO_TENSOR found = {0};
    AUTO_TENSOR numbers = {0};
    Lines lines;
    Shape shape;
    int axis = 0;
    TRY(read_slices(context, &lines, &shape, &axis));
    shape.dims[axis] = *counting->counted;
    TRY(kernel_output(context, 0, context->inputs[0].dtype, &shape, &output));
    TRY(counted_numbers(context, lines.size, &numbers));
    TRY(find_firsts(counting, &lines, &found));
    if (is_onnx(context)) {
        TRY(write_firsts(context, &found));
    }
    TRY(number_slices(counting, &found, &numbers, is_onnx(context) ? 2 : 1));
    return cuda_take_rows(context, &context->inputs[0], &lines, &found, *counting->counted, output);
}

static void
start_unique(KernelPromise *promise)
{
    static const CountedKernel kernel = {.count = count_unique, .fill = fill_unique};
    counted_start(promise, &kernel);
}

static const Kernel unique_kernels[] = {
    {.op = "Unique", .supports = supports_unique, .start = start_unique},
    {.op = "UniqueV2", .supports = supports_unique, .start = start_unique, .host_inputs = 1 << 1},
    {.op = "UniqueWithCounts", .supports = supports_unique, .start = start_unique},
    {.op = "UniqueWithCountsV2", .supports = supports_unique, .start = start_unique, .host_inputs = 1 << 1},
    {.op = "onnx::Unique", .supports = supports_onnx_unique, .start = start_unique},
};

KERNEL_FAMILY(cuda_kernels, unique, unique_kernels);
