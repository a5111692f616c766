#include "shared/ops/pad/rule.h"

typedef struct ModeName {
    const char *name;
    PaddingMode mode;
} ModeName;

static const ModeName mode_names[] = {
    {"constant", PADDING_CONSTANT},
    {"reflect", PADDING_REFLECT},
    {"edge", PADDING_EDGE},
    {"wrap", PADDING_WRAP},
    {"REFLECT", PADDING_REFLECT},
    {"SYMMETRIC", PADDING_SYMMETRIC},
};

static Status
read_mode(Call *call, const Node *node, PaddingMode *ret_mode)
{
    *ret_mode = PADDING_CONSTANT;
    if (node_attr(node, "mode") == NULL) {
        return STATUS_OK;
    }
    Slice text = node_attr_string(node, "mode");
    for (size_t index = 0; index < COUNT_OF(mode_names); index++) {
        if (slice_equals_string(text, mode_names[index].name)) {
            *ret_mode = mode_names[index].mode;
            return STATUS_OK;
        }
    }
    return call_fail(call, STATUS_INVALID_ARGUMENT, "there is no padding mode '%.*s'", SLICE_PRINT(text));
}

/* Reads TensorFlow's paddings: a row of before and after for each dimension. */
static Status
read_rows(Call *call, const InferContext *context, PaddingPlan *plan)
{
    const Tensor *paddings = context->values[1];
    int rank = context->inputs[0].rank;
    plan->is_known = paddings != NULL && rank >= 0;
    if (!plan->is_known) {
        return STATUS_OK;
    }
    const Shape *shape = &paddings->shape;
    if (shape->rank != 2 || shape->dims[0] != rank || shape->dims[1] != 2) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "paddings of shape %s do not fit rank %d",
            shape_text(shape, text), rank);
    }
    for (int index = 0; index < rank; index++) {
        int64_t row = 2 * (int64_t)index;
        bool is_integer = tensor_to_int64(paddings, row, &plan->before[index]) &&
                          tensor_to_int64(paddings, row + 1, &plan->after[index]);
        if (!is_integer || plan->before[index] < 0 || plan->after[index] < 0) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "dimension %d is padded by %lld and %lld", index,
                (long long)plan->before[index], (long long)plan->after[index]);
        }
    }
    return STATUS_OK;
}

enum { PADS_MAX = 2 * SHAPE_RANK_MAX };

/* Reads ONNX's pads: all befores, then all afters, of the given axes or of all. */
static Status
read_halves(Call *call, const InferContext *context, PaddingPlan *plan)
{
    int rank = context->inputs[0].rank;
    int64_t pads[PADS_MAX];
    int64_t axes[SHAPE_RANK_MAX];
    size_t pad_count = 0;
    size_t axis_count = rank < 0 ? 0 : (size_t)rank;
    bool knows_axes = true;
    for (int index = 0; index < SHAPE_RANK_MAX; index++) {
        axes[index] = index;
    }
    TRY(infer_ints(call, context, 1, pads, PADS_MAX, &pad_count));
    plan->is_known = infer_knows(context, 1);
    if (infer_has_input(context, 3)) {
        TRY(infer_ints(call, context, 3, axes, SHAPE_RANK_MAX, &axis_count));
        knows_axes = infer_knows(context, 3);
    }
    plan->is_known = plan->is_known && knows_axes && rank >= 0;
    if (!plan->is_known) {
        return STATUS_OK;
    }
    if (pad_count != 2 * axis_count) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "%zu pads do not fit %zu axes", pad_count, axis_count);
    }
    for (size_t index = 0; index < axis_count; index++) {
        int axis = 0;
        TRY(infer_axis(call, axes[index], rank, &axis));
        plan->before[axis] = pads[index];
        plan->after[axis] = pads[index + axis_count];
    }
    return STATUS_OK;
}

/* Returns whether a mode can take this amount from a dimension of this size. */
static bool
mode_allows(PaddingMode mode, int64_t size, int64_t amount)
{
    switch (mode) {
    case PADDING_REFLECT:
        return amount <= 0 || amount < size;
    case PADDING_SYMMETRIC:
        return amount <= size;
    case PADDING_EDGE:
    case PADDING_WRAP:
        return amount <= 0 || size > 0;
    case PADDING_CONSTANT:
    default:
        return true;
    }
}

static Status
grow_dimension(Call *call, int index, PaddingPlan *plan)
{
    int64_t *size = &plan->output.dims[index];
    int64_t before = plan->before[index];
    int64_t after = plan->after[index];
    int64_t grown = 0;
    if (*size < 0) {
        return STATUS_OK;
    }
    if (__builtin_add_overflow(*size, before, &grown) || __builtin_add_overflow(grown, after, &grown)) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
            "%lld elements padded by %lld and %lld are too many", (long long)*size, (long long)before,
            (long long)after);
    }
    bool is_cut_away =
        grown < 0 || *size + (before < 0 ? before : 0) < 0 || *size + (after < 0 ? after : 0) < 0;
    if (is_cut_away || !mode_allows(plan->mode, *size, before) || !mode_allows(plan->mode, *size, after)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "dimension %d of %lld cannot be padded by %lld and %lld", index, (long long)*size,
            (long long)before, (long long)after);
    }
    *size = grown;
    return STATUS_OK;
}

Status
padding_read(Call *call, const InferContext *context, PaddingPlan *ret_plan)
{
    const Shape *input = &context->inputs[0];
    PaddingPlan plan = {.output = *input};
    bool is_onnx = slice_starts_with(context->node->op->name, SLICE("onnx::"));
    TRY(read_mode(call, context->node, &plan.mode));
    TRY(is_onnx ? read_halves(call, context, &plan) : read_rows(call, context, &plan));
    if (!plan.is_known) {
        plan.output = input->rank < 0 ? shape_unknown() : shape_of_rank(input->rank);
    }
    for (int index = 0; plan.is_known && index < input->rank; index++) {
        TRY(grow_dimension(call, index, &plan));
    }
    *ret_plan = plan;
    return infer_check_size(call, &plan.output);
}
