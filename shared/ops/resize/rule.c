#include "shared/ops/resize/rule.h"

#include <assert.h>
#include <math.h>

enum { ROI = 1, SCALES = 2, SIZES = 3 };

static const struct {
    const char *name;
    ResizePlace place;
} PLACES[] = {
    {"half_pixel", RESIZE_HALF_PIXEL},
    {"half_pixel_symmetric", RESIZE_HALF_PIXEL_SYMMETRIC},
    {"pytorch_half_pixel", RESIZE_PYTORCH_HALF_PIXEL},
    {"align_corners", RESIZE_ALIGN_CORNERS},
    {"asymmetric", RESIZE_ASYMMETRIC},
    {"tf_half_pixel_for_nn", RESIZE_HALF_PIXEL_FOR_NEAREST},
    {"tf_crop_and_resize", RESIZE_CROP},
};

static Status
read_place(Call *call, const Node *node, ResizePlace *ret_place)
{
    Slice text = node_attr_string(node, "coordinate_transformation_mode");
    for (size_t index = 0; index < COUNT_OF(PLACES); index++) {
        if (slice_equals_string(text, PLACES[index].name)) {
            *ret_place = PLACES[index].place;
            return STATUS_OK;
        }
    }
    return call_fail(call, STATUS_INVALID_ARGUMENT, "there is no coordinate_transformation_mode '%.*s'",
        SLICE_PRINT(text));
}

/* Reads the dimensions that inputs speak of: the attribute `axes`, or all. */
static Status
read_axes(Call *call, const Node *node, int rank, int *ret_axes, int *ret_count)
{
    int64_t given[SHAPE_RANK_MAX];
    bool is_taken[SHAPE_RANK_MAX] = {false};
    size_t count = node_attr_ints(node, "axes", given, SHAPE_RANK_MAX);
    if (count > (size_t)rank) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%zu axes for a tensor of rank %d", count, rank);
    }
    for (size_t index = 0; index < count; index++) {
        TRY(infer_axis(call, given[index], rank, &ret_axes[index]));
        if (is_taken[ret_axes[index]]) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "axis %d is named twice", ret_axes[index]);
        }
        is_taken[ret_axes[index]] = true;
    }
    *ret_count = count == 0 ? rank : (int)count;
    for (int axis = 0; count == 0 && axis < rank; axis++) {
        ret_axes[axis] = axis;
    }
    return STATUS_OK;
}

/* Reads a vector of floats with `count` elements; a vector without any counts as absent. */
static Status
read_floats(
    Call *call, const InferContext *context, uint32_t input, int count, double *values, bool *ret_is_given)
{
    const Tensor *tensor = infer_has_input(context, input) ? context->values[input] : NULL;
    *ret_is_given = tensor != NULL && tensor_element_count(tensor) > 0;
    if (!*ret_is_given) {
        return STATUS_OK;
    }
    if (tensor->shape.rank != 1 || tensor_element_count(tensor) != count ||
        (tensor->dtype != DTYPE_FLOAT32 && tensor->dtype != DTYPE_FLOAT64)) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(call, STATUS_INVALID_ARGUMENT, "input %u is %s%s, not %d floats", input,
            dtype_name(tensor->dtype), shape_text(&tensor->shape, text), count);
    }
    for (int index = 0; index < count; index++) {
        values[index] = tensor->dtype == DTYPE_FLOAT32 ? (double)((const float *)tensor->data)[index]
                                                       : ((const double *)tensor->data)[index];
    }
    return STATUS_OK;
}

static bool
is_given(const InferContext *context, uint32_t input)
{
    int64_t count = 0;
    return infer_has_input(context, input) &&
           !(shape_element_count(&context->inputs[input], &count) && count == 0);
}

static Status
check_scale(Call *call, int axis, double scale)
{
    return scale > 0 && isfinite(scale)
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT,
                     "dimension %d is scaled by %g, which is not above 0", axis, scale);
}

static Status
apply_scales(Call *call, const InferContext *context, const int *axes, int count, ResizePlan *plan)
{
    double scales[SHAPE_RANK_MAX];
    TRY(read_floats(call, context, SCALES, count, scales, &plan->is_known));
    for (int index = 0; plan->is_known && index < count; index++) {
        int axis = axes[index];
        TRY(check_scale(call, axis, scales[index]));
        double size = floor((double)plan->output.dims[axis] * scales[index]);
        if (size > 0x1p53) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "dimension %d is scaled by %g", axis, scales[index]);
        }
        plan->output.dims[axis] = (int64_t)size;
        plan->dimensions[axis] = (ResizedDimension){.is_resized = true, .scale = scales[index]};
    }
    return STATUS_OK;
}

