#include "worker/cuda/dnn/graph.h"

#include <assert.h>

#include "worker/cuda/kernels/types.h"

cudnnStatus_t
dnn_descriptor(
    DnnDescriptors *descriptors, cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *ret_descriptor)
{
    cudnnBackendDescriptor_t made = NULL;
    assert(descriptors->count < DNN_DESCRIPTORS_MAX);
    DNN_TRY(descriptors->dnn->cudnnBackendCreateDescriptor(type, &made));
    descriptors->items[descriptors->count++] = made;
    *ret_descriptor = made;
    return CUDNN_STATUS_SUCCESS;
}

void
dnn_descriptors_done(DnnDescriptors *descriptors)
{
    while (descriptors->count > 0) {
        descriptors->count--;
        (void)descriptors->dnn->cudnnBackendDestroyDescriptor(descriptors->items[descriptors->count]);
    }
}

cudnnStatus_t
dnn_finalize(
    const CudaDnn *dnn, cudnnBackendDescriptor_t descriptor, const DnnAttribute *attributes, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        const DnnAttribute *attribute = &attributes[index];
        DNN_TRY(dnn->cudnnBackendSetAttribute(
            descriptor, attribute->name, attribute->type, attribute->count, attribute->elements));
    }
    return dnn->cudnnBackendFinalize(descriptor);
}

cudnnStatus_t
dnn_make(DnnDescriptors *descriptors, cudnnBackendDescriptorType_t type, const DnnAttribute *attributes,
    size_t count, cudnnBackendDescriptor_t *ret_descriptor)
{
    DNN_TRY(dnn_descriptor(descriptors, type, ret_descriptor));
    return dnn_finalize(descriptors->dnn, *ret_descriptor, attributes, count);
}

cudnnStatus_t
dnn_make_graph(DnnDescriptors *descriptors, cudnnHandle_t handle, const DnnOperations *operations,
    cudnnBackendDescriptor_t *ret_graph)
{
    const DnnAttribute attributes[] = {
        {CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, operations->count, operations->items},
        {CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle},
    };
    return dnn_make(
        descriptors, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, attributes, COUNT_OF(attributes), ret_graph);
}

/* The type of sums, and of all that is computed before the output is stored. */
static const cudnnDataType_t compute_type = CUDNN_DATA_FLOAT;

cudnnDataType_t
dnn_data_type(int64_t type)
{
    static const cudnnDataType_t types[CUDA_TYPE_COUNT] = {[CUDA_FLOAT16] = CUDNN_DATA_HALF,
        [CUDA_BFLOAT16] = CUDNN_DATA_BFLOAT16,
        [CUDA_FLOAT32] = CUDNN_DATA_FLOAT};
    return types[type];
}

/* The parts of a graph while it is made. */
typedef struct Builder {
    DnnDescriptors *descriptors;
    const DnnDescription *description;
    DnnOperations operations;
    int left_count; /* operations that are to come */
} Builder;

static cudnnStatus_t
make_tensor(const Builder *builder, const DnnTensor *tensor, int64_t id, cudnnBackendDescriptor_t *ret_tensor)
{
    bool is_between = id >= DNN_BETWEEN;
    cudnnDataType_t type = is_between ? compute_type : dnn_data_type(builder->description->type);
    int64_t rank = 2 + builder->description->space_rank;
    const DnnAttribute attributes[] = {
        {CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id},
        {CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type},
        {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, rank, tensor->sizes},
        {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, rank, tensor->steps},
        {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &tensor->alignment},
        {CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_between},
    };
    return dnn_make(
        builder->descriptors, CUDNN_BACKEND_TENSOR_DESCRIPTOR, attributes, COUNT_OF(attributes), ret_tensor);
}

/* Makes the tensor in which the next operation stores: the last one's is the output. */
static cudnnStatus_t
make_result(Builder *builder, cudnnBackendDescriptor_t *ret_tensor)
{
    builder->left_count--;
    assert(builder->left_count >= 0);
    return make_tensor(builder, &builder->description->output,
        builder->left_count == 0 ? DNN_OUTPUT : DNN_BETWEEN + builder->operations.count, ret_tensor);
}

static cudnnStatus_t
make_slide(const Builder *builder, cudnnBackendDescriptor_t *ret_slide)
{
    const DnnDescription *description = builder->description;
    cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
    int64_t rank = description->space_rank;
    const DnnAttribute attributes[] = {
        {CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute_type},
        {CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode},
        {CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &rank},
        {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, rank, description->stride},
        {CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, rank, description->dilation},
        {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, rank, description->before},
        {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, rank, description->after},
    };
    return dnn_make(builder->descriptors, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, attributes,
        COUNT_OF(attributes), ret_slide);
}

/* The names that an operation of a kind has for its parts. */
typedef struct KindNames {
    cudnnBackendDescriptorType_t operation;
    cudnnBackendAttributeName_t slide;
    cudnnBackendAttributeName_t input;
    cudnnBackendAttributeName_t filter;
    cudnnBackendAttributeName_t output;
    cudnnBackendAttributeName_t alpha;
    cudnnBackendAttributeName_t beta;
} KindNames;

