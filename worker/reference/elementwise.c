#include "worker/reference/elementwise.h"

#include <assert.h>

#include "worker/reference/outputs.h"

enum { TILE_SIZE = 4 * 1024 }; /* bytes of the result that all inputs are folded into before the next */

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

bool
elementwise_supports(const Elementwise *function, const Node *node)
{
    return node->input_count > 0 && function->loops[node->input_dtypes[0]] != NULL && has_one_dtype(node);
}

Status
elementwise_check(KernelContext *context, const Elementwise *function)
{
    const Tensor *input = &context->inputs[context->input_count - 1];
    if (function->checks == 0 || !dtype_is_integer(input->dtype)) {
        return STATUS_OK;
    }
    int64_t count = tensor_element_count(input);
    for (int64_t index = 0; index < count; index++) {
        int64_t value = 0;
        if (!tensor_to_int64(input, index, &value)) {
            continue; /* above INT64_MAX, hence neither zero nor negative */
        }
        bool is_refused = ((function->checks & ELEMENTWISE_REFUSES_ZERO) != 0 && value == 0) ||
                          ((function->checks & ELEMENTWISE_REFUSES_NEGATIVE) != 0 && value < 0);
        if (is_refused) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT,
                "element %lld of the second input is %lld, which is not allowed for %s integers",
                (long long)index, (long long)value, dtype_name(input->dtype));
        }
    }
    return STATUS_OK;
}

static void
read_parameters(const Node *node, const Elementwise *function, float *ret_parameters)
{
    for (size_t index = 0; index < COUNT_OF(function->parameters); index++) {
        const char *name = function->parameters[index];
        ret_parameters[index] = name == NULL ? 0 : node_attr_float(node, name);
    }
}

/* Returns the input whose memory the output may take over: one that nobody else holds, of those that are
 * as large as the output. */
static uint32_t
pick_forwarded(const KernelContext *context)
{
    uint32_t largest = 0;
    for (uint32_t index = 1; index < context->input_count; index++) {
        int64_t count = tensor_element_count(&context->inputs[index]);
        int64_t largest_count = tensor_element_count(&context->inputs[largest]);
        if (count > largest_count ||
            (count == largest_count && !tensor_is_unique(&context->inputs[largest]))) {
            largest = index;
        }
    }
    return largest;
}

/* Returns true when no rule has to be asked for the result's shape, and no input is broadcast. */
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

Status
elementwise_compute(KernelContext *context, const Elementwise *function)
{
    assert(context->input_count >= 1 && context->input_count <= ELEMENT_INPUTS_MAX);
    assert(function->loops[context->inputs[0].dtype] != NULL);
    TRY(elementwise_check(context, function));
    ElementLoop loop = function->loops[context->inputs[0].dtype];
    float parameters[COUNT_OF(function->parameters)];
    read_parameters(context->node, function, parameters);
    uint32_t forwarded = pick_forwarded(context);
    Tensor *output = NULL;
    if (has_one_shape(context)) {
        TRY(output_forward_shaped(context, forwarded, &context->inputs[0].shape, &output));
    } else {
        TRY(output_forward(context, forwarded, &output));
    }
    const Tensor *inputs[ELEMENT_INPUTS_MAX];
    for (uint32_t index = 0; index < context->input_count; index++) {
        inputs[index] = &context->inputs[index];
    }
    broadcast_share(context->device, inputs, (int)context->input_count, output, parameters, loop);
    return STATUS_OK;
}

/* Defines whether an expression of `b` holds for all elements of the second input. */
#define SECOND_TEST(name, expression, upper, lower, storage, compute, read, write)                           \
    static bool name##_##lower(const ElementRun *run)                                                        \
    {                                                                                                        \
        const storage *y = run->inputs[1];                                                                   \
        bool is_true = true;                                                                                 \
        for (int64_t n = 0; n < run->count; n++) {                                                           \
            compute b = read(y[n * run->strides[1]]);                                                        \
            is_true = is_true && (expression);                                                               \
        }                                                                                                    \
        return is_true;                                                                                      \
    }

INTEGER_ELEMENTS(SECOND_TEST, is_no_zero, b != 0)
SIGNED_ELEMENTS(SECOND_TEST, is_positive_or_zero, b >= 0)
static const ElementTest no_zero_tests[DTYPE_COUNT] = {INTEGER_LOOPS(is_no_zero)};
static const ElementTest no_negative_tests[DTYPE_COUNT] = {SIGNED_LOOPS(is_positive_or_zero)};

bool
elementwise_describe(const Elementwise *function, const Node *node, ElementFunction *ret_function)
{
    if (!elementwise_supports(function, node)) {
        return false;
    }
    Dtype dtype = node->input_dtypes[0];
    *ret_function = (ElementFunction){
        .loop = function->loops[dtype],
        .accepts = (function->checks & ELEMENTWISE_REFUSES_ZERO) != 0       ? no_zero_tests[dtype]
                   : (function->checks & ELEMENTWISE_REFUSES_NEGATIVE) != 0 ? no_negative_tests[dtype]
                                                                            : NULL,
    };
    read_parameters(node, function, ret_function->parameters);
    return true;
}

bool
elementwise_describe_fold(const Elementwise *function, const Node *node, ElementFunction *ret_function)
{
    if (node->input_count == 1 || !elementwise_describe(function, node, ret_function)) {
        return false;
    }
    ret_function->is_fold = true;
    return true;
}

/* Folds inputs that all have the output's shape, tile by tile: a tile stays in the cache until all are in
 * it. */
static void
fold_straight(const KernelContext *context, Tensor *output, ElementLoop loop)
{
    size_t element_size = dtype_size(output->dtype);
    size_t size = (size_t)tensor_element_count(output) * element_size;
    for (size_t start = 0; start < size; start += TILE_SIZE) {
        char *tile = (char *)output->data + start;
        size_t left = size - start;
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
elementwise_fold(KernelContext *context, const Elementwise *function)
{
    assert(context->input_count >= 1);
    const Tensor *first = &context->inputs[0];
    if (context->input_count == 1) {
        kernel_alias(context, 0, 0, &first->shape);
        return STATUS_OK;
    }
    ElementLoop loop = function->loops[first->dtype];
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
