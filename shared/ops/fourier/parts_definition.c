/* Complex numbers taken apart and put together. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

#define PART(name, input, output)                                                                            \
    OP(name "(" input ":T)->(" output ":Tout) {T:type=DT_COMPLEX64, Tout:type=DT_FLOAT}", 0, infer_unchanged)

static const OpDefinition parts_ops[] = {
    PART("Real", "input", "output"),
    PART("Imag", "input", "output"),
    PART("ComplexAbs", "x", "y"),
    PART("Angle", "input", "output"),
    OP("Conj(input:T)->(output:T) {T:type=DT_COMPLEX64}", 0, infer_unchanged),
    OP("Complex(real:T, imag:T)->(out:Tout) {T:type=DT_FLOAT, Tout:type=DT_COMPLEX64}", 0, infer_broadcast),
};

OP_FAMILY(fourier_parts, parts_ops);
