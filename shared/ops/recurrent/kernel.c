/* Cells of recurrent networks.
 *
 * LSTM: i = σ(I), c = tanh(C), f = σ(F + forget bias), s = c × i + s' × f, o = σ(O), h = o × tanh(s), where
 * I, C, F, O are the columns of [x, h'] × w + b; peepholes add wci × s', wcf × s' and wco × s.
 * GRU: r, u = σ([x, h'] × w_ru + b_ru), c = tanh([x, h' × r] × w_c + b_c), h = u × h' + (1 - u) × c. */
#include <math.h>

#include "worker/reference/doubles.h"
#include "worker/reference/scratch.h"

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->output_dtypes[0]);
}

static double
sigmoid(double a)
{
    return a >= 0 ? 1 / (1 + exp(-a)) : exp(a) / (1 + exp(a));
}

/* Computes one row of [x, h] × w + b. */
typedef struct Linear {
    const double *weights;
    const double *biases;
    int64_t inputs;
    int64_t cell;
    int64_t columns;
} Linear;

static void
linear_row(const Linear *linear, const double *x, const double *h, double *ret_row)
{
    for (int64_t column = 0; column < linear->columns; column++) {
        double sum = 0;
        for (int64_t k = 0; k < linear->inputs + linear->cell; k++) {
            sum += (k < linear->inputs ? x[k] : h[k - linear->inputs]) *
                   linear->weights[k * linear->columns + column];
        }
        ret_row[column] = sum + linear->biases[column];
    }
}

enum { GATE_I, GATE_CS, GATE_F, GATE_O, GATE_CI, GATE_CO, GATE_H, GATES };

typedef struct Lstm {
    Linear linear;
    const double *peepholes[3]; /* wci, wcf and wco; NULL: there are none */
    double forget_bias;
    double clip;        /* 0: no clipping */
    int64_t columns[4]; /* first column of I, C, F and O */
    double *row;
} Lstm;

/* The rows of one step and of the one before. */
typedef struct LstmStep {
    const double *x;
    const double *cs_prev;
    const double *h_prev;
    double *outputs[GATES];
} LstmStep;

static double
peephole_term(const Lstm *lstm, int which, const double *state, int64_t k)
{
    return lstm->peepholes[which] == NULL ? 0 : lstm->peepholes[which][k] * state[k];
}

static void
lstm_step(const Lstm *lstm, const LstmStep *step)
{
    linear_row(&lstm->linear, step->x, step->h_prev, lstm->row);
    for (int64_t k = 0; k < lstm->linear.cell; k++) {
        double i = sigmoid(lstm->row[lstm->columns[0] + k] + peephole_term(lstm, 0, step->cs_prev, k));
        double ci = tanh(lstm->row[lstm->columns[1] + k]);
        double f = sigmoid(
            lstm->row[lstm->columns[2] + k] + lstm->forget_bias + peephole_term(lstm, 1, step->cs_prev, k));
        double cs = ci * i + step->cs_prev[k] * f;
        cs = lstm->clip > 0 && cs > lstm->clip ? lstm->clip : cs;
        cs = lstm->clip > 0 && cs < -lstm->clip ? -lstm->clip : cs;
        step->outputs[GATE_CS][k] = cs;
        double o =
            sigmoid(lstm->row[lstm->columns[3] + k] + peephole_term(lstm, 2, step->outputs[GATE_CS], k));
        step->outputs[GATE_I][k] = i;
        step->outputs[GATE_F][k] = f;
        step->outputs[GATE_O][k] = o;
        step->outputs[GATE_CI][k] = ci;
        step->outputs[GATE_CO][k] = tanh(cs);
        step->outputs[GATE_H][k] = o * tanh(cs);
    }
}

/* The second version has its gates in another order, and no bias for forgetting. */
static Lstm
lstm_read(const KernelContext *context, const Doubles *doubles, int first, const Tensor *row)
{
    const Node *node = context->node;
    const Shape *weights = &context->inputs[first + 2].shape;
    int64_t cell = weights->dims[1] / 4;
    bool is_second = slice_ends_with(node->op->name, SLICE("V2"));
    Lstm lstm = {
        .linear = {.weights = doubles_in(doubles, first + 2),
            .biases = doubles_in(doubles, first + 6),
            .inputs = weights->dims[0] - cell,
            .cell = cell,
            .columns = 4 * cell},
        .forget_bias = is_second ? 0 : (double)node_attr_float(node, "forget_bias"),
        .clip = (double)node_attr_float(node, "cell_clip"),
        .columns = {0, is_second ? 2 * cell : cell, is_second ? cell : 2 * cell, 3 * cell},
        .row = row->data,
    };
    for (int index = 0; index < 3 && node_attr_bool(node, "use_peephole"); index++) {
        lstm.peepholes[index] = doubles_in(doubles, first + 3 + index);
    }
    return lstm;
}

