/* Running sums of float32 in double, with the reference kernel's bits: columns side by side are summed
 * together, and threads share them. */
#include "worker/cpu/sizes.h"
#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

enum {
    COLUMNS = 256,               /* that are summed at once; their sums stay in the nearest cache */
    SHARED_ELEMENTS = 32 * 1024, /* fewer are not worth handing to another thread */
};

typedef struct RunningSum {
    const float *x;
    float *z;
    Lines lines;
    bool is_exclusive; /* each result leaves out its own element */
    bool is_reverse;
    int64_t across; /* pieces of a line's columns */
    int64_t part;   /* pieces that a thread takes at once */
} RunningSum;

VECTOR_FUNCTION void
sum_columns_body(const float *x, float *z, const RunningSum *running, int64_t columns)
{
    double sums[COLUMNS] = {0};
    for (int64_t n = 0; n < running->lines.size; n++) {
        int64_t row = (running->is_reverse ? running->lines.size - 1 - n : n) * running->lines.inner;
        if (running->is_exclusive) {
            VECTOR_LOOP for (int64_t column = 0; column < columns; column++)
            {
                double a = (double)x[row + column];
                z[row + column] = (float)sums[column];
                sums[column] += a;
            }
        } else {
            VECTOR_LOOP for (int64_t column = 0; column < columns; column++)
            {
                sums[column] += (double)x[row + column];
                z[row + column] = (float)sums[column];
            }
        }
    }
}
VECTOR_VARIANTS(sum_columns, (const float *x, float *z, const RunningSum *running, int64_t columns),
    (x, z, running, columns))

static void
sum_pieces(void *context, int64_t index)
{
    const RunningSum *running = context;
    const Lines *lines = &running->lines;
    int64_t end = smaller_of((index + 1) * running->part, lines->outer * running->across);
    for (int64_t piece = index * running->part; piece < end; piece++) {
        int64_t column = piece % running->across * COLUMNS;
        int64_t first = piece / running->across * lines->size * lines->inner + column;
        sum_columns(
            running->x + first, running->z + first, running, smaller_of(COLUMNS, lines->inner - column));
    }
}

static Status
compute_sums(KernelContext *context, bool is_exclusive, bool is_reverse)
{
    const Tensor *input = &context->inputs[0];
    int64_t axis = 0;
    size_t count = 0;
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    TRY(kernel_input_ints(context, 1, &axis, 1, &count));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    RunningSum running = {
        .x = input->data,
        .z = output->data,
        .lines = lines_along(&input->shape, (int)(axis < 0 ? axis + input->shape.rank : axis)),
        .is_exclusive = is_exclusive,
        .is_reverse = is_reverse,
    };
    running.across = divide_up(running.lines.inner, COLUMNS);
    int64_t work = running.lines.size * smaller_of(running.lines.inner, COLUMNS);
    running.part = divide_up(SHARED_ELEMENTS, work);
    context->device->parallel_for(
        context->device, divide_up(running.lines.outer * running.across, running.part), sum_pieces, &running);
    return STATUS_OK;
}

static Status
sum_compute(KernelContext *context)
{
    const Node *node = context->node;
    return compute_sums(context, node_attr_bool(node, "exclusive"), node_attr_bool(node, "reverse"));
}

static Status
onnx_sum_compute(KernelContext *context)
{
    const Node *node = context->node;
    return compute_sums(context, node_attr_int(node, "exclusive") != 0, node_attr_int(node, "reverse") != 0);
}

static bool
supports_float(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32;
}

static const Kernel running_sum_kernels[] = {
    {.op = "Cumsum", .supports = supports_float, .compute = sum_compute, .host_inputs = 1 << 1},
    {.op = "onnx::CumSum", .supports = supports_float, .compute = onnx_sum_compute, .host_inputs = 1 << 1},
};

KERNEL_FAMILY(cpu_kernels, running_sum, running_sum_kernels);
