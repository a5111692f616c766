/* The choice of a card, and what it is.
 *
 * Errors: UNAVAILABLE, in a user's words: there is no driver, no card, or not this one. */
#pragma once

#include "shared/base/call.h"

typedef struct CudaCard {
    int ordinal; /* as CUDA counts in this process */
    int processor_count;
    size_t workspace_size; /* of the lane */
    char name[256];
    char driver[16]; /* the newest CUDA that it serves: "13.0" */
    char isa[64];
} CudaCard;

/* Chooses by an index ("1"), a UUID ("GPU-8f6e…", "MIG-…") or "": the first. */
MUST_USE Status cuda_card_choose(Call *call, const char *device, CudaCard *ret_card);
