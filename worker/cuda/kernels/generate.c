/* Tensors made from a few numbers, by the rules of the reference kernels (shared/ops/generate, gather). */
#include "worker/cuda/kernels/generate.h"

#include "shared/base/clock.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/elementwise.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/mel.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

static bool
supports_one_hot(const Node *node)
{
    return dtype_is_integer(node->input_dtypes[0]) && dtype_is_copyable(node->input_dtypes[2]);
}

/* Fills in the lines, and launches. */
static Status
run_one_hot(KernelContext *context, const Tensor *output, CudaOneHot *one_hot)
{
    int64_t axis = node_attr_int(context->node, "axis");
    Lines lines = lines_along(&output->shape, (int)(axis < 0 ? axis + output->shape.rank : axis));
    one_hot->output = output->data;
    one_hot->depth = lines.size;
    one_hot->inner = lines.inner;
    one_hot->count = tensor_element_count(output);
    int error = cuda_one_hot(dtype_size(output->dtype), one_hot, cuda_stream(context));
    return cuda_check(context->call, error, "a OneHot kernel");
}

static Status
compute_one_hot(KernelContext *context)
{
    enum { ON = 2, OFF = 3 };
    const Tensor *indices = &context->inputs[0];
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    for (uint32_t index = ON; index <= OFF; index++) {
        if (tensor_element_count(&context->inputs[index]) != 1) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "input %u is not one value", index);
        }
    }
    CudaOneHot one_hot = {
        .indices = indices->data,
        .type = cuda_type(indices->dtype),
        .on = context->inputs[ON].data,
        .off = context->inputs[OFF].data,
    };
    return run_one_hot(context, output, &one_hot);
}

static bool
supports_onnx_one_hot(const Node *node)
{
    return cuda_type(node->input_dtypes[0]) != CUDA_INVALID &&
           cuda_type(node->input_dtypes[1]) != CUDA_INVALID && dtype_is_copyable(node->input_dtypes[2]);
}

/* Indices of all dtypes are read as int64, floats truncated. */
static Status
compute_onnx_one_hot(KernelContext *context)
{
    const Tensor *given = &context->inputs[0];
    const Tensor *values = &context->inputs[2];
    Tensor *output = NULL;
    AUTO_TENSOR indices = {0};
    if (values->shape.rank != 1 || values->shape.dims[0] != 2) {
        char text[SHAPE_TEXT_SIZE];
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "the values have shape %s, not [2]",
            shape_text(&values->shape, text));
    }
    TRY(output_new(context, &output));
    TRY(scratch_new(context, DTYPE_INT64, &given->shape, &indices));
    if (indices.data != NULL) {
        int error = cuda_convert(cuda_type(given->dtype), given->data, CUDA_INT64, indices.data,
            tensor_element_count(given), cuda_stream(context));
        TRY(cuda_check(context->call, error, "a conversion"));
    }
    CudaOneHot one_hot = {
        .indices = indices.data,
        .type = CUDA_INT64,
        .count_from_end = true,
        .on = (const char *)values->data + dtype_size(values->dtype),
        .off = values->data,
    };
    return run_one_hot(context, output, &one_hot);
}

static bool
supports_range(const Node *node)
{
    Dtype dtype = node->input_dtypes[0];
    return dtype == DTYPE_FLOAT32 || dtype == DTYPE_FLOAT64 || dtype_is_integer(dtype);
}

static Status
compute_range(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    int error = cuda_range(cuda_type(output->dtype), context->inputs[0].data, context->inputs[2].data,
        output->data, tensor_element_count(output), cuda_stream(context));
    return cuda_check(context->call, error, "a Range kernel");
}

static bool
supports_space(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

static Status
compute_space(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    if (tensor_element_count(&context->inputs[0]) != 1 || tensor_element_count(&context->inputs[1]) != 1) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "start and stop must be one number each");
    }
    int error = cuda_space(cuda_type(output->dtype), context->inputs[0].data, context->inputs[1].data,
        output->data, tensor_element_count(output), cuda_stream(context));
    return cuda_check(context->call, error, "a LinSpace kernel");
}

static bool
supports_window(const Node *node)
{
    return dtype_is_integer(node->input_dtypes[0]) && cuda_type(node->output_dtypes[0]) != CUDA_INVALID;
}

