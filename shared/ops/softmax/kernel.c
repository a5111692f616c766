/* Softmax and its relatives along one dimension: the largest score is subtracted first. */
#include <math.h>

#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/softmax.h"

/* Replaces `count` scores that are `step` apart. */
typedef void (*LineFunction)(double *scores, int64_t count, int64_t step);

static double
largest_of(const double *scores, int64_t count, int64_t step)
{
    double largest = -(double)INFINITY;
    for (int64_t n = 0; n < count; n++) {
        largest = scores[n * step] > largest ? scores[n * step] : largest;
    }
    return largest;
}

static double
sum_of_exponentials(const double *scores, int64_t count, int64_t step, double largest)
{
    double sum = 0;
    for (int64_t n = 0; n < count; n++) {
        sum += exp(scores[n * step] - largest);
    }
    return sum;
}

static void
log_softmax_line(double *scores, int64_t count, int64_t step)
{
    double largest = largest_of(scores, count, step);
    double logarithm = log(sum_of_exponentials(scores, count, step, largest));
    for (int64_t n = 0; n < count; n++) {
        scores[n * step] = scores[n * step] - largest - logarithm;
    }
}

/* Writes 1 for the first of the largest scores, 0 for the others. */
static void
hardmax_line(double *scores, int64_t count, int64_t step)
{
    double largest = largest_of(scores, count, step);
    bool is_found = false;
    for (int64_t n = 0; n < count; n++) {
        bool is_chosen = !is_found && scores[n * step] == largest;
        is_found = is_found || is_chosen;
        scores[n * step] = is_chosen ? 1 : 0;
    }
}

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

static Status
compute_lines(KernelContext *context, int64_t axis, LineFunction function)
{
    Shape shape;
    TRY(output_shapes(context, &shape));
    AUTO_TENSOR scores = {0};
    TRY(scratch_cast(context, &context->inputs[0], DTYPE_FLOAT64, &scores));
    Lines lines = lines_along(&shape, (int)(axis < 0 ? axis + shape.rank : axis));
    if (tensor_element_count(&scores) == 0) {
        return scratch_finish(context, 0, &scores); /* the other dimensions may be of any size */
    }
    for (int64_t outer = 0; outer < lines.outer; outer++) {
        for (int64_t inner = 0; inner < lines.inner; inner++) {
            double *line = (double *)scores.data + outer * lines.size * lines.inner + inner;
            function(line, lines.size, lines.inner);
        }
    }
    return scratch_finish(context, 0, &scores);
}

static Status
softmax_compute(KernelContext *context)
{
    return compute_lines(context, -1, softmax_line);
}

static Status
log_softmax_compute(KernelContext *context)
{
    return compute_lines(context, -1, log_softmax_line);
}

static Status
onnx_softmax_compute(KernelContext *context)
{
    return compute_lines(context, node_attr_int(context->node, "axis"), softmax_line);
}

static Status
onnx_log_softmax_compute(KernelContext *context)
{
    return compute_lines(context, node_attr_int(context->node, "axis"), log_softmax_line);
}

static Status
hardmax_compute(KernelContext *context)
{
    return compute_lines(context, node_attr_int(context->node, "axis"), hardmax_line);
}

static const Kernel softmax_kernels[] = {
    {.op = "Softmax", .supports = supports_floats, .compute = softmax_compute, .wide_inputs = 1},
    {.op = "LogSoftmax", .supports = supports_floats, .compute = log_softmax_compute, .wide_inputs = 1},
    {.op = "onnx::Softmax", .supports = supports_floats, .compute = onnx_softmax_compute, .wide_inputs = 1},
    {.op = "onnx::LogSoftmax",
        .supports = supports_floats,
        .compute = onnx_log_softmax_compute,
        .wide_inputs = 1},
    {.op = "onnx::Hardmax", .supports = supports_floats, .compute = hardmax_compute, .wide_inputs = 1},
};

KERNEL_FAMILY(reference, softmax, softmax_kernels);
