/* TensorFlow's recurrent cells, each step of which is two matrix products and a kernel: the products of x, to
 * which those of the state are added. The ops' own rules check shapes. */
#include "worker/cuda/kernels/cells.h"

#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/matmul.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

/* 16-bit floats would be rounded at every point in time: they are the host's. */
static bool
supports_wide_floats(const Node *node)
{
    return node->output_dtypes[0] == DTYPE_FLOAT32 || node->output_dtypes[0] == DTYPE_FLOAT64;
}

static CudaMatrix
dense(const void *data, int64_t columns)
{
    return (CudaMatrix){.data = data, .row_step = columns, .column_step = 1};
}

static void *
rows_from(const Tensor *tensor, int64_t row, int64_t columns)
{
    return tensor->data == NULL ? NULL
                                : (char *)tensor->data + row * columns * (int64_t)dtype_size(tensor->dtype);
}

/* Computes output = a × b, or output = a × b + sums. */
static Status
multiply(KernelContext *context, const Tensor *output, const CudaMatrix *a, const CudaMatrix *b,
    int64_t depth, const Tensor *sums)
{
    int64_t columns = output->shape.dims[1];
    CudaProduct product = {
        .a = *a,
        .b = *b,
        .output = output->data,
        .rows = output->shape.dims[0],
        .columns = columns,
        .depth = depth,
        .alpha = 1,
    };
    if (sums != NULL) {
        product.c = dense(sums->data, columns);
        product.beta = 1;
    }
    int error = cuda_multiply(cuda_type(output->dtype), &product, cuda_stream(context));
    return cuda_check(context->call, error, "a matrix product of a recurrent cell");
}

/* The products of one step, [x, h] × w, w having the rows of x first. */
typedef struct Linear {
    KernelContext *context;
    const Tensor *weights;
    int64_t inputs;
    int64_t cell;
    int64_t columns;
    Tensor of_x; /* [batch, columns] */
    Tensor sums;
} Linear;

static void
linear_done(Linear *linear)
{
    tensor_unref(&linear->of_x);
    tensor_unref(&linear->sums);
}
#define AUTO_LINEAR CLEANUP(linear_done) Linear

/* Reads input `input`, the weights, of a cell of input `state`. */
static Status
linear_begin(KernelContext *context, uint32_t input, uint32_t state, Linear *ret_linear)
{
    const Tensor *weights = &context->inputs[input];
    const Shape *states = &context->inputs[state].shape;
    Shape shape = {.rank = 2, .dims = {states->dims[0], weights->shape.dims[1]}};
    *ret_linear = (Linear){.context = context,
        .weights = weights,
        .inputs = weights->shape.dims[0] - states->dims[1],
        .cell = states->dims[1],
        .columns = shape.dims[1]};
    TRY(scratch_new(context, weights->dtype, &shape, &ret_linear->of_x));
    return scratch_new(context, weights->dtype, &shape, &ret_linear->sums);
}

static Status
linear_step(Linear *linear, const void *x, const void *h)
{
    CudaMatrix inputs = dense(x, linear->inputs);
    CudaMatrix states = dense(h, linear->cell);
    CudaMatrix of_inputs = dense(linear->weights->data, linear->columns);
    CudaMatrix of_states =
        dense(rows_from(linear->weights, linear->inputs, linear->columns), linear->columns);
    TRY(multiply(linear->context, &linear->of_x, &inputs, &of_inputs, linear->inputs, NULL));
    return multiply(linear->context, &linear->sums, &states, &of_states, linear->cell, &linear->of_x);
}

static Status
make_outputs(KernelContext *context)
{
    Shape shapes[CUDA_LSTM_OUTPUTS];
    Tensor *output = NULL;
    TRY(output_shapes(context, shapes));
    for (uint32_t index = 0; index < context->output_count; index++) {
        TRY(kernel_output(context, index, context->node->output_dtypes[index], &shapes[index], &output));
    }
    return STATUS_OK;
}

/* The second version has its gates in another order, and no bias for forgetting. `first` is the input
 * cs_prev. */
static CudaLstmCell
read_lstm(const KernelContext *context, uint32_t first, const Linear *linear)
{
    const Node *node = context->node;
    int64_t cell = linear->cell;
    bool is_second = slice_ends_with(node->op->name, SLICE("V2"));
    CudaLstmCell lstm = {
        .batch = context->inputs[first].shape.dims[0],
        .cell = cell,
        .sums = linear->sums.data,
        .biases = context->inputs[first + 6].data,
        .forget_bias = is_second ? 0 : (double)node_attr_float(node, "forget_bias"),
        .clip = (double)node_attr_float(node, "cell_clip"),
        .columns = {0, is_second ? 2 * cell : cell, is_second ? cell : 2 * cell, 3 * cell},
    };
    for (uint32_t index = 0; index < 3 && node_attr_bool(node, "use_peephole"); index++) {
        lstm.peepholes[index] = context->inputs[first + 3 + index].data;
    }
    return lstm;
}

