/* RotaryEmbedding of float32: tokens are shared among the threads. */
#include "shared/ops/attention/rotary_rule.h"
#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"
#include "worker/reference/outputs.h"

enum { SHARED_ELEMENTS = 32 * 1024 }; /* fewer are not worth handing to another thread */

typedef struct RotaryRun {
    Rotary rotary;
    const float *x;
    const float *cosines;
    const float *sines;
    const int64_t *positions; /* NULL: none are given */
    float *y;
    int64_t tokens;
    int64_t part; /* tokens that a thread takes at once */
} RotaryRun;

VECTOR_FUNCTION void
rotate_halves_body(const float *x, const float *cosines, const float *sines, int64_t pairs, float *y)
{
    VECTOR_LOOP for (int64_t n = 0; n < pairs; n++)
    {
        float a = x[n];
        float b = x[n + pairs];
        y[n] = a * cosines[n] - b * sines[n];
        y[n + pairs] = a * sines[n] + b * cosines[n];
    }
}
VECTOR_VARIANTS(rotate_halves,
    (const float *x, const float *cosines, const float *sines, int64_t pairs, float *y),
    (x, cosines, sines, pairs, y))

VECTOR_FUNCTION void
rotate_neighbours_body(const float *x, const float *cosines, const float *sines, int64_t pairs, float *y)
{
    VECTOR_LOOP for (int64_t n = 0; n < pairs; n++)
    {
        float a = x[2 * n];
        float b = x[2 * n + 1];
        y[2 * n] = a * cosines[n] - b * sines[n];
        y[2 * n + 1] = a * sines[n] + b * cosines[n];
    }
}
VECTOR_VARIANTS(rotate_neighbours,
    (const float *x, const float *cosines, const float *sines, int64_t pairs, float *y),
    (x, cosines, sines, pairs, y))

static void
rotate_token(const RotaryRun *run, int64_t token)
{
    const Rotary *rotary = &run->rotary;
    int64_t angles = rotary_angles(rotary, run->positions, token);
    const float *cosines = run->cosines + angles;
    const float *sines = run->sines + angles;
    int64_t rotated = 2 * rotary->pairs;
    for (int64_t head = 0; head < rotary->heads; head++) {
        int64_t vector = rotary_vector(rotary, token, head);
        if (rotary->is_interleaved) {
            rotate_neighbours(run->x + vector, cosines, sines, rotary->pairs, run->y + vector);
        } else {
            rotate_halves(run->x + vector, cosines, sines, rotary->pairs, run->y + vector);
        }
        memcpy(run->y + vector + rotated, run->x + vector + rotated,
            (size_t)(rotary->size - rotated) * sizeof *run->y);
    }
}

static void
rotate_tokens(void *context, int64_t index)
{
    const RotaryRun *run = context;
    int64_t end = (index + 1) * run->part < run->tokens ? (index + 1) * run->part : run->tokens;
    for (int64_t token = index * run->part; token < end; token++) {
        rotate_token(run, token);
    }
}

static bool
supports_float32(const Node *node)
{
    return node->input_dtypes[ROTARY_INPUT] == DTYPE_FLOAT32;
}

static Status
rotary_compute(KernelContext *context)
{
    KernelInference inference;
    RotaryRun run = {.x = context->inputs[ROTARY_INPUT].data,
        .cosines = context->inputs[ROTARY_COSINES].data,
        .sines = context->inputs[ROTARY_SINES].data};
    kernel_inference(context, NULL, &inference);
    TRY(rotary_read(context->call, &inference.context, &run.rotary));
    if (run.rotary.has_positions) {
        run.positions = context->inputs[ROTARY_POSITIONS].data;
        TRY(rotary_check_positions(context->call, &run.rotary, run.positions));
    }
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    if (tensor_element_count(output) == 0) {
        return STATUS_OK; /* the other dimensions may be of any size */
    }
    run.y = output->data;
    run.tokens = run.rotary.batch * run.rotary.length;
    int64_t size = run.rotary.heads * run.rotary.size;
    run.part = size >= SHARED_ELEMENTS ? 1 : SHARED_ELEMENTS / size;
    Device *device = context->device;
    device->parallel_for(device, (run.tokens + run.part - 1) / run.part, rotate_tokens, &run);
    return STATUS_OK;
}

static const Kernel rotary_embedding_kernels[] = {
    {.op = "onnx::RotaryEmbedding", .supports = supports_float32, .compute = rotary_compute},
};

KERNEL_FAMILY(cpu_kernels, rotary_embedding, rotary_embedding_kernels);
