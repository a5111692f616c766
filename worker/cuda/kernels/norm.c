/* ONNX's normalisations by statistics of rows, of groups of channels and of chosen axes, by the rules of the
 * reference kernels (shared/ops/normalization). */
#include "worker/cuda/kernels/norm.h"

#include "worker/cuda/errors.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/strided_copy.h"

_Static_assert((int)CUDA_ROWS_RANK_MAX >= (int)SHAPE_RANK_MAX, "dimensions of every shape");

/* All tensors are of one floating dtype. */
static bool
supports_norm(const Node *node)
{
    for (uint32_t index = 1; index < node->input_count; index++) {
        if (node->input_dtypes[index] != node->input_dtypes[0]) {
            return false;
        }
    }
    return dtype_is_floating(node->input_dtypes[0]) && node->output_dtypes[0] == node->input_dtypes[0];
}

/* Enters a dimension: its elements share a statistic, or do not. */
static void
add_dimension(CudaNorm *norm, int64_t size, int64_t stride, bool is_folded)
{
    CudaDimensions *dimensions = is_folded ? &norm->folded : &norm->kept;
    dimensions->sizes[dimensions->rank] = size;
    dimensions->strides[0][dimensions->rank++] = stride;
    *(is_folded ? &norm->count : &norm->groups) *= size;
}

static Status
run_norm(KernelContext *context, CudaNorm *norm)
{
    Tensor *output = NULL;
    TRY(output_forward(context, 0, &output));
    norm->input = context->inputs[0].data;
    norm->output = output->data;
    int error = cuda_norm(cuda_type(output->dtype), norm, cuda_stream(context));
    return cuda_check(context->call, error, "a normalisation");
}

/* Says how the scale broadcasts to a tensor of this shape whose groups begin at dimension `axis`. */
static void
broadcast_scale(const Shape *shape, const Shape *scale, int axis, CudaNorm *norm)
{
    int64_t own = 1;
    norm->rank = shape->rank;
    norm->is_scaled_along = true;
    for (int dimension = shape->rank - 1; dimension >= 0; dimension--) {
        int at = dimension - (shape->rank - scale->rank);
        int64_t size = at < 0 ? 1 : scale->dims[at];
        norm->sizes[dimension] = shape->dims[dimension];
        norm->strides[0][dimension] = size == 1 ? 0 : own;
        own *= size;
        bool is_along = size == (dimension < axis ? 1 : shape->dims[dimension]);
        norm->is_scaled_along = norm->is_scaled_along && is_along;
    }
}

static Status
compute_rms_norm(KernelContext *context)
{
    const Shape *shape = &context->inputs[0].shape;
    Shape output;
    int64_t strides[SHAPE_RANK_MAX];
    TRY(output_shapes(context, &output));
    int64_t given = node_attr_int(context->node, "axis");
    int axis = (int)(given < 0 ? given + shape->rank : given);
    CudaNorm norm = {.kind = CUDA_NORM_ROOT_MEAN_SQUARE,
        .scale = context->inputs[1].data,
        .groups = 1,
        .count = 1,
        .epsilon = (double)node_attr_float(context->node, "epsilon")};
    strides_dense(shape, strides);
    for (int dimension = 0; dimension < shape->rank; dimension++) {
        add_dimension(&norm, shape->dims[dimension], strides[dimension], dimension >= axis);
    }
    broadcast_scale(shape, &context->inputs[1].shape, axis, &norm);
    return run_norm(context, &norm);
}

/* The tensor is seen as [batch, group, channel of the group, position]. */
static Status
compute_group_norm(KernelContext *context)
{
    const Node *node = context->node;
    Shape output;
    TRY(output_shapes(context, &output));
    int64_t groups = node_attr_int(node, "num_groups");
    Lines channels = lines_along(&context->inputs[0].shape, 1);
    int64_t of_group = channels.size / groups;
    bool scales_groups = node_attr_int(node, "scales_groups") != 0;
    int64_t size = of_group * channels.inner;
    CudaNorm norm = {.kind = CUDA_NORM_VARIANCE,
        .scale = context->inputs[1].data,
        .bias = context->inputs[2].data,
        .groups = 1,
        .count = 1,
        .rank = 4,
        .sizes = {channels.outer, groups, of_group, channels.inner},
        .strides = {{0, scales_groups ? 1 : of_group, scales_groups ? 0 : 1, 0}},
        .epsilon = (double)node_attr_float(node, "epsilon")};
    add_dimension(&norm, channels.outer * groups, size, false);
    add_dimension(&norm, size, 1, true);
    return run_norm(context, &norm);
}

/* The epsilon is that of the operator's function body in ONNX, which adds it behind the root. */
static Status
compute_mean_variance(KernelContext *context)
{
    static const double epsilon = 1e-9;
    const Shape *shape = &context->inputs[0].shape;
    const AttrValue *axes = node_attr(context->node, "axes");
    bool is_shared[SHAPE_RANK_MAX] = {false};
    int64_t strides[SHAPE_RANK_MAX];
    Shape output;
    TRY(output_shapes(context, &output));
    CudaNorm norm = {.kind = CUDA_NORM_STANDARD_DEVIATION, .groups = 1, .count = 1, .epsilon = epsilon};
    for (size_t index = 0; index < axes->value.list.count; index++) {
        int64_t axis = axes->value.list.items[index].value.i;
        is_shared[axis < 0 ? axis + shape->rank : axis] = true;
    }
    strides_dense(shape, strides);
    for (int dimension = 0; dimension < shape->rank; dimension++) {
        add_dimension(&norm, shape->dims[dimension], strides[dimension], is_shared[dimension]);
    }
    return run_norm(context, &norm);
}

static Status
compute_lp_norm(KernelContext *context)
{
    const Shape *shape = &context->inputs[0].shape;
    Shape output;
    TRY(output_shapes(context, &output));
    int64_t axis = node_attr_int(context->node, "axis");
    Lines lines = lines_along(shape, (int)(axis < 0 ? axis + shape->rank : axis));
    bool is_square = node_attr_int(context->node, "p") == 2;
    CudaNorm norm = {.kind = is_square ? CUDA_NORM_LENGTH : CUDA_NORM_SUM, .groups = 1, .count = 1};
    add_dimension(&norm, lines.outer, lines.size * lines.inner, false);
    add_dimension(&norm, lines.inner, 1, false);
    add_dimension(&norm, lines.size, lines.inner, true);
    return run_norm(context, &norm);
}

static const Kernel norm_kernels[] = {
    {.op = "onnx::RMSNormalization", .supports = supports_norm, .compute = compute_rms_norm},
    {.op = "onnx::GroupNormalization", .supports = supports_norm, .compute = compute_group_norm},
    {.op = "onnx::MeanVarianceNormalization", .supports = supports_norm, .compute = compute_mean_variance},
    {.op = "onnx::LpNormalization", .supports = supports_norm, .compute = compute_lp_norm},
};

KERNEL_FAMILY(cuda_kernels, norm, norm_kernels);
