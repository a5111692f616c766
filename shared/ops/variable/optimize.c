#include "shared/ops/variable/optimize.h"

#include <tgmath.h>

#include "worker/reference/elements.h"

/* One loop for each dtype. In the body a, b, c, d are the values of the rule's variables, written back
 * afterwards, the first one last; letters without a variable are free. g is the gradient; h[] are the
 * scalars; flag is use_nesterov or update_slots. */
#define RULE_LOOP(name, body, upper, lower, storage, compute, read, write)                                   \
    static void name##_##lower(const OptimizeRun *run)                                                       \
    {                                                                                                        \
        storage *variables[OPTIMIZE_VARIABLES_MAX];                                                          \
        compute h[OPTIMIZE_SCALARS_MAX];                                                                     \
        const storage *gradient = run->gradient;                                                             \
        bool flag = run->has_flag;                                                                           \
        compute one = 1;                                                                                     \
        for (int n = 0; n < OPTIMIZE_VARIABLES_MAX; n++) {                                                   \
            variables[n] = run->variables[run->variables[n] == NULL ? 0 : n];                                \
        }                                                                                                    \
        for (int n = 0; n < OPTIMIZE_SCALARS_MAX; n++) {                                                     \
            h[n] = run->scalars[n] == NULL ? 0 : read(*(const storage *)run->scalars[n]);                    \
        }                                                                                                    \
        (void)flag, (void)one;                                                                               \
        for (int64_t n = 0; n < run->count; n++) {                                                           \
            compute a = read(variables[0][n]);                                                               \
            compute b = read(variables[1][n]);                                                               \
            compute c = read(variables[2][n]);                                                               \
            compute d = read(variables[3][n]);                                                               \
            compute g = read(gradient[n]);                                                                   \
            body;                                                                                            \
            variables[3][n] = write(d);                                                                      \
            variables[2][n] = write(c);                                                                      \
            variables[1][n] = write(b);                                                                      \
            variables[0][n] = write(a);                                                                      \
        }                                                                                                    \
    }

#define RULE(name, ...)                                                                                      \
    FLOATING_ELEMENTS(RULE_LOOP, name, (__VA_ARGS__))                                                        \
    static const OptimizeLoop name##_loops[DTYPE_COUNT] = {FLOATING_LOOPS(name)};

/* The square and the sign of a value, in its type. */
#define SQUARE(x) ((x) * (x))
#define SIGN(x) ((x) > 0 ? one : (x) < 0 ? -one : 0)

/* The soft threshold of the proximal rules: l1 pulls towards 0, l2 scales. */
#define POSITIVE(x) ((x) > 0 ? (x) : 0)
#define PROXIMAL(value, rate, l1, l2)                                                                        \
    (((l1) > 0 ? SIGN(value) * POSITIVE(fabs(value) - (rate) * (l1)) : (value)) / (1 + (l2) * (rate)))

/* The power of FTRL, which is usually a square root. */
#define LEARNING_POWER(x) (h[3] == -one / 2 ? sqrt(x) : pow(x, -h[3]))

RULE(gradient_descent, a -= g * h[0])
RULE(proximal_gradient_descent, d = a - g * h[0], a = PROXIMAL(d, h[0], h[1], h[2]))
RULE(adadelta, b = b * h[1] + SQUARE(g) * (1 - h[1]), d = sqrt(c + h[2]) / sqrt(b + h[2]) * g, a -= d * h[0],
    c = c * h[1] + SQUARE(d) * (1 - h[1]))
RULE(adagrad, b += flag ? SQUARE(g) : 0, a -= g * h[0] / sqrt(b))
RULE(adagrad_v2, b += flag ? SQUARE(g) : 0, a -= g * h[0] / (sqrt(b) + h[1]))
RULE(proximal_adagrad, b += SQUARE(g), c = h[0] / sqrt(b), d = a - g * c, a = PROXIMAL(d, c, h[1], h[2]))
/* b is accum, c is linear; h is lr, l1, l2, lr_power, l2_shrinkage. */
RULE(ftrl, d = b + SQUARE(g), c += (g + 2 * h[4] * a) - (LEARNING_POWER(d) - LEARNING_POWER(b)) / h[0] * a,
    b = d, a = fabs(c) > h[1] ? (h[1] * SIGN(c) - c) / (LEARNING_POWER(b) / h[0] + 2 * h[2]) : 0)
