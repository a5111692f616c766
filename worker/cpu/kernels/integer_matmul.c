/* Products of matrices of bytes on product/integer.h: onnx::MatMulInteger and onnx::QLinearMatMul. */
#include "shared/base/memory.h"
#include "worker/cpu/product/byte_product.h"
#include "worker/cpu/vector/scaled_sums.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scaling.h"

typedef struct ProductState {
    BytePanels *panels; /* of a constant matrix on the right, or NULL */
} ProductState;

static Status
create_state(Call *call, const Node *node, void **ret_state)
{
    (void)node;
    *ret_state = memory_new(1, sizeof(ProductState));
    return *ret_state == NULL ? call_fail_memory(call, "a matrix product") : STATUS_OK;
}

static void
destroy_state(void *state)
{
    ProductState *product = state;
    byte_panels_free(product->panels);
    memory_free(product);
}

static Status
prepare_integers(Call *call, Device *device, const Node *node, const Tensor *const *constants, void *state)
{
    (void)call;
    (void)device;
    (void)node;
    ProductState *product = state;
    product->panels = constants[1] == NULL ? NULL : byte_panels_new(constants[1]);
    return STATUS_OK;
}

static Status
prepare_qlinear(Call *call, Device *device, const Node *node, const Tensor *const *constants, void *state)
{
    (void)call;
    (void)device;
    (void)node;
    ProductState *product = state;
    product->panels = constants[3] == NULL ? NULL : byte_panels_new(constants[3]);
    return STATUS_OK;
}

/* The output to which sums of products are written, scaled or as they are. */
typedef struct Target {
    char *output;
    int64_t columns;
    Requantizer to;
    const float *scales;
} Target;

static void
keep_sums(const void *context, int64_t row, int64_t column, int64_t count, const int32_t *sums)
{
    const Target *target = context;
    memcpy(target->output + (size_t)(row * target->columns + column) * sizeof *sums, sums,
        (size_t)count * sizeof *sums);
}

static void
requantize_sums(const void *context, int64_t row, int64_t column, int64_t count, const int32_t *sums)
{
    const Target *target = context;
    scale_sums_each(
        &target->to, sums, target->scales + column, count, target->output + row * target->columns + column);
}

static bool
integer_supports(const Node *node)
{
    return byte_product_has(node->input_dtypes[0]) && byte_product_has(node->input_dtypes[1]);
}

/* A product without elements or without an inner dimension is left to the reference. */
static bool
is_plain(const KernelContext *context, uint32_t right)
{
    const Tensor *a = &context->inputs[0];
    const Tensor *b = &context->inputs[right];
    return a->shape.rank >= 2 && b->shape.rank >= 2 && tensor_element_count(a) > 0 &&
           tensor_element_count(b) > 0;
}

static Status
integer_compute(KernelContext *context)
{
    const ProductState *state = context->state;
    Tensor *output = NULL;
    if (!is_plain(context, 1)) {
        return kernel_find_reference(context->node)->compute(context);
    }
    TRY(output_new(context, &output));
    Target target = {.output = output->data, .columns = output->shape.dims[output->shape.rank - 1]};
    ByteProduct product = {.a = 0,
        .b = 1,
        .a_zero = 2,
        .b_zero = 3,
        .panels = state->panels,
        .output = &output->shape,
        .finish = keep_sums,
        .context = &target};
    return byte_product_run(context, &product);
}

static bool
qlinear_supports(const Node *node)
{
    return byte_product_has(node->input_dtypes[0]) && byte_product_has(node->input_dtypes[3]) &&
           byte_product_has(node->output_dtypes[0]);
}

/* Scales of rows are left to the reference. */
static bool
has_one_scale(const KernelContext *context)
{
    static const uint32_t single[] = {1, 2, 6, 7};
    for (size_t index = 0; index < COUNT_OF(single); index++) {
        if (tensor_element_count(&context->inputs[single[index]]) != 1) {
            return false;
        }
    }
    return context->inputs[4].shape.rank <= 1;
}

static Status
qlinear_compute(KernelContext *context)
{
    const ProductState *state = context->state;
    Tensor *output = NULL;
    AUTO_TENSOR scales = {0};
    if (!is_plain(context, 3) || !has_one_scale(context)) {
        return kernel_find_reference(context->node)->compute(context);
    }
    TRY(output_new(context, &output));
    Lines lines;
    Target target = {.output = output->data, .columns = output->shape.dims[output->shape.rank - 1]};
    TRY(scaling_lines(context, 4, &output->shape, -1, &lines));
    TRY(scaling_product(context, target.columns, &scales, &target.to));
    target.scales = scales.data;
    ByteProduct product = {.a = 0,
        .b = 3,
        .a_zero = 2,
        .b_zero = 5,
        .panels = state->panels,
        .output = &output->shape,
        .finish = requantize_sums,
        .context = &target};
    return byte_product_run(context, &product);
}

static const Kernel integer_matmul_kernels[] = {
    {.op = "onnx::MatMulInteger",
        .supports = integer_supports,
        .create = create_state,
        .destroy = destroy_state,
        .prepare = prepare_integers,
        .compute = integer_compute},
    {.op = "onnx::QLinearMatMul",
        .supports = qlinear_supports,
        .create = create_state,
        .destroy = destroy_state,
        .prepare = prepare_qlinear,
        .compute = qlinear_compute},
};

KERNEL_FAMILY(cpu_kernels, integer_matmul, integer_matmul_kernels);
