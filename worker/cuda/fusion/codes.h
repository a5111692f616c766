/* The fused kernels of a card. Each is compiled by a thread of its own, at most two at a time, or found in a
 * folder; until it is there, whoever wants it does without. Before the first kernel with a function is used,
 * the function is compared with the plugin's own (check.h): a difference switches all of them off, and is
 * logged.
 *
 * Ownership: CudaCodes is the device's. A CudaCode is shared: whoever got it lets go of it. Those that nobody
 * holds are kept for later, and unloaded when there are too many. Threads:   any; outside of the lane's turn,
 * but for cuda_code_kernel(). Errors:    none: what cannot be compiled is counted and logged. */
#pragma once

#include "worker/cuda/fusion/source.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/libraries.h"

typedef struct CudaCodes CudaCodes;
typedef struct CudaCode CudaCode;

typedef struct CudaCodesOptions {
    const CudaNvrtc *nvrtc;
    const char *folder;       /* in which code is kept; "": nowhere */
    const char *architecture; /* "sm_90"; copied */
    CudaLane *lane;
    DeviceCounts *counts;
} CudaCodesOptions;

/* NULL without memory. */
MUST_USE CudaCodes *cuda_codes_new(const CudaCodesOptions *options);

/* Waits for what is being compiled. Nobody holds a code. */
void cuda_codes_free(CudaCodes *codes); /* NULL is allowed */

/* The codes that groups of nodes use: of the one device that is open; NULL: nothing is fused. */
void cuda_codes_use(CudaCodes *codes);
CudaCodes *cuda_codes(void);

/* Returns the code of a group, which may not be there yet; NULL: there never will be. */
CudaCode *cuda_codes_get(CudaCodes *codes, const FusionGroup *group);
void cuda_code_unref(CudaCode *code);

/* Returns the kernel, or NULL: it is not there yet, cannot be made, or is switched off. */
cudaKernel_t cuda_code_kernel(const CudaCodes *codes, const CudaCode *code);

/* Returns whether nothing is being compiled or compared, nor is to be. */
bool cuda_codes_are_idle(CudaCodes *codes);