static const char *const POLICIES[] = {"stretch", "not_larger", "not_smaller"};
enum { STRETCH, NOT_LARGER };

static Status
read_policy(Call *call, const Node *node, size_t *ret_policy)
{
    Slice text = node_attr_string(node, "keep_aspect_ratio_policy");
    for (size_t index = 0; index < COUNT_OF(POLICIES); index++) {
        if (slice_equals_string(text, POLICIES[index])) {
            *ret_policy = index;
            return STATUS_OK;
        }
    }
    return call_fail(call, STATUS_INVALID_ARGUMENT, "there is no keep_aspect_ratio_policy '%.*s'",
        SLICE_PRINT(slice_part(text, 0, 64)));
}

/* Returns the one scale of all dimensions that a policy keeps: the smallest, or the largest; 0: each has its
 * own. */
static double
common_scale(size_t policy, const Shape *input, const int *axes, const int64_t *sizes, int count)
{
    double common = 0;
    for (int index = 0; policy != STRETCH && index < count; index++) {
        double scale = (double)sizes[index] / (double)input->dims[axes[index]];
        bool is_better = policy == NOT_LARGER ? scale < common : scale > common;
        common = index == 0 || is_better ? scale : common;
    }
    return common;
}

static Status
apply_sizes(Call *call, const InferContext *context, const int *axes, int count, ResizePlan *plan)
{
    int64_t sizes[SHAPE_RANK_MAX];
    size_t read = 0;
    size_t policy = STRETCH;
    TRY(read_policy(call, context->node, &policy));
    TRY(infer_ints(call, context, SIZES, sizes, SHAPE_RANK_MAX, &read));
    plan->is_known = infer_knows(context, SIZES);
    if (plan->is_known && read != (size_t)count) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%zu sizes for %d dimensions", read, count);
    }
    const Shape *input = &context->inputs[0];
    double common = plan->is_known ? common_scale(policy, input, axes, sizes, count) : 0;
    for (int index = 0; plan->is_known && index < count; index++) {
        int axis = axes[index];
        double scale = common > 0 ? common : (double)sizes[index] / (double)input->dims[axis];
        TRY(check_scale(call, axis, scale));
        plan->output.dims[axis] =
            common > 0 ? (int64_t)((double)input->dims[axis] * common + 0.5) : sizes[index];
        plan->dimensions[axis] = (ResizedDimension){.is_resized = true, .scale = scale};
    }
    return STATUS_OK;
}

/* Reads the crop: all starts, then all ends. */
static Status
apply_crop(Call *call, const InferContext *context, const int *axes, int count, ResizePlan *plan)
{
    double crop[2 * SHAPE_RANK_MAX];
    bool is_there = false;
    if (!is_given(context, ROI)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "tf_crop_and_resize needs the input 'roi'");
    }
    TRY(read_floats(call, context, ROI, 2 * count, crop, &is_there));
    for (int index = 0; is_there && index < 2 * count; index++) {
        if (!isfinite(crop[index])) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "element %d of 'roi' is %g", index, crop[index]);
        }
    }
    plan->is_known = plan->is_known && is_there;
    for (int index = 0; is_there && index < count; index++) {
        plan->dimensions[axes[index]].crop_start = crop[index];
        plan->dimensions[axes[index]].crop_end = crop[count + index];
    }
    return STATUS_OK;
}

static Status
check_elements(Call *call, const Shape *input, const ResizePlan *plan)
{
    for (int axis = 0; axis < input->rank; axis++) {
        if (plan->dimensions[axis].is_resized && input->dims[axis] == 0 && plan->output.dims[axis] > 0) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "dimension %d has no elements and cannot be resized", axis);
        }
    }
    return infer_check_size(call, &plan->output);
}

