/* NVRTC's part: from the source of a fused kernel to code for one kind of card.
 *
 * Threads: any, several at once.
 * Errors:  INTERNAL: NVRTC refuses the source, with the first lines of what it says. RESOURCE_EXHAUSTED. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/base/call.h"
#include "shared/crypto/digest.h"
#include "worker/cuda/libraries.h"

/* `architecture` as "sm_90". */
MUST_USE Status fusion_compile(
    Call *call, const CudaNvrtc *nvrtc, const char *source, const char *architecture, Buffer *ret_code);

/* Writes the name of that code: it follows from the source, the headers, the options, the versions and the
 * architecture. */
void fusion_key(
    const CudaNvrtc *nvrtc, const char *source, const char *architecture, char ret_key[SHA256_HEX_SIZE]);
