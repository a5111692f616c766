/* float32 RNN, GRU and LSTM of ONNX, with their usual activations. The inputs of all points in time are
 * multiplied by their weights at once; then each point in time adds the previous hidden state times the
 * recurrence, both by worker/cpu/product, and passes its gates. Two directions run side by side. Gates stand
 * in ONNX's order: RNN i, GRU z r h, LSTM i o f c.
 *
 * A sequence that is shorter than others keeps its state at the moments behind its end, whose outputs are 0;
 * its gates are multiplied all the same. Other activations and batches in front are left to the reference
 * kernel. */
#include "shared/base/memory.h"
#include "shared/base/slice.h"
#include "worker/cpu/product/product.h"
#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

enum {
    DIRECTIONS_MAX = 2,
    OUTPUTS_MAX = 3,
    ACTIVATIONS_MAX = 3,
    SHARED_PRODUCTS = 1 << 18, /* multiplications of a direction; fewer are not worth another thread */
};

/* Inputs of the node. */
enum { INPUT_X, INPUT_W, INPUT_R, INPUT_B, INPUT_LENGTHS, INPUT_HIDDEN, INPUT_MEMORY, INPUT_PEEPHOLES };

/* The products of one direction. */
typedef struct Weights {
    Product *inputs;     /* X by W, all gates */
    Product *recurrence; /* H by R: all gates, or those in front of the candidate */
    Product *candidate;  /* of a GRU that resets H before it is multiplied; NULL: there is none */
} Weights;

typedef struct Pass Pass;

typedef struct Cell {
    int64_t gates;
    const char *activations[ACTIVATIONS_MAX]; /* the usual ones */
    size_t activation_count;

    /* Runs a point in time for all sequences: `before` and `after` are their states. */
    Status (*step)(const Pass *pass, int64_t moment, const float *before, float *after);
} Cell;

typedef struct Recurrent {
    const Cell *cell;
    bool resets_before; /* a GRU without linear_before_reset */
    bool is_rectified;  /* an RNN of Relu */
    bool is_reverse;    /* the first direction is */
    float clip;         /* what activations are given is within -clip and clip; 0: it is not bound */
    Weights weights[DIRECTIONS_MAX];
} Recurrent;

/* Returns whether the activations of all directions, if any are named, are these, in turns. */
static bool
has_activations(const Node *node, const char *const *names, size_t count)
{
    const AttrValue *given = node_attr(node, "activations");
    bool has_all = true;
    for (size_t index = 0; given != NULL && index < given->value.list.count; index++) {
        Slice name = given->value.list.items[index].value.s;
        has_all = has_all && slice_equal_ignoring_case(name, slice_from_string(names[index % count]));
    }
    return has_all;
}

static bool
is_plain(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32 && node_attr_int(node, "layout") == 0;
}

static void
destroy_recurrent(void *state)
{
    Recurrent *recurrent = state;
    for (int direction = 0; direction < DIRECTIONS_MAX; direction++) {
        product_free(recurrent->weights[direction].inputs);
        product_free(recurrent->weights[direction].recurrence);
        product_free(recurrent->weights[direction].candidate);
    }
    memory_free(recurrent);
}

static Status
weights_new(Call *call, const Recurrent *recurrent, Weights *weights)
{
    TRY(product_new(call, &weights->inputs));
    TRY(product_new(call, &weights->recurrence));
    return recurrent->resets_before ? product_new(call, &weights->candidate) : STATUS_OK;
}

static Status
create_recurrent(Call *call, const Node *node, const Cell *cell, void **ret_state)
{
    Recurrent *recurrent = memory_new(1, sizeof *recurrent);
    if (recurrent == NULL) {
        return call_fail_memory(call, "a recurrent network");
    }
    recurrent->cell = cell;
    recurrent->clip = node_attr_float(node, "clip") > 0 ? node_attr_float(node, "clip") : 0;
    recurrent->is_reverse = slice_equals_string(node_attr_string(node, "direction"), "reverse");
    recurrent->resets_before =
        node_attr(node, "linear_before_reset") != NULL && node_attr_int(node, "linear_before_reset") == 0;
    const AttrValue *activations = node_attr(node, "activations");
    recurrent->is_rectified =
        activations != NULL && activations->value.list.count > 0 &&
        slice_equal_ignoring_case(activations->value.list.items[0].value.s, SLICE("Relu"));
    Status status = STATUS_OK;
    for (int direction = 0; direction < DIRECTIONS_MAX && status == STATUS_OK; direction++) {
        status = weights_new(call, recurrent, &recurrent->weights[direction]);
    }
    if (status != STATUS_OK) {
        destroy_recurrent(recurrent);
        return status;
    }
    *ret_state = recurrent;
    return STATUS_OK;
}

