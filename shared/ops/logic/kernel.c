/* Comparisons, logic and choice, element by element. */
#include <tgmath.h>

#include "worker/reference/elementwise.h"
#include "worker/reference/moved_strings.h"
#include "worker/reference/outputs.h"

#define COMPARISON(name, expression)                                                                         \
    REAL_ELEMENTS(COMPARE_LOOP, name, expression)                                                            \
    BOOL_ELEMENTS(COMPARE_LOOP, name, expression)                                                            \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {REAL_LOOPS(name) BOOL_LOOPS(name)};                \
    ELEMENTWISE(name, 0, NULL, NULL)

#define EQUALITY(name, expression)                                                                           \
    REAL_ELEMENTS(COMPARE_LOOP, name, expression)                                                            \
    BOOL_ELEMENTS(COMPARE_LOOP, name, expression)                                                            \
    COMPLEX_ELEMENTS(COMPARE_LOOP, name, expression)                                                         \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {                                                   \
        REAL_LOOPS(name) BOOL_LOOPS(name) COMPLEX_LOOPS(name)};                                              \
    ELEMENTWISE(name, 0, NULL, NULL)

#define LOGIC(name, expression)                                                                              \
    BOOL_ELEMENTS(COMPARE_LOOP, name, expression)                                                            \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {BOOL_LOOPS(name)};                                 \
    ELEMENTWISE(name, 0, NULL, NULL)

EQUALITY(equal, a == b)
EQUALITY(not_equal, a != b)
COMPARISON(less, a < b)
COMPARISON(less_equal, a <= b)
COMPARISON(greater, a > b)
COMPARISON(greater_equal, a >= b)
/* Shapes that do not broadcast have one answer, a scalar, where they are no error. */
static Status
compare_any_shapes(KernelContext *context, Status (*compare)(KernelContext *), bool answer)
{
    Shape merged;
    if (node_attr_bool(context->node, "incompatible_shape_error") ||
        shape_broadcast(&context->inputs[0].shape, &context->inputs[1].shape, &merged)) {
        return compare(context);
    }
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    *(bool *)output->data = answer;
    return STATUS_OK;
}

static Status
equal_any_compute(KernelContext *context)
{
    return compare_any_shapes(context, equal_compute, false);
}

static Status
not_equal_any_compute(KernelContext *context)
{
    return compare_any_shapes(context, not_equal_compute, true);
}

static bool
equal_any_element(const Node *node, ElementFunction *ret_function)
{
    return node_attr_bool(node, "incompatible_shape_error") && equal_element(node, ret_function);
}

static bool
not_equal_any_element(const Node *node, ElementFunction *ret_function)
{
    return node_attr_bool(node, "incompatible_shape_error") && not_equal_element(node, ret_function);
}

#define EQUALITY_KERNEL(name, function)                                                                      \
    {                                                                                                        \
        .op = (name), .supports = function##_supports, .compute = function##_any_compute,                    \
        .element = function##_any_element, .sharing = KERNEL_FORWARDS                                        \
    }

LOGIC(logical_and, (a && b))
LOGIC(logical_or, a || b)
LOGIC(logical_xor, a != b)

FLOATING_ELEMENTS(COMPARE_LOOP, approximate, fabs(a - b) < (__typeof__(a))run->parameters[0])
static const ElementLoop approximate_loops[DTYPE_COUNT] = {FLOATING_LOOPS(approximate)};
ELEMENTWISE(approximate, 0, "tolerance", NULL)

BOOL_ELEMENTS(TEST_LOOP, logical_not, !a)
static const ElementLoop logical_not_loops[DTYPE_COUNT] = {BOOL_LOOPS(logical_not)};
ELEMENTWISE(logical_not, 0, NULL, NULL)

/* The two parameters say whether negative and positive infinity count. */
FLOATING_ELEMENTS(TEST_LOOP, chosen_infinity, isinf(a) && run->parameters[a > 0 ? 1 : 0] != 0)
static const ElementLoop chosen_infinity_loops[DTYPE_COUNT] = {FLOATING_LOOPS(chosen_infinity)};

