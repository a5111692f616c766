/* onnx::Resize, one dimension after the other: an element of the output is a sum of weighted neighbours along
 * the dimension, in double; with the mode 'nearest' it is one of them, of any dtype, copied. */
#include "shared/ops/resize/neighbours_rule.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

/* Sums the weighted lines of one dimension. */
static void
interpolate(
    const ResizeNeighbours *neighbours, const double *from, const Lines *lines, int64_t size, double *to)
{
    for (int64_t outer = 0; outer < lines->outer; outer++) {
        for (int64_t index = 0; index < size; index++) {
            double *line = &to[(outer * size + index) * lines->inner];
            const double *weights = &neighbours->weights[index * neighbours->count];
            memset(line, 0, (size_t)lines->inner * sizeof *line);
            for (int64_t n = 0; n < neighbours->count; n++) {
                int64_t source = neighbour_inside(neighbours->firsts[index] + n, lines->size);
                const double *neighbour = &from[(outer * lines->size + source) * lines->inner];
                for (int64_t inner = 0; weights[n] != 0 && inner < lines->inner; inner++) {
                    line[inner] += weights[n] * neighbour[inner];
                }
            }
        }
    }
}

/* Lines that are copied: line `index` of the output is line sources[index] of the input. */
typedef struct Choice {
    const int64_t *sources;
    const char *from;
    char *to;
    const Lines *lines;
    int64_t size;  /* of the output's dimension */
    size_t width;  /* bytes of an element */
    bool doubles;  /* each line is copied twice */
    int64_t outer; /* lines->outer that a thread copies at once */
} Choice;

#define CHOOSE_ELEMENTS(storage)                                                                             \
    static void choose_##storage(const Choice *choice, int64_t outer)                                        \
    {                                                                                                        \
        const storage *from = (const storage *)(const void *)choice->from + outer * choice->lines->size;     \
        storage *to = (storage *)(void *)choice->to + outer * choice->size;                                  \
        for (int64_t index = 0; choice->doubles && index < choice->lines->size; index++) {                   \
            to[2 * index] = from[index];                                                                     \
            to[2 * index + 1] = from[index];                                                                 \
        }                                                                                                    \
        for (int64_t index = 0; !choice->doubles && index < choice->size; index++) {                         \
            to[index] = from[choice->sources[index]];                                                        \
        }                                                                                                    \
    }

CHOOSE_ELEMENTS(uint8_t)
CHOOSE_ELEMENTS(uint16_t)
CHOOSE_ELEMENTS(uint32_t)
CHOOSE_ELEMENTS(uint64_t)

static void
choose_lines(const Choice *choice, int64_t outer)
{
    size_t line = (size_t)choice->lines->inner * choice->width;
    for (int64_t index = 0; index < choice->size; index++) {
        int64_t source = outer * choice->lines->size + choice->sources[index];
        memcpy(choice->to + (size_t)(outer * choice->size + index) * line,
            choice->from + (size_t)source * line, line);
    }
}

static void
choose_part(void *context, int64_t part)
{
    enum { WIDTH_MAX = 8 };
    static void (*const loops[WIDTH_MAX + 1])(const Choice *choice, int64_t outer) = {
        [1] = choose_uint8_t, [2] = choose_uint16_t, [4] = choose_uint32_t, [8] = choose_uint64_t};
    const Choice *choice = context;
    bool is_single = choice->lines->inner == 1 && choice->width <= WIDTH_MAX && loops[choice->width] != NULL;
    int64_t end = (part + 1) * choice->outer;
    for (int64_t outer = part * choice->outer; outer < end && outer < choice->lines->outer; outer++) {
        (is_single ? loops[choice->width] : choose_lines)(choice, outer);
    }
}

/* Copies the one neighbour of each element whose weight is 1. */
static Status
choose(KernelContext *context, const ResizeNeighbours *neighbours, const Lines *lines, const Tensor *from,
    Tensor *to, int64_t size)
{
    enum { SHARED_BYTES = 64 * 1024 }; /* fewer are not worth handing to another thread */
    int64_t *sources = arena_alloc(context->call->arena, (size_t)size * sizeof *sources);
    if (sources == NULL) {
        return call_fail_memory(context->call, "the sources of resized elements");
    }
    bool doubles = size == 2 * lines->size;
    for (int64_t index = 0; index < size; index++) {
        bool is_right = neighbours->weights[index * neighbours->count] == 0;
        sources[index] = neighbour_inside(neighbours->firsts[index] + (is_right ? 1 : 0), lines->size);
        doubles = doubles && sources[index] == index / 2;
    }
    Choice choice = {.sources = sources,
        .from = from->data,
        .to = to->data,
        .lines = lines,
        .size = size,
        .width = dtype_size(to->dtype),
        .doubles = doubles};
    int64_t bytes = size * lines->inner * (int64_t)choice.width;
    choice.outer = bytes >= SHARED_BYTES ? 1 : SHARED_BYTES / bytes;
    context->device->parallel_for(
        context->device, (lines->outer + choice.outer - 1) / choice.outer, choose_part, &choice);
    return STATUS_OK;
}