/* Returns the part of a parameter that belongs to a direction; NULL when the parameter is absent. */
static const float *
part_of(const Tensor *parameter, int64_t direction)
{
    if (parameter == NULL || parameter->dtype == DTYPE_INVALID || parameter->data == NULL) {
        return NULL;
    }
    int64_t size = tensor_element_count(parameter) / parameter->shape.dims[0];
    return (const float *)parameter->data + direction * size;
}

static Status
prepare_weights(Call *call, Device *device, const Node *node, const Tensor *const *constants, void *state)
{
    (void)call;
    (void)device;
    (void)node;
    const Recurrent *recurrent = state;
    const Tensor *w = constants[INPUT_W];
    const Tensor *r = constants[INPUT_R];
    for (int64_t direction = 0; w != NULL && direction < w->shape.dims[0]; direction++) {
        product_set_weights(recurrent->weights[direction].inputs, part_of(w, direction));
    }
    for (int64_t direction = 0; r != NULL && direction < r->shape.dims[0]; direction++) {
        const Weights *weights = &recurrent->weights[direction];
        const float *part = part_of(r, direction);
        int64_t hidden = r->shape.dims[2];
        product_set_weights(weights->recurrence, part);
        if (weights->candidate != NULL) {
            product_set_weights(weights->candidate, part == NULL ? NULL : part + 2 * hidden * hidden);
        }
    }
    return STATUS_OK;
}

/* The gates of one sequence at one point in time: what its input and its previous state give each gate, and
 * its states. */
typedef struct Gates {
    const float *sums;
    const float *turned;
    float *candidate;    /* what a GRU's candidate is given by the previous state */
    const float *before; /* the previous hidden state */
    float *after;
    float *memory;          /* an LSTM's cell state; a GRU's previous state behind the reset gate */
    const float *peepholes; /* of an LSTM's gates i o f; NULL: there are none */
    int64_t hidden;
    float clip;
} Gates;

/* Returns x within -clip and clip, NaN as the lower one; x itself when `clip` is 0. */
VECTOR_FUNCTION float
clipped(float x, float clip)
{
    float raised = x > -clip ? x : -clip;
    float within = raised < clip ? raised : clip;
    return clip > 0 ? within : x;
}

VECTOR_FUNCTION void
pass_rnn_body(const Gates *gates, bool is_rectified)
{
    int64_t hidden = gates->hidden;
    const float *sums = gates->sums;
    const float *turned = gates->turned;
    float *after = gates->after;
    float clip = gates->clip;
    VECTOR_LOOP for (int64_t n = 0; n < hidden; n++)
    {
        float sum = clipped(sums[n] + turned[n], clip);
        float rectified = sum < 0 ? 0 : sum;
        after[n] = is_rectified ? rectified : hyperbolic_tangent_of(sum);
    }
}
VECTOR_VARIANTS(pass_rnn, (const Gates *gates, bool is_rectified), (gates, is_rectified))

/* `is_plain`: there is no clipping, and there are no peepholes. */
VECTOR_FUNCTION void
pass_lstm_gates(const Gates *gates, bool is_plain)
{
    int64_t hidden = gates->hidden;
    const float *sums = gates->sums;
    const float *turned = gates->turned;
    bool peeps = !is_plain && gates->peepholes != NULL;
    const float *peepholes = peeps ? gates->peepholes : sums; /* what is read, and not used */
    float clip = is_plain ? 0 : gates->clip;
    float *memory = gates->memory;
    float *after = gates->after;
    VECTOR_LOOP for (int64_t n = 0; n < hidden; n++)
    {
        float before = memory[n];
        float to_input = sums[n] + turned[n];
        float to_output = sums[hidden + n] + turned[hidden + n];
        float to_forget = sums[2 * hidden + n] + turned[2 * hidden + n];
        float to_candidate = sums[3 * hidden + n] + turned[3 * hidden + n];
        to_input = peeps ? to_input + peepholes[n] * before : to_input;
        to_forget = peeps ? to_forget + peepholes[2 * hidden + n] * before : to_forget;
        float input = sigmoid_of(clipped(to_input, clip));
        float forget = sigmoid_of(clipped(to_forget, clip));
        float candidate = hyperbolic_tangent_of(clipped(to_candidate, clip));
        float next = forget * before + input * candidate;
        to_output = peeps ? to_output + peepholes[hidden + n] * next : to_output;
        memory[n] = next;
        after[n] = sigmoid_of(clipped(to_output, clip)) * hyperbolic_tangent_of(clipped(next, clip));
    }
}