/* Runs `times` steps; x is the input before `first`. */
static Status
run_lstm(KernelContext *context, uint32_t first, int64_t times)
{
    const Tensor *outputs = context->outputs;
    AUTO_LINEAR linear = {0};
    TRY(linear_begin(context, first + 2, first, &linear));
    CudaLstmCell lstm = read_lstm(context, first, &linear);
    for (int64_t time = 0; time < times && lstm.batch * lstm.cell > 0; time++) {
        int64_t row = time * lstm.batch;
        const void *h = time == 0 ? context->inputs[first + 1].data
                                  : rows_from(&outputs[CUDA_LSTM_H], row - lstm.batch, lstm.cell);
        lstm.cs_prev = time == 0 ? context->inputs[first].data
                                 : rows_from(&outputs[CUDA_LSTM_CS], row - lstm.batch, lstm.cell);
        for (int index = 0; index < CUDA_LSTM_OUTPUTS; index++) {
            lstm.outputs[index] = rows_from(&outputs[index], row, lstm.cell);
        }
        TRY(linear_step(&linear, rows_from(&context->inputs[first - 1], row, linear.inputs), h));
        int error = cuda_lstm_cell(cuda_type(outputs[0].dtype), &lstm, cuda_stream(context));
        TRY(cuda_check(context->call, error, "the cell of an LSTM"));
    }
    return STATUS_OK;
}

static Status
lstm_cell_compute(KernelContext *context)
{
    TRY(make_outputs(context));
    return run_lstm(context, 1, 1);
}

/* Clears the rows behind the longest sequence. */
static Status
clear_rest(KernelContext *context, int64_t length)
{
    for (uint32_t index = 0; index < context->output_count; index++) {
        const Tensor *output = &context->outputs[index];
        int64_t row = output->shape.dims[1] * output->shape.dims[2] * (int64_t)dtype_size(output->dtype);
        int64_t rest = (output->shape.dims[0] - length) * row;
        if (rest > 0) {
            int error = (int)cudaMemsetAsync(
                (char *)output->data + length * row, 0, (size_t)rest, cuda_stream(context));
            TRY(cuda_check(context->call, error, "clearing the rest of a sequence"));
        }
    }
    return STATUS_OK;
}

static Status
lstm_compute(KernelContext *context)
{
    int64_t length = 0;
    size_t count = 0;
    TRY(make_outputs(context));
    TRY(kernel_input_ints(context, 0, &length, 1, &count));
    int64_t time = context->inputs[1].shape.dims[0];
    if (count != 1 || length < 0 || length > time) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "seq_len_max is %lld, not within %lld",
            (long long)length, (long long)time);
    }
    TRY(run_lstm(context, 2, length));
    return clear_rest(context, length);
}

static Status
gru_cell_compute(KernelContext *context)
{
    enum { X, H_PREV, W_RU, W_C, B_RU, B_C };
    enum { R, U, C, H };
    const Tensor *in = context->inputs;
    AUTO_LINEAR gates = {0};
    AUTO_LINEAR candidate = {0};
    AUTO_TENSOR kept = {0};
    TRY(make_outputs(context));
    TRY(linear_begin(context, W_RU, H_PREV, &gates));
    TRY(linear_begin(context, W_C, H_PREV, &candidate));
    TRY(scratch_new(context, in[H_PREV].dtype, &in[H_PREV].shape, &kept));
    if (context->outputs[R].data == NULL) {
        return STATUS_OK;
    }
    CudaGruCell gru = {.batch = in[H_PREV].shape.dims[0],
        .cell = gates.cell,
        .sums = gates.sums.data,
        .biases = in[B_RU].data,
        .h_prev = in[H_PREV].data,
        .kept = kept.data,
        .r = context->outputs[R].data,
        .u = context->outputs[U].data,
        .c = context->outputs[C].data,
        .h = context->outputs[H].data};
    CudaType type = cuda_type(kept.dtype);
    TRY(linear_step(&gates, in[X].data, gru.h_prev));
    TRY(cuda_check(context->call, cuda_gru_gates(type, &gru, cuda_stream(context)), "the gates of a GRU"));
    TRY(linear_step(&candidate, in[X].data, kept.data));
    gru.sums = candidate.sums.data;
    gru.biases = in[B_C].data;
    return cuda_check(context->call, cuda_gru_state(type, &gru, cuda_stream(context)), "the state of a GRU");
}

static const Kernel cells_kernels[] = {
    {.op = "LSTMBlockCell", .supports = supports_wide_floats, .compute = lstm_cell_compute},
    {.op = "BlockLSTM", .supports = supports_wide_floats, .compute = lstm_compute, .host_inputs = 1},
    {.op = "BlockLSTMV2", .supports = supports_wide_floats, .compute = lstm_compute, .host_inputs = 1},
    {.op = "GRUBlockCell", .supports = supports_wide_floats, .compute = gru_cell_compute},
};

KERNEL_FAMILY(cuda_kernels, cells, cells_kernels);