static bool
is_inf_supports(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

static bool
is_inf_element(const Node *node, ElementFunction *ret_function)
{
    *ret_function = (ElementFunction){
        .loop = chosen_infinity_loops[node->input_dtypes[0]],
        .parameters =
            {
                node_attr_int(node, "detect_negative") != 0 ? 1 : 0,
                node_attr_int(node, "detect_positive") != 0 ? 1 : 0,
            },
    };
    return true;
}

static Status
is_inf_compute(KernelContext *context)
{
    Tensor *output = NULL;
    ElementFunction function;
    TRY(output_new(context, &output));
    (void)is_inf_element(context->node, &function);
    const Tensor *inputs[] = {&context->inputs[0]};
    broadcast_run(inputs, 1, output, function.parameters, function.loop);
    return STATUS_OK;
}

/* Elements are copied as bits: there is one loop for each size. */
#define CHOOSE_LOOP(size, storage)                                                                           \
    static void choose_##size(const ElementRun *run)                                                         \
    {                                                                                                        \
        const uint8_t *condition = run->inputs[0];                                                           \
        const storage *x = run->inputs[1];                                                                   \
        const storage *y = run->inputs[2];                                                                   \
        storage *z = run->output;                                                                            \
        for (int64_t n = 0; n < run->count; n++) {                                                           \
            z[n] = condition[n * run->strides[0]] ? x[n * run->strides[1]] : y[n * run->strides[2]];         \
        }                                                                                                    \
    }

CHOOSE_LOOP(1, uint8_t)
CHOOSE_LOOP(2, uint16_t)
CHOOSE_LOOP(4, uint32_t)
CHOOSE_LOOP(8, uint64_t)
CHOOSE_LOOP(16, double complex)

static const ElementLoop choose_loops[] = {
    [1] = choose_1, [2] = choose_2, [4] = choose_4, [8] = choose_8, [16] = choose_16};

static bool
select_supports(const Node *node)
{
    return dtype_is_copyable(node->input_dtypes[1]);
}

static bool
where_element(const Node *node, ElementFunction *ret_function)
{
    *ret_function = (ElementFunction){.loop = choose_loops[dtype_size(node->output_dtypes[0])]};
    return true;
}

static bool
select_element(const Node *node, ElementFunction *ret_function)
{
    *ret_function = (ElementFunction){.loop = choose_loops[dtype_size(node->output_dtypes[0])], .axes = {1}};
    return true;
}

static Status
choose_elements(KernelContext *context, const Tensor *condition)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    const Tensor *inputs[] = {condition, &context->inputs[1], &context->inputs[2]};
    broadcast_run(inputs, 3, output, NULL, choose_loops[dtype_size(output->dtype)]);
    return STATUS_OK;
}

static Status
where_compute(KernelContext *context)
{
    return choose_elements(context, &context->inputs[0]);
}

/* A vector as Select's condition picks rows: it runs along the first dimension, not the last. */
static Status
select_compute(KernelContext *context)
{
    Tensor condition = context->inputs[0];
    int rank = context->inputs[1].shape.rank;
    if (condition.shape.rank == 1 && rank > 1) {
        condition.shape.rank = rank;
        for (int index = 1; index < rank; index++) {
            condition.shape.dims[index] = 1;
        }
    }
    return choose_elements(context, &condition);
}

/* The upper limit wins when the limits cross; NaN passes (NumPy's clip). */
#define CLIP_LOOP(name, unused, upper, lower, storage, compute, read, write)                                 \
    static void name##_##lower(const ElementRun *run)                                                        \
    {                                                                                                        \
        const storage *x = run->inputs[0];                                                                   \
        const storage *low = run->inputs[1];                                                                 \
        const storage *high = run->inputs[2];                                                                \
        storage *z = run->output;                                                                            \
        for (int64_t n = 0; n < run->count; n++) {                                                           \
            compute a = read(x[n * run->strides[0]]);                                                        \
            if (low != NULL) {                                                                               \
                compute least = read(low[n * run->strides[1]]);                                              \
                a = a < least ? least : a;                                                                   \
            }                                                                                                \
            if (high != NULL) {                                                                              \
                compute most = read(high[n * run->strides[2]]);                                              \
                a = a > most ? most : a;                                                                     \
            }                                                                                                \
            z[n] = write(a);                                                                                 \
        }                                                                                                    \
    }

/* The same as CLIP_LOOP, but the lower limit wins, as in TensorFlow. */
#define LIMIT_LOOP(name, unused, upper, lower, storage, compute, read, write)                                \
    static void name##_##lower(const ElementRun *run)                                                        \
    {                                                                                                        \
        const storage *x = run->inputs[0];                                                                   \
        const storage *low = run->inputs[1];                                                                 \
        const storage *high = run->inputs[2];                                                                \
        storage *z = run->output;                                                                            \
        for (int64_t n = 0; n < run->count; n++) {                                                           \
            compute a = read(x[n * run->strides[0]]);                                                        \
            compute least = read(low[n * run->strides[1]]);                                                  \
            compute most = read(high[n * run->strides[2]]);                                                  \
            compute b = a > most ? most : a;                                                                 \
            z[n] = write(b < least ? least : b);                                                             \
        }                                                                                                    \
    }

