/* TensorFlow's LSTM cells as one op, of float32 and without peepholes: LSTMBlockCell, BlockLSTM and
 * BlockLSTMV2. The inputs of all points in time are multiplied by their rows of the weights at once; each
 * point in time then adds the previous hidden state times the other rows, both by worker/cpu/product, and
 * passes its gates. */
#include "shared/base/memory.h"
#include "worker/cpu/product/product.h"
#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/variants.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

/* Inputs of the node, behind its x; a BlockLSTM has one more in front of it. */
enum { BEHIND_CS = 1, BEHIND_H = 2, BEHIND_W = 3, BEHIND_B = 7 };
enum { GATE_I, GATE_CS, GATE_F, GATE_O, GATE_CI, GATE_CO, GATE_H, GATES };
enum { COLUMN_I, COLUMN_CI, COLUMN_F, COLUMN_O, COLUMNS };

typedef struct BlockLstm {
    uint32_t x; /* number of the input */
    bool has_lengths;
    bool is_second; /* gates in the order I, F, C, O, and no bias for forgetting */
    float forget_bias;
    float limit; /* of the cell's state; infinite without cell_clip */
    Product *inputs;
    Product *recurrence;
} BlockLstm;

static bool
supports_block_lstm(const Node *node)
{
    return node->output_dtypes[0] == DTYPE_FLOAT32 && !node_attr_bool(node, "use_peephole");
}

static void
destroy_block_lstm(void *state)
{
    BlockLstm *lstm = state;
    product_free(lstm->inputs);
    product_free(lstm->recurrence);
    memory_free(lstm);
}

static Status
create_block_lstm(Call *call, const Node *node, void **ret_state)
{
    BlockLstm *lstm = memory_new(1, sizeof *lstm);
    if (lstm == NULL) {
        return call_fail_memory(call, "an LSTM");
    }
    float clip = node_attr_float(node, "cell_clip");
    lstm->is_second = slice_equals_string(node->def->op, "BlockLSTMV2");
    lstm->has_lengths = !slice_equals_string(node->def->op, "LSTMBlockCell");
    lstm->x = lstm->has_lengths ? 1 : 0;
    lstm->forget_bias = lstm->is_second ? 0 : node_attr_float(node, "forget_bias");
    lstm->limit = clip > 0 ? clip : INFINITY;
    Status status = product_new(call, &lstm->inputs);
    if (status == STATUS_OK) {
        status = product_new(call, &lstm->recurrence);
    }
    if (status != STATUS_OK) {
        destroy_block_lstm(lstm);
        return status;
    }
    *ret_state = lstm;
    return STATUS_OK;
}

/* Returns the rows of the weights that belong to the hidden state; they stand behind those of x. */
static const float *
recurrence_of(const Tensor *weights)
{
    int64_t inputs = weights->shape.dims[0] - weights->shape.dims[1] / COLUMNS;
    return (const float *)weights->data + inputs * weights->shape.dims[1];
}

static Status
prepare_block_lstm(Call *call, Device *device, const Node *node, const Tensor *const *constants, void *state)
{
    (void)call;
    (void)device;
    (void)node;
    const BlockLstm *lstm = state;
    const Tensor *weights = constants[lstm->x + BEHIND_W];
    if (weights != NULL && weights->data != NULL) {
        product_set_weights(lstm->inputs, weights->data);
        product_set_weights(lstm->recurrence, recurrence_of(weights));
    }
    return STATUS_OK;
}

/* One sequence at one point in time. */
typedef struct CellRow {
    const float *columns[COLUMNS];
    const float *cs_prev;
    float *gates[GATES];
    int64_t cell;
    float forget_bias;
    float limit;
} CellRow;