static const KindNames kind_names[] = {
    [DNN_FORWARD] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
        CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
    [DNN_TO_IMAGE] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
    [DNN_TO_FILTER] = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
        CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA},
};

static cudnnStatus_t
add_convolution(Builder *builder, cudnnBackendDescriptor_t *ret_sums)
{
    const DnnDescription *description = builder->description;
    const KindNames *names = &kind_names[description->kind];
    cudnnBackendDescriptor_t slide = NULL;
    cudnnBackendDescriptor_t input = NULL;
    cudnnBackendDescriptor_t filter = NULL;
    float alpha = 1;
    float beta = 0;
    DNN_TRY(make_slide(builder, &slide));
    DNN_TRY(make_tensor(builder, &description->input, DNN_INPUT, &input));
    DNN_TRY(make_tensor(builder, &description->filter, DNN_FILTER, &filter));
    DNN_TRY(make_result(builder, ret_sums));
    const DnnAttribute attributes[] = {
        {names->slide, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &slide},
        {names->input, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &input},
        {names->filter, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &filter},
        {names->output, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, ret_sums},
        {names->alpha, CUDNN_TYPE_FLOAT, 1, &alpha},
        {names->beta, CUDNN_TYPE_FLOAT, 1, &beta},
    };
    return dnn_make(builder->descriptors, names->operation, attributes, COUNT_OF(attributes),
        &builder->operations.items[builder->operations.count++]);
}

static cudnnStatus_t
make_function(const Builder *builder, cudnnPointwiseMode_t mode, cudnnBackendDescriptor_t *ret_function)
{
    cudnnNanPropagation_t propagation = CUDNN_PROPAGATE_NAN;
    const DnnAttribute attributes[] = {
        {CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode},
        {CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &compute_type},
        {CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION, 1, &propagation},
    };
    return dnn_make(builder->descriptors, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, attributes,
        COUNT_OF(attributes), ret_function);
}

/* Adds a function of each element of `values` and, unless that is NULL, of `other`, and makes its results the
 * values. */
static cudnnStatus_t
add_pointwise(Builder *builder, cudnnPointwiseMode_t mode, const DnnTensor *other, DnnTensorId other_id,
    cudnnBackendDescriptor_t *values)
{
    cudnnBackendDescriptor_t function = NULL;
    cudnnBackendDescriptor_t second = NULL;
    cudnnBackendDescriptor_t result = NULL;
    DNN_TRY(make_function(builder, mode, &function));
    DNN_TRY(make_result(builder, &result));
    if (other != NULL) {
        DNN_TRY(make_tensor(builder, other, other_id, &second));
    }
    const DnnAttribute attributes[] = {
        {CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &function},
        {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, values},
        {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &result},
        {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &second}, /* the last */
    };
    DNN_TRY(dnn_make(builder->descriptors, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, attributes,
        COUNT_OF(attributes) - (other == NULL ? 1 : 0),
        &builder->operations.items[builder->operations.count++]));
    *values = result;
    return CUDNN_STATUS_SUCCESS;
}

/* Adds the addend before the bias, though the epilogue has them the other way round: only so does the library
 * fuse both (9.19). In float32 that is a rounding more or less. */
static cudnnStatus_t
add_steps(Builder *builder, cudnnBackendDescriptor_t values)
{
    const DnnDescription *description = builder->description;
    if (description->addend.alignment != 0) {
        DNN_TRY(add_pointwise(builder, CUDNN_POINTWISE_ADD, &description->addend, DNN_ADDEND, &values));
    }
    if (description->bias.alignment != 0) {
        DNN_TRY(add_pointwise(builder, CUDNN_POINTWISE_ADD, &description->bias, DNN_BIAS, &values));
    }
    return description->has_relu == 0
               ? CUDNN_STATUS_SUCCESS
               : add_pointwise(builder, CUDNN_POINTWISE_RELU_FWD, NULL, DNN_BETWEEN, &values);
}

static cudnnStatus_t
make_convolution_graph(DnnDescriptors *descriptors, cudnnHandle_t handle, const void *described,
    cudnnBackendDescriptor_t *ret_graph)
{
    const DnnDescription *description = described;
    Builder builder = {.descriptors = descriptors, .description = description, .left_count = 1};
    cudnnBackendDescriptor_t sums = NULL;
    builder.left_count += (description->bias.alignment != 0) + (description->addend.alignment != 0) +
                          (description->has_relu != 0);
    DNN_TRY(add_convolution(&builder, &sums));
    DNN_TRY(add_steps(&builder, sums));
    assert(builder.left_count == 0);
    return dnn_make_graph(descriptors, handle, &builder.operations, ret_graph);
}

DnnRequest
dnn_convolution_request(const DnnDescription *description)
{
    return (DnnRequest){.description = slice_of(description, sizeof *description),
        .make_graph = make_convolution_graph,
        .type = (CudaType)description->type,
        .is_tf32 = description->is_tf32 != 0,
        .what = "planning a convolution"};
}
