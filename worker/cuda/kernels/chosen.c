/* Elements and rows that are chosen by the values of elements, by the rules of the reference kernels
 * (shared/ops/order, gather, partition). */
#include "worker/cuda/kernels/chosen.h"

#include "worker/cuda/errors.h"
#include "worker/cuda/operands/counted.h"
#include "worker/cuda/operands/taken.h"
#include "worker/cuda/operands/types.h"
#include "worker/cuda/run.h"
#include "worker/reference/outputs.h"

enum { PARTS_MAX = 64, TILES = 0 /* of Counting.kept */ };

_Static_assert((int)CUDA_CHOSEN_RANK_MAX == (int)SHAPE_RANK_MAX, "coordinates hold every shape");

static CudaChosen
places_of(const Tensor *tensor)
{
    return (CudaChosen){
        .data = tensor->data, .type = cuda_type(tensor->dtype), .count = tensor_element_count(tensor)};
}

static Status
count_places(Counting *counting, CudaChosen *places)
{
    KernelContext *context = counting->context;
    TRY(counting_begin(counting, 1));
    TRY(counted_numbers(context, cuda_chosen_tiles(places->count), &counting->kept[TILES]));
    places->tiles = counting->kept[TILES].data;
    int error = cuda_count_chosen(places, counting->counts.data, cuda_stream(context));
    return cuda_check(context->call, error, "a count of elements");
}

/* Writes the places that were counted. */
static Status
find_places(KernelContext *context, const CudaChosen *places, int64_t count, Tensor *ret_found)
{
    TRY(counted_numbers(context, count, ret_found));
    int error = count == 0 ? cudaSuccess : cuda_write_chosen(places, ret_found->data, cuda_stream(context));
    return cuda_check(context->call, error, "a search for elements");
}

static bool
supports_where(const Node *node)
{
    return cuda_type(node->input_dtypes[0]) != CUDA_INVALID;
}

static Status
count_where(Counting *counting)
{
    CudaChosen places = places_of(&counting->context->inputs[0]);
    return count_places(counting, &places);
}

/* Coordinates stand in rows (TensorFlow), or in columns with a row for each dimension (ONNX). */
static Status
write_coordinates(Counting *counting, bool in_columns)
{
    KernelContext *context = counting->context;
    const Shape *shape = &context->inputs[0].shape;
    CudaChosen places = places_of(&context->inputs[0]);
    int64_t count = *counting->counted;
    AUTO_TENSOR found = {0};
    Tensor *output = NULL;
    Shape made = {.rank = 2, .dims = {in_columns ? shape->rank : count, in_columns ? count : shape->rank}};
    TRY(kernel_output(context, 0, DTYPE_INT64, &made, &output));
    places.tiles = counting->kept[TILES].data;
    TRY(find_places(context, &places, count, &found));
    CudaCoordinates coordinates = {
        .places = found.data,
        .to = output->data,
        .steps = {in_columns ? 1 : shape->rank, in_columns ? count : 1},
        .count = count,
        .rank = shape->rank,
    };
    for (int d = 0; d < shape->rank; d++) {
        coordinates.sizes[d] = shape->dims[d];
    }
    return cuda_check(context->call, cuda_coordinates(&coordinates, cuda_stream(context)), "coordinates");
}

static Status
fill_where(Counting *counting)
{
    return write_coordinates(counting, false);
}

static Status
fill_non_zero(Counting *counting)
{
    return write_coordinates(counting, true);
}

static bool
supports_compress(const Node *node)
{
    return dtype_is_copyable(node->input_dtypes[0]);
}

/* Without an axis elements are chosen; *ret_shape is that of the output but for the axis. */
static Lines
compressed_lines(const KernelContext *context, Shape *ret_shape, int *ret_axis)
{
    const Tensor *input = &context->inputs[0];
    int64_t given = node_attr_int(context->node, "axis");
    *ret_axis = 0;
    if (given == INT64_MIN) {
        *ret_shape = shape_vector(0);
        return (Lines){.outer = 1, .size = tensor_element_count(input), .inner = 1};
    }
    *ret_axis = (int)(given < 0 ? given + input->shape.rank : given);
    shape_copy(ret_shape, &input->shape);
    return lines_along(&input->shape, *ret_axis);
}

/* A condition that is longer than the axis may choose nothing there. */
static Status
count_compressed(Counting *counting)
{
    KernelContext *context = counting->context;
    CudaChosen places = places_of(&context->inputs[1]);
    Shape shape;
    int axis = 0;
    TRY(output_rule(context, &shape));
    Lines lines = compressed_lines(context, &shape, &axis);
    if (places.count > lines.size) {
        CudaBlame blame;
        TRY(cuda_blame(context, CUDA_REFUSES_SLICE, &blame));
        int error = cuda_refuse_chosen(&places, lines.size, &blame, cuda_stream(context));
        TRY(cuda_check(context->call, error, "a check of a condition"));
    }
    return count_places(counting, &places);
}

