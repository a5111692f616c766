/* A run's claim to be made once, as its header describes it: of RunGraph, and of AskStep, which asks for it.
 *
 * Ownership: what is described points into the header; the binding is in the request's arena.
 * Threads:   the request's loop. */
#pragma once

#include "shared/wire/messages.h"
#include "worker/runtime/resource.h"
#include "worker/serve/outcome_table.h"
#include "worker/serve/worker.h"

/* Finds the container of the session; leaves *ret_state alone when the session keeps nothing here. */
MUST_USE Status run_claim_find_state(
    WorkerRequest *request, const WireRun *header, ResourceContainer **ret_state);

/* Describes the claim. FAILED_PRECONDITION when the step may have been run with a container that was lost
 * before this one (`state`; NULL: the slot has none); INVALID_ARGUMENT when the step's id is none of ours. */
MUST_USE Status run_claim_describe(
    WorkerRequest *request, const WireRun *header, ResourceContainer *state, OutcomeClaim *ret_claim);

/* Fails with the reason for an answer that is neither FRESH nor an outcome. */
MUST_USE Status run_claim_refuse(Call *call, OutcomeAnswer answer);
