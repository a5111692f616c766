#include "shared/ops/slice/rule.h"

enum { SPEC_ENTRIES_MAX = 32 };

static void
take_all(const Shape *input, int dimension, Slicing *slicing)
{
    slicing->begin[dimension] = 0;
    slicing->step[dimension] = 1;
    slicing->size[dimension] = input->dims[dimension];
}

static int64_t
clamp_bound(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Counts the steps from begin to end, without end. */
static int64_t
step_count(int64_t begin, int64_t end, int64_t step)
{
    int64_t distance = end - begin;
    if (distance == 0 || (distance < 0) != (step < 0)) {
        return 0;
    }
    /* An INT64_MIN as step does not overflow in this form. */
    return distance / step + (distance % step != 0 ? 1 : 0);
}

static Status
take_plain(Call *call, const Shape *input, int dimension, int64_t size, Slicing *slicing)
{
    int64_t begin = slicing->begin[dimension];
    int64_t available = input->dims[dimension];
    if (available < 0) {
        slicing->size[dimension] = size;
        return begin >= 0 ? STATUS_OK
                          : call_fail(call, STATUS_INVALID_ARGUMENT,
                                "the slice begins at %lld in dimension %d", (long long)begin, dimension);
    }
    bool fits = begin >= 0 && begin <= available && size >= -1 && size <= available - begin;
    if (!fits) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "%lld elements from %lld on are not within dimension %d of %lld", (long long)size,
            (long long)begin, dimension, (long long)available);
    }
    slicing->size[dimension] = size < 0 ? available - begin : size;
    return STATUS_OK;
}

Status
slicing_plain(Call *call, const InferContext *context, Slicing *ret_slicing)
{
    const Shape *input = &context->inputs[0];
    int64_t sizes[SHAPE_RANK_MAX];
    size_t begins_count = 0;
    size_t sizes_count = 0;
    bool knows_begin = false;
    bool knows_size = false;
    Slicing slicing = {.rank = input->rank, .output = *input};
    TRY(infer_ints(call, context, 1, slicing.begin, SHAPE_RANK_MAX, &begins_count));
    knows_begin = infer_knows(context, 1);
    TRY(infer_ints(call, context, 2, sizes, SHAPE_RANK_MAX, &sizes_count));
    knows_size = infer_knows(context, 2);
    slicing.is_known = knows_begin && knows_size && input->rank >= 0;
    if (!slicing.is_known) {
        slicing.output = input->rank < 0 ? shape_unknown() : shape_of_rank(input->rank);
        *ret_slicing = slicing;
        return STATUS_OK;
    }
    if (begins_count != (size_t)input->rank || sizes_count != (size_t)input->rank) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%zu begins and %zu sizes do not slice rank %d",
            begins_count, sizes_count, input->rank);
    }
    for (int index = 0; index < input->rank; index++) {
        slicing.step[index] = 1;
        TRY(take_plain(call, input, index, sizes[index], &slicing));
        slicing.output.dims[index] = slicing.size[index];
    }
    *ret_slicing = slicing;
    return STATUS_OK;
}

typedef struct StridedSpec {
    int64_t begin[SPEC_ENTRIES_MAX];
    int64_t end[SPEC_ENTRIES_MAX];
    int64_t step[SPEC_ENTRIES_MAX];
    int count;
    uint64_t begin_mask;
    uint64_t end_mask;
    uint64_t ellipsis_mask;
    uint64_t new_axis_mask;
    uint64_t shrink_mask;
} StridedSpec;

static bool
has_bit(uint64_t mask, int bit)
{
    return (mask >> bit & 1) != 0;
}

static Status
read_spec(Call *call, const InferContext *context, StridedSpec *spec, bool *ret_is_known)
{
    size_t counts[3];
    bool is_known[3];
    TRY(infer_ints(call, context, 1, spec->begin, SPEC_ENTRIES_MAX, &counts[0]));
    is_known[0] = infer_knows(context, 1);
    TRY(infer_ints(call, context, 2, spec->end, SPEC_ENTRIES_MAX, &counts[1]));
    is_known[1] = infer_knows(context, 2);
    TRY(infer_ints(call, context, 3, spec->step, SPEC_ENTRIES_MAX, &counts[2]));
    is_known[2] = infer_knows(context, 3);
    *ret_is_known = is_known[0] && is_known[1] && is_known[2];
    if (*ret_is_known && (counts[0] != counts[1] || counts[0] != counts[2])) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%zu begins, %zu ends and %zu strides do not agree",
            counts[0], counts[1], counts[2]);
    }
    spec->count = (int)counts[0];
    const Node *node = context->node;
    spec->begin_mask = (uint64_t)node_attr_int(node, "begin_mask");
    spec->end_mask = (uint64_t)node_attr_int(node, "end_mask");
    spec->ellipsis_mask = (uint64_t)node_attr_int(node, "ellipsis_mask");
    spec->new_axis_mask = (uint64_t)node_attr_int(node, "new_axis_mask");
    spec->shrink_mask = (uint64_t)node_attr_int(node, "shrink_axis_mask");
    return STATUS_OK;
}

