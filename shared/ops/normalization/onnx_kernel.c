/* ONNX's normalisations by statistics of rows, of groups of channels and of chosen axes. Both stages are
 * computed in double and rounded once, whatever stash_type asks for. */
#include <math.h>

#include "worker/reference/broadcast.h"
#include "worker/reference/doubles.h"
#include "worker/reference/scratch.h"
#include "worker/reference/walk.h"

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

static bool
supports_two_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]) && dtype_is_floating(node->input_dtypes[1]);
}

/* Returns how many elements the dimensions from `axis` on have together. */
static int64_t
size_behind(const Shape *shape, int axis)
{
    int64_t size = 1;
    for (int index = axis; index < shape->rank; index++) {
        size *= shape->dims[index];
    }
    return size;
}

static void
divide_by_root_mean_square(const double *x, int64_t size, double epsilon, double *y)
{
    double squares = 0;
    for (int64_t n = 0; n < size; n++) {
        squares += x[n] * x[n];
    }
    double factor = 1 / sqrt(squares / (double)size + epsilon);
    for (int64_t n = 0; n < size; n++) {
        y[n] = x[n] * factor;
    }
}

static void
multiply_doubles(const ElementRun *run)
{
    for (int64_t n = 0; n < run->count; n++) {
        ((double *)run->output)[n] = ((const double *)run->inputs[0])[n * run->strides[0]] *
                                     ((const double *)run->inputs[1])[n * run->strides[1]];
    }
}

static Status
rms_norm_compute(KernelContext *context)
{
    AUTO_DOUBLES doubles = {0};
    TRY(doubles_begin(context, &doubles));
    Tensor *y = &doubles.outputs[0];
    int64_t axis = node_attr_int(context->node, "axis");
    int64_t size = size_behind(&y->shape, (int)(axis < 0 ? axis + y->shape.rank : axis));
    int64_t count = tensor_element_count(y);
    for (int64_t n = 0; n < count; n += size) {
        divide_by_root_mean_square(doubles_in(&doubles, 0) + n, size,
            (double)node_attr_float(context->node, "epsilon"), doubles_out(&doubles, 0) + n);
    }
    const Tensor *scaled[] = {y, &doubles.inputs[1]};
    broadcast_run(scaled, 2, y, NULL, multiply_doubles);
    return doubles_finish(context, &doubles);
}

/* Writes (x - mean) / √(variance + ε). */
static void
normalize_group(const double *x, int64_t size, double epsilon, double *y)
{
    double sum = 0;
    double squares = 0;
    for (int64_t n = 0; n < size; n++) {
        sum += x[n];
    }
    for (int64_t n = 0; n < size; n++) {
        y[n] = x[n] - sum / (double)size;
        squares += y[n] * y[n];
    }
    double factor = 1 / sqrt(squares / (double)size + epsilon);
    for (int64_t n = 0; n < size; n++) {
        y[n] *= factor;
    }
}

static Status
group_norm_compute(KernelContext *context)
{
    const Node *node = context->node;
    AUTO_DOUBLES doubles = {0};
    TRY(doubles_begin(context, &doubles));
    int64_t groups = node_attr_int(node, "num_groups");
    Lines channels = lines_along(&context->inputs[0].shape, 1);
    int64_t of_group = channels.size / groups;
    int64_t of_scale = node_attr_int(node, "scales_groups") != 0 ? of_group : 1;
    int64_t size = of_group * channels.inner;
    if (tensor_element_count(&context->inputs[0]) == 0) {
        return doubles_finish(context, &doubles); /* the other dimensions may be of any size */
    }
    for (int64_t group = 0; group < channels.outer * groups; group++) {
        double *y = doubles_out(&doubles, 0) + group * size;
        normalize_group(
            doubles_in(&doubles, 0) + group * size, size, (double)node_attr_float(node, "epsilon"), y);
        for (int64_t n = 0; n < size; n++) {
            int64_t scale = (group % groups * of_group + n / channels.inner) / of_scale;
            y[n] = y[n] * doubles_in(&doubles, 1)[scale] + doubles_in(&doubles, 2)[scale];
        }
    }
    return doubles_finish(context, &doubles);
}