Status
resize_read(Call *call, const InferContext *context, ResizePlan *ret_plan)
{
    const Shape *input = &context->inputs[0];
    int axes[SHAPE_RANK_MAX];
    int count = 0;
    *ret_plan = (ResizePlan){.output = shape_unknown()};
    TRY(read_place(call, context->node, &ret_plan->place));
    if (input->rank < 0) {
        return STATUS_OK;
    }
    TRY(read_axes(call, context->node, input->rank, axes, &count));
    if (is_given(context, SCALES) == is_given(context, SIZES)) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "one of 'scales' and 'sizes' must be given, not both");
    }
    ret_plan->output = shape_of_rank(input->rank);
    if (!shape_is_known(input)) {
        return STATUS_OK;
    }
    ResizePlan plan = {.place = ret_plan->place, .output = *input};
    TRY((is_given(context, SIZES) ? apply_sizes : apply_scales)(call, context, axes, count, &plan));
    if (!plan.is_known) {
        return STATUS_OK;
    }
    if (plan.place == RESIZE_CROP) {
        TRY(apply_crop(call, context, axes, count, &plan));
    }
    TRY(check_elements(call, input, &plan));
    *ret_plan = plan;
    return STATUS_OK;
}

/* Sizes that scales give are not rounded where a position is stretched over all of a dimension. */
double
resize_position(const ResizePlan *plan, int64_t input, int64_t output, int dimension, int64_t index)
{
    const ResizedDimension *resized = &plan->dimensions[dimension];
    assert(resized->is_resized && resized->scale > 0);
    double scale = resized->scale;
    double x = (double)index;
    double last = (double)input - 1;
    double length = scale * (double)input;
    switch (plan->place) {
    case RESIZE_ALIGN_CORNERS:
        return length == 1 ? 0 : x * last / (length - 1);
    case RESIZE_ASYMMETRIC:
        return x / scale;
    case RESIZE_HALF_PIXEL_FOR_NEAREST:
        return (x + 0.5) / scale;
    case RESIZE_PYTORCH_HALF_PIXEL:
        return length == 1 ? -0.5 : (x + 0.5) / scale - 0.5;
    case RESIZE_HALF_PIXEL_SYMMETRIC:
        return (double)input / 2 * (1 - (double)output / length) + (x + 0.5) / scale - 0.5;
    case RESIZE_CROP: {
        double part = resized->crop_end - resized->crop_start;
        double inside = length == 1 ? part * last / 2 : x * part * last / (length - 1);
        return inside + resized->crop_start * last;
    }
    case RESIZE_HALF_PIXEL:
        break;
    }
    return (x + 0.5) / scale - 0.5;
}

bool
resize_changes(const ResizePlan *plan, int dimension)
{
    const ResizedDimension *resized = &plan->dimensions[dimension];
    return resized->is_resized && (resized->scale != 1 || plan->place == RESIZE_CROP);
}

/* Finds the number of a text in a list of texts. */
static Status
read_choice(
    Call *call, const Node *node, const char *attr, const char *const *names, int count, int *ret_number)
{
    Slice text = node_attr_string(node, attr);
    for (int number = 0; number < count; number++) {
        if (slice_equals_string(text, names[number])) {
            *ret_number = number;
            return STATUS_OK;
        }
    }
    return call_fail(call, STATUS_INVALID_ARGUMENT, "there is no %s '%.*s'", attr, SLICE_PRINT(text));
}

Status
resize_read_filter(Call *call, const Node *node, ResizeFilter *ret_filter)
{
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const char *const nearest_modes[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    int mode = 0;
    int nearest = 0;
    TRY(read_choice(call, node, "nearest_mode", nearest_modes, COUNT_OF(nearest_modes), &nearest));
    TRY(read_choice(call, node, "mode", modes, COUNT_OF(modes), &mode));
    *ret_filter = (ResizeFilter){
        .mode = (ResizeMode)mode,
        .nearest = (ResizeNearest)nearest,
        .cubic = (double)node_attr_float(node, "cubic_coeff_a"),
        .is_antialiased = node_attr_int(node, "antialias") != 0,
        .excludes_outside = node_attr_int(node, "exclude_outside") != 0,
        .scale = 1,
    };
    return STATUS_OK;
}

void
resize_antialias(const ResizePlan *plan, int dimension, ResizeFilter *filter)
{
    double scale = plan->dimensions[dimension].scale;
    filter->scale = filter->is_antialiased && filter->mode != RESIZE_NEAREST && scale < 1 ? scale : 1;
}

int64_t
resize_reach(const ResizeFilter *filter)
{
    double radius = filter->mode == RESIZE_CUBIC ? 2 : 1;
    return (int64_t)floor(-radius / filter->scale) + 1;
}