/* Takes the one element of an entry whose dimension is dropped. */
static Status
take_index(Call *call, int64_t index, int64_t available, int dimension, Slicing *slicing)
{
    int64_t begin = index + (index < 0 ? available : 0);
    if (begin < 0 || begin >= available) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "index %lld is not within dimension %d of %lld",
            (long long)index, dimension, (long long)available);
    }
    slicing->begin[dimension] = begin;
    return STATUS_OK;
}

/* Takes the elements from begin to end, without end; a masked bound is the first or the last element. */
static void
take_range(const StridedSpec *spec, int entry, int64_t available, int dimension, Slicing *slicing)
{
    int64_t step = spec->step[entry];
    int64_t low = step > 0 ? 0 : -1;
    int64_t high = step > 0 ? available : available - 1;
    int64_t given_begin = spec->begin[entry] + (spec->begin[entry] < 0 ? available : 0);
    int64_t given_end = spec->end[entry] + (spec->end[entry] < 0 ? available : 0);
    int64_t first = step > 0 ? low : high;
    int64_t last = step > 0 ? high : low;
    int64_t begin = has_bit(spec->begin_mask, entry) ? first : clamp_bound(given_begin, low, high);
    int64_t end = has_bit(spec->end_mask, entry) ? last : clamp_bound(given_end, low, high);
    slicing->begin[dimension] = begin;
    slicing->size[dimension] = step_count(begin, end, step);
}

/* Takes one entry that stands for one dimension of the input. */
static Status
take_entry(Call *call, const StridedSpec *spec, int entry, int64_t available, int dimension, Slicing *slicing)
{
    int64_t step = spec->step[entry];
    bool shrinks = has_bit(spec->shrink_mask, entry);
    if (step == 0 || (shrinks && step < 0)) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "stride %lld of entry %d is not allowed", (long long)step, entry);
    }
    slicing->step[dimension] = shrinks ? 1 : step;
    slicing->size[dimension] = shrinks ? 1 : -1;
    if (available < 0) {
        return STATUS_OK;
    }
    if (shrinks) {
        return take_index(call, spec->begin[entry], available, dimension, slicing);
    }
    take_range(spec, entry, available, dimension, slicing);
    return STATUS_OK;
}

static Status
add_output(Call *call, Slicing *slicing, int64_t size)
{
    if (slicing->output.rank == SHAPE_RANK_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "more than %d dimensions", SHAPE_RANK_MAX);
    }
    slicing->output.dims[slicing->output.rank++] = size;
    return STATUS_OK;
}

/* Takes `count` whole dimensions. */
static Status
take_rest(Call *call, const Shape *input, int count, int *dimension, Slicing *slicing)
{
    for (int index = 0; index < count; index++, (*dimension)++) {
        take_all(input, *dimension, slicing);
        TRY(add_output(call, slicing, input->dims[*dimension]));
    }
    return STATUS_OK;
}

static Status
apply_spec(Call *call, const StridedSpec *spec, const Shape *input, Slicing *slicing)
{
    int entries = 0; /* entries that stand for a dimension */
    for (int entry = 0; entry < spec->count; entry++) {
        entries += !has_bit(spec->ellipsis_mask, entry) && !has_bit(spec->new_axis_mask, entry) ? 1 : 0;
    }
    int rest = input->rank - entries;
    if (rest < 0 || (spec->ellipsis_mask & (spec->ellipsis_mask - 1)) != 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%d entries do not slice a tensor of rank %d",
            entries, input->rank);
    }
    int dimension = 0;
    bool has_ellipsis = false;
    for (int entry = 0; entry < spec->count; entry++) {
        if (has_bit(spec->ellipsis_mask, entry)) {
            has_ellipsis = true;
            TRY(take_rest(call, input, rest, &dimension, slicing));
        } else if (has_bit(spec->new_axis_mask, entry)) {
            TRY(add_output(call, slicing, 1));
        } else {
            TRY(take_entry(call, spec, entry, input->dims[dimension], dimension, slicing));
            if (!has_bit(spec->shrink_mask, entry)) {
                TRY(add_output(call, slicing, slicing->size[dimension]));
            }
            dimension++;
        }
    }
    return has_ellipsis ? STATUS_OK : take_rest(call, input, rest, &dimension, slicing);
}

