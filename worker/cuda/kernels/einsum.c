/* Sums of products over indices. Where the equation is a product of matrices, or of batches of them, they are
 * multiplied as they lie in memory; elements that the output has in another order than a product are moved
 * afterwards. Else a kernel computes one sum at a time. */
#include "worker/cuda/kernels/einsum.h"

#include <assert.h>
#include <ctype.h>

#include "shared/ops/einsum/rule.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/matmul.h"
#include "worker/cuda/kernels/move.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

_Static_assert((int)CUDA_EINSUM_OPERANDS_MAX == (int)EINSUM_OPERANDS_MAX, "the operands of every equation");
_Static_assert((int)CUDA_EINSUM_RANK_MAX >= (int)SHAPE_RANK_MAX, "the indices of every output");

static int
count_letters(Slice equation)
{
    bool is_found[UINT8_MAX + 1] = {false};
    int count = 0;
    for (size_t index = 0; index < equation.size; index++) {
        unsigned char byte = (unsigned char)equation.data[index];
        count += isalpha(byte) && !is_found[byte] ? 1 : 0;
        is_found[byte] = true;
    }
    return count;
}

/* Returns whether the indices that are summed over are all letters, and few. */
static bool
has_few_indices(Slice equation)
{
    Slice output = slice_part(equation, slice_find(equation, '>'), SIZE_MAX);
    bool has_ellipsis = slice_find(equation, '.') < equation.size;
    bool keeps_ellipsis = output.size == 0 || slice_find(output, '.') < output.size;
    return (!has_ellipsis || keeps_ellipsis) && count_letters(equation) <= CUDA_EINSUM_RANK_MAX;
}

static bool
supports_einsum(const Node *node)
{
    Dtype dtype = node->output_dtypes[0];
    return (dtype_is_floating(dtype) || dtype_is_integer(dtype)) &&
           has_few_indices(node_attr_string(node, "equation"));
}

/* Adds an index; merged with the last one when every tensor walks the two evenly. */
static void
add_index(CudaEinsumIndices *indices, int64_t size, const int64_t *strides)
{
    int last = indices->rank - 1;
    bool extends = last >= 0;
    for (int position = 0; extends && position < CUDA_EINSUM_POSITIONS_MAX; position++) {
        extends = indices->strides[position][last] == strides[position] * size;
    }
    if (!extends) {
        last = indices->rank++;
        assert(last < CUDA_EINSUM_RANK_MAX);
        indices->sizes[last] = 1;
    }
    indices->sizes[last] *= size;
    for (int position = 0; position < CUDA_EINSUM_POSITIONS_MAX; position++) {
        indices->strides[position][last] = strides[position];
    }
}

static void
add_indices(CudaEinsum *einsum, const EinsumIndices *indices, int index)
{
    bool is_kept = index < indices->kept_count;
    int64_t strides[CUDA_EINSUM_POSITIONS_MAX] = {0};
    for (int operand = 0; operand < einsum->operand_count; operand++) {
        strides[operand] = indices->strides[index][operand];
    }
    strides[CUDA_EINSUM_OPERANDS_MAX] = indices->strides[index][einsum->operand_count];
    *(is_kept ? &einsum->result_count : &einsum->count) *= indices->sizes[index];
    if (indices->sizes[index] != 1) {
        add_index(is_kept ? &einsum->kept : &einsum->folded, indices->sizes[index], strides);
    }
}

static Status
read_einsum(const KernelContext *context, const Tensor *output, CudaEinsum *ret_einsum)
{
    const Shape *shapes[EINSUM_POSITIONS_MAX];
    KernelInference inference;
    Einsum equation;
    bool is_known = false;
    kernel_inference(context, NULL, &inference);
    TRY(einsum_read(context->call, node_attr_string(context->node, "equation"), &inference.context, &equation,
        &is_known));
    *ret_einsum = (CudaEinsum){
        .operand_count = (int)context->input_count, .output = output->data, .result_count = 1, .count = 1};
    for (uint32_t index = 0; index < context->input_count; index++) {
        ret_einsum->operands[index] = context->inputs[index].data;
        shapes[index] = &context->inputs[index].shape;
    }
    shapes[context->input_count] = &output->shape;
    EinsumIndices indices = einsum_indices(&equation, shapes);
    for (int index = 0; index < indices.count; index++) {
        add_indices(ret_einsum, &indices, index);
    }
    return STATUS_OK;
}