/* Runs `times` steps for every batch; input `first - 1` holds x. */
static Status
lstm_run(KernelContext *context, Doubles *doubles, int first, int64_t times)
{
    AUTO_TENSOR row = {0};
    const Shape *state = &context->inputs[first].shape;
    Shape gates = shape_vector(4 * state->dims[1]);
    TRY(scratch_new(context, DTYPE_FLOAT64, &gates, &row));
    Lstm lstm = lstm_read(context, doubles, first, &row);
    int64_t batch = state->dims[0];
    int64_t cell = state->dims[1];
    for (int64_t n = 0; n < times * batch; n++) {
        bool is_first = n < batch;
        LstmStep step = {.x = doubles_in(doubles, first - 1) + n * lstm.linear.inputs};
        for (int gate = 0; gate < GATES; gate++) {
            step.outputs[gate] = doubles_out(doubles, gate) + n * cell;
        }
        step.cs_prev =
            is_first ? doubles_in(doubles, first) + n * cell : step.outputs[GATE_CS] - batch * cell;
        step.h_prev =
            is_first ? doubles_in(doubles, first + 1) + n * cell : step.outputs[GATE_H] - batch * cell;
        lstm_step(&lstm, &step);
    }
    return STATUS_OK;
}

static Status
lstm_cell_compute(KernelContext *context)
{
    AUTO_DOUBLES doubles = {0};
    TRY(doubles_begin(context, &doubles));
    TRY(lstm_run(context, &doubles, 1, 1));
    return doubles_finish(context, &doubles);
}

/* Rows behind the longest sequence stay 0. */
static Status
lstm_compute(KernelContext *context)
{
    AUTO_DOUBLES doubles = {0};
    int64_t length = 0;
    size_t count = 0;
    TRY(doubles_begin(context, &doubles));
    TRY(kernel_input_ints(context, 0, &length, 1, &count));
    int64_t time = context->inputs[1].shape.dims[0];
    if (count != 1 || length < 0 || length > time) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "seq_len_max is %lld, not within %lld",
            (long long)length, (long long)time);
    }
    TRY(lstm_run(context, &doubles, 2, length));
    return doubles_finish(context, &doubles);
}

enum { GRU_R, GRU_U, GRU_C, GRU_H };

static Status
gru_cell_compute(KernelContext *context)
{
    AUTO_DOUBLES doubles = {0};
    AUTO_TENSOR row = {0};
    TRY(doubles_begin(context, &doubles));
    int64_t inputs = context->inputs[0].shape.dims[1];
    int64_t cell = context->inputs[1].shape.dims[1];
    Shape gates = shape_vector(3 * cell);
    TRY(scratch_new(context, DTYPE_FLOAT64, &gates, &row));
    double *sums = row.data;
    double *kept = sums + 2 * cell; /* the last state after the reset gate */
    Linear both = {doubles_in(&doubles, 2), doubles_in(&doubles, 4), inputs, cell, 2 * cell};
    Linear candidate = {doubles_in(&doubles, 3), doubles_in(&doubles, 5), inputs, cell, cell};
    for (int64_t n = 0; n < context->inputs[0].shape.dims[0]; n++) {
        const double *x = doubles_in(&doubles, 0) + n * inputs;
        const double *h_prev = doubles_in(&doubles, 1) + n * cell;
        double *outputs[4];
        for (int index = 0; index < 4; index++) {
            outputs[index] = doubles_out(&doubles, index) + n * cell;
        }
        linear_row(&both, x, h_prev, sums);
        for (int64_t k = 0; k < cell; k++) {
            outputs[GRU_R][k] = sigmoid(sums[k]);
            outputs[GRU_U][k] = sigmoid(sums[cell + k]);
            kept[k] = outputs[GRU_R][k] * h_prev[k];
        }
        linear_row(&candidate, x, kept, sums);
        for (int64_t k = 0; k < cell; k++) {
            double u = outputs[GRU_U][k];
            outputs[GRU_C][k] = tanh(sums[k]);
            outputs[GRU_H][k] = u * h_prev[k] + (1 - u) * outputs[GRU_C][k];
        }
    }
    return doubles_finish(context, &doubles);
}

static const Kernel recurrent_kernels[] = {
    {.op = "LSTMBlockCell", .supports = supports_floats, .compute = lstm_cell_compute, DOUBLES_SCRATCH},
    {.op = "BlockLSTM",
        .supports = supports_floats,
        .compute = lstm_compute,
        DOUBLES_SCRATCH,
        .host_inputs = 1},
    {.op = "BlockLSTMV2",
        .supports = supports_floats,
        .compute = lstm_compute,
        DOUBLES_SCRATCH,
        .host_inputs = 1},
    {.op = "GRUBlockCell", .supports = supports_floats, .compute = gru_cell_compute, DOUBLES_SCRATCH},
};

KERNEL_FAMILY(reference, recurrent, recurrent_kernels);