Status
slicing_strided(Call *call, const InferContext *context, Slicing *ret_slicing)
{
    const Shape *input = &context->inputs[0];
    StridedSpec spec;
    Slicing slicing = {.rank = input->rank, .output = shape_unknown()};
    TRY(read_spec(call, context, &spec, &slicing.is_known));
    slicing.is_known = slicing.is_known && input->rank >= 0;
    if (slicing.is_known) {
        slicing.output = shape_scalar();
        TRY(apply_spec(call, &spec, input, &slicing));
    }
    *ret_slicing = slicing;
    return STATUS_OK;
}

typedef struct OnnxSpec {
    int64_t starts[SHAPE_RANK_MAX];
    int64_t ends[SHAPE_RANK_MAX];
    int64_t axes[SHAPE_RANK_MAX];
    int64_t steps[SHAPE_RANK_MAX];
    size_t count;
} OnnxSpec;

static Status
read_optional(
    Call *call, const InferContext *context, uint32_t input, int64_t *values, size_t count, bool *is_known)
{
    if (!infer_has_input(context, input)) {
        return STATUS_OK;
    }
    size_t given = 0;
    bool is_given = false;
    TRY(infer_ints(call, context, input, values, SHAPE_RANK_MAX, &given));
    is_given = infer_knows(context, input);
    *is_known = *is_known && is_given;
    if (*is_known && given != count) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "input %u has %zu values, starts have %zu", input, given, count);
    }
    return STATUS_OK;
}

static Status
read_onnx_spec(Call *call, const InferContext *context, OnnxSpec *spec, bool *ret_is_known)
{
    size_t ends_count = 0;
    bool knows_starts = false;
    bool knows_ends = false;
    TRY(infer_ints(call, context, 1, spec->starts, SHAPE_RANK_MAX, &spec->count));
    knows_starts = infer_knows(context, 1);
    TRY(infer_ints(call, context, 2, spec->ends, SHAPE_RANK_MAX, &ends_count));
    knows_ends = infer_knows(context, 2);
    bool is_known = knows_starts && knows_ends;
    if (is_known && spec->count != ends_count) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "%zu starts and %zu ends do not agree", spec->count, ends_count);
    }
    for (size_t index = 0; index < SHAPE_RANK_MAX; index++) {
        spec->axes[index] = (int64_t)index;
        spec->steps[index] = 1;
    }
    TRY(read_optional(call, context, 3, spec->axes, spec->count, &is_known));
    TRY(read_optional(call, context, 4, spec->steps, spec->count, &is_known));
    *ret_is_known = is_known;
    return STATUS_OK;
}

static Status
take_onnx(Call *call, const OnnxSpec *spec, size_t entry, const Shape *input, Slicing *slicing)
{
    int axis = 0;
    TRY(infer_axis(call, spec->axes[entry], input->rank, &axis));
    int64_t step = spec->steps[entry];
    if (step == 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "step 0 along axis %d", axis);
    }
    int64_t available = input->dims[axis];
    slicing->step[axis] = step;
    slicing->size[axis] = available == 0 ? 0 : -1;
    if (available <= 0) {
        return STATUS_OK;
    }
    int64_t start = spec->starts[entry] + (spec->starts[entry] < 0 ? available : 0);
    int64_t end = spec->ends[entry] + (spec->ends[entry] < 0 ? available : 0);
    int64_t low = step > 0 ? 0 : -1;
    int64_t begin = clamp_bound(start, 0, step > 0 ? available : available - 1);
    slicing->begin[axis] = begin;
    slicing->size[axis] = step_count(begin, clamp_bound(end, low, available), step);
    return STATUS_OK;
}

Status
slicing_onnx(Call *call, const InferContext *context, Slicing *ret_slicing)
{
    const Shape *input = &context->inputs[0];
    OnnxSpec spec;
    Slicing slicing = {.rank = input->rank, .output = shape_unknown()};
    TRY(read_onnx_spec(call, context, &spec, &slicing.is_known));
    slicing.is_known = slicing.is_known && input->rank >= 0;
    slicing.output = input->rank < 0 ? shape_unknown() : shape_of_rank(input->rank);
    if (slicing.is_known) {
        for (int index = 0; index < input->rank; index++) {
            take_all(input, index, &slicing);
        }
        for (size_t entry = 0; entry < spec.count; entry++) {
            TRY(take_onnx(call, &spec, entry, input, &slicing));
        }
        memcpy(slicing.output.dims, slicing.size, sizeof slicing.size);
    }
    *ret_slicing = slicing;
    return STATUS_OK;
}