RULE(momentum, b = b * h[1] + g, a -= flag ? g * h[0] + b * h[1] * h[0] : b * h[0])
RULE(keras_momentum, b = b * h[1] - g * h[0], a += flag ? b * h[1] - g * h[0] : b)
/* h is lr, beta1, beta2, epsilon, beta1_power, beta2_power. */
RULE(adam, d = h[0] * sqrt(1 - h[5]) / (1 - h[4]), b += (g - b) * (1 - h[1]),
    c += (SQUARE(g) - c) * (1 - h[2]), a -= (flag ? g * (1 - h[1]) + h[1] * b : b) * d / (sqrt(c) + h[3]))
RULE(adam_amsgrad, b += (g - b) * (1 - h[1]), c += (SQUARE(g) - c) * (1 - h[2]), d = fmax(d, c),
    a -= b * (h[0] * sqrt(1 - h[5]) / (1 - h[4])) / (sqrt(d) + h[3]))
RULE(ada_max, b += (g - b) * (1 - h[1]), c = fmax(h[2] * c, fabs(g)),
    a -= h[0] / (1 - h[4]) * (b / (c + h[3])))
RULE(rms_prop, b += (SQUARE(g) - b) * (1 - h[1]), c = c * h[2] + g * h[0] / sqrt(b + h[3]), a -= c)
RULE(centered_rms_prop, c += (SQUARE(g) - c) * (1 - h[1]), b += (g - b) * (1 - h[1]),
    d = d * h[2] + g * h[0] / sqrt(c - SQUARE(b) + h[3]), a -= d)
RULE(add_sign, b = b * h[3] + g * (1 - h[3]), a -= h[0] * (h[1] + h[2] * (SIGN(g) * SIGN(b))) * g)
RULE(power_sign, b = b * h[3] + g * (1 - h[3]), a -= h[0] * exp(h[1] * h[2] * (SIGN(g) * SIGN(b))) * g)

static const OptimizeRule rules[] = {
    {"GradientDescent", gradient_descent_loops, {"var"}, {"alpha"}},
    {"ProximalGradientDescent", proximal_gradient_descent_loops, {"var"}, {"alpha", "l1", "l2"}},
    {"Adadelta", adadelta_loops, {"var", "accum", "accum_update"}, {"lr", "rho", "epsilon"}},
    {"Adagrad", adagrad_loops, {"var", "accum"}, {"lr"}},
    {"AdagradV2", adagrad_v2_loops, {"var", "accum"}, {"lr", "epsilon"}},
    {"ProximalAdagrad", proximal_adagrad_loops, {"var", "accum"}, {"lr", "l1", "l2"}},
    {"Ftrl", ftrl_loops, {"var", "accum", "linear"}, {"lr", "l1", "l2", "lr_power"}},
    {"FtrlV2", ftrl_loops, {"var", "accum", "linear"}, {"lr", "l1", "l2", "lr_power", "l2_shrinkage"}},
    {"Momentum", momentum_loops, {"var", "accum"}, {"lr", "momentum"}},
    {"KerasMomentum", keras_momentum_loops, {"var", "accum"}, {"lr", "momentum"}},
    {"Adam", adam_loops, {"var", "m", "v"},
        {"lr", "beta1", "beta2", "epsilon", "beta1_power", "beta2_power"}},
    {"AdamWithAmsgrad", adam_amsgrad_loops, {"var", "m", "v", "vhat"},
        {"lr", "beta1", "beta2", "epsilon", "beta1_power", "beta2_power"}},
    {"AdaMax", ada_max_loops, {"var", "m", "v"}, {"lr", "beta1", "beta2", "epsilon", "beta1_power"}},
    {"RMSProp", rms_prop_loops, {"var", "ms", "mom"}, {"lr", "rho", "momentum", "epsilon"}},
    {"CenteredRMSProp", centered_rms_prop_loops, {"var", "mg", "ms", "mom"},
        {"lr", "rho", "momentum", "epsilon"}},
    {"AddSign", add_sign_loops, {"var", "m"}, {"lr", "alpha", "sign_decay", "beta"}},
    {"PowerSign", power_sign_loops, {"var", "m"}, {"lr", "logbase", "sign_decay", "beta"}},
};

const OptimizeRule *
optimize_rule(Slice name)
{
    for (size_t index = 0; index < COUNT_OF(rules); index++) {
        if (slice_equals_string(name, rules[index].name)) {
            return &rules[index];
        }
    }
    return NULL;
}
