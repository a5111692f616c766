#include "shared/ops/attention.h"

#include <assert.h>

#include "shared/ops/product.h"

static const char *const step_names[ATTENTION_STEP_KINDS] = {
    [ATTENTION_ADD] = "Add",
    [ATTENTION_DIVIDE] = "Div",
    [ATTENTION_MULTIPLY] = "Mul",
    [ATTENTION_SUBTRACT] = "Sub",
};

const char *
attention_step_name(AttentionStep step)
{
    assert(step < ATTENTION_STEP_KINDS);
    return step_names[step];
}

static bool
find_step(Slice name, AttentionStep *ret_step)
{
    for (int step = 0; step < ATTENTION_STEP_KINDS; step++) {
        if (slice_equals_string(name, step_names[step])) {
            *ret_step = (AttentionStep)step;
            return true;
        }
    }
    return false;
}

Status
attention_read(Call *call, const Node *node, Attention *ret_attention)
{
    const AttrValue *names = node_attr(node, "fused_ops");
    Attention attention = {.transposes_key = node_attr_bool(node, "transpose_key")};
    assert(names != NULL && names->is_list); /* the op declares it */
    size_t count = names->value.list.count;
    if (count > ATTENTION_STEPS_MAX || count + ATTENTION_FIRST_OPERAND != node->input_count) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "fused_ops has %zu steps for %u operands; there are at most %d, each with an operand", count,
            node->input_count - ATTENTION_FIRST_OPERAND, ATTENTION_STEPS_MAX);
    }
    for (size_t index = 0; index < count; index++) {
        Slice name = names->value.list.items[index].value.s;
        if (!find_step(name, &attention.steps[attention.step_count++])) {
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "fused_ops has '%.*s' as its step %zu, which is not known", SLICE_PRINT(name), index);
        }
    }
    *ret_attention = attention;
    return STATUS_OK;
}

static Status
check_matrices(Call *call, const Shape *inputs)
{
    for (int index = 0; index < ATTENTION_FIRST_OPERAND; index++) {
        if (inputs[index].rank < 2) {
            char text[SHAPE_TEXT_SIZE];
            return call_fail(call, STATUS_INVALID_ARGUMENT, "input %d has shape %s, which is not of matrices",
                index, shape_text(&inputs[index], text));
        }
    }
    return STATUS_OK;
}

static Status
broaden_scores(Call *call, const Attention *attention, const Shape *inputs, Shape *scores)
{
    for (int index = 0; index < attention->step_count; index++) {
        const Shape *operand = &inputs[ATTENTION_FIRST_OPERAND + index];
        Shape broadened;
        if (!shape_broadcast(scores, operand, &broadened)) {
            char left[SHAPE_TEXT_SIZE];
            char right[SHAPE_TEXT_SIZE];
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "scores of shape %s and the operand of step %d of shape %s do not broadcast",
                shape_text(scores, left), index, shape_text(operand, right));
        }
        *scores = broadened;
    }
    return STATUS_OK;
}

Status
attention_shapes(Call *call, const Attention *attention, const Shape *inputs, AttentionShapes *ret_shapes)
{
    const Shape *query = &inputs[ATTENTION_QUERY];
    const Shape *key = &inputs[ATTENTION_KEY];
    const Shape *value = &inputs[ATTENTION_VALUE];
    AttentionShapes shapes;
    TRY(check_matrices(call, inputs));
    MatrixSize left = matrix_size(query, false);
    MatrixSize right = matrix_size(key, attention->transposes_key);
    TRY(product_of_sizes(call, query, key, &left, &right, &shapes.product));
    shapes.scores = shapes.product;
    TRY(broaden_scores(call, attention, inputs, &shapes.scores));
    TRY(product_of_shapes(call, &shapes.scores, value, &shapes.output));
    *ret_shapes = shapes;
    return STATUS_OK;
}
