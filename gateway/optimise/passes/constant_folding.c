/* Names the pass by which a worker computes what follows from constants alone, when it compiles its
 * partition (worker/runtime/partition/fold.c). */
#include "gateway/optimise/pass.h"

extern const Pass pass_constant_folding;
const Pass pass_constant_folding = {.name = "constant_folding", .stage = PASS_WORKER, .is_exact = true};
