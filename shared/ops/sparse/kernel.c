/* Sparse tensors combined with dense ones. */
#include "worker/reference/fill.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/strided_copy.h"
#include "worker/reference/wide.h"

static bool
supports_wide(const Node *node)
{
    return wide_supports(WIDE_ADD, node->output_dtypes[0]);
}

static bool
supports_copy(const Node *node)
{
    return dtype_is_copyable(node->output_dtypes[0]);
}

/* Reads coordinate `dimension` of sparse element n, which has `depth` coordinates. */
static Status
read_coordinate(
    KernelContext *context, int64_t n, int depth, int dimension, const Shape *shape, int64_t *ret_index)
{
    int64_t size = shape->dims[dimension];
    *ret_index = -1;
    if (!tensor_to_int64(&context->inputs[0], n * depth + dimension, ret_index) || *ret_index < 0 ||
        *ret_index >= size) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "coordinate %d of sparse element %lld is %lld, not within %lld", dimension, (long long)n,
            (long long)*ret_index, (long long)size);
    }
    return STATUS_OK;
}

/* Reads the offset of element n in a dense tensor of this shape. */
static Status
read_position(KernelContext *context, int64_t n, const Shape *shape, int64_t *ret_position)
{
    int64_t position = 0;
    for (int dimension = 0; dimension < shape->rank; dimension++) {
        int64_t index = 0;
        TRY(read_coordinate(context, n, shape->rank, dimension, shape, &index));
        position = position * shape->dims[dimension] + index;
    }
    *ret_position = position;
    return STATUS_OK;
}

static Status
check_depth(KernelContext *context, const Shape *shape)
{
    const Shape *indices = &context->inputs[0].shape;
    int64_t depth = indices->rank == 2 ? indices->dims[1] : 1;
    return depth == shape->rank
               ? STATUS_OK
               : call_fail(context->call, STATUS_INVALID_ARGUMENT, "%lld coordinates for a tensor of rank %d",
                     (long long)depth, shape->rank);
}

static Status
dense_add_compute(KernelContext *context)
{
    Dtype wide = wide_dtype(context->inputs[1].dtype);
    size_t size = dtype_size(wide);
    Shape shape;
    AUTO_TENSOR values = {0};
    AUTO_TENSOR sums = {0};
    TRY(output_shapes(context, &shape));
    TRY(check_depth(context, &shape));
    TRY(scratch_cast(context, &context->inputs[1], wide, &values));
    TRY(scratch_cast(context, &context->inputs[3], wide, &sums));
    for (int64_t n = 0; n < tensor_element_count(&values); n++) {
        int64_t position = 0;
        TRY(read_position(context, n, &shape, &position));
        wide_combine(WIDE_ADD, wide, (char *)sums.data + (size_t)position * size,
            (const char *)values.data + (size_t)n * size, 1);
    }
    return scratch_finish(context, 0, &sums);
}

/* One value may stand for all elements. With validate_indices the indices must ascend without repeats. */
static Status
to_dense_compute(KernelContext *context)
{
    const Tensor *indices = &context->inputs[0];
    const Tensor *values = &context->inputs[2];
    bool is_checked = node_attr_bool(context->node, "validate_indices");
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    TRY(check_depth(context, &output->shape));
    int64_t count = indices->shape.rank == 0 ? 1 : indices->shape.dims[0];
    if (tensor_element_count(&context->inputs[3]) != 1 ||
        (values->shape.rank == 1 && values->shape.dims[0] != count)) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "there must be one default value and one value for each of %lld indices", (long long)count);
    }
    fill_element(output, context->inputs[3].data);
    size_t size = dtype_size(output->dtype);
    int64_t previous = -1;
    for (int64_t n = 0; n < count; n++) {
        int64_t position = 0;
        TRY(read_position(context, n, &output->shape, &position));
        if (is_checked && position <= previous) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT,
                "index %lld is out of order or comes again", (long long)n);
        }
        previous = position;
        memcpy((char *)output->data + (size_t)position * size,
            (const char *)values->data + (values->shape.rank == 0 ? 0 : (size_t)n * size), size);
    }
    return STATUS_OK;
}

static bool
matmul_supports(const Node *node)
{
    return dtype_is_floating(node->output_dtypes[0]);
}

static Status
matmul_compute(KernelContext *context)
{
    Shape shape;
    Shape sizes = {.rank = 2};
    size_t count = 0;
    AUTO_TENSOR values = {0};
    AUTO_TENSOR b = {0};
    AUTO_TENSOR product = {0};
    TRY(output_shapes(context, &shape));
    TRY(kernel_input_ints(context, 2, sizes.dims, 2, &count));
    TRY(check_depth(context, &sizes));
    TRY(scratch_cast(context, &context->inputs[1], DTYPE_FLOAT64, &values));
    TRY(scratch_cast(context, &context->inputs[3], DTYPE_FLOAT64, &b));
    TRY(scratch_new(context, DTYPE_FLOAT64, &shape, &product));
    fill_zero(&product);
    int row = node_attr_bool(context->node, "adjoint_a") ? 1 : 0;
    bool turns_b = node_attr_bool(context->node, "adjoint_b");
    int64_t inner_step = turns_b ? 1 : b.shape.dims[1];
    int64_t column_step = turns_b ? b.shape.dims[1] : 1;
    for (int64_t n = 0; n < tensor_element_count(&values); n++) {
        int64_t position[2];
        TRY(read_coordinate(context, n, 2, 0, &sizes, &position[0]));
        TRY(read_coordinate(context, n, 2, 1, &sizes, &position[1]));
        double *to = (double *)product.data + position[row] * shape.dims[1];
        const double *from = (const double *)b.data + position[1 - row] * inner_step;
        for (int64_t column = 0; column < shape.dims[1]; column++) {
            to[column] += ((const double *)values.data)[n] * from[column * column_step];
        }
    }
    return scratch_finish(context, 0, &product);
}

static const Kernel sparse_kernels[] = {
    {.op = "SparseTensorDenseAdd",
        .supports = supports_wide,
        .compute = dense_add_compute,
        .wide_inputs = 10},
    {.op = "SparseToDense", .supports = supports_copy, .compute = to_dense_compute, .host_inputs = 1 << 1},
    {.op = "SparseTensorDenseMatMul",
        .supports = matmul_supports,
        .compute = matmul_compute,
        .wide_inputs = 10,
        .wide_outputs = 1},
};

KERNEL_FAMILY(reference, sparse, sparse_kernels);
