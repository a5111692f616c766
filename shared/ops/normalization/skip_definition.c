/* ONNX Runtime's normalisation of the rows of a sum. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

/* The skip has the input's shape, or its last dimensions, with nothing but ones in front of them. */
static Status
check_skip(Call *call, const Shape *input, const Shape *skip)
{
    if (input->rank < 0 || skip->rank < 0) {
        return STATUS_OK;
    }
    bool has_begun = false;
    bool can_be_added = skip->rank > 0; /* a row at least */
    for (int index = 0; index < skip->rank; index++) {
        int place = input->rank - skip->rank + index;
        int64_t dimension = skip->dims[index];
        bool fits =
            place >= 0 && (dimension < 0 || input->dims[place] < 0 || dimension == input->dims[place]);
        can_be_added = can_be_added && (fits || (!has_begun && dimension == 1 && index < skip->rank - 1));
        has_begun = has_begun || fits;
    }
    if (!can_be_added) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "a skip of shape %s cannot be added to the rows of %s", shape_text(skip, left),
            shape_text(input, right));
    }
    return STATUS_OK;
}

/* Gamma, beta and bias have a number for each element of a row. */
static Status
infer_skip_norm(Call *call, InferContext *context)
{
    Shape input = context->inputs[0];
    if (input.rank == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "an input of rank 0 has no rows");
    }
    TRY(check_skip(call, &input, &context->inputs[1]));
    int64_t size = input.rank < 0 ? -1 : input.dims[input.rank - 1];
    for (uint32_t index = 2; index < context->node->input_count; index++) {
        Shape vector;
        if (infer_has_input(context, index)) {
            TRY(infer_rank(call, context, index, 1, &vector));
            TRY(infer_equal(call, size, vector.dims[0], "the size of a row", &size));
        }
    }
    if (input.rank < 0) {
        return STATUS_OK;
    }
    Shape statistics = input;
    statistics.dims[input.rank - 1] = 1;
    context->outputs[0] = input;
    context->outputs[1] = statistics;
    context->outputs[2] = statistics;
    context->outputs[3] = input;
    return STATUS_OK;
}

static const OpDefinition normalization_skip_ops[] = {
    OP("com.microsoft::SkipLayerNormalization(input:T, skip:T, gamma:T, beta?:T, bias?:T)->(output:T, "
       "mean?:float, inv_std_var?:float, input_skip_bias_sum?:T) {epsilon:float=1e-12, T:type}",
        0, infer_skip_norm),
    OP("com.microsoft::SkipSimplifiedLayerNormalization(input:T, skip:T, gamma:T, bias?:T)->(output:T, "
       "mean?:float, inv_std_var?:float, input_skip_bias_sum?:T) {epsilon:float=1e-12, T:type}",
        0, infer_skip_norm),
};

OP_FAMILY(normalization_skip, normalization_skip_ops);