VECTOR_FUNCTION void
pass_plain_lstm_body(const Gates *gates)
{
    pass_lstm_gates(gates, true);
}
VECTOR_VARIANTS(pass_plain_lstm, (const Gates *gates), (gates))

VECTOR_FUNCTION void
pass_full_lstm_body(const Gates *gates)
{
    pass_lstm_gates(gates, false);
}
VECTOR_VARIANTS(pass_full_lstm, (const Gates *gates), (gates))

/* Resets the candidate, which the recurrence gave, or the state that is yet to be multiplied. */
VECTOR_FUNCTION void
reset_gru_body(const Gates *gates, bool resets_before)
{
    int64_t hidden = gates->hidden;
    const float *sums = gates->sums + hidden;
    const float *turned = gates->turned + hidden;
    const float *from = resets_before ? gates->before : gates->candidate;
    float *to = resets_before ? gates->memory : gates->candidate;
    float clip = gates->clip;
    VECTOR_LOOP for (int64_t n = 0; n < hidden; n++)
    {
        to[n] = sigmoid_of(clipped(sums[n] + turned[n], clip)) * from[n];
    }
}
VECTOR_VARIANTS(reset_gru, (const Gates *gates, bool resets_before), (gates, resets_before))

VECTOR_FUNCTION void
pass_gru_body(const Gates *gates)
{
    int64_t hidden = gates->hidden;
    const float *sums = gates->sums;
    const float *turned = gates->turned;
    const float *given = gates->candidate;
    const float *before = gates->before;
    float *after = gates->after;
    float clip = gates->clip;
    VECTOR_LOOP for (int64_t n = 0; n < hidden; n++)
    {
        float update = sigmoid_of(clipped(sums[n] + turned[n], clip));
        float candidate = hyperbolic_tangent_of(clipped(sums[2 * hidden + n] + given[n], clip));
        after[n] = (1.0F - update) * candidate + update * before[n];
    }
}
VECTOR_VARIANTS(pass_gru, (const Gates *gates), (gates))

/* One direction of a run. */
struct Pass {
    KernelContext *context;
    Call *call; /* its own, as another direction may fail meanwhile */
    const Recurrent *recurrent;
    const Weights *weights;
    int64_t direction;
    int64_t time;
    int64_t batch;
    int64_t inputs;
    int64_t hidden;
    const float *r;
    const float *biases;    /* [2 × gates × hidden], or NULL */
    const float *peepholes; /* [3 × hidden], or NULL */
    const int32_t *lengths; /* of the sequences; NULL: all are as long as there is time */
    float *sums;            /* [time × batch, gates × hidden] */
    float *turned;          /* [batch, gates × hidden] */
    float *memory;          /* [batch, hidden] */
};

static bool
is_ended(const Pass *pass, int64_t moment, int64_t sequence)
{
    return pass->lengths != NULL && moment >= pass->lengths[sequence];
}

static ProductShape
transposed_product(int64_t m, int64_t n, int64_t k)
{
    return (ProductShape){.m = m, .n = n, .k = k, .transposes_b = true, .alpha = 1};
}

static Status
multiply_inputs(const Pass *pass)
{
    KernelContext *context = pass->context;
    ProductShape shape = transposed_product(
        pass->time * pass->batch, pass->recurrent->cell->gates * pass->hidden, pass->inputs);
    ProductOperands operands = {
        .a = context->inputs[INPUT_X].data,
        .b = part_of(&context->inputs[INPUT_W], pass->direction),
        .bias = pass->biases,
        .output = pass->sums,
    };
    return product_run(pass->call, pass->weights->inputs, context->device, &shape, &operands);
}

/* Multiplies states by `gates` gates of the recurrence, from gate `first` on. */
static Status
multiply_states(
    const Pass *pass, Product *product, int64_t first, int64_t gates, const float *states, float *to)
{
    int64_t hidden = pass->hidden;
    const float *biases = pass->biases;
    ProductShape shape = transposed_product(pass->batch, gates * hidden, hidden);
    ProductOperands operands = {
        .a = states,
        .b = pass->r + first * hidden * hidden,
        .bias = biases == NULL ? NULL : biases + (pass->recurrent->cell->gates + first) * hidden,
    };
    operands.output = to;
    return product_run(pass->call, product, pass->context->device, &shape, &operands);
}

