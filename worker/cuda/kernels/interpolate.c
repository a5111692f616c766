/* onnx::Resize, one dimension after the other, by the rules of the reference kernel (shared/ops/resize):
 * numbers are widened, as much as their dtype asks for, and rounded once in the end; what is only copied may
 * be of any dtype. */
#include "worker/cuda/kernels/interpolate.h"

#include "shared/ops/resize/rule.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/elementwise.h"
#include "worker/cuda/kernels/move.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

_Static_assert((int)CUDA_HALF_PIXEL == RESIZE_HALF_PIXEL && (int)CUDA_ASYMMETRIC == RESIZE_ASYMMETRIC &&
                   (int)CUDA_RESIZE_CROP == (int)RESIZE_CROP && (int)CUDA_RESIZE_CUBIC == RESIZE_CUBIC &&
                   (int)CUDA_CEIL == RESIZE_CEIL,
    "both sides count the places and modes alike");

enum { ROI = 1, SCALES = 2, SIZES = 3 };

/* The tensor on its way from dimension to dimension. */
typedef struct Resizing {
    ResizePlan plan;
    ResizeFilter filter;
    bool is_copied;
    int last; /* the last dimension that changes; -1: none does */
    Tensor tensor;
} Resizing;

/* A crop has elements of its own beside those that it copies. */
static bool
supports_resize(const Node *node)
{
    Dtype dtype = node->input_dtypes[0];
    bool is_nearest = slice_equals_string(node_attr_string(node, "mode"), "nearest");
    bool is_crop =
        slice_equals_string(node_attr_string(node, "coordinate_transformation_mode"), "tf_crop_and_resize");
    bool is_real = dtype_is_floating(dtype) || dtype_is_integer(dtype);
    return is_real || (is_nearest && !is_crop && dtype_is_copyable(dtype));
}

/* Integers, which are truncated, are summed as the reference kernel does. */
static Dtype
wide_dtype_of(Dtype dtype)
{
    return dtype_is_floating(dtype) && dtype != DTYPE_FLOAT64 ? DTYPE_FLOAT32 : DTYPE_FLOAT64;
}

static Status
convert_elements(KernelContext *context, const Tensor *from, const Tensor *to)
{
    int error = cuda_convert(cuda_type(from->dtype), from->data, cuda_type(to->dtype), to->data,
        tensor_element_count(from), cuda_stream(context));
    return cuda_check(context->call, error, "the cast of a Resize");
}

/* Takes the input, widened where it is summed. */
static Status
begin_resizing(KernelContext *context, Resizing *resizing)
{
    const Tensor *input = &context->inputs[0];
    Dtype wide = wide_dtype_of(input->dtype);
    if (resizing->is_copied || wide == input->dtype) {
        resizing->tensor = tensor_ref(input);
        return STATUS_OK;
    }
    TRY(scratch_new(context, wide, &input->shape, &resizing->tensor));
    return convert_elements(context, input, &resizing->tensor);
}

/* Describes the neighbours along a dimension, and enqueues the kernel that weighs them into `firsts` and
 * `weights`. */
static Status
weigh_neighbours(KernelContext *context, const Resizing *resizing, int dimension, Tensor *firsts,
    Tensor *weights, CudaNeighbours *ret_neighbours)
{
    const ResizePlan *plan = &resizing->plan;
    const ResizedDimension *resized = &plan->dimensions[dimension];
    ResizeFilter filter = resizing->filter;
    resize_antialias(plan, dimension, &filter);
    int64_t reach = resize_reach(&filter);
    Shape elements = shape_vector(plan->output.dims[dimension]);
    Shape table = {.rank = 2, .dims = {plan->output.dims[dimension], 2 - 2 * reach}};
    TRY(scratch_new(context, DTYPE_INT64, &elements, firsts));
    TRY(scratch_new(context, DTYPE_FLOAT64, &table, weights));
    *ret_neighbours = (CudaNeighbours){.input = resizing->tensor.shape.dims[dimension],
        .output = plan->output.dims[dimension],
        .count = 2 - 2 * reach,
        .reach = reach,
        .place = (CudaResizePlace)plan->place,
        .mode = (CudaResizeMode)filter.mode,
        .nearest = (CudaResizeNearest)filter.nearest,
        .excludes_outside = filter.excludes_outside,
        .is_normalized = filter.excludes_outside || filter.is_antialiased,
        .scale = resized->scale,
        .filter_scale = filter.scale,
        .cubic = filter.cubic,
        .crop_start = resized->crop_start,
        .crop_end = resized->crop_end,
        .firsts = firsts->data,
        .weights = weights->data};
    int error = cuda_weigh_neighbours(ret_neighbours, cuda_stream(context));
    return cuda_check(context->call, error, "the weights of a Resize");
}

