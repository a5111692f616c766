/* Einsums of two float32 operands as a batch of matrix products (product/product.h). An index that both
 * operands and the output have numbers the products, one of the first operand and the output is of their
 * rows, one of the second operand and the output of their columns, and one of both operands alone is of the
 * inner dimension. An operand whose dimensions lie in another order is copied before, and the output behind.
 * What sums one operand alone, and any other number of operands, is left to the reference kernel. */
#include "shared/ops/einsum/rule.h"

#include "shared/base/memory.h"
#include "worker/cpu/product/product.h"
#include "worker/reference/moves.h"
#include "worker/reference/outputs.h"
#include "worker/reference/scratch.h"

typedef enum IndexKind { BATCH, ROWS, COLUMNS, INNER, INDEX_KINDS } IndexKind;

enum { OPERANDS = 2, OUTPUT = 2 };

/* The kinds of an operand's dimensions, from the outermost on. */
typedef struct Layout {
    IndexKind kinds[3];
} Layout;

static const Layout PLAIN_A = {{BATCH, ROWS, INNER}};
static const Layout TRANSPOSED_A = {{BATCH, INNER, ROWS}};
static const Layout PLAIN_B = {{BATCH, INNER, COLUMNS}};
static const Layout TRANSPOSED_B = {{BATCH, COLUMNS, INNER}};
static const Layout PLAIN_OUTPUT = {{BATCH, ROWS, COLUMNS}};

typedef struct Equation {
    EinsumIndices indices;
    IndexKind kinds[EINSUM_LABELS_MAX];
    int64_t sizes[INDEX_KINDS];
    uint32_t a; /* the operand that is multiplied from the left; the other one is the right */
} Equation;

typedef struct EinsumState {
    Product *product;
    Product *weighted;   /* with the constant operand on the right; NULL: it is not constant */
    const void *weights; /* the elements of that operand */
} EinsumState;

/* Finds the kind of each index of more than one element. False: one operand alone is summed over. */
static bool
sort_indices(Equation *equation)
{
    const EinsumIndices *indices = &equation->indices;
    for (int kind = 0; kind < INDEX_KINDS; kind++) {
        equation->sizes[kind] = 1;
    }
    for (int index = 0; index < indices->count; index++) {
        bool is_in_a = indices->strides[index][equation->a] != 0;
        bool is_in_b = indices->strides[index][1 - equation->a] != 0;
        bool is_kept = index < indices->kept_count;
        if (indices->sizes[index] != 1 && !is_kept && !(is_in_a && is_in_b)) {
            return false;
        }
        equation->kinds[index] = !is_kept ? INNER : is_in_a && is_in_b ? BATCH : is_in_b ? COLUMNS : ROWS;
        equation->sizes[equation->kinds[index]] *= indices->sizes[index];
    }
    return true;
}

/* Returns the copy of a tensor to, or the output's from, where its dimensions lie one after the other. */
static StridedCopy
copy_in_order(const Equation *equation, const Layout *layout, uint32_t position)
{
    const EinsumIndices *indices = &equation->indices;
    StridedCopy copy = {.rank = 0};
    for (size_t kind = 0; kind < COUNT_OF(layout->kinds); kind++) {
        for (int index = 0; index < indices->count; index++) {
            if (equation->kinds[index] == layout->kinds[kind] && indices->sizes[index] != 1) {
                copy.dims[copy.rank] = indices->sizes[index];
                copy.from[copy.rank++] = indices->strides[index][position];
            }
        }
    }
    int64_t step = 1;
    for (int dimension = copy.rank - 1; dimension >= 0; dimension--) {
        copy.to[dimension] = step;
        step *= copy.dims[dimension];
    }
    return copy;
}

static bool
lies_in_order(const Equation *equation, const Layout *layout, uint32_t position)
{
    StridedCopy copy = copy_in_order(equation, layout, position);
    return memcmp(copy.from, copy.to, (size_t)copy.rank * sizeof *copy.to) == 0;
}