/* Returns the gates of a sequence; `before` and `after` are the states of all. */
static Gates
gates_of(const Pass *pass, int64_t moment, int64_t sequence, const float *before, float *after)
{
    int64_t hidden = pass->hidden;
    int64_t gates = pass->recurrent->cell->gates;
    bool resets_before = pass->recurrent->resets_before;
    const float *turned = pass->turned + sequence * (resets_before ? 2 : gates) * hidden;
    float *candidates = pass->turned + 2 * pass->batch * hidden;
    return (Gates){
        .sums = pass->sums + (moment * pass->batch + sequence) * gates * hidden,
        .turned = turned,
        .candidate =
            resets_before ? candidates + sequence * hidden : pass->turned + (sequence * gates + 2) * hidden,
        .before = before + sequence * hidden,
        .after = after + sequence * hidden,
        .memory = pass->memory + sequence * hidden,
        .peepholes = pass->peepholes,
        .hidden = hidden,
        .clip = pass->recurrent->clip,
    };
}

static void
keep_state(const Gates *gates)
{
    memcpy(gates->after, gates->before, (size_t)gates->hidden * sizeof *gates->after);
}

static Status
step_rnn(const Pass *pass, int64_t moment, const float *before, float *after)
{
    TRY(multiply_states(pass, pass->weights->recurrence, 0, 1, before, pass->turned));
    for (int64_t sequence = 0; sequence < pass->batch; sequence++) {
        Gates gates = gates_of(pass, moment, sequence, before, after);
        if (is_ended(pass, moment, sequence)) {
            keep_state(&gates);
        } else {
            pass_rnn(&gates, pass->recurrent->is_rectified);
        }
    }
    return STATUS_OK;
}

static Status
step_lstm(const Pass *pass, int64_t moment, const float *before, float *after)
{
    TRY(multiply_states(
        pass, pass->weights->recurrence, 0, pass->recurrent->cell->gates, before, pass->turned));
    for (int64_t sequence = 0; sequence < pass->batch; sequence++) {
        Gates gates = gates_of(pass, moment, sequence, before, after);
        if (is_ended(pass, moment, sequence)) {
            keep_state(&gates);
        } else if (gates.clip > 0 || gates.peepholes != NULL) {
            pass_full_lstm(&gates);
        } else {
            pass_plain_lstm(&gates);
        }
    }
    return STATUS_OK;
}

static Status
step_gru(const Pass *pass, int64_t moment, const float *before, float *after)
{
    bool resets_before = pass->recurrent->resets_before;
    TRY(multiply_states(pass, pass->weights->recurrence, 0, resets_before ? 2 : 3, before, pass->turned));
    for (int64_t sequence = 0; sequence < pass->batch; sequence++) {
        Gates gates = gates_of(pass, moment, sequence, before, after);
        reset_gru(&gates, resets_before);
    }
    if (resets_before) {
        float *candidates = pass->turned + 2 * pass->batch * pass->hidden;
        TRY(multiply_states(pass, pass->weights->candidate, 2, 1, pass->memory, candidates));
    }
    for (int64_t sequence = 0; sequence < pass->batch; sequence++) {
        Gates gates = gates_of(pass, moment, sequence, before, after);
        if (is_ended(pass, moment, sequence)) {
            keep_state(&gates);
        } else {
            pass_gru(&gates);
        }
    }
    return STATUS_OK;
}

/* Copies the states of a direction; absent ones are 0. */
static void
load_states(const Pass *pass, const Tensor *states, float *to)
{
    int64_t size = pass->batch * pass->hidden;
    if (states == NULL || states->dtype == DTYPE_INVALID) {
        memset(to, 0, (size_t)size * sizeof *to);
    } else {
        memcpy(to, (const float *)states->data + pass->direction * size, (size_t)size * sizeof *to);
    }
}

static void
store_states(const Pass *pass, uint32_t output, const float *states)
{
    int64_t size = pass->batch * pass->hidden;
    if (output < pass->context->output_count) {
        float *to = pass->context->outputs[output].data;
        memcpy(to + pass->direction * size, states, (size_t)size * sizeof *to);
    }
}

static const Tensor *
input_of(const KernelContext *context, uint32_t input)
{
    return input < context->input_count ? &context->inputs[input] : NULL;
}

