/* ONNX's RNN, GRU and LSTM: one direction, one sequence, one point in time after the other. For each gate
 *
 *     x W + b      is `sums` when a cell begins its step
 *     h R + b      is `turned`, with the previous hidden state
 *
 * and the cell makes the next state of them. Gates stand in ONNX's order: RNN i, GRU z r h, LSTM i o f c. */
#include <math.h>

#include "shared/base/memory.h"
#include "shared/base/slice.h"
#include "worker/reference/doubles.h"

/* The activation functions that ONNX's recurrent networks name. */
typedef double (*ActivationFunction)(double x, double alpha, double beta);

typedef struct Activation {
    ActivationFunction function;
    double alpha;
    double beta;
} Activation;

static inline double
activate(const Activation *activation, double x)
{
    return activation->function(x, activation->alpha, activation->beta);
}

#define ACTIVATION(name, expression)                                                                         \
    static double name(double x, double alpha, double beta)                                                  \
    {                                                                                                        \
        (void)alpha;                                                                                         \
        (void)beta;                                                                                          \
        return expression;                                                                                   \
    }

ACTIVATION(affine, alpha *x + beta)
ACTIVATION(elu, x < 0 ? alpha * (exp(x) - 1) : x)
ACTIVATION(hard_sigmoid, fmin(fmax(alpha *x + beta, 0), 1))
ACTIVATION(leaky_relu, x < 0 ? alpha * x : x)
ACTIVATION(relu, x < 0 ? 0 : x)
ACTIVATION(scaled_tanh, alpha *tanh(beta *x))
ACTIVATION(sigmoid, 1 / (1 + exp(-x)))
ACTIVATION(softplus, x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)))
ACTIVATION(softsign, x / (1 + fabs(x)))
ACTIVATION(hyperbolic_tangent, tanh(x))
ACTIVATION(thresholded_relu, x >= alpha ? x : 0)

/* Finds a function by name, ignoring case, with its default alpha and beta; false when there is none. */
static bool
activation_find(Slice name, Activation *ret_activation)
{
    static const struct {
        const char *name;
        Activation activation;
    } rows[] = {
        {"Affine", {affine, 1, 0}},
        {"Elu", {elu, 1, 0}},
        {"HardSigmoid", {hard_sigmoid, 0.2, 0.5}},
        {"LeakyRelu", {leaky_relu, 0.01, 0}},
        {"Relu", {relu, 0, 0}},
        {"ScaledTanh", {scaled_tanh, 1, 1}},
        {"Sigmoid", {sigmoid, 0, 0}},
        {"Softplus", {softplus, 0, 0}},
        {"Softsign", {softsign, 0, 0}},
        {"Tanh", {hyperbolic_tangent, 0, 0}},
        {"ThresholdedRelu", {thresholded_relu, 1, 0}},
    };
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        if (slice_equal_ignoring_case(name, slice_from_string(rows[index].name))) {
            *ret_activation = rows[index].activation;
            return true;
        }
    }
    return false;
}

enum { GATES_MAX = 4, ACTIVATIONS_MAX = 3 };

typedef struct Recurrence Recurrence;

typedef struct Cell {
    int64_t gates;
    size_t activation_count;
    const char *activations[ACTIVATIONS_MAX];
    /* computes one step, which replaces the hidden and the cell state */
    void (*step)(const Recurrence *run);
} Cell;

/* One direction of one sequence. */
struct Recurrence {
    const Cell *cell;
    int64_t inputs;
    int64_t hidden;
    const double *weights;    /* [gates × hidden, inputs] */
    const double *recurrence; /* [gates × hidden, hidden] */
    const double *biases;     /* [2 × gates × hidden], or NULL */
    const double *peepholes;  /* [3 × hidden], or NULL */
    Activation activations[ACTIVATIONS_MAX];
    double clip;   /* 0: no clipping */
    bool has_flag; /* linear_before_reset (GRU); input_forget (LSTM) */
    double *sums;
    double *turned;
    double *state;  /* hidden */
    double *memory; /* the cell state of an LSTM */
    double *scratch;
};

