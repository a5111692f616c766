/* TensorArrays: created, written and read one element at a time. The flow that every op takes and returns
 * orders them and carries nothing. */
#include "shared/ops/tensor_array/tensor_array.h"

#include "worker/reference/fill.h"

static Status
read_int(KernelContext *context, uint32_t input, const char *what, int64_t *ret_value)
{
    if (tensor_element_count(&context->inputs[input]) != 1 ||
        !tensor_to_int64(&context->inputs[input], 0, ret_value)) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "%s must be one integer", what);
    }
    return STATUS_OK;
}

static Status
new_compute(KernelContext *context)
{
    const Node *node = context->node;
    TensorArrayOptions options = {
        .device = context->device,
        .dtype = node_attr_type(node, "dtype"),
        .element_shape = node_attr(node, "element_shape")->value.shape,
        .is_dynamic = node_attr_bool(node, "dynamic_size"),
        .clears = node_attr_bool(node, "clear_after_read"),
        .is_uniform = node_attr_bool(node, "identical_element_shapes"),
    };
    int64_t size = 0;
    Tensor *flow = NULL;
    TensorArray *array = NULL;
    Shape scalar = shape_scalar();
    TRY(read_int(context, 0, "the size", &size));
    TRY(kernel_output(context, 1, DTYPE_FLOAT32, &scalar, &flow));
    fill_zero(flow);
    TRY(tensor_array_new(context->call, &options, size, &array));
    return kernel_handle(context, 0, tensor_array_resource(array));
}

static Status
write_compute(KernelContext *context)
{
    TensorArray *array = NULL;
    int64_t index = 0;
    TRY(kernel_tensor_array(context, &array));
    TRY(read_int(context, 1, "the index", &index));
    TRY(tensor_array_write(context, array, index, &context->inputs[2]));
    return kernel_pass_flow(context, 3, 0);
}

static Status
read_compute(KernelContext *context)
{
    TensorArray *array = NULL;
    int64_t index = 0;
    TRY(kernel_tensor_array(context, &array));
    TRY(read_int(context, 1, "the index", &index));
    return tensor_array_read(context, array, index, &context->outputs[0]);
}

static Status
size_compute(KernelContext *context)
{
    TensorArray *array = NULL;
    int64_t size = 0;
    Tensor *output = NULL;
    Shape scalar = shape_scalar();
    TRY(kernel_tensor_array(context, &array));
    TRY(tensor_array_size(context->call, array, &size));
    TRY(kernel_output(context, 0, DTYPE_INT32, &scalar, &output));
    *(int32_t *)output->data = (int32_t)size;
    return STATUS_OK;
}

static Status
close_compute(KernelContext *context)
{
    TensorArray *array = NULL;
    TRY(kernel_tensor_array(context, &array));
    tensor_array_close(array);
    return STATUS_OK;
}

static Status
make_gradient(KernelContext *context, const Shape *prefix)
{
    TensorArray *array = NULL;
    TensorArray *made = NULL;
    TRY(kernel_tensor_array(context, &array));
    TRY(tensor_array_gradient(
        context->call, array, node_attr_string(context->node, "source"), prefix, &made));
    TRY(kernel_handle(context, 0, tensor_array_resource(made)));
    return kernel_pass_flow(context, 1, 1);
}

static Status
gradient_compute(KernelContext *context)
{
    Shape none = shape_scalar();
    return make_gradient(context, &none);
}

static Status
gradient_with_shape_compute(KernelContext *context)
{
    Shape prefix = shape_scalar();
    size_t count = 0;
    TRY(kernel_input_ints(context, 2, prefix.dims, SHAPE_RANK_MAX, &count));
    prefix.rank = (int)count;
    return make_gradient(context, &prefix);
}

static const Kernel tensor_array_kernels[] = {
    {.op = "TensorArrayV3", .compute = new_compute, .handles_list = true, .host_inputs = 1, .is_cheap = true},
    {.op = "TensorArrayWriteV3",
        .compute = write_compute,
        .handles_list = true,
        .host_inputs = 1 << 1,
        .is_cheap = true},
    {.op = "TensorArrayReadV3",
        .compute = read_compute,
        .handles_list = true,
        .host_inputs = 1 << 1,
        .is_cheap = true,
        .sharing = KERNEL_LENDS},
    {.op = "TensorArraySizeV3",
        .compute = size_compute,
        .handles_list = true,
        .host_outputs = 1,
        .is_cheap = true},
    {.op = "TensorArrayCloseV3", .compute = close_compute, .handles_list = true, .is_cheap = true},
    {.op = "TensorArrayGradV3", .compute = gradient_compute, .handles_list = true, .is_cheap = true},
    {.op = "TensorArrayGradWithShape",
        .compute = gradient_with_shape_compute,
        .handles_list = true,
        .host_inputs = 1 << 2,
        .is_cheap = true},
};

KERNEL_FAMILY(reference, tensor_array, tensor_array_kernels);
