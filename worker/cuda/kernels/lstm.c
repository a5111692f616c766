/* ONNX's LSTM. For each direction one product multiplies all points in time by W; then, one point in time
 * after the other, a product multiplies the states of all sequences by R and the cell replaces them. The
 * outputs Y_h and Y_c are the states themselves. */
#include "worker/cuda/kernels/lstm.h"

#include <cuda_runtime_api.h>

#include "shared/base/memory.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/matmul.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

enum { GATES = 4, ACTIVATIONS = 3, DIRECTIONS_MAX = 2 };
enum { INPUT_X, INPUT_W, INPUT_R, INPUT_B, INPUT_LENGTHS, INPUT_H, INPUT_C, INPUT_P };
enum { OUTPUT_Y, OUTPUT_H, OUTPUT_C, OUTPUTS };

typedef struct LstmState {
    CudaGateActivation activations[DIRECTIONS_MAX][ACTIVATIONS];
    double clip;
    bool is_batch_first;
    bool is_reverse; /* the first direction; the second always is */
    bool couples_forget;
} LstmState;

/* Finds a function by name, ignoring case, with its default alpha and beta; false when there is none. */
static bool
find_function(Slice name, CudaGateActivation *ret_activation)
{
    static const struct {
        const char *name;
        CudaGateActivation activation;
    } rows[] = {
        {"Affine", {CUDA_GATE_AFFINE, 1, 0}},
        {"Elu", {CUDA_GATE_ELU, 1, 0}},
        {"HardSigmoid", {CUDA_GATE_HARD_SIGMOID, 0.2, 0.5}},
        {"LeakyRelu", {CUDA_GATE_LEAKY_RELU, 0.01, 0}},
        {"Relu", {CUDA_GATE_RELU, 0, 0}},
        {"ScaledTanh", {CUDA_GATE_SCALED_TANH, 1, 1}},
        {"Sigmoid", {CUDA_GATE_SIGMOID, 0, 0}},
        {"Softplus", {CUDA_GATE_SOFTPLUS, 0, 0}},
        {"Softsign", {CUDA_GATE_SOFTSIGN, 0, 0}},
        {"Tanh", {CUDA_GATE_TANH, 0, 0}},
        {"ThresholdedRelu", {CUDA_GATE_THRESHOLDED_RELU, 1, 0}},
    };
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        if (slice_equal_ignoring_case(name, slice_from_string(rows[index].name))) {
            *ret_activation = rows[index].activation;
            return true;
        }
    }
    return false;
}

/* Returns entry `index` of a list attribute, or NULL when the list is shorter. */
static const AttrValue *
list_entry(const Node *node, const char *name, size_t index)
{
    const AttrValue *list = node_attr(node, name);
    return list == NULL || index >= list->value.list.count ? NULL : &list->value.list.items[index];
}

/* Reads activation `index`, counted through all directions. */
static Status
read_activation(Call *call, const Node *node, size_t index, CudaGateActivation *ret_activation)
{
    static const char *const defaults[ACTIVATIONS] = {"Sigmoid", "Tanh", "Tanh"};
    const AttrValue *given = list_entry(node, "activations", index);
    const AttrValue *alpha = list_entry(node, "activation_alpha", index);
    const AttrValue *beta = list_entry(node, "activation_beta", index);
    Slice name = given != NULL ? given->value.s : slice_from_string(defaults[index % ACTIVATIONS]);
    if (!find_function(name, ret_activation)) {
        return call_fail(call, STATUS_UNIMPLEMENTED, "there is no activation '%.*s'",
            SLICE_PRINT(slice_part(name, 0, 64)));
    }
    ret_activation->alpha = alpha != NULL ? (double)alpha->value.f : ret_activation->alpha;
    ret_activation->beta = beta != NULL ? (double)beta->value.f : ret_activation->beta;
    return STATUS_OK;
}

static Status
read_state(Call *call, const Node *node, LstmState *state)
{
    state->clip = (double)node_attr_float(node, "clip");
    state->is_batch_first = node_attr_int(node, "layout") == 1;
    state->is_reverse = slice_equals_string(node_attr_string(node, "direction"), "reverse");
    state->couples_forget = node_attr_int(node, "input_forget") != 0;
    bool is_both = slice_equals_string(node_attr_string(node, "direction"), "bidirectional");
    for (size_t index = 0; index < (is_both ? 2 : 1) * (size_t)ACTIVATIONS; index++) {
        TRY(read_activation(
            call, node, index, &state->activations[index / ACTIVATIONS][index % ACTIVATIONS]));
    }
    return STATUS_OK;
}

