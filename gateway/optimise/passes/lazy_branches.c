/* Heavy branches are called when they are taken: what gateway/plan/outline.c does to the graph that all
 * passes have left. */
#include "gateway/optimise/pass.h"

extern const Pass pass_lazy_branches;
const Pass pass_lazy_branches = {.name = "lazy_branches", .stage = PASS_PLAN, .is_exact = true};