/* The operands whose index a dimension is. */
typedef enum Owner { OWNED_BY_NONE, OWNED_BY_LEFT, OWNED_BY_RIGHT, OWNED_BY_BOTH } Owner;

static Owner
owner_of(const CudaEinsumIndices *indices, int index)
{
    return (Owner)((indices->strides[0][index] != 0 ? OWNED_BY_LEFT : OWNED_BY_NONE) |
                   (indices->strides[1][index] != 0 ? OWNED_BY_RIGHT : OWNED_BY_NONE));
}

/* The indices of an output by their owner, each group in the output's order. Operand `left` is the matrix on
 * the left. */
typedef struct ProductIndices {
    int left;
    CudaEinsumIndices batch;
    CudaEinsumIndices rows;
    CudaEinsumIndices columns;
    bool is_in_order; /* the output has those of the batch first, then the rows', then the columns' */
} ProductIndices;

/* Returns the group of an index of the output: 0 for the batch's, 1 for the rows', 2 for the columns'. */
static int
group_of(const CudaEinsumIndices *kept, int index, int left)
{
    Owner owner = owner_of(kept, index);
    assert(owner != OWNED_BY_NONE); /* else an operand had no elements */
    return owner == OWNED_BY_BOTH ? 0 : owner == (left == 0 ? OWNED_BY_LEFT : OWNED_BY_RIGHT) ? 1 : 2;
}

/* Adds an index of the output to its group, without its stride in the output. */
static void
group_index(const CudaEinsumIndices *kept, int index, ProductIndices *product, int *last_group)
{
    int64_t strides[CUDA_EINSUM_POSITIONS_MAX] = {kept->strides[0][index], kept->strides[1][index]};
    CudaEinsumIndices *groups[] = {&product->batch, &product->rows, &product->columns};
    int group = group_of(kept, index, product->left);
    product->is_in_order = product->is_in_order && group >= *last_group;
    *last_group = group;
    add_index(groups[group], kept->sizes[index], strides);
}

/* Returns whether the sums are products of matrices: each group of the output's indices but the batch's is
 * one walk through memory, and so are those that are summed over, which both operands have. Sums of which
 * only a batch is left are none: their rows and columns would be single. */
static bool
find_product(const CudaEinsum *einsum, ProductIndices *ret_product)
{
    const CudaEinsumIndices *kept = &einsum->kept;
    int last_group = 0;
    if (einsum->operand_count != 2 || einsum->count == 0 || einsum->folded.rank > 1 || kept->rank == 0 ||
        (einsum->folded.rank == 1 && owner_of(&einsum->folded, 0) != OWNED_BY_BOTH)) {
        return false;
    }
    *ret_product = (ProductIndices){
        .left = owner_of(kept, kept->rank - 1) == OWNED_BY_LEFT ? 1 : 0, .is_in_order = true};
    for (int index = 0; index < kept->rank; index++) {
        group_index(kept, index, ret_product, &last_group);
    }
    return ret_product->batch.rank <= CUDA_BATCH_RANK_MAX && ret_product->rows.rank <= 1 &&
           ret_product->columns.rank <= 1 && ret_product->rows.rank + ret_product->columns.rank > 0;
}

/* Returns the matrix that operand `operand` is, of which `own` are the rows or the columns. */
static CudaMatrix
read_matrix(const CudaEinsum *einsum, const CudaEinsumIndices *batch, const CudaEinsumIndices *own,
    int operand, bool is_left)
{
    int64_t own_step = own->rank == 0 ? 0 : own->strides[operand][0];
    int64_t folded_step = einsum->folded.rank == 0 ? 0 : einsum->folded.strides[operand][0];
    CudaMatrix matrix = {.data = einsum->operands[operand],
        .row_step = is_left ? own_step : folded_step,
        .column_step = is_left ? folded_step : own_step};
    for (int index = 0; index < batch->rank; index++) {
        matrix.batch_steps[index] = batch->strides[operand][index];
    }
    return matrix;
}

