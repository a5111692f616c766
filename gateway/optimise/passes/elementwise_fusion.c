/* Element-wise nodes are computed together, tile by tile, by the worker that has them
 * (worker/runtime/partition/fuse.h). */
#include "gateway/optimise/pass.h"

extern const Pass pass_elementwise_fusion;
const Pass pass_elementwise_fusion = {.name = "elementwise_fusion", .stage = PASS_WORKER, .is_exact = true};