static double
apply_activation(const Recurrence *run, size_t activation, double x)
{
    double clipped = run->clip > 0 ? fmin(fmax(x, -run->clip), run->clip) : x;
    return activate(&run->activations[activation], clipped);
}

static double
dot_product(const double *left, const double *right, int64_t count)
{
    double sum = 0;
    for (int64_t n = 0; n < count; n++) {
        sum += left[n] * right[n];
    }
    return sum;
}

/* Computes result[row] = matrix[row] · vector + bias[row]. */
static void
multiply_vector(const double *matrix, const double *vector, const double *bias, int64_t rows, int64_t columns,
    double *result)
{
    for (int64_t row = 0; row < rows; row++) {
        result[row] = dot_product(&matrix[row * columns], vector, columns) + (bias == NULL ? 0 : bias[row]);
    }
}

static void
rnn_step(const Recurrence *run)
{
    for (int64_t n = 0; n < run->hidden; n++) {
        run->state[n] = apply_activation(run, 0, run->sums[n] + run->turned[n]);
    }
}

/* The state passes the reset gate before it is multiplied by the recurrence, or after with
 * linear_before_reset. */
static void
gru_step(const Recurrence *run)
{
    int64_t hidden = run->hidden;
    const double *bias = run->biases == NULL ? NULL : &run->biases[5 * hidden];
    double *candidates = &run->turned[2 * hidden];
    for (int64_t n = 0; n < hidden; n++) {
        run->scratch[n] = apply_activation(run, 0, run->sums[hidden + n] + run->turned[hidden + n]);
        candidates[n] *= run->scratch[n];
        run->scratch[n] *= run->state[n];
    }
    if (!run->has_flag) {
        multiply_vector(
            &run->recurrence[2 * hidden * hidden], run->scratch, bias, hidden, hidden, candidates);
    }
    for (int64_t n = 0; n < hidden; n++) {
        double update = apply_activation(run, 0, run->sums[n] + run->turned[n]);
        double candidate = apply_activation(run, 1, run->sums[2 * hidden + n] + candidates[n]);
        run->state[n] = (1 - update) * candidate + update * run->state[n];
    }
}

static double
peephole_term(const Recurrence *run, int64_t gate, int64_t n, double memory)
{
    return run->peepholes == NULL ? 0 : run->peepholes[gate * run->hidden + n] * memory;
}

static void
lstm_step(const Recurrence *run)
{
    int64_t hidden = run->hidden;
    for (int64_t n = 0; n < hidden; n++) {
        double before = run->memory[n];
        double gates[GATES_MAX];
        for (int64_t gate = 0; gate < GATES_MAX; gate++) {
            gates[gate] = run->sums[gate * hidden + n] + run->turned[gate * hidden + n];
        }
        double input = apply_activation(run, 0, gates[0] + peephole_term(run, 0, n, before));
        double forget =
            run->has_flag ? 1 - input : apply_activation(run, 0, gates[2] + peephole_term(run, 2, n, before));
        double memory = forget * before + input * apply_activation(run, 1, gates[3]);
        double output = apply_activation(run, 0, gates[1] + peephole_term(run, 1, n, memory));
        run->memory[n] = memory;
        run->state[n] = output * apply_activation(run, 2, memory);
    }
}

static const Cell rnn_cell = {1, 1, {"Tanh"}, rnn_step};
static const Cell gru_cell = {3, 2, {"Sigmoid", "Tanh"}, gru_step};
static const Cell lstm_cell = {4, 3, {"Sigmoid", "Tanh", "Tanh"}, lstm_step};

/* The tensors of a run and their layout. */
typedef struct Layout {
    KernelContext *context;
    const Doubles *doubles;
    int64_t time;
    int64_t batch;
    int64_t directions;
    bool is_batch_first;
} Layout;