static CudaProduct
read_product(const CudaEinsum *einsum, const ProductIndices *indices, void *output)
{
    CudaProduct product = {.a = read_matrix(einsum, &indices->batch, &indices->rows, indices->left, true),
        .b = read_matrix(einsum, &indices->batch, &indices->columns, 1 - indices->left, false),
        .output = output,
        .rows = indices->rows.rank == 0 ? 1 : indices->rows.sizes[0],
        .columns = indices->columns.rank == 0 ? 1 : indices->columns.sizes[0],
        .depth = einsum->count,
        .batch_rank = indices->batch.rank,
        .alpha = 1};
    for (int index = 0; index < indices->batch.rank; index++) {
        product.batch_sizes[index] = indices->batch.sizes[index];
    }
    return product;
}

/* Moves products to the places that the output has for them. */
static Status
move_products(
    KernelContext *context, const CudaEinsum *einsum, const ProductIndices *indices, const Tensor *products)
{
    const CudaEinsumIndices *kept = &einsum->kept;
    CudaMove move = {
        .from = products->data, .to = einsum->output, .count = einsum->result_count, .rank = kept->rank};
    int64_t stride = 1;
    for (int group = 2; group >= 0; group--) {
        for (int index = kept->rank - 1; index >= 0; index--) {
            if (group_of(kept, index, indices->left) == group) {
                move.strides[0][index] = stride;
                stride *= kept->sizes[index];
            }
        }
    }
    for (int index = 0; index < kept->rank; index++) {
        move.sizes[index] = kept->sizes[index];
        move.strides[1][index] = kept->strides[CUDA_EINSUM_OPERANDS_MAX][index];
    }
    int error = cuda_move(dtype_size(products->dtype), &move, cuda_stream(context));
    return cuda_check(context->call, error, "a move of products");
}

static Status
compute_product(
    KernelContext *context, const CudaEinsum *einsum, const ProductIndices *indices, const Tensor *output)
{
    AUTO_TENSOR products = {0};
    if (!indices->is_in_order) {
        TRY(scratch_new(context, output->dtype, &output->shape, &products));
    }
    CudaProduct product = read_product(einsum, indices, indices->is_in_order ? output->data : products.data);
    TRY(matmul_enqueue(context, cuda_type(output->dtype), &product));
    return indices->is_in_order ? STATUS_OK : move_products(context, einsum, indices, &products);
}

/* An index that the output has twice leaves zeros beside the diagonal. */
static Status
fill_beside_diagonal(const KernelContext *context, const CudaEinsum *einsum, const Tensor *output)
{
    int error = einsum->result_count == tensor_element_count(output)
                    ? 0
                    : (int)cudaMemsetAsync(output->data, 0, tensor_byte_size(output), cuda_stream(context));
    return cuda_check(context->call, error, "a fill");
}

static bool
multiplies_dtype(Dtype dtype)
{
    return dtype_is_floating(dtype) || dtype == DTYPE_INT32 || dtype == DTYPE_INT64;
}

static Status
compute_einsum(KernelContext *context)
{
    CudaEinsum einsum;
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    TRY(read_einsum(context, output, &einsum));
    TRY(fill_beside_diagonal(context, &einsum, output));
    ProductIndices product;
    bool is_dense = einsum.result_count == tensor_element_count(output);
    if (is_dense && multiplies_dtype(output->dtype) && find_product(&einsum, &product)) {
        return compute_product(context, &einsum, &product, output);
    }
    return cuda_check(
        context->call, cuda_einsum(cuda_type(output->dtype), &einsum, cuda_stream(context)), "an einsum");
}

static const Kernel einsum_kernels[] = {
    {.op = "Einsum", .supports = supports_einsum, .compute = compute_einsum},
    {.op = "onnx::Einsum", .supports = supports_einsum, .compute = compute_einsum},
};

KERNEL_FAMILY(cuda_kernels, einsum, einsum_kernels);