static Status
create_lstm(Call *call, const Node *node, void **ret_state)
{
    LstmState *state = memory_new(1, sizeof *state);
    if (state == NULL) {
        return call_fail_memory(call, "a recurrent network");
    }
    Status status = read_state(call, node, state);
    if (status != STATUS_OK) {
        memory_free(state);
        return status;
    }
    *ret_state = state;
    return STATUS_OK;
}

/* One run: sizes, and the products' results. */
typedef struct Lstm {
    KernelContext *context;
    CudaType type;
    int64_t time;
    int64_t batch;
    int64_t inputs;
    int64_t hidden;
    int64_t directions;
    Tensor sums;   /* [time × batch, 4 × hidden] */
    Tensor turned; /* [batch, 4 × hidden] */
} Lstm;

static void
lstm_done(Lstm *lstm)
{
    tensor_unref(&lstm->sums);
    tensor_unref(&lstm->turned);
}

/* Returns input `index`, advanced to a direction; NULL when it is absent. */
static const char *
direction_of(const Lstm *lstm, uint32_t index, int64_t direction)
{
    const KernelContext *context = lstm->context;
    if (index >= context->input_count || context->inputs[index].data == NULL) {
        return NULL;
    }
    const Tensor *tensor = &context->inputs[index];
    return (const char *)tensor->data +
           direction * (int64_t)(tensor_byte_size(tensor) / (size_t)lstm->directions);
}

static void *
advance(void *data, const Tensor *tensor, int64_t elements)
{
    return (char *)data + elements * (int64_t)dtype_size(tensor->dtype);
}

/* Computes output = a × bᵀ, where b is [4 × hidden, depth] and the rows of `a` are dense. */
static Status
multiply(const Lstm *lstm, const CudaMatrix *a, int64_t rows, const void *b, int64_t depth, Tensor *output)
{
    CudaProduct product = {
        .a = *a,
        .b = {.data = b, .row_step = 1, .column_step = depth},
        .output = output->data,
        .rows = rows,
        .columns = GATES * lstm->hidden,
        .depth = depth,
        .alpha = 1,
    };
    int error = cuda_multiply(lstm->type, &product, cuda_stream(lstm->context));
    return cuda_check(lstm->context->call, error, "a matrix product of an LSTM");
}

static CudaLstm
cell_of(const Lstm *lstm, int64_t direction)
{
    const KernelContext *context = lstm->context;
    const LstmState *state = context->state;
    const Tensor *outputs = context->outputs;
    int64_t columns = GATES * lstm->hidden;
    int64_t width = lstm->hidden * lstm->directions;
    bool is_batch_first = state->is_batch_first;
    int64_t state_offset = direction * lstm->hidden * (is_batch_first ? 1 : lstm->batch);
    int64_t output_offset = state_offset;
    CudaLstm cell = {
        .time = lstm->time,
        .batch = lstm->batch,
        .hidden = lstm->hidden,
        .sums_time_step = is_batch_first ? columns : columns * lstm->batch,
        .sums_batch_step = is_batch_first ? columns * lstm->time : columns,
        .output_time_step = is_batch_first ? width : width * lstm->batch,
        .output_batch_step = is_batch_first ? width * lstm->time : lstm->hidden,
        .state_batch_step = is_batch_first ? width : lstm->hidden,
        .sums = lstm->sums.data,
        .turned = lstm->turned.data,
        .biases = direction_of(lstm, INPUT_B, direction),
        .peepholes = direction_of(lstm, INPUT_P, direction),
        .lengths = context->input_count > INPUT_LENGTHS ? context->inputs[INPUT_LENGTHS].data : NULL,
        .output = advance(outputs[OUTPUT_Y].data, &outputs[OUTPUT_Y], output_offset),
        .state = advance(outputs[OUTPUT_H].data, &outputs[OUTPUT_H], state_offset),
        .memory = advance(outputs[OUTPUT_C].data, &outputs[OUTPUT_C], state_offset),
        .clip = state->clip,
        .is_reverse = direction == 1 || state->is_reverse,
        .couples_forget = state->couples_forget,
    };
    memcpy(cell.activations, state->activations[direction], sizeof cell.activations);
    return cell;
}

