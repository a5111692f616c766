/* ONNX's RNN, GRU and LSTM. For each direction one product multiplies all points in time by W; then, one
 * point in time after the other, a product multiplies the states of all sequences by R and the cell replaces
 * them. A GRU whose reset gate comes first multiplies twice: the gates' part, and, once the gate is known,
 * what it leaves of the states. The outputs Y_h and Y_c are the states themselves. */
#include "worker/cuda/kernels/recurrent.h"

#include <assert.h>
#include <cuda_runtime_api.h>

#include "shared/base/memory.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/matmul.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

enum { DIRECTIONS_MAX = 2, OUTPUTS_MAX = 3 };
enum { INPUT_X, INPUT_W, INPUT_R, INPUT_B, INPUT_LENGTHS, INPUT_H, INPUT_C, INPUT_P };
enum { OUTPUT_Y, OUTPUT_H, OUTPUT_C };

typedef struct Cell {
    const char *op;
    CudaCell cell;
    int64_t gates;
    uint32_t outputs;
    size_t activation_count;
    const char *activations[CUDA_CELL_ACTIVATIONS_MAX];
    const char *flag; /* an attribute; NULL: it has none */
} Cell;

static const Cell cells[] = {
    {"onnx::RNN", CUDA_CELL_RNN, 1, 2, 1, {"Tanh"}, NULL},
    {"onnx::GRU", CUDA_CELL_GRU, 3, 2, 2, {"Sigmoid", "Tanh"}, "linear_before_reset"},
    {"onnx::LSTM", CUDA_CELL_LSTM, 4, 3, 3, {"Sigmoid", "Tanh", "Tanh"}, "input_forget"},
};

typedef struct RecurrentState {
    const Cell *cell;
    CudaGateActivation activations[DIRECTIONS_MAX][CUDA_CELL_ACTIVATIONS_MAX];
    double clip;
    bool is_batch_first;
    bool is_reverse; /* the first direction; the second always is */
    bool has_flag;
} RecurrentState;

static const Cell *
find_cell(const Node *node)
{
    size_t index = 0;
    while (!slice_equals_string(node->op->name, cells[index].op)) {
        index++;
        assert(index < COUNT_OF(cells)); /* the table of kernels has no other op */
    }
    return &cells[index];
}

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
read_activation(
    Call *call, const Node *node, const Cell *cell, size_t index, CudaGateActivation *ret_activation)
{
    const AttrValue *given = list_entry(node, "activations", index);
    const AttrValue *alpha = list_entry(node, "activation_alpha", index);
    const AttrValue *beta = list_entry(node, "activation_beta", index);
    Slice name =
        given != NULL ? given->value.s : slice_from_string(cell->activations[index % cell->activation_count]);
    if (!find_function(name, ret_activation)) {
        return call_fail(call, STATUS_UNIMPLEMENTED, "there is no activation '%.*s'",
            SLICE_PRINT(slice_part(name, 0, 64)));
    }
    ret_activation->alpha = alpha != NULL ? (double)alpha->value.f : ret_activation->alpha;
    ret_activation->beta = beta != NULL ? (double)beta->value.f : ret_activation->beta;
    return STATUS_OK;
}

static Status
read_state(Call *call, const Node *node, RecurrentState *state)
{
    const Cell *cell = find_cell(node);
    state->cell = cell;
    state->clip = (double)node_attr_float(node, "clip");
    state->is_batch_first = node_attr_int(node, "layout") == 1;
    state->is_reverse = slice_equals_string(node_attr_string(node, "direction"), "reverse");
    state->has_flag = cell->flag != NULL && node_attr_int(node, cell->flag) != 0;
    bool is_both = slice_equals_string(node_attr_string(node, "direction"), "bidirectional");
    size_t count = cell->activation_count;
    for (size_t index = 0; index < (is_both ? 2 : 1) * count; index++) {
        TRY(read_activation(call, node, cell, index, &state->activations[index / count][index % count]));
    }
    return STATUS_OK;
}