VECTOR_FUNCTION void
pass_cell_body(const CellRow *row)
{
    int64_t cell = row->cell;
    float limit = row->limit;
    float forget_bias = row->forget_bias;
    const float *cs_prev = row->cs_prev;
    const float *column_i = row->columns[COLUMN_I];
    const float *column_ci = row->columns[COLUMN_CI];
    const float *column_f = row->columns[COLUMN_F];
    const float *column_o = row->columns[COLUMN_O];
    float *gate_i = row->gates[GATE_I];
    float *gate_cs = row->gates[GATE_CS];
    float *gate_f = row->gates[GATE_F];
    float *gate_o = row->gates[GATE_O];
    float *gate_ci = row->gates[GATE_CI];
    float *gate_co = row->gates[GATE_CO];
    float *gate_h = row->gates[GATE_H];
    VECTOR_LOOP for (int64_t n = 0; n < cell; n++)
    {
        float input = sigmoid_of(column_i[n]);
        float candidate = hyperbolic_tangent_of(column_ci[n]);
        float forget = sigmoid_of(column_f[n] + forget_bias);
        float output = sigmoid_of(column_o[n]);
        float state = candidate * input + cs_prev[n] * forget;
        state = state > limit ? limit : state;
        state = state < -limit ? -limit : state;
        float given = hyperbolic_tangent_of(state);
        gate_i[n] = input;
        gate_ci[n] = candidate;
        gate_f[n] = forget;
        gate_o[n] = output;
        gate_cs[n] = state;
        gate_co[n] = given;
        gate_h[n] = output * given;
    }
}
VECTOR_VARIANTS(pass_cell, (const CellRow *row), (row))

/* A run; `sums` is [time × batch, 4 × cell]. */
typedef struct BlockRun {
    KernelContext *context;
    const BlockLstm *lstm;
    int64_t time; /* points that are computed */
    int64_t batch;
    int64_t inputs;
    int64_t cell;
    float *sums;
} BlockRun;

static const Tensor *
input_behind(const BlockRun *run, uint32_t behind)
{
    return &run->context->inputs[run->lstm->x + behind];
}

static float *
gate_rows(const BlockRun *run, int gate, int64_t moment)
{
    return (float *)run->context->outputs[gate].data + moment * run->batch * run->cell;
}

static Status
multiply_inputs(const BlockRun *run)
{
    ProductShape shape = {
        .m = run->time * run->batch, .n = COLUMNS * run->cell, .k = run->inputs, .alpha = 1};
    ProductOperands operands = {
        .a = run->context->inputs[run->lstm->x].data,
        .b = input_behind(run, BEHIND_W)->data,
        .bias = input_behind(run, BEHIND_B)->data,
        .output = run->sums,
    };
    return product_run(run->context->call, run->lstm->inputs, run->context->device, &shape, &operands);
}

static Status
add_states(const BlockRun *run, const float *states, float *sums)
{
    ProductShape shape = {
        .m = run->batch, .n = COLUMNS * run->cell, .k = run->cell, .accumulates = true, .alpha = 1};
    ProductOperands operands = {.a = states, .b = recurrence_of(input_behind(run, BEHIND_W))};
    operands.output = sums;
    return product_run(run->context->call, run->lstm->recurrence, run->context->device, &shape, &operands);
}

static CellRow
row_of(const BlockRun *run, int64_t moment, int64_t sequence, const float *cs_prev)
{
    bool is_second = run->lstm->is_second;
    int64_t cell = run->cell;
    const float *sums = run->sums + (moment * run->batch + sequence) * COLUMNS * cell;
    CellRow row = {
        .columns = {sums, sums + (is_second ? 2 : 1) * cell, sums + (is_second ? 1 : 2) * cell,
            sums + 3 * cell},
        .cs_prev = cs_prev + sequence * cell,
        .cell = cell,
        .forget_bias = run->lstm->forget_bias,
        .limit = run->lstm->limit,
    };
    for (int gate = 0; gate < GATES; gate++) {
        row.gates[gate] = gate_rows(run, gate, moment) + sequence * cell;
    }
    return row;
}

