#include "worker/cuda/dnn/attention_graph.h"

#include <assert.h>

enum { RANK = 4, QUERY_AXIS = 2, KEY_AXIS = 3, NO_AXIS = -1 };

typedef struct Builder {
    DnnDescriptors *descriptors;
    const DnnAttentionDescription *description;
    DnnTensor row; /* of one number for each row of scores */
    DnnOperations operations;
    int64_t next_id; /* of a value between operations */
} Builder;

static const cudnnDataType_t compute_type = CUDNN_DATA_FLOAT;

static cudnnStatus_t
make_tensor(const Builder *builder, const DnnTensor *tensor, int64_t id, cudnnDataType_t type,
    cudnnBackendDescriptor_t *ret_tensor)
{
    bool is_between = id >= DNN_ATTENTION_BETWEEN;
    bool is_by_value = id == DNN_ATTENTION_LOWEST;
    const DnnAttribute attributes[] = {
        {CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id},
        {CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type},
        {CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, RANK, tensor->sizes},
        {CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, RANK, tensor->steps},
        {CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &tensor->alignment},
        {CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_between},
        {CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, &is_by_value}, /* the last */
    };
    return dnn_make(builder->descriptors, CUDNN_BACKEND_TENSOR_DESCRIPTOR, attributes,
        COUNT_OF(attributes) - (is_by_value ? 0 : 1), ret_tensor);
}

/* Makes a tensor of one number that is not the scores'. */
static cudnnStatus_t
make_number(const Builder *builder, int64_t id, cudnnBackendDescriptor_t *ret_tensor)
{
    DnnTensor number = {.sizes = {1, 1, 1, 1}, .steps = {1, 1, 1, 1}, .alignment = sizeof(float)};
    return make_tensor(builder, &number, id, CUDNN_DATA_FLOAT, ret_tensor);
}

static cudnnStatus_t
make_between(
    Builder *builder, const DnnTensor *tensor, cudnnDataType_t type, cudnnBackendDescriptor_t *ret_tensor)
{
    return make_tensor(builder, tensor, builder->next_id++, type, ret_tensor);
}

static cudnnStatus_t
add_operation(
    Builder *builder, cudnnBackendDescriptorType_t type, const DnnAttribute *attributes, size_t count)
{
    assert(builder->operations.count < DNN_OPERATIONS_MAX);
    return dnn_make(builder->descriptors, type, attributes, count,
        &builder->operations.items[builder->operations.count++]);
}

static cudnnStatus_t
add_product(
    Builder *builder, cudnnBackendDescriptor_t a, cudnnBackendDescriptor_t b, cudnnBackendDescriptor_t c)
{
    cudnnBackendDescriptor_t function = NULL;
    const DnnAttribute computed[] = {{CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute_type}};
    DNN_TRY(dnn_make(builder->descriptors, CUDNN_BACKEND_MATMUL_DESCRIPTOR, computed, 1, &function));
    const DnnAttribute attributes[] = {
        {CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &a},
        {CUDNN_ATTR_OPERATION_MATMUL_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &b},
        {CUDNN_ATTR_OPERATION_MATMUL_CDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &c},
        {CUDNN_ATTR_OPERATION_MATMUL_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &function},
    };
    return add_operation(
        builder, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, attributes, COUNT_OF(attributes));
}

/* A function of elements, of which all operands but the first may be absent. */
typedef struct Pointwise {
    cudnnPointwiseMode_t mode;
    int64_t axis; /* of indices; else NO_AXIS */
    cudnnBackendDescriptor_t x;
    cudnnBackendDescriptor_t b;
    cudnnBackendDescriptor_t t; /* the condition of a choice */
    cudnnBackendDescriptor_t y;
} Pointwise;

static cudnnStatus_t
add_pointwise(Builder *builder, const Pointwise *step)
{
    cudnnBackendDescriptor_t function = NULL;
    const DnnAttribute chosen[] = {
        {CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &step->mode},
        {CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &compute_type},
        {CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, 1, &step->axis}, /* the last */
    };
    DNN_TRY(dnn_make(builder->descriptors, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, chosen,
        COUNT_OF(chosen) - (step->axis == NO_AXIS ? 1 : 0), &function));
    DnnAttribute attributes[] = {
        {CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &function},
        {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &step->x},
        {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &step->y},
        {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &step->b},
        {CUDNN_ATTR_OPERATION_POINTWISE_TDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &step->t},
    };
    size_t absent = step->b == NULL ? 2 : step->t == NULL ? 1 : 0;
    return add_operation(
        builder, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, attributes, COUNT_OF(attributes) - absent);
}