static Status
create_recurrent(Call *call, const Node *node, void **ret_state)
{
    RecurrentState *state = memory_new(1, sizeof *state);
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
typedef struct Recurrent {
    KernelContext *context;
    CudaType type;
    int64_t time;
    int64_t batch;
    int64_t inputs;
    int64_t hidden;
    int64_t directions;
    int64_t gates;
    int64_t turned_gates; /* that the product of the states has */
    Tensor sums;          /* [time × batch, gates × hidden] */
    Tensor turned;        /* [batch, turned gates × hidden] */
    Tensor kept;          /* [batch, hidden], of a GRU whose reset gate comes first, as are the candidates */
    Tensor candidates;
} Recurrent;

static void
recurrent_done(Recurrent *run)
{
    tensor_unref(&run->sums);
    tensor_unref(&run->turned);
    tensor_unref(&run->kept);
    tensor_unref(&run->candidates);
}

static bool
resets_first(const RecurrentState *state)
{
    return state->cell->cell == CUDA_CELL_GRU && !state->has_flag;
}

/* Returns input `index`, advanced to a direction; NULL when it is absent. */
static const char *
direction_of(const Recurrent *run, uint32_t index, int64_t direction)
{
    const KernelContext *context = run->context;
    if (index >= context->input_count || context->inputs[index].data == NULL) {
        return NULL;
    }
    const Tensor *tensor = &context->inputs[index];
    return (const char *)tensor->data +
           direction * (int64_t)(tensor_byte_size(tensor) / (size_t)run->directions);
}

static void *
advance(void *data, const Tensor *tensor, int64_t elements)
{
    return (char *)data + elements * (int64_t)dtype_size(tensor->dtype);
}

/* Weights of as many rows as there are numbers in some gates, each of `depth` numbers. */
typedef struct Weights {
    const void *data;
    int64_t gates;
    int64_t depth;
} Weights;

/* Computes output = a × weightsᵀ for `rows` dense rows of `a`. */
static Status
multiply(const Recurrent *run, const CudaMatrix *a, int64_t rows, Weights weights, const Tensor *output)
{
    CudaProduct product = {
        .a = *a,
        .b = {.data = weights.data, .row_step = 1, .column_step = weights.depth},
        .output = output->data,
        .rows = rows,
        .columns = weights.gates * run->hidden,
        .depth = weights.depth,
        .alpha = 1,
    };
    int error = cuda_multiply(run->type, &product, cuda_stream(run->context));
    return cuda_check(run->context->call, error, "a matrix product of a recurrent network");
}

static CudaRecurrence
recurrence_of(const Recurrent *run, int64_t direction)
{
    const KernelContext *context = run->context;
    const RecurrentState *state = context->state;
    const Tensor *outputs = context->outputs;
    int64_t columns = run->gates * run->hidden;
    int64_t width = run->hidden * run->directions;
    bool is_batch_first = state->is_batch_first;
    bool has_memory = state->cell->outputs > OUTPUT_C;
    int64_t state_offset = direction * run->hidden * (is_batch_first ? 1 : run->batch);
    CudaRecurrence recurrence = {
        .time = run->time,
        .batch = run->batch,
        .hidden = run->hidden,
        .gates = run->gates,
        .sums_time_step = is_batch_first ? columns : columns * run->batch,
        .sums_batch_step = is_batch_first ? columns * run->time : columns,
        .turned_batch_step = run->turned_gates * run->hidden,
        .output_time_step = is_batch_first ? width : width * run->batch,
        .output_batch_step = is_batch_first ? width * run->time : run->hidden,
        .state_batch_step = is_batch_first ? width : run->hidden,
        .sums = run->sums.data,
        .turned = run->turned.data,
        .biases = direction_of(run, INPUT_B, direction),
        .peepholes = direction_of(run, INPUT_P, direction),
        .lengths = context->input_count > INPUT_LENGTHS ? context->inputs[INPUT_LENGTHS].data : NULL,
        .output = advance(outputs[OUTPUT_Y].data, &outputs[OUTPUT_Y], state_offset),
        .state = advance(outputs[OUTPUT_H].data, &outputs[OUTPUT_H], state_offset),
        .memory = has_memory ? advance(outputs[OUTPUT_C].data, &outputs[OUTPUT_C], state_offset) : NULL,
        .kept = run->kept.data,
        .candidates = run->candidates.data,
        .clip = state->clip,
        .is_reverse = direction == 1 || state->is_reverse,
        .couples_forget = state->has_flag,
    };
    memcpy(recurrence.activations, state->activations[direction], sizeof recurrence.activations);
    return recurrence;
}

static Status
run_cell(const Recurrent *run, CudaCell cell, const CudaRecurrence *recurrence, int64_t turn)
{
    int error = cuda_recurrent_step(run->type, cell, recurrence, turn, cuda_stream(run->context));
    return cuda_check(run->context->call, error, "the cell of a recurrent network");
}

/* Makes a GRU's candidates of what the reset gate leaves of the states. */
static Status
reset_states(const Recurrent *run, const CudaRecurrence *recurrence, const char *weights, int64_t turn)
{
    const Tensor *kept = &run->kept;
    CudaMatrix states = {.data = kept->data, .row_step = run->hidden, .column_step = 1};
    int64_t skipped = run->turned_gates * run->hidden * run->hidden * (int64_t)dtype_size(kept->dtype);
    TRY(run_cell(run, CUDA_CELL_GRU_RESET, recurrence, turn));
    return multiply(run, &states, run->batch, (Weights){weights + skipped, 1, run->hidden}, &run->candidates);
}

static Status
run_direction(const Recurrent *run, int64_t direction)
{
    KernelContext *context = run->context;
    const RecurrentState *state = context->state;
    CudaRecurrence recurrence = recurrence_of(run, direction);
    const char *turning = direction_of(run, INPUT_R, direction);
    Weights weights = {direction_of(run, INPUT_W, direction), run->gates, run->inputs};
    CudaMatrix inputs = {.data = context->inputs[INPUT_X].data, .row_step = run->inputs, .column_step = 1};
    CudaMatrix states = {.data = recurrence.state, .row_step = recurrence.state_batch_step, .column_step = 1};
    TRY(multiply(run, &inputs, run->time * run->batch, weights, &run->sums));
    for (int64_t turn = 0; turn < run->time; turn++) {
        TRY(multiply(
            run, &states, run->batch, (Weights){turning, run->turned_gates, run->hidden}, &run->turned));
        if (resets_first(state)) {
            TRY(reset_states(run, &recurrence, turning, turn));
        }
        TRY(run_cell(run, state->cell->cell, &recurrence, turn));
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
    return cuda_check(context->call, error, "the first state of a recurrent network");
}

static Status
begin_outputs(KernelContext *context)
{
    static const uint32_t initials[OUTPUTS_MAX] = {[OUTPUT_H] = INPUT_H, [OUTPUT_C] = INPUT_C};
    Shape shapes[OUTPUTS_MAX];
    TRY(output_shapes(context, shapes));
    for (uint32_t index = 0; index < OUTPUTS_MAX && index < context->output_count; index++) {
        uint32_t initial = initials[index];
        bool is_there = initial != 0 && initial < context->input_count;
        TRY(begin_output(context, index, &shapes[index], is_there ? &context->inputs[initial] : NULL));
    }
    return STATUS_OK;
}

static Status
make_products(KernelContext *context, Recurrent *run)
{
    Dtype dtype = context->inputs[INPUT_X].dtype;
    Shape sums = {.rank = 2, .dims = {run->time * run->batch, run->gates * run->hidden}};
    Shape turned = {.rank = 2, .dims = {run->batch, run->turned_gates * run->hidden}};
    Shape kept = {.rank = 2, .dims = {run->batch, run->hidden}};
    TRY(scratch_new(context, dtype, &sums, &run->sums));
    TRY(scratch_new(context, dtype, &turned, &run->turned));
    if (resets_first(context->state)) {
        TRY(scratch_new(context, dtype, &kept, &run->kept));
        TRY(scratch_new(context, dtype, &kept, &run->candidates));
    }
    return STATUS_OK;
}

static Status
compute_recurrent(KernelContext *context)
{
    const RecurrentState *state = context->state;
    const Shape *x = &context->inputs[INPUT_X].shape;
    TRY(begin_outputs(context));
    CLEANUP(recurrent_done)
    Recurrent run = {
        .context = context,
        .type = cuda_type(context->inputs[INPUT_X].dtype),
        .time = x->dims[state->is_batch_first ? 1 : 0],
        .batch = x->dims[state->is_batch_first ? 0 : 1],
        .inputs = x->dims[2],
        .hidden = context->inputs[INPUT_R].shape.dims[2],
        .directions = context->inputs[INPUT_W].shape.dims[0],
        .gates = state->cell->gates,
        .turned_gates = resets_first(state) ? state->cell->gates - 1 : state->cell->gates,
    };
    if (context->outputs[OUTPUT_Y].data == NULL) {
        return STATUS_OK;
    }
    TRY(make_products(context, &run));
    for (int64_t direction = 0; direction < run.directions; direction++) {
        TRY(run_direction(&run, direction));
    }
    return STATUS_OK;
}

/* 16-bit floats would be rounded at every point in time: they are the host's. */
static bool
supports_recurrent(const Node *node)
{
    Dtype dtype = node->input_dtypes[0];
    return (dtype == DTYPE_FLOAT32 || dtype == DTYPE_FLOAT64) &&
           node->output_count == find_cell(node)->outputs;
}

#define RECURRENT(name)                                                                                      \
    {                                                                                                        \
        .op = (name), .supports = supports_recurrent, .create = create_recurrent, .destroy = memory_free,    \
        .compute = compute_recurrent                                                                         \
    }

static const Kernel recurrent_kernels[] = {
    RECURRENT("onnx::RNN"),
    RECURRENT("onnx::GRU"),
    RECURRENT("onnx::LSTM"),
};

KERNEL_FAMILY(cuda_kernels, recurrent, recurrent_kernels);
