/* The different slices along an axis, in the order of their first appearance, by the rules of the reference
 * kernels (shared/ops/count). */
#include "worker/cuda/kernels/unique.h"

#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/chosen.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/counted.h"
#include "worker/cuda/operands/taken.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"

enum { PLACES, EQUALS, TILES }; /* of Counting.kept */

static bool
supports_unique(const Node *node)
{
    return cuda_type(node->input_dtypes[0]) != CUDA_INVALID &&
           (node->output_dtypes[1] == DTYPE_INT32 || node->output_dtypes[1] == DTYPE_INT64);
}

/* Reads the axis, 0 where none is given. */
static Status
read_axis(KernelContext *context, int *ret_axis)
{
    Shape shapes[3];
    int64_t axis = 0;
    size_t count = 0;
    TRY(output_rule(context, shapes));
    if (context->input_count > 1) {
        TRY(kernel_input_ints(context, 1, &axis, 1, &count));
    }
    *ret_axis = (int)(axis < 0 ? axis + context->inputs[0].shape.rank : axis);
    return STATUS_OK;
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
    const Tensor *input = &context->inputs[0];
    Tensor *kept = counting->kept;
    int axis = 0;
    TRY(read_axis(context, &axis));
    Lines lines = lines_along(&input->shape, axis);
    CudaSlices slices = {.data = input->data,
        .type = cuda_type(input->dtype),
        .outer = lines.outer,
        .size = lines.size,
        .inner = lines.inner};
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

/* Makes the indices, and the counts where they are wanted. */
static Status
number_slices(Counting *counting, const Tensor *found, const Tensor *numbers)
{
    KernelContext *context = counting->context;
    Shape by_slice = counting->kept[EQUALS].shape;
    Shape by_number = shape_vector(*counting->counted);
    Tensor *indices = NULL;
    Tensor *counts = NULL;
    TRY(kernel_output(context, 1, context->node->output_dtypes[1], &by_slice, &indices));
    if (context->output_count > 2) {
        TRY(kernel_output(context, 2, context->node->output_dtypes[2], &by_number, &counts));
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

static Status
fill_unique(Counting *counting)
{
    KernelContext *context = counting->context;
    const Tensor *input = &context->inputs[0];
    int64_t count = *counting->counted;
    Tensor *output = NULL;
    AUTO_TENSOR found = {0};
    AUTO_TENSOR numbers = {0};
    int axis = 0;
    TRY(read_axis(context, &axis));
    Lines lines = lines_along(&input->shape, axis);
    Shape shape = input->shape;
    shape.dims[axis] = count;
    TRY(kernel_output(context, 0, input->dtype, &shape, &output));
    TRY(counted_numbers(context, count, &found));
    TRY(counted_numbers(context, lines.size, &numbers));
    CudaChosen firsts = firsts_of(counting);
    int error = count == 0 ? cudaSuccess : cuda_write_chosen(&firsts, found.data, cuda_stream(context));
    TRY(cuda_check(context->call, error, "a search for slices"));
    TRY(number_slices(counting, &found, &numbers));
    return cuda_take_rows(context, input, &lines, &found, count, output);
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
};

KERNEL_FAMILY(cuda_kernels, unique, unique_kernels);