/* Adds a function of two tensors, whose result is between operations and like `tensor`. */
static cudnnStatus_t
add_between(Builder *builder, cudnnPointwiseMode_t mode, const DnnTensor *tensor, cudnnBackendDescriptor_t x,
    cudnnBackendDescriptor_t b, cudnnBackendDescriptor_t *ret_y)
{
    DNN_TRY(make_between(builder, tensor, compute_type, ret_y));
    Pointwise step = {.mode = mode, .axis = NO_AXIS, .x = x, .b = b, .y = *ret_y};
    return add_pointwise(builder, &step);
}

static cudnnStatus_t
add_reduction(Builder *builder, cudnnReduceTensorOp_t reduction, cudnnBackendDescriptor_t x,
    cudnnBackendDescriptor_t *ret_y)
{
    cudnnBackendDescriptor_t function = NULL;
    const DnnAttribute chosen[] = {
        {CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 1, &reduction},
        {CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &compute_type},
    };
    DNN_TRY(dnn_make(
        builder->descriptors, CUDNN_BACKEND_REDUCTION_DESCRIPTOR, chosen, COUNT_OF(chosen), &function));
    DNN_TRY(make_between(builder, &builder->row, compute_type, ret_y));
    const DnnAttribute attributes[] = {
        {CUDNN_ATTR_OPERATION_REDUCTION_XDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &x},
        {CUDNN_ATTR_OPERATION_REDUCTION_YDESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, ret_y},
        {CUDNN_ATTR_OPERATION_REDUCTION_DESC, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &function},
    };
    return add_operation(
        builder, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, attributes, COUNT_OF(attributes));
}

static cudnnStatus_t
add_index(
    Builder *builder, int64_t axis, cudnnBackendDescriptor_t scores, cudnnBackendDescriptor_t *ret_index)
{
    DNN_TRY(make_between(builder, &builder->description->scores, CUDNN_DATA_INT32, ret_index));
    Pointwise step = {.mode = CUDNN_POINTWISE_GEN_INDEX, .axis = axis, .x = scores, .y = *ret_index};
    return add_pointwise(builder, &step);
}

/* Keeps the scores of those keys that are not behind the query. */
static cudnnStatus_t
hide_later(Builder *builder, cudnnBackendDescriptor_t *scores)
{
    const DnnTensor *tensor = &builder->description->scores;
    cudnnBackendDescriptor_t query = NULL;
    cudnnBackendDescriptor_t key = NULL;
    cudnnBackendDescriptor_t is_seen = NULL;
    cudnnBackendDescriptor_t lowest = NULL;
    cudnnBackendDescriptor_t kept = NULL;
    DNN_TRY(add_index(builder, QUERY_AXIS, *scores, &query));
    DNN_TRY(add_index(builder, KEY_AXIS, *scores, &key));
    DNN_TRY(make_between(builder, tensor, CUDNN_DATA_BOOLEAN, &is_seen));
    Pointwise compare = {.mode = CUDNN_POINTWISE_CMP_GE, .axis = NO_AXIS, .x = query, .b = key, .y = is_seen};
    DNN_TRY(add_pointwise(builder, &compare));
    DNN_TRY(make_number(builder, DNN_ATTENTION_LOWEST, &lowest));
    DNN_TRY(make_between(builder, tensor, compute_type, &kept));
    Pointwise choose = {.mode = CUDNN_POINTWISE_BINARY_SELECT,
        .axis = NO_AXIS,
        .x = *scores,
        .b = lowest,
        .t = is_seen,
        .y = kept};
    *scores = kept;
    return add_pointwise(builder, &choose);
}

static cudnnStatus_t
add_scores(Builder *builder, cudnnBackendDescriptor_t *ret_scores)
{
    const DnnAttentionDescription *description = builder->description;
    cudnnDataType_t type = dnn_data_type(description->type);
    cudnnBackendDescriptor_t query = NULL;
    cudnnBackendDescriptor_t key = NULL;
    cudnnBackendDescriptor_t operand = NULL;
    cudnnBackendDescriptor_t scores = NULL;
    DNN_TRY(make_tensor(builder, &description->query, DNN_ATTENTION_QUERY, type, &query));
    DNN_TRY(make_tensor(builder, &description->key, DNN_ATTENTION_KEY, type, &key));
    DNN_TRY(make_between(builder, &description->scores, compute_type, &scores));
    DNN_TRY(add_product(builder, query, key, scores));
    DNN_TRY(make_number(builder, DNN_ATTENTION_SCALE, &operand));
    DNN_TRY(add_between(builder, CUDNN_POINTWISE_MUL, &description->scores, scores, operand, ret_scores));
    if (description->addend.alignment != 0) {
        scores = *ret_scores;
        DNN_TRY(make_tensor(builder, &description->addend, DNN_ATTENTION_ADDEND, type, &operand));
        DNN_TRY(add_between(builder, CUDNN_POINTWISE_ADD, &description->scores, scores, operand, ret_scores));
    }
    return description->is_causal != 0 ? hide_later(builder, ret_scores) : CUDNN_STATUS_SUCCESS;
}

