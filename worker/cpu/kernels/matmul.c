/* float32 matrix products of TensorFlow and ONNX, alone or fused with what follows, computed by
 * product/product.h. The ops' own rules check shapes and size outputs. */
#include "worker/cpu/product/product.h"

#include "shared/base/memory.h"
#include "worker/reference/outputs.h"
#include "worker/runtime/kernel.h"

/* The attributes of an op that ask for something; NULL: it has no such attribute. */
typedef struct ProductOp {
    const char *op;
    const char *transposes_a;
    const char *transposes_b;
    bool is_gemm; /* alpha × a × b + beta × c */
    bool is_fused;
} ProductOp;

static const ProductOp PRODUCT_OPS[] = {
    {.op = "MatMul", .transposes_a = "transpose_a", .transposes_b = "transpose_b"},
    {.op = "BatchMatMul", .transposes_a = "adj_x", .transposes_b = "adj_y"},
    {.op = "BatchMatMulV2", .transposes_a = "adj_x", .transposes_b = "adj_y"},
    {.op = "_FusedMatMul", .transposes_a = "transpose_a", .transposes_b = "transpose_b", .is_fused = true},
    {.op = "_FusedBatchMatMulV2", .transposes_a = "adj_x", .transposes_b = "adj_y", .is_fused = true},
    {.op = "onnx::MatMul"},
    {.op = "onnx::Gemm", .transposes_a = "transA", .transposes_b = "transB", .is_gemm = true},
};

typedef struct MatmulState {
    bool transposes_a;
    bool transposes_b;
    float alpha;
    float beta;
    bool is_gemm;
    Epilogue epilogue;
    Product *product;
} MatmulState;

static bool
supports_product(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32 && node->input_dtypes[1] == DTYPE_FLOAT32;
}

static bool
fused_supports(const Node *node)
{
    return supports_product(node) && finish_supports(node);
}

static bool
read_flag(const Node *node, const char *name)
{
    const AttrValue *value = name == NULL ? NULL : node_attr(node, name);
    return value != NULL && (value->kind == ATTR_INT ? value->value.i != 0 : value->value.b);
}

static void
destroy_state(void *state)
{
    MatmulState *matmul = state;
    product_free(matmul->product);
    memory_free(matmul);
}

static Status
read_attributes(Call *call, const Node *node, const ProductOp *op, MatmulState *state)
{
    state->transposes_a = read_flag(node, op->transposes_a);
    state->transposes_b = read_flag(node, op->transposes_b);
    state->is_gemm = op->is_gemm;
    state->alpha = op->is_gemm ? node_attr_float(node, "alpha") : 1;
    state->beta = op->is_gemm ? node_attr_float(node, "beta") : 0;
    return op->is_fused ? epilogue_read(call, node, &state->epilogue) : STATUS_OK;
}

static Status
create_state(Call *call, const Node *node, void **ret_state)
{
    MatmulState *state = memory_new(1, sizeof *state);
    if (state == NULL) {
        return call_fail_memory(call, "a matrix product");
    }
    Status status = STATUS_OK;
    for (size_t i = 0; i < COUNT_OF(PRODUCT_OPS) && status == STATUS_OK; i++) {
        if (slice_equals_string(node->def->op, PRODUCT_OPS[i].op)) {
            status = read_attributes(call, node, &PRODUCT_OPS[i], state);
        }
    }
    if (status == STATUS_OK) {
        status = product_new(call, &state->product);
    }
    if (status != STATUS_OK) {
        memory_free(state);
        return status;
    }
    *ret_state = state;
    return STATUS_OK;
}

/* Packs a constant second matrix; batches of them are rare and stay plain. */
static Status
prepare_weights(Call *call, Device *device, const Node *node, const Tensor *const *constants, void *state)
{
    (void)call;
    (void)device;
    (void)node;
    const Tensor *b = constants[1];
    const MatmulState *matmul = state;
    if (b != NULL && b->shape.rank == 2) {
        product_set_weights(matmul->product, b->data);
    }
    return STATUS_OK;
}

/* Returns the last two dimensions; a vector is one row on the left, one column on the right. */
static void
matrix_of(const Shape *shape, bool is_left, int64_t *ret_rows, int64_t *ret_columns)
{
    if (shape->rank == 1) {
        *ret_rows = is_left ? 1 : shape->dims[0];
        *ret_columns = is_left ? shape->dims[0] : 1;
    } else {
        *ret_rows = shape->dims[shape->rank - 2];
        *ret_columns = shape->dims[shape->rank - 1];
    }
}

static int
batch_rank(const Shape *shape)
{
    return shape->rank > 2 ? shape->rank - 2 : 0;
}

/* Fills in strides, counted in matrices; 0 where the input is broadcast. */
static void
batch_strides(const Shape *shape, int rank, int64_t *ret_strides)
{
    int64_t step = 1;
    int own = batch_rank(shape);
    for (int i = rank - 1; i >= 0; i--) {
        int axis = i - (rank - own);
        int64_t size = axis < 0 ? 1 : shape->dims[axis];
        ret_strides[i] = size == 1 ? 0 : step;
        step *= size;
    }
}

