/* Comparisons of float32, int32 and int64, many at a time. */
#include "worker/cpu/vector/loops.h"

#define COMPARE_EACH(a_value, b_value, expression, storage)                                                  \
    VECTOR_LOOP for (int64_t n = 0; n < run->count; n++)                                                     \
    {                                                                                                        \
        storage a = (a_value);                                                                               \
        storage b = (b_value);                                                                               \
        z[n] = (expression) ? 1 : 0;                                                                         \
    }

/* Broadcasting leaves strides of 1 and 0 along a run (worker/reference/broadcast.h). */
#define COMPARE_LOOP_OF(name, expression, storage)                                                           \
    VECTOR_FUNCTION void name##_body(const ElementRun *run)                                                  \
    {                                                                                                        \
        const storage *x = run->inputs[0];                                                                   \
        const storage *y = run->inputs[1];                                                                   \
        uint8_t *z = run->output;                                                                            \
        storage x_first = x[0];                                                                              \
        storage y_first = y[0];                                                                              \
        if (run->strides[0] != 0 && run->strides[1] != 0) {                                                  \
            COMPARE_EACH(x[n], y[n], expression, storage)                                                    \
        } else if (run->strides[0] != 0) {                                                                   \
            COMPARE_EACH(x[n], y_first, expression, storage)                                                 \
        } else if (run->strides[1] != 0) {                                                                   \
            COMPARE_EACH(x_first, y[n], expression, storage)                                                 \
        } else {                                                                                             \
            COMPARE_EACH(x_first, y_first, expression, storage)                                              \
        }                                                                                                    \
    }                                                                                                        \
    VECTOR_VARIANTS(name, (const ElementRun *run), (run))

#define COMPARISON(name, expression)                                                                         \
    COMPARE_LOOP_OF(name##_floats, expression, float)                                                        \
    COMPARE_LOOP_OF(name##_ints, expression, int32_t)                                                        \
    COMPARE_LOOP_OF(name##_longs, expression, int64_t)                                                       \
    static const ElementLoop name##_loops[DTYPE_COUNT] = {                                                   \
        [DTYPE_FLOAT32] = name##_floats, [DTYPE_INT32] = name##_ints, [DTYPE_INT64] = name##_longs};         \
    ELEMENTWISE(name, 0, NULL, NULL)

/* NOLINTBEGIN(clang-diagnostic-float-equal): equal is what they ask */
COMPARISON(equal, a == b)
COMPARISON(not_equal, a != b)
/* NOLINTEND(clang-diagnostic-float-equal) */
COMPARISON(less, a < b)
COMPARISON(less_equal, a <= b)
COMPARISON(greater, a > b)
COMPARISON(greater_equal, a >= b)

/* Shapes that do not broadcast may have an answer, which the reference kernel gives. */
#define EQUALITY_OF_SHAPES(name)                                                                             \
    static bool name##_of_shapes_supports(const Node *node)                                                  \
    {                                                                                                        \
        return node_attr_bool(node, "incompatible_shape_error") && name##_supports(node);                    \
    }

EQUALITY_OF_SHAPES(equal)
EQUALITY_OF_SHAPES(not_equal)

#define EQUALITY_KERNEL(name, function)                                                                      \
    {                                                                                                        \
        .op = (name), .supports = function##_of_shapes_supports, .compute = function##_compute,              \
        .element = function##_element, .sharing = KERNEL_FORWARDS                                            \
    }

static const Kernel comparison_kernels[] = {
    EQUALITY_KERNEL("Equal", equal),
    EQUALITY_KERNEL("NotEqual", not_equal),
    ELEMENTWISE_KERNEL("Less", less),
    ELEMENTWISE_KERNEL("LessEqual", less_equal),
    ELEMENTWISE_KERNEL("Greater", greater),
    ELEMENTWISE_KERNEL("GreaterEqual", greater_equal),
    ELEMENTWISE_KERNEL("onnx::Equal", equal),
    ELEMENTWISE_KERNEL("onnx::Less", less),
    ELEMENTWISE_KERNEL("onnx::LessOrEqual", less_equal),
    ELEMENTWISE_KERNEL("onnx::Greater", greater),
    ELEMENTWISE_KERNEL("onnx::GreaterOrEqual", greater_equal),
};

KERNEL_FAMILY(cpu_kernels, comparison, comparison_kernels);
