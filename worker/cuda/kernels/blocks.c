/* ONNX Runtime's products with, and rows of, weights that are packed in blocks, by the rules of the reference
 * kernels (shared/ops/quantize). Few vectors are multiplied by a kernel that unpacks the weights as it reads
 * them; more of them pay for unpacked weights, which a product of matrices takes. */
#include "worker/cuda/kernels/blocks.h"

#include "shared/ops/quantize/blocks_rule.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/matmul.h"
#include "worker/cuda/operands/given.h"
#include "worker/cuda/operands/types.h"
#include "worker/cuda/run.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

enum { A, B, SCALES, ZERO_POINTS, G_IDX, BIAS };
enum { PACKED, ROW_SCALES, ROW_ZEROS };

/* Beyond as many vectors, reading the packed weights again for every four takes longer than writing them
 * unpacked and reading those. */
static const int64_t VECTORS_MAX = 16;

/* Returns whether an input is absent or of this dtype. */
static bool
may_be(const Node *node, uint32_t input, Dtype dtype)
{
    return node->input_count <= input || node->inputs[input].node == NODE_NONE ||
           node->input_dtypes[input] == dtype;
}

static bool
supports_type(Dtype dtype)
{
    return dtype == DTYPE_FLOAT32 || dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16;
}

static bool
supports_product(const Node *node)
{
    Dtype dtype = node->input_dtypes[A];
    return supports_type(dtype) && node->input_dtypes[SCALES] == dtype && may_be(node, BIAS, dtype) &&
           (may_be(node, ZERO_POINTS, DTYPE_UINT8) || may_be(node, ZERO_POINTS, dtype)) &&
           node_attr_int(node, "weight_prepacked") == 0;
}

static bool
supports_rows(const Node *node)
{
    return supports_type(node->input_dtypes[ROW_SCALES]) && may_be(node, ROW_ZEROS, DTYPE_UINT8);
}

/* Fills in what the attributes say of blocks in rows of `row` elements. */
static Status
read_blocks(KernelContext *context, int64_t row, CudaBlocks *blocks)
{
    WeightBlocks read;
    TRY(weight_blocks_read(context->call, context->node, row, &read));
    blocks->bits = read.bits;
    blocks->count = read.count;
    blocks->row = row;
    for (blocks->size_bits = 0; (int64_t)1 << blocks->size_bits < read.size; blocks->size_bits++) {}
    blocks->row_bytes = read.count * (read.size * read.bits / 8);
    return STATUS_OK;
}

static Status
read_product(KernelContext *context, CudaBlockProduct *product)
{
    CudaBlocks *blocks = &product->blocks;
    const Tensor *zeros = given_input(context, ZERO_POINTS);
    bool is_packed = zeros != NULL && zeros->dtype == DTYPE_UINT8;
    TRY(read_blocks(context, node_attr_int(context->node, "K"), blocks));
    blocks->rows = node_attr_int(context->node, "N");
    blocks->packed = context->inputs[B].data;
    blocks->scales = context->inputs[SCALES].data;
    blocks->zero_bytes = is_packed ? zeros->data : NULL;
    blocks->zeros = is_packed ? NULL : given_data(context, ZERO_POINTS);
    blocks->groups = given_data(context, G_IDX);
    product->a = context->inputs[A].data;
    product->bias = given_data(context, BIAS);
    product->output = context->outputs[0].data;
    product->batch = tensor_element_count(&context->inputs[A]) / blocks->row;
    return blocks->groups == NULL ? STATUS_OK : cuda_blame(context, CUDA_REFUSES_GROUP, &blocks->blame);
}

static Status
multiply_unpacked(KernelContext *context, CudaType type, const CudaBlockProduct *product)
{
    const CudaBlocks *blocks = &product->blocks;
    Shape shape = {.rank = 2, .dims = {blocks->rows, blocks->row}};
    AUTO_TENSOR weights = {0};
    TRY(scratch_new(context, context->inputs[A].dtype, &shape, &weights));
    TRY(cuda_check(context->call, cuda_unpack_blocks(type, blocks, weights.data, cuda_stream(context)),
        "an unpacking of weights"));
    CudaProduct matrices = {
        .a = {.data = product->a, .row_step = blocks->row, .column_step = 1},
        .b = {.data = weights.data, .row_step = 1, .column_step = blocks->row},
        .c = {.data = product->bias, .column_step = 1},
        .output = product->output,
        .rows = product->batch,
        .columns = blocks->rows,
        .depth = blocks->row,
        .alpha = 1,
        .beta = product->bias == NULL ? 0 : 1,
    };
    return matmul_enqueue(context, type, &matrices);
}

static Status
compute_product(KernelContext *context)
{
    CudaBlockProduct product = {.batch = 0};
    Tensor *output = NULL;
    CudaType type = cuda_type(context->inputs[A].dtype);
    TRY(output_new(context, &output));
    TRY(read_product(context, &product));
    if (product.batch > VECTORS_MAX) {
        return multiply_unpacked(context, type, &product);
    }
    int error = cuda_multiply_blocks(type, &product, cuda_stream(context));
    return cuda_check(context->call, error, "a product with packed weights");
}

static Status
compute_rows(KernelContext *context)
{
    CudaBlocks blocks = {.packed = context->inputs[PACKED].data,
        .scales = context->inputs[ROW_SCALES].data,
        .zero_bytes = given_data(context, ROW_ZEROS)};
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    int64_t row = output->shape.dims[output->shape.rank - 1];
    TRY(read_blocks(context, row, &blocks));
    blocks.rows = tensor_element_count(output) / row;
    blocks.row_bytes = context->inputs[PACKED].shape.dims[output->shape.rank - 1];
    int error = cuda_unpack_blocks(cuda_type(output->dtype), &blocks, output->data, cuda_stream(context));
    return cuda_check(context->call, error, "an unpacking of rows");
}

static const Kernel blocks_kernels[] = {
    {.op = "com.microsoft::MatMulNBits", .supports = supports_product, .compute = compute_product},
    {.op = "com.microsoft::_UnpackBlocks", .supports = supports_rows, .compute = compute_rows},
};

KERNEL_FAMILY(cuda_kernels, blocks, blocks_kernels);