/* Adds the logarithm of each row's sum, which is the graph's second result. */
static cudnnStatus_t
add_statistics(Builder *builder, cudnnBackendDescriptor_t largest, cudnnBackendDescriptor_t sum)
{
    cudnnBackendDescriptor_t logarithm = NULL;
    cudnnBackendDescriptor_t statistics = NULL;
    DNN_TRY(add_between(builder, CUDNN_POINTWISE_LOG, &builder->row, sum, NULL, &logarithm));
    DNN_TRY(make_tensor(builder, &builder->row, DNN_ATTENTION_STATISTICS, CUDNN_DATA_FLOAT, &statistics));
    Pointwise step = {
        .mode = CUDNN_POINTWISE_ADD, .axis = NO_AXIS, .x = largest, .b = logarithm, .y = statistics};
    return add_pointwise(builder, &step);
}

/* Weights have the type of the values that they multiply. */
static cudnnStatus_t
add_softmax(Builder *builder, cudnnBackendDescriptor_t scores, cudnnBackendDescriptor_t *ret_weights)
{
    const DnnTensor *tensor = &builder->description->scores;
    cudnnBackendDescriptor_t largest = NULL;
    cudnnBackendDescriptor_t differences = NULL;
    cudnnBackendDescriptor_t powers = NULL;
    cudnnBackendDescriptor_t sum = NULL;
    DNN_TRY(add_reduction(builder, CUDNN_REDUCE_TENSOR_MAX, scores, &largest));
    DNN_TRY(add_between(builder, CUDNN_POINTWISE_SUB, tensor, scores, largest, &differences));
    DNN_TRY(add_between(builder, CUDNN_POINTWISE_EXP, tensor, differences, NULL, &powers));
    DNN_TRY(add_reduction(builder, CUDNN_REDUCE_TENSOR_ADD, powers, &sum));
    DNN_TRY(add_statistics(builder, largest, sum));
    DNN_TRY(make_between(builder, tensor, dnn_data_type(builder->description->type), ret_weights));
    Pointwise step = {.mode = CUDNN_POINTWISE_DIV, .axis = NO_AXIS, .x = powers, .b = sum, .y = *ret_weights};
    return add_pointwise(builder, &step);
}

/* Returns the tensor of one number for each row of scores. */
static DnnTensor
row_of(const DnnTensor *scores)
{
    DnnTensor row = {.alignment = sizeof(float)};
    int64_t step = 1;
    for (int dimension = RANK - 1; dimension >= 0; dimension--) {
        row.sizes[dimension] = dimension == KEY_AXIS ? 1 : scores->sizes[dimension];
        row.steps[dimension] = step;
        step *= row.sizes[dimension];
    }
    return row;
}

static cudnnStatus_t
make_attention_graph(DnnDescriptors *descriptors, cudnnHandle_t handle, const void *described,
    cudnnBackendDescriptor_t *ret_graph)
{
    const DnnAttentionDescription *description = described;
    Builder builder = {.descriptors = descriptors,
        .description = description,
        .row = row_of(&description->scores),
        .next_id = DNN_ATTENTION_BETWEEN};
    cudnnDataType_t type = dnn_data_type(description->type);
    cudnnBackendDescriptor_t scores = NULL;
    cudnnBackendDescriptor_t weights = NULL;
    cudnnBackendDescriptor_t value = NULL;
    cudnnBackendDescriptor_t output = NULL;
    DNN_TRY(add_scores(&builder, &scores));
    DNN_TRY(add_softmax(&builder, scores, &weights));
    DNN_TRY(make_tensor(&builder, &description->value, DNN_ATTENTION_VALUE, type, &value));
    DNN_TRY(make_tensor(&builder, &description->output, DNN_ATTENTION_OUTPUT, type, &output));
    DNN_TRY(add_product(&builder, weights, value, output));
    return dnn_make_graph(descriptors, handle, &builder.operations, ret_graph);
}

DnnRequest
dnn_attention_request(const DnnAttentionDescription *description)
{
    return (DnnRequest){.description = slice_of(description, sizeof *description),
        .make_graph = make_attention_graph,
        .type = (CudaType)description->type,
        .what = "planning attention"};
}
