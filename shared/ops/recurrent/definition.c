/* Cells of recurrent networks, each computed as one op. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* Outputs are [batch, cell], or have the time in front. */
static Status
fill_outputs(InferContext *context, int64_t time, int64_t batch, int64_t cell)
{
    Shape shape = {.rank = 2, .dims = {batch, cell}};
    if (time != INT64_MIN) {
        shape = (Shape){.rank = 3, .dims = {time, batch, cell}};
    }
    for (uint32_t index = 0; index < context->node->output_count; index++) {
        context->outputs[index] = shape;
    }
    return STATUS_OK;
}

/* Checks x, cs_prev, h_prev, w, wci, wcf, wco and b, which are the inputs from number `first` on: w and b
 * hold four gates side by side. */
static Status
check_lstm(
    Call *call, const InferContext *context, uint32_t first, int64_t inputs, int64_t *batch, int64_t *cell)
{
    Shape shape;
    int64_t gates = 0;
    int64_t rows = 0;
    for (uint32_t index = first; index < first + 2; index++) {
        TRY(infer_rank(call, context, index, 2, &shape));
        TRY(infer_equal(call, *batch, shape.dims[0], "the batch", batch));
        TRY(infer_equal(call, *cell, shape.dims[1], "the cell's size", cell));
    }
    TRY(infer_rank(call, context, first + 2, 2, &shape));
    TRY(infer_multiply(call, *cell, 4, &gates));
    TRY(infer_equal(call, gates, shape.dims[1], "the size of four gates", &gates));
    TRY(infer_equal(call, inputs < 0 || *cell < 0 ? -1 : inputs + *cell, shape.dims[0],
        "the rows of the weights", &rows));
    for (uint32_t index = first + 3; index < first + 6; index++) {
        TRY(infer_rank(call, context, index, 1, &shape));
        TRY(infer_equal(call, *cell, shape.dims[0], "the cell's size", cell));
    }
    TRY(infer_rank(call, context, first + 6, 1, &shape));
    return infer_equal(call, gates, shape.dims[0], "the size of four gates", &gates);
}

static Status
infer_lstm_cell(Call *call, InferContext *context)
{
    Shape x;
    int64_t cell = -1;
    TRY(infer_rank(call, context, 0, 2, &x));
    TRY(check_lstm(call, context, 1, x.dims[1], &x.dims[0], &cell));
    return fill_outputs(context, INT64_MIN, x.dims[0], cell);
}

static Status
infer_lstm(Call *call, InferContext *context)
{
    Shape x;
    Shape length;
    int64_t cell = -1;
    TRY(infer_rank(call, context, 0, 0, &length));
    TRY(infer_rank(call, context, 1, 3, &x));
    TRY(check_lstm(call, context, 2, x.dims[2], &x.dims[1], &cell));
    return fill_outputs(context, x.dims[0], x.dims[1], cell);
}

/* The inputs are x, h_prev, w_ru, w_c, b_ru and b_c. */
static Status
infer_gru_cell(Call *call, InferContext *context)
{
    Shape x;
    Shape h;
    Shape shape;
    int64_t rows = 0;
    int64_t gates = 0;
    TRY(infer_rank(call, context, 0, 2, &x));
    TRY(infer_rank(call, context, 1, 2, &h));
    TRY(infer_equal(call, x.dims[0], h.dims[0], "the batch", &h.dims[0]));
    TRY(infer_multiply(call, h.dims[1], 2, &gates));
    int64_t sum = x.dims[1] < 0 || h.dims[1] < 0 ? -1 : x.dims[1] + h.dims[1];
    for (uint32_t index = 2; index < 4; index++) {
        TRY(infer_rank(call, context, index, 2, &shape));
        TRY(infer_equal(call, sum, shape.dims[0], "the rows of the weights", &rows));
        TRY(infer_equal(
            call, index == 2 ? gates : h.dims[1], shape.dims[1], "the columns of the weights", &rows));
        TRY(infer_rank(call, context, index + 2, 1, &shape));
        TRY(infer_equal(call, index == 2 ? gates : h.dims[1], shape.dims[0], "the number of biases", &rows));
    }
    return fill_outputs(context, INT64_MIN, h.dims[0], h.dims[1]);
}

#define LSTM_WEIGHTS                                                                                         \
    "cs_prev:T, h_prev:T, w:T, wci:T, wcf:T, wco:T, b:T)->(i:T, cs:T, f:T, o:T, ci:T, co:T, h:T) "

static const OpDefinition recurrent_ops[] = {
    OP("LSTMBlockCell(x:T, " LSTM_WEIGHTS
       "{forget_bias:float=1, cell_clip:float=3, use_peephole:bool=false, T:type}",
        0, infer_lstm_cell),
    OP("BlockLSTM(seq_len_max:int64, x:T, " LSTM_WEIGHTS
       "{forget_bias:float=1, cell_clip:float=3, use_peephole:bool=false, T:type}",
        0, infer_lstm),
    OP("BlockLSTMV2(seq_len_max:int64, x:T, " LSTM_WEIGHTS
       "{cell_clip:float=0, use_peephole:bool=false, T:type}",
        0, infer_lstm),
    OP("GRUBlockCell(x:T, h_prev:T, w_ru:T, w_c:T, b_ru:T, b_c:T)->(r:T, u:T, c:T, h:T) {T:type}", 0,
        infer_gru_cell),
};

OP_FAMILY(recurrent, recurrent_ops);