static Status
run_direction(Lstm *lstm, int64_t direction)
{
    KernelContext *context = lstm->context;
    CudaLstm cell = cell_of(lstm, direction);
    const void *weights = direction_of(lstm, INPUT_W, direction);
    const void *recurrence = direction_of(lstm, INPUT_R, direction);
    CudaMatrix inputs = {.data = context->inputs[INPUT_X].data, .row_step = lstm->inputs, .column_step = 1};
    CudaMatrix states = {.data = cell.state, .row_step = cell.state_batch_step, .column_step = 1};
    TRY(multiply(lstm, &inputs, lstm->time * lstm->batch, weights, lstm->inputs, &lstm->sums));
    for (int64_t turn = 0; turn < lstm->time; turn++) {
        TRY(multiply(lstm, &states, lstm->batch, recurrence, lstm->hidden, &lstm->turned));
        TRY(cuda_check(context->call, cuda_lstm_step(lstm->type, &cell, turn, cuda_stream(context)),
            "the cell of an LSTM"));
    }
    return STATUS_OK;
}

/* Makes output `index`; it begins as input `initial`, or as zeros when there is none. */
static Status
begin_output(KernelContext *context, uint32_t index, const Shape *shape, const Tensor *initial)
{
    Tensor *output = NULL;
    TRY(kernel_output(context, index, context->node->output_dtypes[index], shape, &output));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    size_t size = tensor_byte_size(output);
    int error = initial == NULL || initial->data == NULL
                    ? (int)cudaMemsetAsync(output->data, 0, size, cuda_stream(context))
                    : (int)cudaMemcpyAsync(
                          output->data, initial->data, size, cudaMemcpyDeviceToDevice, cuda_stream(context));
    return cuda_check(context->call, error, "the first state of an LSTM");
}

static Status
begin_outputs(KernelContext *context)
{
    static const uint32_t initials[OUTPUTS] = {[OUTPUT_H] = INPUT_H, [OUTPUT_C] = INPUT_C};
    Shape shapes[OUTPUTS];
    TRY(output_shapes(context, shapes));
    for (uint32_t index = 0; index < OUTPUTS; index++) {
        uint32_t initial = initials[index];
        bool is_there = initial != 0 && initial < context->input_count;
        TRY(begin_output(context, index, &shapes[index], is_there ? &context->inputs[initial] : NULL));
    }
    return STATUS_OK;
}

static Status
lstm_compute(KernelContext *context)
{
    const LstmState *state = context->state;
    const Shape *x = &context->inputs[INPUT_X].shape;
    TRY(begin_outputs(context));
    CLEANUP(lstm_done)
    Lstm lstm = {
        .context = context,
        .type = cuda_type(context->inputs[INPUT_X].dtype),
        .time = x->dims[state->is_batch_first ? 1 : 0],
        .batch = x->dims[state->is_batch_first ? 0 : 1],
        .inputs = x->dims[2],
        .hidden = context->inputs[INPUT_R].shape.dims[2],
        .directions = context->inputs[INPUT_W].shape.dims[0],
    };
    if (context->outputs[OUTPUT_Y].data == NULL) {
        return STATUS_OK;
    }
    Dtype dtype = context->inputs[INPUT_X].dtype;
    Shape sums = {.rank = 2, .dims = {lstm.time * lstm.batch, GATES * lstm.hidden}};
    Shape turned = {.rank = 2, .dims = {lstm.batch, GATES * lstm.hidden}};
    TRY(scratch_new(context, dtype, &sums, &lstm.sums));
    TRY(scratch_new(context, dtype, &turned, &lstm.turned));
    for (int64_t direction = 0; direction < lstm.directions; direction++) {
        TRY(run_direction(&lstm, direction));
    }
    return STATUS_OK;
}

/* 16-bit floats would be rounded at every point in time: they are the host's. */
static bool
supports_lstm(const Node *node)
{
    Dtype dtype = node->input_dtypes[0];
    return (dtype == DTYPE_FLOAT32 || dtype == DTYPE_FLOAT64) && node->output_count == OUTPUTS;
}

static const Kernel lstm_kernels[] = {
    {.op = "onnx::LSTM",
        .supports = supports_lstm,
        .create = create_lstm,
        .destroy = memory_free,
        .compute = lstm_compute},
};

KERNEL_FAMILY(cuda_kernels, lstm, lstm_kernels);