/* Reads number `index` of a list attribute, when the list is that long. */
static void
set_number(const Node *node, const char *name, size_t index, double *number)
{
    if (index < node_attr_count(node, name)) {
        *number = (double)node_attr(node, name)->value.list.items[index].value.f;
    }
}

static Status
find_activations(const Layout *layout, int64_t direction, Recurrence *run)
{
    const Node *node = layout->context->node;
    size_t given = node_attr_count(node, "activations");
    for (size_t index = 0; index < run->cell->activation_count; index++) {
        size_t position = (size_t)direction * run->cell->activation_count + index;
        Slice name = position < given ? node_attr(node, "activations")->value.list.items[position].value.s
                                      : slice_from_string(run->cell->activations[index]);
        if (!activation_find(name, &run->activations[index])) {
            return call_fail(layout->context->call, STATUS_UNIMPLEMENTED, "there is no activation '%.*s'",
                SLICE_PRINT(slice_part(name, 0, 64)));
        }
        set_number(node, "activation_alpha", position, &run->activations[index].alpha);
        set_number(node, "activation_beta", position, &run->activations[index].beta);
    }
    return STATUS_OK;
}

/* Returns the part of a parameter that belongs to a direction; NULL when the parameter is absent. */
static const double *
parameter_of(const Layout *layout, int input, int64_t direction)
{
    if ((uint32_t)input >= layout->context->input_count ||
        layout->context->inputs[input].dtype == DTYPE_INVALID) {
        return NULL;
    }
    const Tensor *tensor = &layout->doubles->inputs[input];
    return (const double *)tensor->data + direction * (tensor_element_count(tensor) / layout->directions);
}

static int64_t
state_position(const Layout *layout, int64_t direction, int64_t sequence)
{
    return layout->is_batch_first ? sequence * layout->directions + direction
                                  : direction * layout->batch + sequence;
}

static void
load_state(const Layout *layout, int input, int64_t position, int64_t hidden, double *state)
{
    bool is_there = (uint32_t)input < layout->context->input_count &&
                    layout->context->inputs[input].dtype != DTYPE_INVALID;
    for (int64_t n = 0; n < hidden; n++) {
        state[n] = is_there ? doubles_in(layout->doubles, input)[position * hidden + n] : 0;
    }
}

static void
store_state(const Layout *layout, int output, int64_t position, int64_t hidden, const double *state)
{
    memcpy(&doubles_out(layout->doubles, output)[position * hidden], state, (size_t)hidden * sizeof *state);
}

static int64_t
sequence_length(const Layout *layout, int64_t sequence)
{
    const KernelContext *context = layout->context;
    if (context->input_count <= 4 || context->inputs[4].dtype == DTYPE_INVALID) {
        return layout->time;
    }
    int64_t length = ((const int32_t *)context->inputs[4].data)[sequence];
    return length < 0 ? 0 : length < layout->time ? length : layout->time;
}

static void
run_step(const Layout *layout, const Recurrence *run, int64_t direction, int64_t sequence, int64_t moment)
{
    int64_t rows = run->cell->gates * run->hidden;
    int64_t position =
        layout->is_batch_first ? sequence * layout->time + moment : moment * layout->batch + sequence;
    int64_t output = layout->is_batch_first
                         ? position * layout->directions + direction
                         : (moment * layout->directions + direction) * layout->batch + sequence;
    multiply_vector(run->weights, &doubles_in(layout->doubles, 0)[position * run->inputs], run->biases, rows,
        run->inputs, run->sums);
    multiply_vector(run->recurrence, run->state, run->biases == NULL ? NULL : &run->biases[rows], rows,
        run->hidden, run->turned);
    run->cell->step(run);
    store_state(layout, 0, output, run->hidden, run->state);
}

