/* Names the pass by which a worker computes 16-bit convolutions, and what lies between them, with their
 * channels last, on an accelerator that is faster so (worker/runtime/partition/layout.c). The vendor's
 * library may add in another order then. */
#include "gateway/optimise/pass.h"

extern const Pass pass_channels_last;
const Pass pass_channels_last = {.name = "channels_last", .stage = PASS_WORKER, .is_exact = false};