/* Splits a shape in the elements that share statistics and the places of their first ones. */
static void
split_axes(const Node *node, const Shape *shape, Walk *ret_shared, Walk *ret_places)
{
    const AttrValue *axes = node_attr(node, "axes");
    bool is_shared[SHAPE_RANK_MAX] = {false};
    for (size_t index = 0; index < axes->value.list.count; index++) {
        int64_t axis = axes->value.list.items[index].value.i;
        is_shared[axis < 0 ? axis + shape->rank : axis] = true;
    }
    for (int dimension = 0; dimension < shape->rank; dimension++) {
        Walk *walk = is_shared[dimension] ? ret_shared : ret_places;
        walk->dims[walk->rank] = shape->dims[dimension];
        walk->strides[walk->rank++] = size_behind(shape, dimension + 1);
    }
}

/* Writes (x - mean) / (√variance + 1e-9): the rule is the operator's function body in ONNX, which adds its
 * epsilon behind the root. */
static void
normalize_shared(const double *x, Walk *shared, double *y)
{
    static const double epsilon = 1e-9;
    double count = (double)walk_count(shared);
    double sum = 0;
    double squares = 0;
    do {
        sum += x[shared->offset];
    } while (walk_next(shared));
    do {
        double distance = x[shared->offset] - sum / count;
        squares += distance * distance;
    } while (walk_next(shared));
    do {
        y[shared->offset] = (x[shared->offset] - sum / count) / (sqrt(squares / count) + epsilon);
    } while (walk_next(shared));
}

static Status
mean_variance_compute(KernelContext *context)
{
    AUTO_DOUBLES doubles = {0};
    TRY(doubles_begin(context, &doubles));
    Walk shared = {0};
    Walk places = {0};
    split_axes(context->node, &context->inputs[0].shape, &shared, &places);
    if (tensor_element_count(&context->inputs[0]) > 0) {
        do {
            normalize_shared(
                doubles_in(&doubles, 0) + places.offset, &shared, doubles_out(&doubles, 0) + places.offset);
        } while (walk_next(&places));
    }
    return doubles_finish(context, &doubles);
}

/* A line whose norm is zero becomes zeros. */
static void
divide_by_norm(const double *x, const Lines *lines, bool is_square, double *y)
{
    double sum = 0;
    for (int64_t n = 0; n < lines->size; n++) {
        double value = x[n * lines->inner];
        sum += is_square ? value * value : fabs(value);
    }
    double norm = is_square ? sqrt(sum) : sum;
    for (int64_t n = 0; n < lines->size; n++) {
        y[n * lines->inner] = norm == 0 ? 0 : x[n * lines->inner] / norm;
    }
}

static Status
lp_norm_compute(KernelContext *context)
{
    AUTO_DOUBLES doubles = {0};
    TRY(doubles_begin(context, &doubles));
    const Shape *shape = &context->inputs[0].shape;
    int64_t axis = node_attr_int(context->node, "axis");
    Lines lines = lines_along(shape, (int)(axis < 0 ? axis + shape->rank : axis));
    bool is_square = node_attr_int(context->node, "p") == 2;
    if (tensor_element_count(&context->inputs[0]) == 0) {
        return doubles_finish(context, &doubles); /* the other dimensions may be of any size */
    }
    for (int64_t line = 0; line < lines.outer * lines.inner; line++) {
        int64_t offset = line / lines.inner * lines.size * lines.inner + line % lines.inner;
        divide_by_norm(
            doubles_in(&doubles, 0) + offset, &lines, is_square, doubles_out(&doubles, 0) + offset);
    }
    return doubles_finish(context, &doubles);
}

static const Kernel normalization_onnx_kernels[] = {
    {.op = "onnx::GroupNormalization",
        .supports = supports_floats,
        .compute = group_norm_compute,
        DOUBLES_SCRATCH},
    {.op = "onnx::LpNormalization", .supports = supports_floats, .compute = lp_norm_compute, DOUBLES_SCRATCH},
    {.op = "onnx::MeanVarianceNormalization",
        .supports = supports_floats,
        .compute = mean_variance_compute,
        DOUBLES_SCRATCH},
    {.op = "onnx::RMSNormalization",
        .supports = supports_two_floats,
        .compute = rms_norm_compute,
        DOUBLES_SCRATCH},
};

KERNEL_FAMILY(reference, normalization_onnx, normalization_onnx_kernels);
