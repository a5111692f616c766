/* float32 convolutions of TensorFlow and ONNX, alone or fused with what follows. With the channels first they
 * are computed by convolve/dense.h and convolve/planes.h, otherwise by onednn/convolve.h. The ops' own rules
 * read the attributes and check the shapes. */
#include "shared/ops/convolution.h"
#include "shared/base/memory.h"
#include "worker/cpu/convolve/dense.h"
#include "worker/cpu/convolve/planes.h"
#include "worker/cpu/onednn/convolve.h"
#include "worker/cpu/vector/finite.h"
#include "worker/reference/outputs.h"
#include "worker/runtime/kernel.h"

static bool
tensorflow_supports(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32;
}

/* Four spatial dimensions, which the op allows, are left to the reference. Without kernel_shape the filter
 * tells the rank when it runs. */
static bool
onnx_supports(const Node *node)
{
    int64_t sizes[WINDOW_RANK_MAX];
    return tensorflow_supports(node) &&
           node_attr_ints(node, "kernel_shape", sizes, COUNT_OF(sizes)) <= CONVOLVE_RANK_MAX;
}

static bool
fused_supports(const Node *node)
{
    return tensorflow_supports(node) && finish_supports(node);
}

static bool
fused_onnx_supports(const Node *node)
{
    return onnx_supports(node) && finish_supports(node);
}

typedef struct ConvolutionState {
    Epilogue epilogue;
    Convolve *convolve;
    Planes *planes;
    Product *product;
    const float *filter; /* the constant filter; NULL: it differs between runs */
    bool is_finite;      /* the constant filter is */
} ConvolutionState;

/* Reads the epilogue of a fused node; the third input of a single convolution is its bias. */
static Status
read_epilogue(Call *call, const Node *node, Epilogue *ret_epilogue)
{
    if (node_attr(node, "fused_ops") != NULL) {
        return epilogue_read(call, node, ret_epilogue);
    }
    bool has_bias = node->input_count > 2 && node->inputs[2].node != NODE_NONE;
    *ret_epilogue = (Epilogue){.bias = has_bias ? 2 : 0};
    return STATUS_OK;
}

static void
destroy_convolution(void *state)
{
    ConvolutionState *convolution = state;
    convolve_free(convolution->convolve);
    planes_free(convolution->planes);
    product_free(convolution->product);
    memory_free(convolution);
}

static Status
create_convolution(Call *call, const Node *node, void **ret_state)
{
    ConvolutionState *state = memory_new(1, sizeof *state);
    if (state == NULL) {
        return call_fail_memory(call, "a convolution");
    }
    Status status = read_epilogue(call, node, &state->epilogue);
    if (status == STATUS_OK) {
        status = convolve_new(call, &state->convolve);
    }
    if (status == STATUS_OK) {
        status = planes_new(call, &state->planes);
    }
    if (status == STATUS_OK) {
        status = product_new(call, &state->product);
    }
    if (status != STATUS_OK) {
        destroy_convolution(state);
        return status;
    }
    *ret_state = state;
    return STATUS_OK;
}

static Status
prepare_filter(Call *call, Device *device, const Node *node, const Tensor *const *constants, void *state)
{
    (void)call;
    (void)device;
    (void)node;
    ConvolutionState *convolution = state;
    if (constants[1] != NULL && constants[1]->data != NULL) {
        convolution->filter = constants[1]->data;
        convolution->is_finite = are_finite(convolution->filter, tensor_element_count(constants[1]));
        convolve_set_filter(convolution->convolve, convolution->filter);
        planes_set_filter(convolution->planes, convolution->filter);
        product_set_weights(convolution->product, convolution->filter);
    }
    return STATUS_OK;
}

static int64_t
step_of(const Shape *shape, int axis)
{
    int64_t step = 1;
    for (int i = axis + 1; i < shape->rank; i++) {
        step *= shape->dims[i];
    }
    return step;
}

/* Returns whether the convolution does nothing along a spatial dimension. */
static bool
is_idle(const Window *window, const Shape *input, int axis)
{
    return input->dims[window->space + axis] == 1 && window->size[axis] == 1 && window->output[axis] == 1 &&
           window->before[axis] == 0;
}