/* The weights of the cosines of 0, 1 and 2 turns. */
static const struct {
    const char *op;
    double weights[3];
} windows[] = {
    {"onnx::HannWindow", {0.5, -0.5, 0}},
    {"onnx::HammingWindow", {25.0 / 46.0, -21.0 / 46.0, 0}},
    {"onnx::BlackmanWindow", {0.42, -0.5, 0.08}},
};

static Status
round_doubles(KernelContext *context, const Tensor *values, Tensor *output)
{
    int64_t count = tensor_element_count(output);
    int error = count == 0 ? 0
                           : cuda_convert(CUDA_FLOAT64, values->data, cuda_type(output->dtype), output->data,
                                 count, cuda_stream(context));
    return cuda_check(context->call, error, "a rounding of numbers");
}

/* Computed in double, rounded once. */
static Status
compute_window(KernelContext *context)
{
    AUTO_TENSOR values = {0};
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    TRY(scratch_new(context, DTYPE_FLOAT64, &output->shape, &values));
    int64_t count = tensor_element_count(output);
    bool is_periodic = node_attr_int(context->node, "periodic") != 0;
    CudaCosines window = {
        .length = is_periodic ? (double)count : (double)count - 1, .output = values.data, .count = count};
    for (size_t index = 0; index < COUNT_OF(windows); index++) {
        if (slice_equals_string(context->node->op->name, windows[index].op)) {
            memcpy(window.weights, windows[index].weights, sizeof window.weights);
        }
    }
    int error = cuda_cosines(&window, cuda_stream(context));
    TRY(cuda_check(context->call, error, "a window"));
    return round_doubles(context, &values, output);
}

static bool
supports_mel(const Node *node)
{
    enum { INPUT_LOWER = 3 };
    return supports_window(node) && dtype_is_floating(node->input_dtypes[INPUT_LOWER]);
}

/* Fills the columns of some bands from `first` on, whose corners go with the launch. */
static Status
fill_bands(KernelContext *context, const MelFilters *filters, int64_t first, const Tensor *values)
{
    int64_t count = filters->bands - first;
    CudaTriangles triangles = {.count = count < CUDA_TRIANGLES_MAX ? count : CUDA_TRIANGLES_MAX,
        .output = (double *)values->data + first,
        .rows = filters->rows,
        .step = filters->bands};
    for (int64_t n = 0; n < triangles.count + 2; n++) {
        triangles.corners[n] = mel_corner(filters, first + n);
    }
    return cuda_check(context->call, cuda_triangles(&triangles, cuda_stream(context)), "filters of mel");
}

/* Computed in double, rounded once. */
static Status
compute_mel(KernelContext *context)
{
    AUTO_TENSOR values = {0};
    MelFilters filters;
    Tensor *output = NULL;
    TRY(mel_filters_read(context, &filters));
    TRY(output_new(context, &output));
    TRY(scratch_new(context, DTYPE_FLOAT64, &output->shape, &values));
    for (int64_t band = 0; band < filters.bands; band += CUDA_TRIANGLES_MAX) {
        TRY(call_check(context->call, clock_monotonic_ns()));
        TRY(fill_bands(context, &filters, band, &values));
    }
    return round_doubles(context, &values, output);
}

#define WINDOW(name)                                                                                         \
    {                                                                                                        \
        .op = (name), .supports = supports_window, .compute = compute_window, .host_inputs = 1               \
    }

static const Kernel generate_kernels[] = {
    {.op = "OneHot", .supports = supports_one_hot, .compute = compute_one_hot, .host_inputs = 1 << 1},
    {.op = "onnx::OneHot",
        .supports = supports_onnx_one_hot,
        .compute = compute_onnx_one_hot,
        .host_inputs = 1 << 1},
    {.op = "Range", .supports = supports_range, .compute = compute_range, .host_inputs = 7},
    {.op = "LinSpace", .supports = supports_space, .compute = compute_space, .host_inputs = 7},
    {.op = "onnx::Range", .supports = supports_range, .compute = compute_range, .host_inputs = 7},
    WINDOW("onnx::HannWindow"),
    WINDOW("onnx::HammingWindow"),
    WINDOW("onnx::BlackmanWindow"),
    {.op = "onnx::MelWeightMatrix", .supports = supports_mel, .compute = compute_mel, .host_inputs = 0x1f},
};

KERNEL_FAMILY(cuda_kernels, generate, generate_kernels);