static void
read_batches(const Shape *a, const Shape *b, ProductOperands *operands)
{
    int left = batch_rank(a);
    int right = batch_rank(b);
    operands->batch_rank = left > right ? left : right;
    batch_strides(a, operands->batch_rank, operands->a_strides);
    batch_strides(b, operands->batch_rank, operands->b_strides);
    for (int i = 0; i < operands->batch_rank; i++) {
        int a_axis = i - (operands->batch_rank - left);
        int b_axis = i - (operands->batch_rank - right);
        int64_t a_size = a_axis < 0 ? 1 : a->dims[a_axis];
        int64_t b_size = b_axis < 0 ? 1 : b->dims[b_axis];
        operands->batch_dims[i] = a_size == 1 ? b_size : a_size;
    }
}

/* Makes one product of a batch with a single matrix on the right: all matrices on the left become its
 * rows. */
static void
merge_batches(const Shape *b, ProductShape *shape, ProductOperands *operands)
{
    if (batch_rank(b) > 0 || shape->transposes_a) {
        return;
    }
    for (int i = 0; i < operands->batch_rank; i++) {
        shape->m *= operands->batch_dims[i];
    }
    operands->batch_rank = 0;
}

static ProductShape
matrix_shape(const MatmulState *state, const Shape *a, const Shape *b)
{
    ProductShape shape = {
        .transposes_a = state->transposes_a,
        .transposes_b = state->transposes_b,
        .alpha = state->alpha,
        .finish = finish_of(&state->epilogue),
    };
    int64_t rows = 0;
    int64_t columns = 0;
    matrix_of(a, true, &rows, &columns);
    shape.m = shape.transposes_a ? columns : rows;
    shape.k = shape.transposes_a ? rows : columns;
    matrix_of(b, false, &rows, &columns);
    shape.n = shape.transposes_b ? rows : columns;
    return shape;
}

static bool
has_c(const MatmulState *state, const Node *node)
{
    return state->is_gemm && node->input_count > 2 && node->inputs[2].node != NODE_NONE;
}

/* Returns the shape of the product and fills in its batches. */
static ProductShape
shape_of(
    const MatmulState *state, const Node *node, const Shape *a, const Shape *b, ProductOperands *operands)
{
    ProductShape shape = matrix_shape(state, a, b);
    read_batches(a, b, operands);
    merge_batches(b, &shape, operands);
    shape.accumulates = has_c(state, node);
    return shape;
}

/* Fills the output with beta × c, broadcast to its rows and columns. */
static void
fill_with_c(const Tensor *c, float beta, Tensor *output)
{
    int64_t rows = output->shape.dims[0];
    int64_t columns = output->shape.dims[1];
    int rank = c->shape.rank;
    bool has_columns = rank >= 1 && c->shape.dims[rank - 1] != 1;
    bool has_rows = rank == 2 && c->shape.dims[0] != 1;
    int64_t row_step = has_rows ? c->shape.dims[1] : 0;
    const float *from = c->data;
    float *to = output->data;
    for (int64_t row = 0; row < rows; row++) {
        for (int64_t column = 0; column < columns; column++) {
            to[row * columns + column] = beta * from[row * row_step + (has_columns ? column : 0)];
        }
    }
}

static Status
compute_product(KernelContext *context)
{
    const MatmulState *state = context->state;
    const Tensor *a = &context->inputs[0];
    const Tensor *b = &context->inputs[1];
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    ProductOperands operands = {
        .a = a->data,
        .b = b->data,
        .bias = finish_operand(context, state->epilogue.bias),
        .addend = finish_operand(context, state->epilogue.addend),
        .output = output->data,
    };
    ProductShape shape = shape_of(state, context->node, &a->shape, &b->shape, &operands);
    if (shape.accumulates) {
        fill_with_c(&context->inputs[2], state->beta, output);
    }
    return product_run(context->call, state->product, context->device, &shape, &operands);
}

static uint64_t
product_scratch_bytes(const KernelForecast *told)
{
    const MatmulState *state = told->state;
    ProductOperands operands = {0};
    ProductShape shape =
        shape_of(state, told->shapes.node, &told->shapes.inputs[0], &told->shapes.inputs[1], &operands);
    int64_t batch = 1;
    for (int i = 0; i < operands.batch_rank; i++) {
        batch *= operands.batch_dims[i];
    }
    bool is_empty = batch == 0 || shape.m == 0 || shape.n == 0;
    return is_empty ? 0 : product_scratch(state->product, told->device, &shape, batch);
}

#define MATMUL_KERNEL(name, can)                                                                             \
    {                                                                                                        \
        .op = (name), .supports = (can), .create = create_state, .destroy = destroy_state,                   \
        .prepare = prepare_weights, .compute = compute_product, .scratch = product_scratch_bytes             \
    }

static const Kernel matmul_kernels[] = {
    MATMUL_KERNEL("MatMul", supports_product),
    MATMUL_KERNEL("BatchMatMul", supports_product),
    MATMUL_KERNEL("BatchMatMulV2", supports_product),
    MATMUL_KERNEL("_FusedBatchMatMulV2", fused_supports),
    MATMUL_KERNEL("_FusedMatMul", fused_supports),
    MATMUL_KERNEL("onnx::MatMul", supports_product),
    MATMUL_KERNEL("onnx::Gemm", supports_product),
};

KERNEL_FAMILY(cpu_kernels, matmul, matmul_kernels);
