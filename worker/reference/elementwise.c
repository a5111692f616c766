#include "worker/reference/elementwise.h"

#include "worker/reference/outputs.h"

enum { TILE_SIZE = 4 * 1024 }; /* bytes of a sum that all its inputs are added to before the next */

static bool
has_one_dtype(const Node *node)
{
    for (uint32_t index = 1; index < node->input_count; index++) {
        if (node->input_dtypes[index] != node->input_dtypes[0]) {
            return false;
        }
    }
    return true;
}

const ElementwiseOp *
elementwise_find(const ElementwiseOp *ops, size_t op_count, const Node *node)
{
    for (size_t index = 0; index < op_count; index++) {
        if (slice_equals_string(node->op->name, ops[index].name)) {
            const bool has_loop = node->input_count > 0 && ops[index].loops[node->input_dtypes[0]] != NULL;
            return has_loop && has_one_dtype(node) ? &ops[index] : NULL;
        }
    }
    return NULL;
}

Status
elementwise_check(KernelContext *context, const ElementwiseOp *op)
{
    const Tensor *input = &context->inputs[context->input_count - 1];
    if (op->checks == 0 || !dtype_is_integer(input->dtype)) {
        return STATUS_OK;
    }
    const int64_t count = tensor_element_count(input);
    for (int64_t index = 0; index < count; index++) {
        int64_t value = 0;
        if (!tensor_to_int64(input, index, &value)) {
            continue; /* above INT64_MAX: neither zero nor negative */
        }
        const bool is_refused = ((op->checks & ELEMENTWISE_REFUSES_ZERO) != 0 && value == 0) ||
                                ((op->checks & ELEMENTWISE_REFUSES_NEGATIVE) != 0 && value < 0);
        if (is_refused) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT,
                "element %lld of the second input is %lld, which is not allowed for %s integers",
                (long long)index, (long long)value, dtype_name(input->dtype));
        }
    }
    return STATUS_OK;
}

static void
read_parameters(const Node *node, const ElementwiseOp *op, float *ret_parameters)
{
    for (size_t index = 0; index < COUNT_OF(op->parameters); index++) {
        const char *name = op->parameters[index];
        ret_parameters[index] = name == NULL ? 0 : node_attr_float(node, name);
    }
}

/* The input that could lend its memory: the first of the result's size is tried. */
static uint32_t
pick_forwarded(const KernelContext *context)
{
    return context->input_count > 1 &&
                   tensor_element_count(&context->inputs[0]) < tensor_element_count(&context->inputs[1])
               ? 1
               : 0;
}

/* Then no rule has to be asked for the result's shape, and elements of one index lie in one place. */
static bool
has_one_shape(const KernelContext *context)
{
    for (uint32_t index = 1; index < context->input_count; index++) {
        if (!shape_equal(&context->inputs[index].shape, &context->inputs[0].shape)) {
            return false;
        }
    }
    return true;
}

/* All inputs of the output's shape. */
static void
run_straight(const KernelContext *context, Tensor *output, const float *parameters, ElementLoop loop)
{
    ElementRun run = {
        .output = output->data, .count = tensor_element_count(output), .parameters = parameters};
    for (uint32_t index = 0; index < context->input_count; index++) {
        run.inputs[index] = context->inputs[index].data;
        run.strides[index] = 1;
    }
    loop(&run);
}

static void
run_broadcast(const KernelContext *context, Tensor *output, const float *parameters, ElementLoop loop)
{
    const Tensor *inputs[ELEMENT_INPUTS_MAX];
    for (uint32_t index = 0; index < context->input_count; index++) {
        inputs[index] = &context->inputs[index];
    }
    broadcast_run(inputs, (int)context->input_count, output, parameters, loop);
}

Status
elementwise_compute(KernelContext *context, const ElementwiseOp *op)
{
    TRY(elementwise_check(context, op));
    const ElementLoop loop = op->loops[context->inputs[0].dtype];
    float parameters[COUNT_OF(op->parameters)];
    read_parameters(context->node, op, parameters);
    Tensor *output = NULL;
    if (has_one_shape(context)) {
        TRY(output_forward_shaped(context, 0, &context->inputs[0].shape, &output));
        run_straight(context, output, parameters, loop);
    } else {
        TRY(output_forward(context, pick_forwarded(context), &output));
        run_broadcast(context, output, parameters, loop);
    }
    return STATUS_OK;
}

