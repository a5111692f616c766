/* The activation functions that ONNX's recurrent networks name. */
#pragma once

#include "shared/base/slice.h"

typedef double (*ActivationFunction)(double x, double alpha, double beta);

typedef struct Activation {
    ActivationFunction function;
    double alpha;
    double beta;
} Activation;

/* Finds a function by name, ignoring case, with its default alpha and beta; false when there is none. */
bool activation_find(Slice name, Activation *ret_activation);

static inline double
activate(const Activation *activation, double x)
{
    return activation->function(x, activation->alpha, activation->beta);
}