/* Returns whether one dimension of an operand and another are one index: its diagonal is read. */
static bool
has_diagonal(const EinsumTerm *term)
{
    for (int index = 0; index < term->rank; index++) {
        for (int other = 0; other < index; other++) {
            if (term->labels[index] == term->labels[other]) {
                return true;
            }
        }
    }
    return false;
}

/* Reads the equation for these shapes. False: it is no batch of products. The operands change places when the
 * output then needs no copy. */
static bool
read_equation(Call *call, const InferContext *context, const Shape *output, Equation *ret_equation)
{
    Einsum einsum;
    bool is_known = false;
    const Shape *shapes[] = {&context->inputs[0], &context->inputs[1], output};
    Slice text = node_attr_string(context->node, "equation");
    if (einsum_read(call, text, context, &einsum, &is_known) != STATUS_OK || !is_known ||
        einsum.output.rank != output->rank || has_diagonal(&einsum.output) ||
        has_diagonal(&einsum.operands[0]) || has_diagonal(&einsum.operands[1])) {
        return false;
    }
    *ret_equation = (Equation){.indices = einsum_indices(&einsum, shapes), .a = 1};
    bool is_product = sort_indices(ret_equation);
    if (!is_product || !lies_in_order(ret_equation, &PLAIN_OUTPUT, OUTPUT)) {
        ret_equation->a = 0;
        is_product = sort_indices(ret_equation);
    }
    return is_product;
}

static bool
einsum_supports(const Node *node)
{
    return node->input_count == OPERANDS && node->output_dtypes[0] == DTYPE_FLOAT32;
}

static void
destroy_state(void *state)
{
    EinsumState *einsum = state;
    product_free(einsum->product);
    product_free(einsum->weighted);
    memory_free(einsum);
}

static Status
create_state(Call *call, const Node *node, void **ret_state)
{
    (void)node;
    EinsumState *state = memory_new(1, sizeof *state);
    if (state == NULL) {
        return call_fail_memory(call, "an einsum");
    }
    Status status = product_new(call, &state->product);
    status = status == STATUS_OK ? product_new(call, &state->weighted) : status;
    if (status != STATUS_OK) {
        destroy_state(state);
        return status;
    }
    *ret_state = state;
    return STATUS_OK;
}

/* With "..." the parts that dimensions of a constant play depend on the other operand's shape: such weights
 * are not packed once for all. */
static Status
prepare_weights(Call *call, Device *device, const Node *node, const Tensor *const *constants, void *state)
{
    (void)call;
    (void)device;
    EinsumState *einsum = state;
    Slice equation = node_attr_string(node, "equation");
    if (constants[1] != NULL && slice_find(equation, '.') == equation.size) {
        einsum->weights = constants[1]->data;
        product_set_weights(einsum->weighted, constants[1]->data);
    }
    return STATUS_OK;
}

/* Finds an operand as one of two layouts, or copies it to the first. */
static Status
place_operand(KernelContext *context, const Equation *equation, uint32_t position, const Layout *layouts[2],
    Tensor *ret_operand, bool *ret_is_second)
{
    const Tensor *input = &context->inputs[position];
    *ret_is_second = false;
    if (!lies_in_order(equation, layouts[0], position)) {
        *ret_is_second = lies_in_order(equation, layouts[1], position);
        if (!*ret_is_second) {
            StridedCopy copy = copy_in_order(equation, layouts[0], position);
            TRY(scratch_new(context, DTYPE_FLOAT32, &input->shape, ret_operand));
            return move_elements(context, &copy, input, ret_operand);
        }
    }
    *ret_operand = tensor_ref(input);
    return STATUS_OK;
}

static ProductOperands
operands_of(const Equation *equation, const Tensor *a, const Tensor *b, Tensor *sums)
{
    ProductOperands operands = {.a = a->data, .b = b->data, .output = sums->data};
    if (equation->sizes[BATCH] > 1) {
        operands.batch_rank = 1;
        operands.batch_dims[0] = equation->sizes[BATCH];
        operands.a_strides[0] = 1;
        operands.b_strides[0] = 1;
    }
    return operands;
}

static ProductShape
shape_of(const Equation *equation)
{
    return (ProductShape){
        .m = equation->sizes[ROWS], .n = equation->sizes[COLUMNS], .k = equation->sizes[INNER], .alpha = 1};
}

