/* onnx::Resize of the last two dimensions of float32, linear or cubic: a row of the output is a weighted sum
 * of the input's rows, and its elements are weighted sums of that row's. Each sum is one chain of
 * multiply-adds in the order of the neighbours. All else is left to the reference kernel. */
#include "shared/ops/resize/neighbours_rule.h"
#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

enum { SHARED_ELEMENTS = 16 * 1024 }; /* fewer are not worth handing to another thread */

/* One of the two dimensions that are resized. The neighbours of element n are sources[k × output + n], with
 * weights likewise. */
typedef struct Side {
    int64_t input;
    int64_t output;
    int64_t count; /* of neighbours; 0: the dimension stays as it is */
    const int32_t *sources;
    const float *weights;
} Side;

typedef struct Resize {
    const float *x;
    float *z;
    Side rows;
    Side columns;
    int64_t row_count; /* of the whole output */
    int64_t part;      /* rows that a thread takes at once */
    float *room;       /* a row of the input for each part */
} Resize;

/* Sums the weighted rows of a plane. */
VECTOR_FUNCTION void
mix_rows_body(const Resize *resize, const float *plane, int64_t row, float *mixed)
{
    const Side *rows = &resize->rows;
    int64_t width = resize->columns.input;
    for (int64_t n = 0; n < width; n++) {
        mixed[n] = 0;
    }
    for (int64_t k = 0; k < rows->count; k++) {
        float weight = rows->weights[k * rows->output + row];
        const float *source = plane + rows->sources[k * rows->output + row] * width;
        if (weight == 0) { /* whatever it is the weight of, which may be infinite */
            continue;
        }
        VECTOR_LOOP for (int64_t n = 0; n < width; n++)
        {
            mixed[n] = multiply_add(weight, source[n], mixed[n]);
        }
    }
}
VECTOR_VARIANTS(mix_rows, (const Resize *resize, const float *plane, int64_t row, float *mixed),
    (resize, plane, row, mixed))

/* Sums the weighted elements of a row. */
VECTOR_FUNCTION void
mix_elements_body(const Side *columns, const float *mixed, float *z)
{
    for (int64_t n = 0; n < columns->output; n++) {
        z[n] = 0;
    }
    for (int64_t k = 0; k < columns->count; k++) {
        const int32_t *sources = columns->sources + k * columns->output;
        const float *weights = columns->weights + k * columns->output;
        VECTOR_LOOP for (int64_t n = 0; n < columns->output; n++)
        {
            float sum = multiply_add(weights[n], mixed[sources[n]], z[n]);
            z[n] = weights[n] == 0 ? z[n] : sum;
        }
    }
}
VECTOR_VARIANTS(mix_elements, (const Side *columns, const float *mixed, float *z), (columns, mixed, z))

static void
resize_row(const Resize *resize, int64_t index, float *room)
{
    const Side *rows = &resize->rows;
    const Side *columns = &resize->columns;
    const float *plane = resize->x + index / rows->output * rows->input * columns->input;
    int64_t row = index % rows->output;
    float *z = resize->z + index * columns->output;
    const float *mixed = plane + row * columns->input;
    if (rows->count > 0) {
        float *target = columns->count > 0 ? room : z;
        mix_rows(resize, plane, row, target);
        mixed = target;
    }
    if (columns->count > 0) {
        mix_elements(columns, mixed, z);
    }
}

static void
resize_part(void *context, int64_t index)
{
    const Resize *resize = context;
    int64_t end = (index + 1) * resize->part;
    for (int64_t row = index * resize->part; row < end && row < resize->row_count; row++) {
        resize_row(resize, row, resize->room + index * resize->columns.input);
    }
}

/* Brings the neighbours of one dimension into the order in which they are read. */
static Status
fill_side(KernelContext *context, const ResizePlan *plan, ResizeFilter filter, int dimension, Side *side)
{
    Call *call = context->call;
    ResizeNeighbours neighbours;
    side->input = context->inputs[0].shape.dims[dimension];
    side->output = plan->output.dims[dimension];
    if (!resize_changes(plan, dimension)) {
        return STATUS_OK;
    }
    resize_antialias(plan, dimension, &filter);
    TRY(resize_neighbours(call, plan, &filter, side->input, dimension, &neighbours));
    side->count = neighbours.count;
    int32_t *sources = arena_alloc(call->arena, (size_t)(side->output * side->count) * sizeof *sources);
    float *weights = arena_alloc(call->arena, (size_t)(side->output * side->count) * sizeof *weights);
    if (sources == NULL || weights == NULL) {
        return call_fail_memory(call, "the weights of resized elements");
    }
    for (int64_t n = 0; n < side->output * side->count; n++) {
        int64_t k = n / side->output;
        int64_t element = n % side->output;
        sources[n] = (int32_t)neighbour_inside(neighbours.firsts[element] + k, side->input);
        weights[n] = (float)neighbours.weights[element * side->count + k];
    }
    side->sources = sources;
    side->weights = weights;
    return STATUS_OK;
}

/* Returns whether the plan asks for what is done here. */
static bool
is_plane(const ResizePlan *plan, const ResizeFilter *filter, const Shape *input)
{
    int64_t count = 0;
    bool is_changed = false;
    for (int dimension = 0; dimension < plan->output.rank; dimension++) {
        bool changes = resize_changes(plan, dimension);
        if (changes && dimension < plan->output.rank - 2) {
            return false;
        }
        is_changed = is_changed || changes;
    }
    return is_changed && plan->output.rank >= 2 && plan->place != RESIZE_CROP &&
           filter->mode != RESIZE_NEAREST && shape_element_count(&plan->output, &count) && count > 0 &&
           shape_element_count(input, &count) && count <= INT32_MAX;
}

static Status
resize_planes(KernelContext *context, const ResizePlan *plan, const ResizeFilter *filter)
{
    Tensor *output = NULL;
    AUTO_TENSOR room = {0};
    Resize resize = {.x = context->inputs[0].data};
    int last = plan->output.rank - 1;
    TRY(fill_side(context, plan, *filter, last - 1, &resize.rows));
    TRY(fill_side(context, plan, *filter, last, &resize.columns));
    TRY(kernel_output(context, 0, DTYPE_FLOAT32, &plan->output, &output));
    resize.z = output->data;
    resize.row_count = tensor_element_count(output) / resize.columns.output;
    resize.part = 1 + SHARED_ELEMENTS / resize.columns.output;
    int64_t parts = (resize.row_count + resize.part - 1) / resize.part;
    TRY(scratch_bytes(context, parts * resize.columns.input, sizeof(float), &room));
    resize.room = room.data;
    context->device->parallel_for(context->device, parts, resize_part, &resize);
    return STATUS_OK;
}

static Status
resize_compute(KernelContext *context)
{
    KernelInference inference;
    ResizePlan plan;
    ResizeFilter filter;
    kernel_inference(context, NULL, &inference);
    TRY(resize_read(context->call, &inference.context, &plan));
    TRY(resize_read_filter(context->call, context->node, &filter));
    return is_plane(&plan, &filter, &context->inputs[0].shape)
               ? resize_planes(context, &plan, &filter)
               : kernel_find_reference(context->node)->compute(context);
}

static bool
resize_supports(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32 &&
           !slice_equals_string(node_attr_string(node, "mode"), "nearest");
}

static const Kernel resize_kernels[] = {
    {.op = "onnx::Resize", .supports = resize_supports, .compute = resize_compute, .host_inputs = 14},
};

KERNEL_FAMILY(cpu_kernels, resize, resize_kernels);
