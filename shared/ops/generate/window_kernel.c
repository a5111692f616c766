/* Windows of signals: a sum of cosines of the part of the window that has passed. */
#include <math.h>

#include "worker/reference/cast.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

/* The weights of the cosines of 0, 1 and 2 turns. */
static const struct {
    const char *op;
    double weights[3];
} WINDOWS[] = {
    {"onnx::HannWindow", {0.5, -0.5, 0}},
    {"onnx::HammingWindow", {25.0 / 46.0, -21.0 / 46.0, 0}},
    {"onnx::BlackmanWindow", {0.42, -0.5, 0.08}},
};

static Status
window_compute(KernelContext *context)
{
    static const double TURN = 6.283185307179586;
    Shape shape;
    AUTO_TENSOR values = {0};
    const double *weights = WINDOWS[0].weights;
    TRY(output_shapes(context, &shape));
    TRY(scratch_new(context, DTYPE_FLOAT64, &shape, &values));
    for (size_t index = 0; index < COUNT_OF(WINDOWS); index++) {
        if (slice_equals_string(context->node->op->name, WINDOWS[index].op)) {
            weights = WINDOWS[index].weights;
        }
    }
    int64_t size = shape.dims[0];
    double length = node_attr_int(context->node, "periodic") != 0 ? (double)size : (double)size - 1;
    for (int64_t n = 0; n < size; n++) {
        double angle = length > 0 ? TURN * (double)n / length : 0;
        ((double *)values.data)[n] = weights[0] + weights[1] * cos(angle) + weights[2] * cos(2 * angle);
    }
    return scratch_finish(context, 0, &values);
}

static bool
window_supports(const Node *node)
{
    return dtype_is_integer(node->input_dtypes[0]) && cast_supports(DTYPE_FLOAT64, node->output_dtypes[0]);
}

#define WINDOW(name)                                                                                         \
    {                                                                                                        \
        .op = (name), .supports = window_supports, .compute = window_compute, .host_inputs = 1               \
    }

static const Kernel window_kernels[] = {
    WINDOW("onnx::HannWindow"),
    WINDOW("onnx::HammingWindow"),
    WINDOW("onnx::BlackmanWindow"),
};

KERNEL_FAMILY(reference, generate_window, window_kernels);