/* Fills in the spatial dimensions, but for those along which nothing happens: oneDNN takes five times as long
 * over a column of width 1 as over a line. One dimension stays. */
static void
fill_space(const Convolution *convolution, const Shape *input, const Shape *filter, ConvolveShape *shape)
{
    const Window *window = &convolution->window;
    for (int i = 0; i < window->rank; i++) {
        bool is_needed = i == window->rank - 1 && shape->rank == 0;
        if (is_idle(window, input, i) && !is_needed) {
            continue;
        }
        int64_t axis = shape->rank++;
        shape->input[axis] = input->dims[window->space + i];
        shape->output[axis] = window->output[i];
        shape->size[axis] = window->size[i];
        shape->stride[axis] = window->stride[i];
        shape->dilation[axis] = window->dilation[i];
        shape->before[axis] = window->before[i];
        shape->filter_space[axis] = step_of(filter, convolution->filter.space + i);
    }
}

static void
fill_channels(const Convolution *convolution, const Shape *filter, ConvolveShape *shape)
{
    const FilterLayout *layout = &convolution->filter;
    shape->groups = convolution->groups;
    shape->inputs = convolution->inputs;
    shape->outputs = convolution->outputs;
    shape->filter_output = step_of(filter, layout->output);
    shape->filter_input = step_of(filter, layout->input);
    shape->filter_group = layout->is_depthwise ? shape->filter_input : shape->outputs * shape->filter_output;
    shape->is_channels_last = convolution->window.channel != 1;
}

static ConvolveShape
shape_of(
    const ConvolutionState *state, const Convolution *convolution, const Shape *input, const Shape *filter)
{
    ConvolveShape shape = {
        .batch = input->dims[convolution->window.batch],
        .has_bias = state->epilogue.bias != 0,
        .finish = finish_of(&state->epilogue),
    };
    fill_channels(convolution, filter, &shape);
    fill_space(convolution, input, filter, &shape);
    return shape;
}

static bool
is_empty(const Shape *shape)
{
    int64_t count = 0;
    return !shape_element_count(shape, &count) || count == 0;
}

/* Returns whether the filter's numbers might meet padding and not be finite: only the reference kernel leaves
 * padding out. */
static bool
meets_padding_badly(const ConvolutionState *state, const ConvolveShape *shape, const Tensor *filter)
{
    bool is_padded = false;
    for (int64_t i = 0; i < shape->rank; i++) {
        int64_t end =
            (shape->output[i] - 1) * shape->stride[i] + (shape->size[i] - 1) * shape->dilation[i] + 1;
        is_padded = is_padded || shape->before[i] > 0 || end > shape->input[i];
    }
    if (state->filter != NULL || !is_padded) {
        return is_padded && !state->is_finite;
    }
    return !are_finite(filter->data, tensor_element_count(filter));
}

static Status
run_convolution(KernelContext *context, const Convolution *convolution)
{
    const ConvolutionState *state = context->state;
    const Epilogue *epilogue = &state->epilogue;
    const Tensor *input = &context->inputs[0];
    const Tensor *filter = &context->inputs[1];
    if (!is_empty(&convolution->output) && (input->data == NULL || filter->data == NULL)) {
        return call_fail(context->call, STATUS_UNIMPLEMENTED, "a convolution over nothing but padding");
    }
    ConvolveShape shape = shape_of(state, convolution, &input->shape, &filter->shape);
    if (!is_empty(&convolution->output) && meets_padding_badly(state, &shape, filter)) {
        return kernel_find_reference(context->node)->compute(context); /* it has no state */
    }
    Tensor *output = NULL;
    TRY(kernel_output(context, 0, DTYPE_FLOAT32, &convolution->output, &output));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    ConvolveOperands operands = {
        .input = input->data,
        .filter = filter->data,
        .bias = finish_operand(context, epilogue->bias),
        .addend = finish_operand(context, epilogue->addend),
        .output = output->data,
    };
    if (dense_can(&shape)) {
        ProductShape product = dense_shape(&shape);
        ProductOperands factors = dense_operands(&operands);
        return product_run(context->call, state->product, context->device, &product, &factors);
    }
    if (planes_can(&shape)) {
        return planes_run(context->call, state->planes, context->device, &shape, &operands);
    }
    return convolve_run(context->call, state->convolve, context->device, &shape, &operands);
}

