/* Special functions, element by element. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

static const OpDefinition special_ops[] = {
    OP("Digamma(x:T)->(y:T) {T:type}", OP_ELEMENTWISE, infer_unchanged),
    OP("Zeta(x:T, q:T)->(z:T) {T:type}", OP_ELEMENTWISE, infer_broadcast),
    OP("Polygamma(a:T, x:T)->(z:T) {T:type}", OP_ELEMENTWISE, infer_broadcast),
    OP("Igamma(a:T, x:T)->(z:T) {T:type}", OP_ELEMENTWISE, infer_broadcast),
    OP("Igammac(a:T, x:T)->(z:T) {T:type}", OP_ELEMENTWISE, infer_broadcast),
    OP("Betainc(a:T, b:T, x:T)->(z:T) {T:type}", OP_ELEMENTWISE, infer_broadcast),
    OP("NextAfter(x1:T, x2:T)->(output:T) {T:type=DT_FLOAT}", OP_ELEMENTWISE, infer_broadcast),
    OP("LeftShift(x:T, y:T)->(z:T) {T:type}", OP_ELEMENTWISE, infer_broadcast),
    OP("RightShift(x:T, y:T)->(z:T) {T:type}", OP_ELEMENTWISE, infer_broadcast),
};

OP_FAMILY(special, special_ops);
