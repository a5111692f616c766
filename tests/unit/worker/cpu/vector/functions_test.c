/* The functions of one float32 beside libm's in double, over numbers of every exponent. */
#include "worker/cpu/vector/functions.h"

#include "shared/base/compiler.h"
#include "tests/support/cmocka_all.h"

/* Bit patterns between two that are tried: some million of all 2³². It is odd, so that all last bits come up.
 */
enum { PATTERN_STEP = 4099 };

typedef struct Function {
    const char *name;
    float (*function)(float x);
    double (*exact)(double x);
    double error_max; /* in units of the last place, as functions.h states it */
    float lowest;     /* the smallest argument that is promised anything */
    float highest;    /* and the largest */
} Function;

#define NAMED(name, inlined)                                                                                 \
    static float name(float x)                                                                               \
    {                                                                                                        \
        return inlined(x);                                                                                   \
    }

NAMED(exponential, exponential_of)
NAMED(exponential_of_scores, exponential_of_score)
NAMED(exponential_minus_one, exponential_minus_one_of_negative)
NAMED(sigmoid, sigmoid_of)
NAMED(hyperbolic_tangent, hyperbolic_tangent_of)
NAMED(error_function, error_function_of)
NAMED(error_function_complement, error_function_complement_of)
NAMED(logarithm, logarithm_of)
NAMED(softplus, softplus_of)
NAMED(mish, mish_of)
NAMED(sine, sine_of)
NAMED(cosine, cosine_of)
NAMED(hard_swish, hard_swish_of)

static float
swish(float x)
{
    return swish_of(x, 1);
}

static double
exact_sigmoid(double x)
{
    return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

static double
exact_swish(double x)
{
    return x * exact_sigmoid(x);
}

static double
exact_softplus(double x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

static double
exact_mish(double x)
{
    return x * tanh(exact_softplus(x));
}

static double
exact_hard_swish(double x)
{
    return x * fmax(0, fmin(1, x / 6 + 0.5));
}

static const Function FUNCTIONS[] = {
    {"exponential_of", exponential, exp, 1.1, -INFINITY, INFINITY},
    {"exponential_of_score", exponential_of_scores, exp, 1.1, -87, 0},
    {"exponential_minus_one_of_negative", exponential_minus_one, expm1, 2, -INFINITY, 0},
    {"sigmoid_of", sigmoid, exact_sigmoid, 2.5, -INFINITY, INFINITY},
    {"hyperbolic_tangent_of", hyperbolic_tangent, tanh, 5, -INFINITY, INFINITY},
    {"error_function_of", error_function, erf, 1.2, -INFINITY, INFINITY},
    {"error_function_complement_of", error_function_complement, erfc, 3.5, -INFINITY, INFINITY},
    {"logarithm_of", logarithm, log, 1.5, -INFINITY, INFINITY},
    {"softplus_of", softplus, exact_softplus, 3.5, -INFINITY, INFINITY},
    {"hard_swish_of", hard_swish, exact_hard_swish, 2.5, -INFINITY, INFINITY},
    {"sine_of", sine, sin, 2, -ANGLE_MAX, ANGLE_MAX},
    {"cosine_of", cosine, cos, 2, -ANGLE_MAX, ANGLE_MAX},
    {"swish_of", swish, exact_swish, 2.5, -87, INFINITY},
    {"mish_of", mish, exact_mish, 5, -87, INFINITY},
};

/* Returns the distance in units of the exact value's last place; equal infinities and two NaN are no distance
 * apart. */
static double
error_of(float computed, double exact)
{
    float rounded = (float)exact;
    if (isnan(exact) || isinf(rounded)) {
        return (isnan(exact) && isnan(computed)) || computed == rounded ? 0 : (double)INFINITY;
    }
    double unit = (double)nextafterf(fabsf(rounded), INFINITY) - (double)fabsf(rounded);
    return fabs((double)computed - exact) / unit;
}

static void
errors_are_as_stated_for_all_numbers(void **state)
{
    (void)state;
    for (size_t index = 0; index < COUNT_OF(FUNCTIONS); index++) {
        const Function *function = &FUNCTIONS[index];
        for (uint64_t pattern = 0; pattern <= UINT32_MAX; pattern += PATTERN_STEP) {
            float x = float_of_bits((int32_t)(uint32_t)pattern);
            if (x < function->lowest || x > function->highest) {
                continue;
            }
            double error = error_of(function->function(x), function->exact((double)x));
            if (!(error <= function->error_max)) {
                fail_msg("%s(%a) = %a has an error of %g", function->name, (double)x,
                    (double)function->function(x), error);
            }
        }
    }
}

static void
edges_are_those_of_c(void **state)
{
    (void)state;
    static const float edges[] = {0, -0.0F, INFINITY, -INFINITY, NAN, 1, -1, 0x1p-149F, -0x1p-149F,
        0x1.fffffep127F, -0x1.fffffep127F, 88.7228F, 88.73F, -87.34F, -103.2F, -103.98F, -104.5F};
    for (size_t index = 0; index < COUNT_OF(FUNCTIONS); index++) {
        const Function *function = &FUNCTIONS[index];
        for (size_t edge = 0; edge < COUNT_OF(edges); edge++) {
            if (edges[edge] < function->lowest || edges[edge] > function->highest) {
                continue;
            }
            float computed = function->function(edges[edge]);
            double exact = function->exact((double)edges[edge]);
            if (!(error_of(computed, exact) <= function->error_max)) {
                fail_msg("%s(%a) = %a", function->name, (double)edges[edge], (double)computed);
            }
            if (exact == 0 && !signbit(exact) != !signbit(computed)) {
                fail_msg("%s(%a) has the other sign", function->name, (double)edges[edge]);
            }
        }
    }
}

static void
powers_of_low_scores_are_nothing_or_almost(void **state)
{
    (void)state;
    for (int step = -200 * 64; step < -87 * 64; step++) {
        float x = (float)step / 64;
        assert_true(fabs((double)exponential_of_score(x) - exp((double)x)) < 0x1p-126);
    }
    assert_true(exponential_of_score(-INFINITY) == 0 && exponential_of_score(-0x1p127F) == 0);
    assert_true(isnan(exponential_of_score(NAN)));
}

static void
gelu_is_near_its_definition(void **state)
{
    (void)state;
    for (int step = -12 * 1024; step < 12 * 1024; step++) {
        float x = (float)step / 1024;
        double exact = (double)x * 0.5 * (1 + erf((double)x / sqrt(2)));
        double inner = sqrt(2 / acos(-1)) * ((double)x + 0.044715 * (double)x * (double)x * (double)x);
        assert_true(fabs((double)gelu_of(x) - exact) < 4.5e-7 * fmax(1, fabs(exact)));
        double by_tangent = (double)x * 0.5 * (1 + tanh(inner));
        assert_true(fabs((double)gelu_by_tangent_of(x) - by_tangent) < 1e-6);
    }
    assert_true(isnan(gelu_of(NAN)) && isnan(gelu_by_tangent_of(NAN)));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_as_stated_for_all_numbers),
        cmocka_unit_test(edges_are_those_of_c),
        cmocka_unit_test(powers_of_low_scores_are_nothing_or_almost),
        cmocka_unit_test(gelu_is_near_its_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
