/* Makes a convolution do what follows it while its results are still in the cache. Inexact: activations
 * and sums may be rounded differently. */
#include "gateway/optimise/fusion.h"
#include "gateway/optimise/pass.h"

static Status
convolution_epilogue(Rewrite *rewrite)
{
    return fusion_run(rewrite, LINEAR_CONVOLUTION);
}

PASS(convolution_epilogue, PASS_FUSE, false);
