/* Sums of products over indices: every product is computed in the widest dtype, and each sum is rounded
 * once. */
#include "shared/ops/einsum/rule.h"

#include "worker/reference/elements.h"
#include "worker/reference/fill.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"
#include "worker/reference/wide.h"

typedef struct Products {
    uint32_t operand_count;
    EinsumIndices indices;
    int64_t position[EINSUM_LABELS_MAX];
    int64_t offsets[EINSUM_POSITIONS_MAX];
    Tensor tensors[EINSUM_POSITIONS_MAX]; /* all of a wide dtype */
} Products;

static void
products_done(Products *products)
{
    for (size_t index = 0; index < EINSUM_POSITIONS_MAX; index++) {
        tensor_unref(&products->tensors[index]);
    }
}
#define AUTO_PRODUCTS CLEANUP(products_done) Products

static void
find_indices(Products *products, const Einsum *einsum)
{
    const Shape *shapes[EINSUM_POSITIONS_MAX];
    for (uint32_t position = 0; position <= products->operand_count; position++) {
        shapes[position] = &products->tensors[position].shape;
    }
    products->indices = einsum_indices(einsum, shapes);
}

typedef void (*ProductLoop)(const Products *products, const int64_t *steps, int64_t count);

/* Multiplies along the last index. Integers wrap. */
#define PRODUCT_LOOP(name, storage)                                                                          \
    static void product_##name(const Products *products, const int64_t *steps, int64_t count)                \
    {                                                                                                        \
        uint32_t last = products->operand_count;                                                             \
        storage *sums = (storage *)products->tensors[last].data + products->offsets[last];                   \
        for (int64_t n = 0; n < count; n++) {                                                                \
            storage product = 1;                                                                             \
            for (uint32_t index = 0; index < last; index++) {                                                \
                const storage *elements = products->tensors[index].data;                                     \
                product *= elements[products->offsets[index] + n * steps[index]];                            \
            }                                                                                                \
            sums[n * steps[last]] += product;                                                                \
        }                                                                                                    \
    }

PRODUCT_LOOP(float64, double)
PRODUCT_LOOP(uint64, uint64_t)
PRODUCT_LOOP(complex128, double complex)

static const ProductLoop product_loops[DTYPE_COUNT] = {
    [DTYPE_FLOAT64] = product_float64,
    [DTYPE_INT64] = product_uint64,
    [DTYPE_UINT64] = product_uint64,
    [DTYPE_COMPLEX128] = product_complex128,
};

static void
move_offsets(Products *products, int index, int64_t count)
{
    for (uint32_t position = 0; position <= products->operand_count; position++) {
        products->offsets[position] += products->indices.strides[index][position] * count;
    }
}

/* Moves on in all indices but the last; false after the last combination. */
static bool
next_position(Products *products)
{
    for (int index = products->indices.count - 2; index >= 0; index--) {
        move_offsets(products, index, 1);
        if (++products->position[index] < products->indices.sizes[index]) {
            return true;
        }
        move_offsets(products, index, -products->indices.sizes[index]);
        products->position[index] = 0;
    }
    return false;
}

static void
sum_products(Products *products, ProductLoop loop)
{
    static const int64_t nowhere[EINSUM_POSITIONS_MAX] = {0};
    int last = products->indices.count - 1;
    for (int index = 0; index <= last; index++) {
        if (products->indices.sizes[index] == 0) {
            return;
        }
    }
    do {
        loop(products, last < 0 ? nowhere : products->indices.strides[last],
            last < 0 ? 1 : products->indices.sizes[last]);
    } while (next_position(products));
}

static Status
einsum_compute(KernelContext *context)
{
    Dtype wide = wide_dtype(context->node->output_dtypes[0]);
    AUTO_PRODUCTS products = {.operand_count = context->input_count};
    KernelInference inference;
    Einsum einsum;
    Shape shape;
    bool is_known = false;
    TRY(output_shapes(context, &shape));
    kernel_inference(context, &shape, &inference);
    TRY(einsum_read(
        context->call, node_attr_string(context->node, "equation"), &inference.context, &einsum, &is_known));
    for (uint32_t index = 0; index < context->input_count; index++) {
        TRY(scratch_cast(context, &context->inputs[index], wide, &products.tensors[index]));
    }
    Tensor *sums = &products.tensors[context->input_count];
    TRY(scratch_new(context, wide, &shape, sums));
    fill_zero(sums);
    find_indices(&products, &einsum);
    sum_products(&products, product_loops[wide]);
    return scratch_finish(context, 0, sums);
}

static bool
einsum_supports(const Node *node)
{
    return wide_supports(WIDE_ADD, node->output_dtypes[0]);
}

static const Kernel einsum_kernels[] = {
    {.op = "Einsum",
        .supports = einsum_supports,
        .compute = einsum_compute,
        .wide_inputs = KERNEL_WIDENS_ALL,
        .wide_outputs = 1},
    {.op = "onnx::Einsum",
        .supports = einsum_supports,
        .compute = einsum_compute,
        .wide_inputs = KERNEL_WIDENS_ALL,
        .wide_outputs = 1},
};

KERNEL_FAMILY(reference, einsum, einsum_kernels);
