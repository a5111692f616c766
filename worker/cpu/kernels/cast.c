/* Conversions between float32 and the floats of 16 bits, of truth values, bytes and integers, many at a time.
 * All others are left to the reference kernel. */
#include "worker/cpu/kernels/cast.h"

#include <assert.h>

#include "worker/cpu/vector/functions.h"
#include "worker/cpu/vector/halves.h"
#include "worker/cpu/vector/variants.h"
#include "worker/reference/broadcast.h"

#define CONVERSION_LOOPS(name, dtype)                                                                        \
    static void widen_##name(const ElementRun *run)                                                          \
    {                                                                                                        \
        halves_widen((dtype), run->inputs[0], run->output, run->count);                                      \
    }                                                                                                        \
    static void narrow_to_##name(const ElementRun *run)                                                      \
    {                                                                                                        \
        halves_narrow((dtype), run->inputs[0], run->output, run->count);                                     \
    }

CONVERSION_LOOPS(halves, DTYPE_FLOAT16)
CONVERSION_LOOPS(bfloats, DTYPE_BFLOAT16)

/* An element is `a` in the expression. */
#define NUMBER_LOOP(name, from, to, expression)                                                              \
    VECTOR_FUNCTION void name##_body(const ElementRun *run)                                                  \
    {                                                                                                        \
        const from *x = run->inputs[0];                                                                      \
        to *z = run->output;                                                                                 \
        if (run->strides[0] != 0) {                                                                          \
            VECTOR_LOOP for (int64_t n = 0; n < run->count; n++)                                             \
            {                                                                                                \
                from a = x[n];                                                                               \
                z[n] = (to)(expression);                                                                     \
            }                                                                                                \
        } else {                                                                                             \
            from a = x[0];                                                                                   \
            VECTOR_LOOP for (int64_t n = 0; n < run->count; n++)                                             \
            {                                                                                                \
                z[n] = (to)(expression);                                                                     \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    VECTOR_VARIANTS(name, (const ElementRun *run), (run))

/* Numbers that the integer cannot hold, and NaN, become its lowest one; C does not say what they become. */
#define WITHIN(end) (a >= -(end) && a < (end) ? a : -(end))

/* Bytes are the lowest bits of an int32. */
#define BYTE_OF_FLOAT ((uint32_t)(int32_t)WITHIN(0x1p31F))

NUMBER_LOOP(truth_to_floats, uint8_t, float, a == 0 ? 0 : 1)
NUMBER_LOOP(truth_to_ints, uint8_t, int32_t, a == 0 ? 0 : 1)
NUMBER_LOOP(truth_to_longs, uint8_t, int64_t, a == 0 ? 0 : 1)
NUMBER_LOOP(ints_to_floats, int32_t, float, a)
NUMBER_LOOP(ints_to_longs, int32_t, int64_t, a)
NUMBER_LOOP(longs_to_floats, int64_t, float, a)
NUMBER_LOOP(longs_to_ints, int64_t, int32_t, a)
NUMBER_LOOP(bytes_to_floats, uint8_t, float, a)
NUMBER_LOOP(bytes_to_ints, uint8_t, int32_t, a)
NUMBER_LOOP(bytes_to_longs, uint8_t, int64_t, a)
NUMBER_LOOP(signed_bytes_to_floats, int8_t, float, a)
NUMBER_LOOP(signed_bytes_to_ints, int8_t, int32_t, a)
NUMBER_LOOP(floats_to_truth, float, uint8_t, a != 0 ? 1 : 0)
NUMBER_LOOP(floats_to_bytes, float, uint8_t, BYTE_OF_FLOAT)
NUMBER_LOOP(floats_to_signed_bytes, float, int8_t, BYTE_OF_FLOAT)
NUMBER_LOOP(floats_to_ints, float, int32_t, WITHIN(0x1p31F))
NUMBER_LOOP(floats_to_longs, float, int64_t, WITHIN(0x1p63F))
NUMBER_LOOP(floats_to_doubles, float, double, a)
NUMBER_LOOP(ints_to_truth, int32_t, uint8_t, a != 0 ? 1 : 0)
NUMBER_LOOP(longs_to_truth, int64_t, uint8_t, a != 0 ? 1 : 0)
NUMBER_LOOP(doubles_to_floats, double, float, a)

static const ElementLoop loops[DTYPE_COUNT][DTYPE_COUNT] = {
    [DTYPE_BOOL] =
        {[DTYPE_FLOAT32] = truth_to_floats, [DTYPE_INT32] = truth_to_ints, [DTYPE_INT64] = truth_to_longs},
    [DTYPE_UINT8] =
        {[DTYPE_FLOAT32] = bytes_to_floats, [DTYPE_INT32] = bytes_to_ints, [DTYPE_INT64] = bytes_to_longs},
    [DTYPE_INT8] = {[DTYPE_FLOAT32] = signed_bytes_to_floats, [DTYPE_INT32] = signed_bytes_to_ints},
    [DTYPE_INT32] =
        {[DTYPE_FLOAT32] = ints_to_floats, [DTYPE_INT64] = ints_to_longs, [DTYPE_BOOL] = ints_to_truth},
    [DTYPE_INT64] =
        {[DTYPE_FLOAT32] = longs_to_floats, [DTYPE_INT32] = longs_to_ints, [DTYPE_BOOL] = longs_to_truth},
    [DTYPE_FLOAT16] = {[DTYPE_FLOAT32] = widen_halves},
    [DTYPE_BFLOAT16] = {[DTYPE_FLOAT32] = widen_bfloats},
    [DTYPE_FLOAT32] =
        {
            [DTYPE_FLOAT16] = narrow_to_halves,
            [DTYPE_BFLOAT16] = narrow_to_bfloats,
            [DTYPE_BOOL] = floats_to_truth,
            [DTYPE_UINT8] = floats_to_bytes,
            [DTYPE_INT8] = floats_to_signed_bytes,
            [DTYPE_INT32] = floats_to_ints,
            [DTYPE_INT64] = floats_to_longs,
            [DTYPE_FLOAT64] = floats_to_doubles,
        },
    [DTYPE_FLOAT64] = {[DTYPE_FLOAT32] = doubles_to_floats},
};

void
cast_share(Device *device, const Tensor *input, Tensor *output)
{
    assert(loops[input->dtype][output->dtype] != NULL);
    broadcast_share(device, &input, 1, output, NULL, loops[input->dtype][output->dtype]);
}

static bool
supports_cast(const Node *node)
{
    return loops[node->input_dtypes[0]][node->output_dtypes[0]] != NULL;
}

static bool
describe_cast(const Node *node, ElementFunction *ret_function)
{
    *ret_function = (ElementFunction){.loop = loops[node->input_dtypes[0]][node->output_dtypes[0]]};
    return true;
}

static Status
compute_cast(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    Tensor *output = NULL;
    TRY(kernel_output(context, 0, context->node->output_dtypes[0], &input->shape, &output));
    cast_share(context->device, input, output);
    return STATUS_OK;
}

#define CAST_KERNEL(name)                                                                                    \
    {                                                                                                        \
        .op = (name), .supports = supports_cast, .compute = compute_cast, .element = describe_cast           \
    }

static const Kernel cast_kernels[] = {
    CAST_KERNEL("Cast"),
    CAST_KERNEL("onnx::Cast"),
    {.op = "onnx::CastLike", .supports = supports_cast, .compute = compute_cast},
};

KERNEL_FAMILY(cpu_kernels, cast, cast_kernels);