static float *
output_at(const Pass *pass, int64_t moment)
{
    const KernelContext *context = pass->context;
    int64_t directions = context->inputs[INPUT_W].shape.dims[0];
    return (float *)context->outputs[0].data +
           (moment * directions + pass->direction) * pass->batch * pass->hidden;
}

/* Copies the states of a moment to the output, where those of sequences that have ended are 0. */
static void
write_states(const Pass *pass, int64_t moment, const float *states)
{
    float *output = output_at(pass, moment);
    int64_t hidden = pass->hidden;
    for (int64_t sequence = 0; sequence < pass->batch; sequence++) {
        if (is_ended(pass, moment, sequence)) {
            memset(output + sequence * hidden, 0, (size_t)hidden * sizeof *output);
        } else {
            memcpy(output + sequence * hidden, states + sequence * hidden, (size_t)hidden * sizeof *output);
        }
    }
}

/* Runs a direction. States go from output to output, but of sequences with lengths between two rooms; `first`
 * has room for those in front of the first step, and for these. */
static Status
run_pass(const Pass *pass, float *first)
{
    KernelContext *context = pass->context;
    bool is_reverse = pass->direction == 1 || pass->recurrent->is_reverse;
    float *rooms = first + pass->batch * pass->hidden;
    const float *states = first;
    load_states(pass, input_of(context, INPUT_HIDDEN), first);
    load_states(pass, input_of(context, INPUT_MEMORY), pass->memory);
    if (pass->time > 0) {
        TRY(multiply_inputs(pass));
    }
    for (int64_t turn = 0; turn < pass->time; turn++) {
        int64_t moment = is_reverse ? pass->time - 1 - turn : turn;
        float *after =
            pass->lengths == NULL ? output_at(pass, moment) : rooms + turn % 2 * pass->batch * pass->hidden;
        TRY(pass->recurrent->cell->step(pass, moment, states, after));
        states = after;
        if (pass->lengths != NULL) {
            write_states(pass, moment, states);
        }
    }
    store_states(pass, 1, states);
    store_states(pass, 2, pass->memory);
    return STATUS_OK;
}

/* Returns the floats that a direction works in: sums, what the recurrence gives, and four states. */
static int64_t
room_size(int64_t gates, int64_t time, int64_t batch, int64_t hidden)
{
    return (time * gates + gates + 4) * batch * hidden;
}

static Status
make_outputs(KernelContext *context)
{
    Shape shapes[OUTPUTS_MAX];
    Tensor *output = NULL;
    TRY(output_shapes(context, shapes));
    for (uint32_t index = 0; index < context->output_count; index++) {
        TRY(kernel_output(context, index, DTYPE_FLOAT32, &shapes[index], &output));
    }
    return STATUS_OK;
}

/* The directions of a run; they share no memory that they write to. */
typedef struct Directions {
    Pass passes[DIRECTIONS_MAX];
    Call calls[DIRECTIONS_MAX];
    Status statuses[DIRECTIONS_MAX];
} Directions;

static void
run_direction(void *context, int64_t direction)
{
    Directions *run = context;
    const Pass *pass = &run->passes[direction];
    run->statuses[direction] = run_pass(pass, pass->memory + pass->batch * pass->hidden);
}

/* Fills in what one direction works on; `room` is its part of the room. */
static Pass
pass_of(const Pass *shared, int64_t direction, Call *call, float *room)
{
    Pass pass = *shared;
    int64_t states = pass.batch * pass.hidden;
    int64_t gates = pass.recurrent->cell->gates;
    pass.call = call;
    pass.direction = direction;
    pass.sums = room;
    pass.turned = pass.sums + pass.time * gates * states;
    pass.memory = pass.turned + gates * states;
    pass.weights = &pass.recurrent->weights[direction];
    pass.r = part_of(&pass.context->inputs[INPUT_R], direction);
    pass.biases = part_of(input_of(pass.context, INPUT_B), direction);
    pass.peepholes = part_of(input_of(pass.context, INPUT_PEEPHOLES), direction);
    return pass;
}

