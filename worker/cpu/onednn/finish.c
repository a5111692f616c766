#include "worker/cpu/onednn/finish.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "shared/tensor/half.h"

typedef struct PostOp {
    dnnl_alg_kind_t kind;
    float alpha;
} PostOp;

static const PostOp post_op_table[] = {
    [EPILOGUE_ELU] = {dnnl_eltwise_elu, 1},
    [EPILOGUE_GELU] = {dnnl_eltwise_gelu_erf, 0},
    [EPILOGUE_GELU_TANH] = {dnnl_eltwise_gelu_tanh, 0},
    [EPILOGUE_SIGMOID] = {dnnl_eltwise_logistic, 0},
    [EPILOGUE_TANH] = {dnnl_eltwise_tanh, 0},
};

/* oneDNN's logistic function makes 0 of NaN below AVX2, so Sigmoid is computed here. */
static bool
is_done_by_onednn(EpilogueActivation activation)
{
    bool keeps_nan = activation != EPILOGUE_SIGMOID ||
                     (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx2) == dnnl_cpu_isa_avx2;
    return epilogue_is_transcendental(activation) && keeps_nan;
}

bool
finish_supports(const Node *node)
{
    Call call = {0};
    Epilogue epilogue;
    return epilogue_read(&call, node, &epilogue) == STATUS_OK && epilogue.norm == 0 &&
           (epilogue.addend == 0 || !epilogue_is_transcendental(epilogue.activation));
}

Finish
finish_of(const Epilogue *epilogue)
{
    bool has_alpha = epilogue->activation == EPILOGUE_LEAKY_RELU;
    return (Finish){.activation = (int32_t)epilogue->activation,
        .alpha_bits = has_alpha ? float_to_bits(epilogue->alpha) : 0};
}

const float *
finish_operand(const KernelContext *context, uint32_t input)
{
    return input == 0 ? NULL : context->inputs[input].data;
}

static dnnl_status_t
append_steps(const Finish *finish, bool accumulates, dnnl_post_ops_t post_ops)
{
    EpilogueActivation activation = (EpilogueActivation)finish->activation;
    const PostOp *post_op = &post_op_table[activation];
    dnnl_status_t status = accumulates ? dnnl_post_ops_append_sum(post_ops, 1.0F) : dnnl_success;
    if (status == dnnl_success && is_done_by_onednn(activation)) {
        status = dnnl_post_ops_append_eltwise(post_ops, 1, post_op->kind, post_op->alpha, 0);
    }
    return status;
}

dnnl_status_t
finish_attributes(const Finish *finish, bool accumulates, dnnl_primitive_attr_t *ret_attributes)
{
    dnnl_primitive_attr_t attributes = NULL;
    dnnl_post_ops_t post_ops = NULL;
    dnnl_status_t status = dnnl_primitive_attr_create(&attributes);
    if (status == dnnl_success) {
        status = dnnl_post_ops_create(&post_ops);
    }
    if (status == dnnl_success) {
        status = append_steps(finish, accumulates, post_ops);
    }
    if (status == dnnl_success) {
        status = dnnl_primitive_attr_set_post_ops(attributes, post_ops);
    }
    dnnl_post_ops_destroy(post_ops);
    if (status == dnnl_success) {
        *ret_attributes = TAKE(attributes);
    }
    dnnl_primitive_attr_destroy(attributes);
    return status;
}

enum { FOUR = 4 };

typedef float Four __attribute__((vector_size(16)));
typedef int32_t FourBits __attribute__((vector_size(16)));

typedef void (*FinishLoop)(const float *addend, float alpha, float *values, int64_t count);

static Four
select_lanes(FourBits test, Four yes, Four no)
{
    return (Four)((test & (FourBits)yes) | (~test & (FourBits)no));
}

static Four
fill_lanes(float value)
{
    return (Four){value, value, value, value};
}

/* NaN is neither smaller nor larger, so it stays. */
static Four
clamp_lanes(Four a, float low, float high)
{
    Four raised = select_lanes(a < low, fill_lanes(low), a);
    return select_lanes(raised > high, fill_lanes(high), raised);
}

static inline Four
load_sum(const float *addend, const float *values, int64_t n, size_t size)
{
    Four a = {0};
    Four b = {0};
    memcpy(&a, values + n, size);
    if (addend != NULL) {
        memcpy(&b, addend + n, size);
        a += b;
    }
    return a;
}

/* The last elements, fewer than four, go the same way in a vector that is filled in part. */
#define FINISH_LOOP(name, expression)                                                                        \
    static inline void name##_at(const float *addend, float alpha, float *values, int64_t n, size_t size)    \
    {                                                                                                        \
        (void)alpha;                                                                                         \
        Four a = load_sum(addend, values, n, size);                                                          \
        Four result = (expression);                                                                          \
        memcpy(values + n, &result, size);                                                                   \
    }                                                                                                        \
    static void name(const float *addend, float alpha, float *values, int64_t count)                         \
    {                                                                                                        \
        int64_t n = 0;                                                                                       \
        for (; n + FOUR <= count; n += FOUR) {                                                               \
            name##_at(addend, alpha, values, n, sizeof(Four));                                               \
        }                                                                                                    \
        name##_at(addend, alpha, values, n, (size_t)(count - n) * sizeof(float));                            \
    }

FINISH_LOOP(add, a)
FINISH_LOOP(hard_swish, a *clamp_lanes((a + 3) / 6, 0, 1))
FINISH_LOOP(leaky_relu, select_lanes(a < 0, alpha *a, a))
FINISH_LOOP(relu, select_lanes(a < 0, fill_lanes(0), a))
FINISH_LOOP(relu6, clamp_lanes(a, 0, 6))

static void
finish_sigmoid(const float *addend, float alpha, float *values, int64_t count)
{
    (void)alpha;
    for (int64_t n = 0; n < count; n++) {
        double sum = (double)values[n] + (addend == NULL ? 0 : (double)addend[n]);
        values[n] = (float)(1 / (1 + exp(-sum)));
    }
}

static const FinishLoop finish_loops[] = {
    [EPILOGUE_HARD_SWISH] = hard_swish,
    [EPILOGUE_LEAKY_RELU] = leaky_relu,
    [EPILOGUE_RELU] = relu,
    [EPILOGUE_RELU6] = relu6,
    [EPILOGUE_SIGMOID] = finish_sigmoid,
    [EPILOGUE_TANH] = NULL,
};

void
finish_run(const Finish *finish, const float *addend, float *values, int64_t count)
{
    assert(values != NULL || count == 0);
    EpilogueActivation activation = (EpilogueActivation)finish->activation;
    FinishLoop loop = is_done_by_onednn(activation) ? NULL : finish_loops[activation];
    if (loop != NULL) {
        loop(addend, float_from_bits(finish->alpha_bits), values, count);
    } else if (addend != NULL) {
        add(addend, 0, values, count);
    }
}