static void
run_sequence(
    const Layout *layout, const Recurrence *run, int64_t direction, int64_t sequence, bool is_reverse)
{
    int64_t length = sequence_length(layout, sequence);
    int64_t position = state_position(layout, direction, sequence);
    load_state(layout, 5, position, run->hidden, run->state);
    load_state(layout, 6, position, run->hidden, run->memory);
    for (int64_t turn = 0; turn < length; turn++) {
        run_step(layout, run, direction, sequence, is_reverse ? length - 1 - turn : turn);
    }
    store_state(layout, 1, position, run->hidden, run->state);
    if (layout->context->output_count > 2) {
        store_state(layout, 2, position, run->hidden, run->memory);
    }
}

static Status
run_direction(const Layout *layout, Recurrence *run, int64_t direction)
{
    const Node *node = layout->context->node;
    bool is_reverse = direction == 1 || slice_equals_string(node_attr_string(node, "direction"), "reverse");
    run->weights = parameter_of(layout, 1, direction);
    run->recurrence = parameter_of(layout, 2, direction);
    run->biases = parameter_of(layout, 3, direction);
    run->peepholes = parameter_of(layout, 7, direction);
    TRY(find_activations(layout, direction, run));
    for (int64_t sequence = 0; sequence < layout->batch; sequence++) {
        run_sequence(layout, run, direction, sequence, is_reverse);
    }
    return STATUS_OK;
}

static Status
recurrent_compute(KernelContext *context, const Cell *cell, const char *flag)
{
    const Node *node = context->node;
    AUTO_DOUBLES doubles = {0};
    TRY(doubles_begin(context, &doubles));
    const Shape *input = &context->inputs[0].shape;
    bool is_batch_first = node_attr_int(node, "layout") == 1;
    Layout layout = {.context = context,
        .doubles = &doubles,
        .time = input->dims[is_batch_first ? 1 : 0],
        .batch = input->dims[is_batch_first ? 0 : 1],
        .directions = context->inputs[1].shape.dims[0],
        .is_batch_first = is_batch_first};
    int64_t hidden = context->inputs[2].shape.dims[2];
    size_t rows = (size_t)(cell->gates * hidden);
    AUTO_MEMORY double *memory = memory_new(2 * rows + 3 * (size_t)hidden + 1, sizeof *memory);
    if (memory == NULL) {
        return call_fail_memory(context->call, "a recurrent network's state");
    }
    Recurrence run = {.cell = cell,
        .inputs = input->dims[2],
        .hidden = hidden,
        .clip = (double)node_attr_float(node, "clip"),
        .has_flag = flag != NULL && node_attr_int(node, flag) != 0,
        .sums = memory,
        .turned = memory + rows,
        .state = memory + 2 * rows,
        .memory = memory + 2 * rows + hidden,
        .scratch = memory + 2 * rows + 2 * hidden};
    for (int64_t direction = 0; direction < layout.directions; direction++) {
        TRY(run_direction(&layout, &run, direction));
    }
    return doubles_finish(context, &doubles);
}

static Status
rnn_compute(KernelContext *context)
{
    return recurrent_compute(context, &rnn_cell, NULL);
}

static Status
gru_compute(KernelContext *context)
{
    return recurrent_compute(context, &gru_cell, "linear_before_reset");
}

static Status
lstm_compute(KernelContext *context)
{
    return recurrent_compute(context, &lstm_cell, "input_forget");
}

static bool
recurrent_supports(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

static const Kernel recurrent_kernels[] = {
    {.op = "onnx::RNN", .supports = recurrent_supports, .compute = rnn_compute, DOUBLES_SCRATCH},
    {.op = "onnx::GRU", .supports = recurrent_supports, .compute = gru_compute, DOUBLES_SCRATCH},
    {.op = "onnx::LSTM", .supports = recurrent_supports, .compute = lstm_compute, DOUBLES_SCRATCH},
};

KERNEL_FAMILY(reference, recurrent_onnx, recurrent_kernels);
