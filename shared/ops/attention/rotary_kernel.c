/* ONNX's RotaryEmbedding, in double. */
#include "shared/ops/attention/rotary_rule.h"
#include "worker/reference/doubles.h"
#include "worker/reference/outputs.h"

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[ROTARY_INPUT]);
}

/* A pair (a, b) becomes (a × cos - b × sin, a × sin + b × cos). */
static void
rotate_vector(const Rotary *rotary, const double *x, const double *cosines, const double *sines, double *y)
{
    int64_t step = rotary->is_interleaved ? 2 : 1;
    int64_t other = rotary->is_interleaved ? 1 : rotary->pairs;
    for (int64_t pair = 0; pair < rotary->pairs; pair++) {
        double a = x[pair * step];
        double b = x[pair * step + other];
        y[pair * step] = a * cosines[pair] - b * sines[pair];
        y[pair * step + other] = a * sines[pair] + b * cosines[pair];
    }
    for (int64_t n = 2 * rotary->pairs; n < rotary->size; n++) {
        y[n] = x[n];
    }
}

static Status
rotary_compute(KernelContext *context)
{
    Rotary rotary;
    KernelInference inference;
    AUTO_DOUBLES doubles = {0};
    const int64_t *positions = NULL;
    kernel_inference(context, NULL, &inference);
    TRY(rotary_read(context->call, &inference.context, &rotary));
    if (rotary.has_positions) {
        positions = context->inputs[ROTARY_POSITIONS].data;
        TRY(rotary_check_positions(context->call, &rotary, positions));
    }
    TRY(doubles_begin(context, &doubles));
    if (tensor_element_count(&context->inputs[ROTARY_INPUT]) == 0) {
        return doubles_finish(context, &doubles); /* the other dimensions may be of any size */
    }
    for (int64_t token = 0; token < rotary.batch * rotary.length; token++) {
        int64_t angles = rotary_angles(&rotary, positions, token);
        for (int64_t head = 0; head < rotary.heads; head++) {
            int64_t vector = rotary_vector(&rotary, token, head);
            rotate_vector(&rotary, doubles_in(&doubles, ROTARY_INPUT) + vector,
                doubles_in(&doubles, ROTARY_COSINES) + angles, doubles_in(&doubles, ROTARY_SINES) + angles,
                doubles_out(&doubles, 0) + vector);
        }
    }
    return doubles_finish(context, &doubles);
}

static const Kernel attention_rotary_kernels[] = {
    {.op = "onnx::RotaryEmbedding", .supports = supports_floats, .compute = rotary_compute, DOUBLES_SCRATCH},
};

KERNEL_FAMILY(reference, attention_rotary, attention_rotary_kernels);
