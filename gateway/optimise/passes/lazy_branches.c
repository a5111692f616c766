/* Names the pass by which the planner makes calls of heavy branches (gateway/plan/outline.h). */
#include "gateway/optimise/pass.h"

extern const Pass pass_lazy_branches;
const Pass pass_lazy_branches = {.name = "lazy_branches", .stage = PASS_PLAN, .is_exact = true};
