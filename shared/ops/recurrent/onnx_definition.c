/* ONNX's recurrent networks. X is [time, batch, input], or [batch, time, input] with layout 1; W is
 * [direction, gate × hidden, input]. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

static int64_t
known_dimension(const InferContext *context, uint32_t input, int axis)
{
    const Shape *shape = &context->inputs[input];
    return shape->rank > axis ? shape->dims[axis] : -1;
}

/* Checks W, [direction, gate × hidden, input], and R, [direction, gate × hidden, hidden]. */
static Status
check_weights(Call *call, InferContext *context, int64_t gates, int64_t *ret_directions, int64_t *ret_hidden)
{
    Shape weights;
    Shape recurrence;
    int64_t rows = 0;
    int64_t columns = 0;
    TRY(infer_rank(call, context, 1, 3, &weights));
    TRY(infer_rank(call, context, 2, 3, &recurrence));
    TRY(infer_equal(call, weights.dims[0], recurrence.dims[0], "directions", ret_directions));
    TRY(infer_equal(call, known_dimension(context, 0, 2), weights.dims[2], "inputs", &columns));
    TRY(infer_equal(call, weights.dims[1], recurrence.dims[1], "gates", &rows));
    *ret_hidden = recurrence.dims[2];
    int64_t expected = 0;
    TRY(infer_multiply(call, gates, *ret_hidden, &expected));
    TRY(infer_equal(call, rows, expected, "gates times hidden units", &rows));
    bool is_both = slice_equals_string(node_attr_string(context->node, "direction"), "bidirectional");
    return infer_equal(call, *ret_directions, is_both ? 2 : 1, "directions", ret_directions);
}

/* Checks the optional inputs: bias [direction, 2 × gate × hidden], lengths [batch], and states in the
 * shape of their output. */
static Status
check_options(Call *call, InferContext *context, int64_t gates, const Shape *states, int64_t batch)
{
    int64_t hidden = states->dims[2];
    int64_t size = 0;
    int64_t ignored = 0;
    Shape shape;
    if (infer_has_input(context, 3)) {
        TRY(infer_rank(call, context, 3, 2, &shape));
        TRY(infer_multiply(call, 2 * gates, hidden, &size));
        TRY(infer_equal(call, shape.dims[1], size, "biases", &ignored));
        TRY(infer_equal(call, shape.dims[0],
            context->inputs[1].rank == 3 ? known_dimension(context, 1, 0) : -1, "directions", &ignored));
    }
    if (infer_has_input(context, 4)) {
        TRY(infer_rank(call, context, 4, 1, &shape));
        TRY(infer_equal(call, shape.dims[0], batch, "sequences", &ignored));
    }
    for (uint32_t input = 5; input < context->node->input_count && input < 7; input++) {
        if (infer_has_input(context, input)) {
            TRY(infer_rank(call, context, input, 3, &shape));
            for (int axis = 0; axis < 3; axis++) {
                TRY(infer_equal(call, shape.dims[axis], states->dims[axis], "initial states", &ignored));
            }
        }
    }
    return STATUS_OK;
}

static Status
infer_recurrent(Call *call, InferContext *context, int64_t gates)
{
    Shape input;
    int64_t directions = -1;
    int64_t hidden = -1;
    bool is_batch_first = node_attr_int(context->node, "layout") == 1;
    TRY(infer_rank(call, context, 0, 3, &input));
    TRY(check_weights(call, context, gates, &directions, &hidden));
    int64_t time = input.dims[is_batch_first ? 1 : 0];
    int64_t batch = input.dims[is_batch_first ? 0 : 1];
    Shape output = shape_of_rank(4);
    Shape states = shape_of_rank(3);
    output.dims[0] = is_batch_first ? batch : time;
    output.dims[1] = is_batch_first ? time : directions;
    output.dims[2] = is_batch_first ? directions : batch;
    output.dims[3] = states.dims[2] = hidden;
    states.dims[0] = is_batch_first ? batch : directions;
    states.dims[1] = is_batch_first ? directions : batch;
    TRY(check_options(call, context, gates, &states, batch));
    context->outputs[0] = output;
    for (uint32_t index = 1; index < context->node->output_count; index++) {
        context->outputs[index] = states;
    }
    return STATUS_OK;
}

static Status
infer_rnn(Call *call, InferContext *context)
{
    return infer_recurrent(call, context, 1);
}

static Status
infer_gru(Call *call, InferContext *context)
{
    return infer_recurrent(call, context, 3);
}

/* Peepholes are [direction, 3 × hidden]. */
static Status
infer_lstm(Call *call, InferContext *context)
{
    TRY(infer_recurrent(call, context, 4));
    Shape shape;
    int64_t size = 0;
    if (!infer_has_input(context, 7)) {
        return STATUS_OK;
    }
    TRY(infer_rank(call, context, 7, 2, &shape));
    TRY(infer_multiply(call, 3, context->outputs[0].dims[3], &size));
    return infer_equal(call, shape.dims[1], size, "peepholes", &size);
}

#define RECURRENT_INPUTS "X:T, W:T, R:T, B?:T, sequence_lens?:int32, initial_h?:T"
#define RECURRENT_ATTRS                                                                                      \
    "activation_alpha:floats=[], activation_beta:floats=[], activations:strings=[], clip:float=0, "          \
    "direction:string=forward, hidden_size:int=0, layout:int=0, "

static const OpDefinition recurrent_ops[] = {
    OP("onnx::RNN(" RECURRENT_INPUTS ")->(Y:T, Y_h:T) {" RECURRENT_ATTRS "T:type}", 0, infer_rnn),
    OP("onnx::GRU(" RECURRENT_INPUTS ")->(Y:T, Y_h:T) {" RECURRENT_ATTRS "linear_before_reset:int=0, T:type}",
        0, infer_gru),
    OP("onnx::LSTM(" RECURRENT_INPUTS ", initial_c?:T, P?:T)->(Y:T, Y_h:T, Y_c:T) {" RECURRENT_ATTRS
       "input_forget:int=0, T:type}",
        0, infer_lstm),
};

OP_FAMILY(recurrent_onnx, recurrent_ops);
