/* Names the pass by which a worker computes element-wise nodes together, tile by tile
 * (worker/runtime/partition/fuse.c). */
#include "gateway/optimise/pass.h"

extern const Pass pass_elementwise_fusion;
const Pass pass_elementwise_fusion = {.name = "elementwise_fusion", .stage = PASS_WORKER, .is_exact = true};