REAL_ELEMENTS(CLIP_LOOP, clip, )
REAL_ELEMENTS(LIMIT_LOOP, limit, )
static const ElementLoop clip_loops[DTYPE_COUNT] = {REAL_LOOPS(clip)};
static const ElementLoop limit_loops[DTYPE_COUNT] = {REAL_LOOPS(limit)};

static bool
clip_supports(const Node *node)
{
    return clip_loops[node->input_dtypes[0]] != NULL;
}

static bool
clip_by_value_element(const Node *node, ElementFunction *ret_function)
{
    *ret_function = (ElementFunction){.loop = limit_loops[node->input_dtypes[0]]};
    return true;
}

static Status
clip_by_value_compute(KernelContext *context)
{
    Tensor *output = NULL;
    TRY(output_new(context, &output));
    const Tensor *inputs[] = {&context->inputs[0], &context->inputs[1], &context->inputs[2]};
    broadcast_run(inputs, 3, output, NULL, limit_loops[output->dtype]);
    return STATUS_OK;
}

/* ONNX's limits are scalars, and each may be absent. */
static Status
clip_compute(KernelContext *context)
{
    for (uint32_t index = 1; index < context->input_count; index++) {
        const Tensor *limit = &context->inputs[index];
        if (limit->dtype != DTYPE_INVALID && tensor_element_count(limit) != 1) {
            char text[SHAPE_TEXT_SIZE];
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "limit %u has shape %s, not one value",
                index, shape_text(&limit->shape, text));
        }
    }
    Tensor *output = NULL;
    TRY(output_forward(context, 0, &output));
    ElementRun run = {
        .inputs = {context->inputs[0].data, context->input_count > 1 ? context->inputs[1].data : NULL,
            context->input_count > 2 ? context->inputs[2].data : NULL},
        .strides = {1, 0, 0},
        .output = output->data,
        .count = tensor_element_count(output),
    };
    clip_loops[output->dtype](&run);
    return STATUS_OK;
}

static const Kernel logic_kernels[] = {
    EQUALITY_KERNEL("Equal", equal),
    EQUALITY_KERNEL("NotEqual", not_equal),
    ELEMENTWISE_KERNEL("Less", less),
    ELEMENTWISE_KERNEL("LessEqual", less_equal),
    ELEMENTWISE_KERNEL("Greater", greater),
    ELEMENTWISE_KERNEL("GreaterEqual", greater_equal),
    ELEMENTWISE_KERNEL("ApproximateEqual", approximate),
    ELEMENTWISE_KERNEL("LogicalAnd", logical_and),
    ELEMENTWISE_KERNEL("LogicalOr", logical_or),
    ELEMENTWISE_KERNEL("LogicalNot", logical_not),
    ELEMENTWISE_KERNEL("onnx::Equal", equal),
    ELEMENTWISE_KERNEL("onnx::Less", less),
    ELEMENTWISE_KERNEL("onnx::LessOrEqual", less_equal),
    ELEMENTWISE_KERNEL("onnx::Greater", greater),
    ELEMENTWISE_KERNEL("onnx::GreaterOrEqual", greater_equal),
    ELEMENTWISE_KERNEL("onnx::And", logical_and),
    ELEMENTWISE_KERNEL("onnx::Or", logical_or),
    ELEMENTWISE_KERNEL("onnx::Xor", logical_xor),
    ELEMENTWISE_KERNEL("onnx::Not", logical_not),
    {.op = "onnx::IsInf", .supports = is_inf_supports, .compute = is_inf_compute, .element = is_inf_element},
    {.op = "Select", .supports = select_supports, .compute = select_compute, .element = select_element},
    {.op = "SelectV2", .supports = select_supports, .compute = where_compute, .element = where_element},
    {.op = "onnx::Where", .supports = select_supports, .compute = where_compute, .element = where_element},
    {.op = "ClipByValue",
        .supports = clip_supports,
        .compute = clip_by_value_compute,
        .element = clip_by_value_element,
        .sharing = KERNEL_FORWARDS},
    {.op = "onnx::Clip", .supports = clip_supports, .compute = clip_compute, .sharing = KERNEL_FORWARDS},
    MOVED_STRINGS("Select", second),
    MOVED_STRINGS("SelectV2", second),
    MOVED_STRINGS("onnx::Where", second),
};

KERNEL_FAMILY(reference, logic, logic_kernels);