static Status
tensorflow_compute(KernelContext *context, int rank)
{
    KernelInference inference;
    Convolution convolution;
    kernel_inference(context, NULL, &inference);
    TRY(convolution_tensorflow(context->call, &inference.context, rank, &convolution));
    return run_convolution(context, &convolution);
}

static Status
conv2d_compute(KernelContext *context)
{
    return tensorflow_compute(context, 2);
}

static Status
conv3d_compute(KernelContext *context)
{
    return tensorflow_compute(context, 3);
}

static Status
onnx_compute(KernelContext *context)
{
    KernelInference inference;
    Convolution convolution;
    kernel_inference(context, NULL, &inference);
    TRY(convolution_onnx(context->call, &inference.context, &convolution));
    return convolution.window.rank <= CONVOLVE_RANK_MAX
               ? run_convolution(context, &convolution)
               : kernel_find_reference(context->node)->compute(context); /* the reference kernel has no
                                                                          * state */
}

static uint64_t
forecast_scratch(const KernelForecast *told, const Convolution *convolution)
{
    const ConvolutionState *state = told->state;
    const Shape *input = &told->shapes.inputs[0];
    const Shape *filter = &told->shapes.inputs[1];
    if (is_empty(&convolution->output) || is_empty(input) || is_empty(filter)) {
        return 0;
    }
    ConvolveShape shape = shape_of(state, convolution, input, filter);
    if (dense_can(&shape)) {
        ProductShape product = dense_shape(&shape);
        return product_scratch(state->product, told->device, &product, 1);
    }
    if (planes_can(&shape)) {
        return planes_scratch(state->planes, told->device, &shape);
    }
    return convolve_scratch(told->call, state->convolve, told->device, &shape);
}

static uint64_t
tensorflow_scratch(const KernelForecast *told, int rank)
{
    Convolution convolution;
    Status status = convolution_tensorflow(told->call, &told->shapes, rank, &convolution);
    return status == STATUS_OK ? forecast_scratch(told, &convolution) : 0;
}

static uint64_t
conv2d_scratch(const KernelForecast *told)
{
    return tensorflow_scratch(told, 2);
}

static uint64_t
conv3d_scratch(const KernelForecast *told)
{
    return tensorflow_scratch(told, 3);
}

static uint64_t
onnx_scratch(const KernelForecast *told)
{
    Convolution convolution;
    Status status = convolution_onnx(told->call, &told->shapes, &convolution);
    bool is_ours = status == STATUS_OK && convolution.window.rank <= CONVOLVE_RANK_MAX;
    return is_ours ? forecast_scratch(told, &convolution) : 0;
}

#define CONVOLUTION_KERNEL(name, can, form)                                                                  \
    {                                                                                                        \
        .op = (name), .supports = (can), .create = create_convolution, .destroy = destroy_convolution,       \
        .prepare = prepare_filter, .compute = form##_compute, .scratch = form##_scratch                      \
    }

static const Kernel convolution_kernels[] = {
    CONVOLUTION_KERNEL("Conv2D", tensorflow_supports, conv2d),
    CONVOLUTION_KERNEL("Conv3D", tensorflow_supports, conv3d),
    CONVOLUTION_KERNEL("DepthwiseConv2dNative", tensorflow_supports, conv2d),
    CONVOLUTION_KERNEL("_FusedConv2D", fused_supports, conv2d),
    CONVOLUTION_KERNEL("FusedDepthwiseConv2dNative", fused_supports, conv2d),
    CONVOLUTION_KERNEL("_FusedDepthwiseConv2dNative", fused_supports, conv2d),
    CONVOLUTION_KERNEL("_FusedOnnxConv", fused_onnx_supports, onnx),
    CONVOLUTION_KERNEL("onnx::Conv", onnx_supports, onnx),
};

KERNEL_FAMILY(cpu_kernels, convolution, convolution_kernels);
