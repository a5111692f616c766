#include "shared/ops/attention.h"

#include <assert.h>

#include "shared/ops/product.h"

static const char *const step_names[ATTENTION_STEP_KINDS] = {
    [ATTENTION_ADD] = "Add",
    [ATTENTION_DIVIDE] = "Div",
    [ATTENTION_KEEP] = "Keep",
    [ATTENTION_MULTIPLY] = "Mul",
    [ATTENTION_REPLACE] = "Replace",
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

/* Numbers the masks, which follow the operands. */
static Status
find_masks(Call *call, const Node *node, Attention *attention)
{
    uint32_t first = ATTENTION_FIRST_OPERAND + (uint32_t)attention->step_count;
    uint32_t next = first;
    for (int step = 0; step < attention->step_count; step++) {
        attention->masks[step] = attention_step_chooses(attention->steps[step]) ? next++ : 0;
    }
    return next == node->input_count
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT, "fused_ops has %u steps that choose for %u masks",
                     next - first, node->input_count - first);
}

Status
attention_read(Call *call, const Node *node, Attention *ret_attention)
{
    const AttrValue *names = node_attr(node, "fused_ops");
    Attention attention = {.transposes_key = node_attr_bool(node, "transpose_key")};
    assert(names != NULL && names->is_list); /* the op declares it */
    size_t count = names->value.list.count;
    uint32_t operands = node->input_count - ATTENTION_FIRST_OPERAND;
    operands -= (uint32_t)node_attr_int(node, "num_masks");
    if (count > ATTENTION_STEPS_MAX || count != operands) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "fused_ops has %zu steps for %u operands; there are at most %d, each with an operand", count,
            operands, ATTENTION_STEPS_MAX);
    }
    for (size_t index = 0; index < count; index++) {
        Slice name = names->value.list.items[index].value.s;
        if (!find_step(name, &attention.steps[attention.step_count++])) {
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "fused_ops has '%.*s' as its step %zu, which is not known", SLICE_PRINT(name), index);
        }
    }
    TRY(find_masks(call, node, &attention));
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

/* Broadens the scores to what they and an operand or the mask of a step broadcast to. */
static Status
broaden_by(Call *call, const Shape *operand, const char *what, int step, Shape *scores)
{
    Shape broadened;
    if (!shape_broadcast(scores, operand, &broadened)) {
        char left[SHAPE_TEXT_SIZE];
        char right[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "scores of shape %s and the %s of step %d of shape %s do not broadcast", shape_text(scores, left),
            what, step, shape_text(operand, right));
    }
    *scores = broadened;
    return STATUS_OK;
}

static Status
broaden_scores(Call *call, const Attention *attention, const Shape *inputs, Shape *scores)
{
    for (int index = 0; index < attention->step_count; index++) {
        TRY(broaden_by(call, &inputs[ATTENTION_FIRST_OPERAND + index], "operand", index, scores));
        if (attention->masks[index] != 0) {
            TRY(broaden_by(call, &inputs[attention->masks[index]], "mask", index, scores));
        }
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
