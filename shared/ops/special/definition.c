/* Special functions, element by element. */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

static const OpDefinition special_ops[] = {
    {"Digamma(x:T)->(y:T) {T:type}", OP_ELEMENTWISE, infer_unchanged},
    {"Zeta(x:T, q:T)->(z:T) {T:type}", OP_ELEMENTWISE, infer_broadcast},
    {"Polygamma(a:T, x:T)->(z:T) {T:type}", OP_ELEMENTWISE, infer_broadcast},
    {"Igamma(a:T, x:T)->(z:T) {T:type}", OP_ELEMENTWISE, infer_broadcast},
    {"Igammac(a:T, x:T)->(z:T) {T:type}", OP_ELEMENTWISE, infer_broadcast},
    {"Betainc(a:T, b:T, x:T)->(z:T) {T:type}", OP_ELEMENTWISE, infer_broadcast},
    {"NextAfter(x1:T, x2:T)->(output:T) {T:type=DT_FLOAT}", OP_ELEMENTWISE, infer_broadcast},
    {"LeftShift(x:T, y:T)->(z:T) {T:type}", OP_ELEMENTWISE, infer_broadcast},
    {"RightShift(x:T, y:T)->(z:T) {T:type}", OP_ELEMENTWISE, infer_broadcast},
};

OP_FAMILY(special, special_ops);