static Status
launch(KernelContext *context, const Resizing *resizing, const CudaInterpolation *lines)
{
    Dtype dtype = resizing->tensor.dtype;
    cudaStream_t stream = cuda_stream(context);
    int error = resizing->is_copied ? cuda_choose_neighbours(dtype_size(dtype), lines, stream)
                                    : cuda_interpolate(cuda_type(dtype), lines, stream);
    return cuda_check(context->call, error, "a Resize kernel");
}

/* Resizes one dimension, the last one into the output when that needs no cast. */
static Status
resize_dimension(KernelContext *context, Resizing *resizing, int dimension, const Tensor *output)
{
    AUTO_TENSOR firsts = {0};
    AUTO_TENSOR weights = {0};
    AUTO_TENSOR resized = {0};
    Shape shape = resizing->tensor.shape;
    Lines lines = lines_along(&shape, dimension);
    CudaInterpolation interpolation = {.from = resizing->tensor.data,
        .outer = lines.outer,
        .inner = lines.inner,
        .outside = (double)node_attr_float(context->node, "extrapolation_value")};
    TRY(weigh_neighbours(context, resizing, dimension, &firsts, &weights, &interpolation.neighbours));
    shape.dims[dimension] = resizing->plan.output.dims[dimension];
    if (dimension == resizing->last && output->dtype == resizing->tensor.dtype) {
        resized = tensor_ref(output);
    } else {
        TRY(scratch_new(context, resizing->tensor.dtype, &shape, &resized));
    }
    interpolation.to = resized.data;
    TRY(launch(context, resizing, &interpolation));
    tensor_unref(&resizing->tensor);
    resizing->tensor = tensor_ref(&resized);
    return STATUS_OK;
}

/* Brings the elements into the output, when they are not there yet. */
static Status
finish_resizing(KernelContext *context, const Resizing *resizing, const Tensor *output)
{
    if (resizing->tensor.data == output->data) {
        return STATUS_OK;
    }
    if (!resizing->is_copied) {
        return convert_elements(context, &resizing->tensor, output);
    }
    int64_t count = tensor_element_count(output);
    CudaMove move = {.from = resizing->tensor.data,
        .to = output->data,
        .count = count,
        .rank = 1,
        .sizes = {count},
        .strides = {{1}, {1}}};
    int error = cuda_move(dtype_size(output->dtype), &move, cuda_stream(context));
    return cuda_check(context->call, error, "the copy of a Resize");
}

static Status
resize_all(KernelContext *context, Resizing *resizing, const Tensor *output)
{
    TRY(begin_resizing(context, resizing));
    for (int dimension = 0; dimension <= resizing->last; dimension++) {
        if (resize_changes(&resizing->plan, dimension)) {
            TRY(resize_dimension(context, resizing, dimension, output));
        }
    }
    return finish_resizing(context, resizing, output);
}

static Status
compute_resize(KernelContext *context)
{
    KernelInference inference;
    Resizing resizing = {.last = -1};
    Tensor *output = NULL;
    kernel_inference(context, NULL, &inference);
    TRY(resize_read(context->call, &inference.context, &resizing.plan));
    TRY(resize_read_filter(context->call, context->node, &resizing.filter));
    TRY(kernel_output(context, 0, context->inputs[0].dtype, &resizing.plan.output, &output));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    resizing.is_copied = resizing.filter.mode == RESIZE_NEAREST && resizing.plan.place != RESIZE_CROP;
    for (int dimension = 0; dimension < resizing.plan.output.rank; dimension++) {
        resizing.last = resize_changes(&resizing.plan, dimension) ? dimension : resizing.last;
    }
    Status status = resize_all(context, &resizing, output);
    tensor_unref(&resizing.tensor);
    return status;
}

static const Kernel interpolate_kernels[] = {
    {.op = "onnx::Resize",
        .supports = supports_resize,
        .compute = compute_resize,
        .host_inputs = 1 << ROI | 1 << SCALES | 1 << SIZES},
};

KERNEL_FAMILY(cuda_kernels, interpolate, interpolate_kernels);