static Status
run_directions(const Pass *shared, int64_t count, float *room)
{
    Directions run = {0};
    const Pass *pass = shared;
    Device *device = pass->context->device;
    int64_t gates = pass->recurrent->cell->gates;
    int64_t size = room_size(gates, pass->time, pass->batch, pass->hidden);
    int64_t products = pass->time * pass->batch * gates * pass->hidden * (pass->inputs + pass->hidden);
    for (int64_t direction = 0; direction < count; direction++) {
        run.passes[direction] = pass_of(shared, direction, &run.calls[direction], room + direction * size);
    }
    if (products >= SHARED_PRODUCTS) {
        device->parallel_for(device, count, run_direction, &run);
    } else {
        for (int64_t direction = 0; direction < count; direction++) {
            run_direction(&run, direction);
        }
    }
    for (int64_t direction = 0; direction < count; direction++) {
        if (run.statuses[direction] != STATUS_OK) {
            return call_fail(
                pass->context->call, run.statuses[direction], "%s", run.calls[direction].error.message);
        }
    }
    return STATUS_OK;
}

static Status
compute_recurrent(KernelContext *context)
{
    AUTO_TENSOR room = {0};
    const Recurrent *recurrent = context->state;
    TRY(make_outputs(context));
    const Shape *x = &context->inputs[INPUT_X].shape;
    int64_t directions = context->inputs[INPUT_W].shape.dims[0];
    Pass shared = {.context = context,
        .recurrent = recurrent,
        .time = x->dims[0],
        .batch = x->dims[1],
        .inputs = x->dims[2],
        .hidden = context->inputs[INPUT_R].shape.dims[2]};
    const Tensor *lengths = input_of(context, INPUT_LENGTHS);
    shared.lengths = lengths == NULL || lengths->dtype == DTYPE_INVALID ? NULL : lengths->data;
    if (shared.batch == 0 || shared.hidden == 0) {
        return STATUS_OK;
    }
    Shape size = shape_vector(
        directions * room_size(recurrent->cell->gates, shared.time, shared.batch, shared.hidden));
    TRY(scratch_new(context, DTYPE_FLOAT32, &size, &room));
    return run_directions(&shared, directions, room.data);
}

static uint64_t
recurrent_scratch(const KernelForecast *told)
{
    const Recurrent *recurrent = told->state;
    const Shape *x = &told->shapes.inputs[INPUT_X];
    int64_t directions = told->shapes.inputs[INPUT_W].dims[0];
    int64_t hidden = told->shapes.inputs[INPUT_R].dims[2];
    int64_t rows = x->dims[0] * x->dims[1];
    if (rows == 0 || hidden == 0) {
        return 0;
    }
    int64_t gates = recurrent->cell->gates;
    ProductShape shape = transposed_product(rows, gates * hidden, x->dims[2]);
    uint64_t one = (uint64_t)room_size(gates, x->dims[0], x->dims[1], hidden) * sizeof(float) +
                   product_scratch(recurrent->weights[0].inputs, told->device, &shape, 1);
    return (uint64_t)directions * one;
}

static const Cell rnn_cell = {1, {"Tanh"}, 1, step_rnn};
static const Cell gru_cell = {3, {"Sigmoid", "Tanh"}, 2, step_gru};
static const Cell lstm_cell = {4, {"Sigmoid", "Tanh", "Tanh"}, 3, step_lstm};

static bool
rnn_supports(const Node *node)
{
    static const char *const rectified[] = {"Relu"};
    return is_plain(node) && (has_activations(node, rnn_cell.activations, rnn_cell.activation_count) ||
                                 has_activations(node, rectified, COUNT_OF(rectified)));
}

static bool
gru_supports(const Node *node)
{
    return is_plain(node) && has_activations(node, gru_cell.activations, gru_cell.activation_count);
}

static bool
lstm_supports(const Node *node)
{
    return is_plain(node) && has_activations(node, lstm_cell.activations, lstm_cell.activation_count) &&
           node_attr_int(node, "input_forget") == 0;
}

#define RECURRENT(name)                                                                                      \
    static Status name##_create(Call *call, const Node *node, void **ret_state)                              \
    {                                                                                                        \
        return create_recurrent(call, node, &name##_cell, ret_state);                                        \
    }

RECURRENT(rnn)
RECURRENT(gru)
RECURRENT(lstm)

#define RECURRENT_KERNEL(op_name, name)                                                                      \
    {                                                                                                        \
        .op = (op_name), .supports = name##_supports, .create = name##_create, .destroy = destroy_recurrent, \
        .prepare = prepare_weights, .compute = compute_recurrent, .scratch = recurrent_scratch               \
    }

static const Kernel recurrent_kernels[] = {
    RECURRENT_KERNEL("onnx::RNN", rnn),
    RECURRENT_KERNEL("onnx::GRU", gru),
    RECURRENT_KERNEL("onnx::LSTM", lstm),
};

KERNEL_FAMILY(cpu_kernels, recurrent, recurrent_kernels);
