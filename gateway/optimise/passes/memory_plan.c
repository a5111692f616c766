/* Names the pass by which tensors of a run whose lives do not overlap share memory
 * (worker/runtime/memory/memory_plan.h). */
#include "gateway/optimise/pass.h"

extern const Pass pass_memory_plan;
const Pass pass_memory_plan = {.name = "memory_plan", .stage = PASS_WORKER, .is_exact = true};