static Status
run_moments(const BlockRun *run)
{
    const float *states = input_behind(run, BEHIND_H)->data;
    const float *cs_prev = input_behind(run, BEHIND_CS)->data;
    TRY(multiply_inputs(run));
    for (int64_t moment = 0; moment < run->time; moment++) {
        TRY(add_states(run, states, run->sums + moment * run->batch * COLUMNS * run->cell));
        for (int64_t sequence = 0; sequence < run->batch; sequence++) {
            CellRow row = row_of(run, moment, sequence, cs_prev);
            pass_cell(&row);
        }
        states = gate_rows(run, GATE_H, moment);
        cs_prev = gate_rows(run, GATE_CS, moment);
    }
    return STATUS_OK;
}

/* Makes the outputs; rows behind the longest sequence are 0. */
static Status
make_gates(const BlockRun *run, const Shape *shapes)
{
    Tensor *output = NULL;
    size_t computed = (size_t)(run->time * run->batch * run->cell) * sizeof(float);
    for (uint32_t gate = 0; gate < GATES; gate++) {
        TRY(kernel_output(run->context, gate, DTYPE_FLOAT32, &shapes[gate], &output));
        size_t size = tensor_byte_size(output);
        if (size > computed) {
            memset((char *)output->data + computed, 0, size - computed);
        }
    }
    return STATUS_OK;
}

/* Returns false for a length that is none; otherwise the run takes as many moments. */
static bool
take_length(BlockRun *run)
{
    int64_t length = 0;
    size_t count = 0;
    if (kernel_input_ints(run->context, 0, &length, 1, &count) != STATUS_OK || length < 0 ||
        length > run->time) {
        return false;
    }
    run->time = length;
    return true;
}

static Status
compute_block_lstm(KernelContext *context)
{
    AUTO_TENSOR room = {0};
    Shape shapes[GATES];
    const BlockLstm *lstm = context->state;
    TRY(output_shapes(context, shapes)); /* the inputs fit one another behind it */
    const Shape *x = &context->inputs[lstm->x].shape;
    const Shape *states = &context->inputs[lstm->x + BEHIND_H].shape;
    BlockRun run = {.context = context,
        .lstm = lstm,
        .time = lstm->has_lengths ? x->dims[0] : 1,
        .batch = states->dims[0],
        .inputs = x->dims[x->rank - 1],
        .cell = states->dims[1]};
    if (lstm->has_lengths && !take_length(&run)) {
        return kernel_find_reference(context->node)->compute(context); /* which says what is wrong */
    }
    TRY(make_gates(&run, shapes));
    Shape size = shape_vector(run.time * run.batch * COLUMNS * run.cell);
    if (size.dims[0] == 0) {
        return STATUS_OK;
    }
    TRY(scratch_new(context, DTYPE_FLOAT32, &size, &room));
    run.sums = room.data;
    return run_moments(&run);
}

static uint64_t
block_lstm_scratch(const KernelForecast *told)
{
    const BlockLstm *lstm = told->state;
    const Shape *x = &told->shapes.inputs[lstm->x];
    const Shape *states = &told->shapes.inputs[lstm->x + BEHIND_H];
    int64_t rows = states->dims[0] * (lstm->has_lengths ? x->dims[0] : 1);
    int64_t columns = COLUMNS * states->dims[1];
    if (rows == 0 || columns == 0) {
        return 0;
    }
    ProductShape shape = {.m = rows, .n = columns, .k = x->dims[x->rank - 1], .alpha = 1};
    return (uint64_t)(rows * columns) * sizeof(float) +
           product_scratch(lstm->inputs, told->device, &shape, 1);
}

#define BLOCK_LSTM_KERNEL(name, on_host)                                                                     \
    {                                                                                                        \
        .op = (name), .supports = supports_block_lstm, .create = create_block_lstm,                          \
        .destroy = destroy_block_lstm, .prepare = prepare_block_lstm, .compute = compute_block_lstm,         \
        .scratch = block_lstm_scratch, .host_inputs = (on_host)                                              \
    }

static const Kernel block_lstm_kernels[] = {
    BLOCK_LSTM_KERNEL("BlockLSTM", 1),
    BLOCK_LSTM_KERNEL("BlockLSTMV2", 1),
    BLOCK_LSTM_KERNEL("LSTMBlockCell", 0),
};

KERNEL_FAMILY(cpu_kernels, block_lstm, block_lstm_kernels);
