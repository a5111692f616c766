/* Sums of products over indices: a product of matrices where the equation is one, as it lies in memory; else
 * a kernel that computes one sum at a time. */
#include "worker/cuda/kernels/einsum.h"

#include <assert.h>
#include <ctype.h>

#include "shared/ops/einsum/rule.h"
#include "worker/cuda/blas/product.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/matmul.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/outputs.h"

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
add_index(CudaIndices *indices, int64_t size, const int64_t *strides)
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
owner_of(const CudaIndices *indices, int index)
{
    return (Owner)((indices->strides[0][index] != 0 ? OWNED_BY_LEFT : OWNED_BY_NONE) |
                   (indices->strides[1][index] != 0 ? OWNED_BY_RIGHT : OWNED_BY_NONE));
}

/* Returns how many of the first indices are of a batch. */
static int
count_batch(const CudaIndices *kept)
{
    int count = 0;
    while (count < kept->rank && owner_of(kept, count) == OWNED_BY_BOTH) {
        count++;
    }
    return count;
}

/* Returns whether the output's indices are those of a batch, then one of rows, of columns or of each, and the
 * sums go along one index of both operands at most. */
static bool
is_product(const CudaEinsum *einsum)
{
    const CudaIndices *kept = &einsum->kept;
    if (einsum->operand_count != 2 || einsum->folded.rank > 1 ||
        (einsum->folded.rank == 1 && owner_of(&einsum->folded, 0) != OWNED_BY_BOTH)) {
        return false;
    }
    int batch_rank = count_batch(kept);
    int rest = kept->rank - batch_rank;
    int owners = 0;
    for (int index = batch_rank; index < kept->rank; index++) {
        Owner owner = owner_of(kept, index);
        if (owner == OWNED_BY_NONE || owner == OWNED_BY_BOTH) {
            return false;
        }
        owners |= (int)owner;
    }
    return batch_rank <= CUDA_BATCH_RANK_MAX && (rest == 1 || (rest == 2 && owners == OWNED_BY_BOTH));
}

/* Returns the matrix that operand `operand` is, whose own index of the output is `own`, or -1: it has none.
 */
static CudaMatrix
read_matrix(const CudaEinsum *einsum, int operand, int own, int batch_rank, bool is_left)
{
    int64_t own_step = own < 0 ? 0 : einsum->kept.strides[operand][own];
    int64_t folded_step = einsum->folded.rank == 0 ? 0 : einsum->folded.strides[operand][0];
    CudaMatrix matrix = {.data = einsum->operands[operand],
        .row_step = is_left ? own_step : folded_step,
        .column_step = is_left ? folded_step : own_step};
    for (int index = 0; index < batch_rank; index++) {
        matrix.batch_steps[index] = einsum->kept.strides[operand][index];
    }
    return matrix;
}

/* Returns the sums as products of matrices: the operand that has the last index is on the right. */
static CudaProduct
read_product(const CudaEinsum *einsum)
{
    const CudaIndices *kept = &einsum->kept;
    int batch_rank = count_batch(kept);
    int last = kept->rank - 1;
    int right = owner_of(kept, last) == OWNED_BY_RIGHT ? 1 : 0;
    int rows = last - 1 >= batch_rank ? last - 1 : -1;
    CudaProduct product = {.a = read_matrix(einsum, 1 - right, rows, batch_rank, true),
        .b = read_matrix(einsum, right, last, batch_rank, false),
        .output = einsum->output,
        .rows = rows < 0 ? 1 : kept->sizes[rows],
        .columns = kept->sizes[last],
        .depth = einsum->count,
        .batch_rank = batch_rank,
        .alpha = 1};
    for (int index = 0; index < batch_rank; index++) {
        product.batch_sizes[index] = kept->sizes[index];
    }
    return product;
}

static Status
multiply(KernelContext *context, CudaType type, const CudaEinsum *einsum)
{
    CudaProduct product = read_product(einsum);
    CudaEpilogue rest;
    BlasRefusal refusal = BLAS_ACCEPTED;
    TRY(blas_multiply(context, type, &product, &refusal, &rest));
    assert(refusal != BLAS_ACCEPTED || cuda_epilogue_is_empty(&rest));
    int error = refusal == BLAS_ACCEPTED ? 0 : cuda_multiply(type, &product, cuda_stream(context));
    return cuda_check(context->call, error, "a product of an einsum");
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
    CudaType type = cuda_type(output->dtype);
    TRY(read_einsum(context, output, &einsum));
    TRY(fill_beside_diagonal(context, &einsum, output));
    bool is_dense = einsum.result_count == tensor_element_count(output);
    if (is_dense && multiplies_dtype(output->dtype) && is_product(&einsum)) {
        return multiply(context, type, &einsum);
    }
    return cuda_check(context->call, cuda_einsum(type, &einsum, cuda_stream(context)), "an einsum");
}

static const Kernel einsum_kernels[] = {
    {.op = "Einsum", .supports = supports_einsum, .compute = compute_einsum},
    {.op = "onnx::Einsum", .supports = supports_einsum, .compute = compute_einsum},
};

KERNEL_FAMILY(cuda_kernels, einsum, einsum_kernels);