/* Sets what a crop asks for outside of the input. */
static void
extrapolate(const ResizeNeighbours *neighbours, const Lines *lines, int64_t size, double value, double *to)
{
    for (int64_t line = 0; line < lines->outer * size; line++) {
        for (int64_t inner = 0; neighbours->is_outside[line % size] && inner < lines->inner; inner++) {
            to[line * lines->inner + inner] = value;
        }
    }
}

/* A resized tensor on its way: of the input's dtype, or widened to double. */
typedef struct Resizing {
    const ResizePlan *plan;
    ResizeFilter filter;
    bool is_copied;
    double extrapolation;
} Resizing;

static Status
resize_dimension(KernelContext *context, const Resizing *resizing, int dimension, Tensor *tensor)
{
    const ResizePlan *plan = resizing->plan;
    int64_t size = plan->output.dims[dimension];
    ResizeFilter filter = resizing->filter;
    ResizeNeighbours neighbours;
    Shape shape = tensor->shape;
    shape.dims[dimension] = size;
    resize_antialias(plan, dimension, &filter);
    TRY(resize_neighbours(
        context->call, plan, &filter, tensor->shape.dims[dimension], dimension, &neighbours));
    AUTO_TENSOR resized = {0};
    TRY(scratch_new(context, tensor->dtype, &shape, &resized));
    Lines lines = lines_along(&tensor->shape, dimension);
    if (resizing->is_copied) {
        TRY(choose(context, &neighbours, &lines, tensor, &resized, size));
    } else {
        interpolate(&neighbours, tensor->data, &lines, size, resized.data);
        extrapolate(&neighbours, &lines, size, resizing->extrapolation, resized.data);
    }
    tensor_unref(tensor);
    *tensor = tensor_ref(&resized);
    return STATUS_OK;
}

/* A mode that copies begins with the last dimension: its elements are copied one by one, and there are fewest
 * of them before the other dimensions grow. */
static Status
resize_all(KernelContext *context, const Resizing *resizing, Tensor *tensor)
{
    const ResizePlan *plan = resizing->plan;
    for (int index = 0; index < plan->output.rank; index++) {
        int dimension = resizing->is_copied ? plan->output.rank - 1 - index : index;
        if (resize_changes(plan, dimension)) {
            TRY(resize_dimension(context, resizing, dimension, tensor));
        }
    }
    return STATUS_OK;
}

static Status
onnx_resize_compute(KernelContext *context)
{
    KernelInference inference;
    ResizePlan plan;
    kernel_inference(context, NULL, &inference);
    TRY(resize_read(context->call, &inference.context, &plan));
    Resizing resizing = {
        .plan = &plan, .extrapolation = (double)node_attr_float(context->node, "extrapolation_value")};
    TRY(resize_read_filter(context->call, context->node, &resizing.filter));
    int64_t count = 0;
    if (shape_element_count(&plan.output, &count) && count == 0) {
        Tensor *output = NULL;
        return kernel_output(context, 0, context->node->output_dtypes[0], &plan.output, &output);
    }
    resizing.is_copied = resizing.filter.mode == RESIZE_NEAREST && plan.place != RESIZE_CROP;
    if (resizing.is_copied) {
        AUTO_TENSOR tensor = tensor_ref(&context->inputs[0]);
        TRY(resize_all(context, &resizing, &tensor));
        context->outputs[0] = tensor_ref(&tensor);
        context->outputs[0].shape = plan.output;
        return STATUS_OK;
    }
    AUTO_TENSOR tensor = {0};
    TRY(scratch_cast(context, &context->inputs[0], DTYPE_FLOAT64, &tensor));
    TRY(resize_all(context, &resizing, &tensor));
    tensor.shape = plan.output;
    return scratch_finish(context, 0, &tensor);
}

/* Whatever is only copied may be of any dtype; numbers between others are real. */
static bool
onnx_resize_supports(const Node *node)
{
    bool is_nearest = slice_equals_string(node_attr_string(node, "mode"), "nearest");
    Dtype dtype = node->input_dtypes[0];
    return is_nearest ? dtype_is_copyable(dtype) : dtype_is_floating(dtype) || dtype_is_integer(dtype);
}

static const Kernel resize_kernels[] = {
    {.op = "onnx::Resize",
        .supports = onnx_resize_supports,
        .compute = onnx_resize_compute,
        .host_inputs = 14},
};

KERNEL_FAMILY(reference, resize, resize_kernels);