static Status
fill_compressed(Counting *counting)
{
    KernelContext *context = counting->context;
    CudaChosen places = places_of(&context->inputs[1]);
    Shape shape;
    int axis = 0;
    Lines lines = compressed_lines(context, &shape, &axis);
    AUTO_TENSOR found = {0};
    Tensor *output = NULL;
    shape.dims[axis] = *counting->counted;
    TRY(kernel_output(context, 0, context->inputs[0].dtype, &shape, &output));
    places.tiles = counting->kept[TILES].data;
    TRY(find_places(context, &places, *counting->counted, &found));
    return cuda_take_rows(context, &context->inputs[0], &lines, &found, *counting->counted, output);
}

/* Each part has its tiles. */
static bool
supports_parts(const Node *node)
{
    return dtype_is_copyable(node->output_dtypes[0]) && node->output_count <= PARTS_MAX;
}

static CudaChosen
part_of(const Counting *counting, uint32_t part)
{
    CudaChosen places = places_of(&counting->context->inputs[1]);
    places.rule = CUDA_CHOSEN_EQUAL;
    places.value = part;
    places.tiles = (int64_t *)counting->kept[TILES].data + part * cuda_chosen_tiles(places.count);
    return places;
}

static Status
count_parts(Counting *counting)
{
    KernelContext *context = counting->context;
    const Tensor *numbers = &context->inputs[1];
    Shape shapes[PARTS_MAX];
    int64_t count = tensor_element_count(numbers);
    int64_t part_count = context->output_count;
    CudaBlame blame;
    TRY(output_rule(context, shapes));
    TRY(counting_begin(counting, part_count));
    TRY(counted_numbers(context, part_count * cuda_chosen_tiles(count), &counting->kept[TILES]));
    TRY(cuda_blame(context, CUDA_REFUSES_PART, &blame));
    int error = cuda_refuse_numbers(numbers->data, count, part_count, &blame, cuda_stream(context));
    for (uint32_t part = 0; part < context->output_count && error == cudaSuccess; part++) {
        CudaChosen places = part_of(counting, part);
        error = cuda_count_chosen(&places, (int64_t *)counting->counts.data + part, cuda_stream(context));
    }
    return cuda_check(context->call, error, "a count of parts");
}

static Status
fill_part(Counting *counting, uint32_t part, const Shape *shape, const Lines *lines)
{
    KernelContext *context = counting->context;
    CudaChosen places = part_of(counting, part);
    int64_t count = counting->counted[part];
    AUTO_TENSOR found = {0};
    Tensor *output = NULL;
    TRY(kernel_output(context, part, context->inputs[0].dtype, shape, &output));
    TRY(find_places(context, &places, count, &found));
    return cuda_take_rows(context, &context->inputs[0], lines, &found, count, output);
}

/* The dimensions of the numbers are one in the data. */
static Status
fill_parts(Counting *counting)
{
    KernelContext *context = counting->context;
    const Shape *data = &context->inputs[0].shape;
    Lines lines = {.outer = 1, .size = tensor_element_count(&context->inputs[1]), .inner = 1};
    Shape shapes[PARTS_MAX];
    TRY(output_rule(context, shapes));
    for (int d = context->inputs[1].shape.rank; d < data->rank; d++) {
        lines.inner *= data->dims[d];
    }
    for (uint32_t part = 0; part < context->output_count; part++) {
        shapes[part].dims[0] = counting->counted[part];
        TRY(fill_part(counting, part, &shapes[part], &lines));
    }
    return STATUS_OK;
}

static void
start_where(KernelPromise *promise)
{
    static const CountedKernel kernel = {.count = count_where, .fill = fill_where};
    counted_start(promise, &kernel);
}

static void
start_non_zero(KernelPromise *promise)
{
    static const CountedKernel kernel = {.count = count_where, .fill = fill_non_zero};
    counted_start(promise, &kernel);
}

static void
start_compress(KernelPromise *promise)
{
    static const CountedKernel kernel = {.count = count_compressed, .fill = fill_compressed};
    counted_start(promise, &kernel);
}

static void
start_partition(KernelPromise *promise)
{
    static const CountedKernel kernel = {.count = count_parts, .fill = fill_parts};
    counted_start(promise, &kernel);
}

static const Kernel chosen_kernels[] = {
    {.op = "Where", .supports = supports_where, .start = start_where},
    {.op = "onnx::NonZero", .supports = supports_where, .start = start_non_zero},
    {.op = "onnx::Compress", .supports = supports_compress, .start = start_compress},
    {.op = "DynamicPartition", .supports = supports_parts, .start = start_partition},
};

KERNEL_FAMILY(cuda_kernels, chosen, chosen_kernels);
