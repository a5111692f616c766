/* What follows from constants alone is computed when a worker compiles its partition
 * (worker/runtime/partition/fold.h).
 */
#include "gateway/optimise/pass.h"

extern const Pass pass_constant_folding;
const Pass pass_constant_folding = {.name = "constant_folding", .stage = PASS_WORKER, .is_exact = true};