static Status
multiply(KernelContext *context, const Equation *equation, Tensor *sums)
{
    const EinsumState *state = context->state;
    AUTO_TENSOR a = {0};
    AUTO_TENSOR b = {0};
    ProductShape shape = shape_of(equation);
    TRY(place_operand(context, equation, equation->a, (const Layout *[]){&PLAIN_A, &TRANSPOSED_A}, &a,
        &shape.transposes_a));
    TRY(place_operand(context, equation, 1 - equation->a, (const Layout *[]){&PLAIN_B, &TRANSPOSED_B}, &b,
        &shape.transposes_b));
    ProductOperands operands = operands_of(equation, &a, &b, sums);
    bool is_weighted = equation->a == 0 && state->weights != NULL && b.data == state->weights &&
                       !shape.transposes_b && operands.batch_rank == 0;
    return product_run(
        context->call, is_weighted ? state->weighted : state->product, context->device, &shape, &operands);
}

static Status
einsum_compute(KernelContext *context)
{
    KernelInference inference;
    Equation equation;
    Shape shape;
    TRY(output_shapes(context, &shape));
    kernel_inference(context, &shape, &inference);
    if (!read_equation(context->call, &inference.context, &shape, &equation)) {
        return kernel_find_reference(context->node)->compute(context);
    }
    Tensor *output = NULL;
    TRY(kernel_output(context, 0, DTYPE_FLOAT32, &shape, &output));
    if (output->data == NULL) {
        return STATUS_OK;
    }
    if (lies_in_order(&equation, &PLAIN_OUTPUT, OUTPUT)) {
        return multiply(context, &equation, output);
    }
    AUTO_TENSOR sums = {0};
    TRY(scratch_new(context, DTYPE_FLOAT32, &shape, &sums));
    TRY(multiply(context, &equation, &sums));
    StridedCopy copy = copy_in_order(&equation, &PLAIN_OUTPUT, OUTPUT);
    copy = strided_reverse(&copy);
    return move_elements(context, &copy, &sums, output);
}

/* Returns the bytes of a tensor's copy; 0: it lies in order, in one of two layouts. */
static uint64_t
copy_size(const Equation *equation, const Layout *first, const Layout *second, uint32_t position)
{
    if (lies_in_order(equation, first, position) || lies_in_order(equation, second, position)) {
        return 0;
    }
    StridedCopy copy = copy_in_order(equation, first, position);
    uint64_t size = sizeof(float);
    for (int dimension = 0; dimension < copy.rank; dimension++) {
        size *= (uint64_t)copy.dims[dimension];
    }
    return size;
}

static uint64_t
einsum_scratch(const KernelForecast *told)
{
    const EinsumState *state = told->state;
    const InferContext *context = &told->shapes;
    Equation equation;
    if (!shape_is_known(&context->outputs[0]) ||
        !read_equation(told->call, context, &context->outputs[0], &equation)) {
        return kernel_wide_size(told, KERNEL_WIDENS_ALL, 1);
    }
    ProductShape shape = shape_of(&equation);
    if (shape.m == 0 || shape.n == 0 || equation.sizes[BATCH] == 0) {
        return 0;
    }
    return copy_size(&equation, &PLAIN_A, &TRANSPOSED_A, equation.a) +
           copy_size(&equation, &PLAIN_B, &TRANSPOSED_B, 1 - equation.a) +
           copy_size(&equation, &PLAIN_OUTPUT, &PLAIN_OUTPUT, OUTPUT) +
           product_scratch(state->product, told->device, &shape, equation.sizes[BATCH]);
}

#define EINSUM_KERNEL(name)                                                                                  \
    {                                                                                                        \
        .op = (name), .supports = einsum_supports, .create = create_state, .destroy = destroy_state,         \
        .prepare = prepare_weights, .compute = einsum_compute, .scratch = einsum_scratch                     \
    }

static const Kernel einsum_kernels[] = {EINSUM_KERNEL("Einsum"), EINSUM_KERNEL("onnx::Einsum")};

KERNEL_FAMILY(cpu_kernels, einsum, einsum_kernels);
