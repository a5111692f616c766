/* The JSON request of a step (openapi's StepRequest), of a partial run and of an explained plan, read
 * without copying; feeds stay text until their dtypes are known.
 *
 * Ownership: slices point into the body or live in call->arena.
 * Errors:    INVALID_ARGUMENT with line and column, or naming the member; OUT_OF_RANGE above a limit. */
#pragma once

#include "gateway/domain/limits.h"
#include "shared/base/call.h"
#include "shared/base/slice.h"
#include "shared/tensor/tensor.h"

typedef struct StepFeedText {
    Slice name;
    Slice json;
    Tensor tensor; /* instead of JSON, when its dtype is set; not owned */
    bool comes;    /* its elements come later; `tensor` describes it, if it has a dtype */
} StepFeedText;

typedef enum StepTraceKind { STEP_TRACE_NONE, STEP_TRACE_PARTITION, STEP_TRACE_NODE } StepTraceKind;

typedef struct StepBody {
    Slice graph; /* "grf_…", empty: the session's newest */
    const StepFeedText *feeds;
    size_t feed_count;
    const Slice *fetches;
    size_t fetch_count;
    const Slice *targets;
    size_t target_count;
    const Slice *parts; /* names of all feeds that come as parts of a form; none: that is not told */
    size_t part_count;
    uint64_t timeout_ms;
    bool has_timeout; /* the request has timeout_ms */
    int64_t priority;
    StepTraceKind trace;
    bool is_durable;    /* the record is written before the step runs */
    bool is_idempotent; /* the caller says that it may run twice */
    bool wants_partition_graphs;
    bool wants_costs;
} StepBody;

typedef enum StepBodyKind {
    STEP_BODY_STEP,
    STEP_BODY_PARTIAL_RUN, /* feeds are names alone; their tensors come later */
    STEP_BODY_CONTINUE,    /* feeds and fetches, and nothing else */
    STEP_BODY_PLAN,        /* like a step, with the details of the answer that is wanted */
} StepBodyKind;

MUST_USE Status step_body_read_as(
    Call *call, StepBodyKind kind, Slice json, const Limits *limits, StepBody *ret_body);

/* Reads a STEP_BODY_STEP. */
MUST_USE Status step_body_read(Call *call, Slice json, const Limits *limits, StepBody *ret_body);
