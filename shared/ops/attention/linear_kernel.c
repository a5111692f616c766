/* ONNX's LinearAttention, token by token, in double. */
#include <math.h>

#include "shared/ops/attention/linear_rule.h"
#include "worker/reference/doubles.h"
#include "worker/reference/outputs.h"

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[LINEAR_QUERY]) && dtype_is_floating(node->output_dtypes[1]);
}

typedef struct LinearRun {
    LinearAttention attention;
    double scale;
    const Doubles *doubles;
} LinearRun;

static void
decay_state(const LinearRun *run, int64_t token, int64_t head, double *state)
{
    const LinearAttention *a = &run->attention;
    int64_t step = a->decays_by_key ? a->key_size : 1;
    const double *decay = doubles_in(run->doubles, LINEAR_DECAY) + (token * a->key_heads + head) * step;
    for (int64_t row = 0; row < a->key_size; row++) {
        double factor = exp(decay[a->decays_by_key ? row : 0]);
        for (int64_t column = 0; column < a->value_size; column++) {
            state[row * a->value_size + column] *= factor;
        }
    }
}

/* Adds key × value to the state, with the value corrected by what the key finds. */
static void
write_state(const LinearRun *run, int64_t token, int64_t head, double *state)
{
    const LinearAttention *a = &run->attention;
    const double *key = doubles_in(run->doubles, LINEAR_KEY) + (token * a->key_heads + head) * a->key_size;
    const double *value =
        doubles_in(run->doubles, LINEAR_VALUE) + (token * a->key_heads + head) * a->value_size;
    const double *beta = doubles_in(run->doubles, LINEAR_BETA);
    for (int64_t column = 0; column < a->value_size; column++) {
        double written = value[column];
        if (a->corrects) {
            double found = 0;
            for (int64_t row = 0; row < a->key_size; row++) {
                found += state[row * a->value_size + column] * key[row];
            }
            written = (written - found) * beta[a->shares_beta ? token : token * a->key_heads + head];
        }
        for (int64_t row = 0; row < a->key_size; row++) {
            state[row * a->value_size + column] += key[row] * written;
        }
    }
}

static void
read_state(const LinearRun *run, int64_t token, int64_t query_head, const double *state)
{
    const LinearAttention *a = &run->attention;
    int64_t vector = token * a->query_heads + query_head;
    const double *query = doubles_in(run->doubles, LINEAR_QUERY) + vector * a->key_size;
    double *output = doubles_out(run->doubles, 0) + vector * a->value_size;
    for (int64_t column = 0; column < a->value_size; column++) {
        double sum = 0;
        for (int64_t row = 0; row < a->key_size; row++) {
            sum += query[row] * state[row * a->value_size + column];
        }
        output[column] = sum * run->scale;
    }
}

static void
run_head(const LinearRun *run, int64_t batch, int64_t head)
{
    const LinearAttention *a = &run->attention;
    int64_t group = a->query_heads / a->key_heads;
    double *state =
        doubles_out(run->doubles, 1) + (batch * a->key_heads + head) * a->key_size * a->value_size;
    for (int64_t token = batch * a->length; token < (batch + 1) * a->length; token++) {
        if (a->decays) {
            decay_state(run, token, head, state);
        }
        write_state(run, token, head, state);
        for (int64_t shared = 0; shared < group; shared++) {
            read_state(run, token, head * group + shared, state);
        }
    }
}

static Status
linear_attention_compute(KernelContext *context)
{
    KernelInference inference;
    AUTO_DOUBLES doubles = {0};
    LinearRun run = {.doubles = &doubles};
    kernel_inference(context, NULL, &inference);
    TRY(linear_attention_read(context->call, &inference.context, &run.attention));
    TRY(doubles_begin(context, &doubles));
    float scale = node_attr_float(context->node, "scale");
    run.scale = scale == 0 ? 1 / sqrt((double)run.attention.key_size) : (double)scale;
    const Tensor *past = &doubles.inputs[LINEAR_STATE];
    if (past->dtype != DTYPE_INVALID && tensor_element_count(past) > 0) {
        memcpy(doubles.outputs[1].data, past->data, (size_t)tensor_element_count(past) * sizeof(double));
    }
    if (tensor_element_count(&doubles.outputs[0]) == 0 && tensor_element_count(&doubles.outputs[1]) == 0) {
        return doubles_finish(context, &doubles); /* the other dimensions may be of any size */
    }
    for (int64_t matrix = 0; matrix < run.attention.batch * run.attention.key_heads; matrix++) {
        run_head(&run, matrix / run.attention.key_heads, matrix % run.attention.key_heads);
    }
    return doubles_finish(context, &doubles);
}

static const Kernel attention_linear_kernels[] = {
    {.op = "onnx::LinearAttention",
        .supports = supports_floats,
        .compute = linear_attention_compute,
        DOUBLES_SCRATCH},
};

KERNEL_FAMILY(reference, attention_linear, attention_linear_kernels);
