#include "shared/ops/recurrent/activations.h"

#include <math.h>

#define ACTIVATION(name, expression)                                                                         \
    static double name(double x, double alpha, double beta)                                                  \
    {                                                                                                        \
        (void)alpha;                                                                                         \
        (void)beta;                                                                                          \
        return expression;                                                                                   \
    }

ACTIVATION(affine, alpha *x + beta)
ACTIVATION(elu, x < 0 ? alpha * (exp(x) - 1) : x)
ACTIVATION(hard_sigmoid, fmin(fmax(alpha *x + beta, 0), 1))
ACTIVATION(leaky_relu, x < 0 ? alpha * x : x)
ACTIVATION(relu, x < 0 ? 0 : x)
ACTIVATION(scaled_tanh, alpha *tanh(beta *x))
ACTIVATION(sigmoid, 1 / (1 + exp(-x)))
ACTIVATION(softplus, x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)))
ACTIVATION(softsign, x / (1 + fabs(x)))
ACTIVATION(hyperbolic_tangent, tanh(x))
ACTIVATION(thresholded_relu, x >= alpha ? x : 0)

bool
activation_find(Slice name, Activation *ret_activation)
{
    static const struct {
        const char *name;
        Activation activation;
    } rows[] = {
        {"Affine", {affine, 1, 0}},
        {"Elu", {elu, 1, 0}},
        {"HardSigmoid", {hard_sigmoid, 0.2, 0.5}},
        {"LeakyRelu", {leaky_relu, 0.01, 0}},
        {"Relu", {relu, 0, 0}},
        {"ScaledTanh", {scaled_tanh, 1, 1}},
        {"Sigmoid", {sigmoid, 0, 0}},
        {"Softplus", {softplus, 0, 0}},
        {"Softsign", {softsign, 0, 0}},
        {"Tanh", {hyperbolic_tangent, 0, 0}},
        {"ThresholdedRelu", {thresholded_relu, 1, 0}},
    };
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        if (slice_equal_ignoring_case(name, slice_from_string(rows[index].name))) {
            *ret_activation = rows[index].activation;
            return true;
        }
    }
    return false;
}