/* y → whether an expression of `b` holds for all of them */
#define SECOND_TEST(name, expression, upper, lower, storage, compute, read, write)                           \
    static bool name##_##lower(const ElementRun *run)                                                        \
    {                                                                                                        \
        const storage *y = run->inputs[1];                                                                   \
        bool is_true = true;                                                                                 \
        for (int64_t n = 0; n < run->count; n++) {                                                           \
            const compute b = read(y[n * run->strides[1]]);                                                  \
            is_true = is_true && (expression);                                                               \
        }                                                                                                    \
        return is_true;                                                                                      \
    }

INTEGER_ELEMENTS(SECOND_TEST, is_no_zero, b != 0)
SIGNED_ELEMENTS(SECOND_TEST, is_positive_or_zero, b >= 0)
static const ElementTest no_zero_tests[DTYPE_COUNT] = {INTEGER_LOOPS(is_no_zero)};
static const ElementTest no_negative_tests[DTYPE_COUNT] = {SIGNED_LOOPS(is_positive_or_zero)};

bool
elementwise_tell(const ElementwiseOp *op, const Node *node, ElementFunction *ret_function)
{
    if (op == NULL) {
        return false;
    }
    const Dtype dtype = node->input_dtypes[0];
    *ret_function = (ElementFunction){
        .loop = op->loops[dtype],
        .accepts = (op->checks & ELEMENTWISE_REFUSES_ZERO) != 0       ? no_zero_tests[dtype]
                   : (op->checks & ELEMENTWISE_REFUSES_NEGATIVE) != 0 ? no_negative_tests[dtype]
                                                                      : NULL,
    };
    read_parameters(node, op, ret_function->parameters);
    return true;
}

bool
elementwise_tell_fold(const ElementwiseOp *op, const Node *node, ElementFunction *ret_function)
{
    if (node->input_count == 1 || !elementwise_tell(op, node, ret_function)) {
        return false;
    }
    ret_function->is_fold = true;
    return true;
}

/* All inputs of the output's shape: a part of the result stays near until all are in it. */
static void
fold_straight(const KernelContext *context, Tensor *output, ElementLoop loop)
{
    const size_t element_size = dtype_size(output->dtype);
    const size_t size = (size_t)tensor_element_count(output) * element_size;
    for (size_t start = 0; start < size; start += TILE_SIZE) {
        char *const tile = (char *)output->data + start;
        const size_t left = size - start;
        ElementRun run = {
            .inputs = {(const char *)context->inputs[0].data + start},
            .strides = {1, 1},
            .output = tile,
            .count = (int64_t)((left < TILE_SIZE ? left : TILE_SIZE) / element_size),
        };
        for (uint32_t index = 1; index < context->input_count; index++) {
            run.inputs[1] = (const char *)context->inputs[index].data + start;
            loop(&run);
            run.inputs[0] = tile;
        }
    }
}

static void
fold_broadcast(const KernelContext *context, Tensor *output, ElementLoop loop)
{
    const Tensor *first = &context->inputs[0];
    for (uint32_t index = 1; index < context->input_count; index++) {
        broadcast_run((const Tensor *const[]){first, &context->inputs[index]}, 2, output, NULL, loop);
        first = output;
    }
}

Status
elementwise_fold(KernelContext *context, const ElementwiseOp *op)
{
    const Tensor *const first = &context->inputs[0];
    if (context->input_count == 1) {
        kernel_alias(context, 0, 0, &first->shape);
        return STATUS_OK;
    }
    const ElementLoop loop = op->loops[first->dtype];
    Tensor *output = NULL;
    if (has_one_shape(context)) {
        TRY(kernel_output(context, 0, first->dtype, &first->shape, &output));
        fold_straight(context, output, loop);
    } else {
        TRY(output_new(context, &output));
        fold_broadcast(context, output, loop);
    }
    return STATUS_OK;
}
