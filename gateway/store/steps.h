/* Steps as their tenant sees them: one record from acceptance to history, its outputs, its cancellation.
 * queue.h moves them from state to state.
 *
 * Ownership: texts live in call->arena.
 * Threads:   the thread of the Store.
 * Errors:    NOT_FOUND also when the step is another tenant's. */
#pragma once

#include "gateway/domain/step_state.h"
#include "gateway/store/connection.h"
#include "gateway/store/page.h"

enum { STEP_PRIORITY_LOW, STEP_PRIORITY_NORMAL, STEP_PRIORITY_HIGH };
enum { STEP_TENSOR_RANK_MAX = 16 };

typedef struct StepRecord {
    TenantId tenant;
    StepId id;
    SessionId session;
    GraphId graph;
    StepState state;
    bool is_async;
    int64_t priority;
    const char *request; /* a JSON object, without the feeds' values */
    int64_t attempts;
    int64_t fence; /* grows with every claim; 0 in history */
    bool is_cancel_requested;
    uint64_t created_us; /* the time in the id */
    uint64_t started_us; /* 0: never */
    uint64_t ended_us;   /* 0: not yet */
    uint64_t deadline_us;
    int64_t begun_us;       /* since it was first started, by the same clock; 0: it was not */
    int64_t left_us;        /* until the deadline, by the database's clock, when this was read */
    const char *error_code; /* a name of shared/base/status.h; "" for none */
    const char *error_message;
    const char *error_node;
    const char *stats; /* a JSON object */
} StepRecord;

typedef struct StepPage {
    StepRecord *items;
    size_t count;
    bool has_more;
} StepPage;

/* A feed or output, whose bytes are a blob. */
typedef struct StepTensor {
    const char *name;
    const char *dtype;
    int64_t dims[STEP_TENSOR_RANK_MAX];
    size_t rank;
    Sha256 sha256; /* of a blob of the same tenant */
} StepTensor;

typedef struct StepTensors {
    StepTensor *items;
    size_t count;
} StepTensors;

/* NULL or zero members do not filter. */
typedef struct StepFilter {
    SessionId session;
    const char *state;
    Page page;
} StepFilter;

/* Reports synchronous steps that run: steps_list() shows them for some seconds. Their tenants, ids, sessions,
 * graphs and starts are read. For a store of the role QUEUE. */
MUST_USE Status steps_report(Call *call, Store *store, const StepRecord *steps, size_t count);

MUST_USE Status steps_find(Call *call, Store *store, TenantId tenant, StepId id, StepRecord *ret_step);

/* Lists queued, reported and ended steps alike, newest first. */
MUST_USE Status steps_list(
    Call *call, Store *store, TenantId tenant, const StepFilter *filter, StepPage *ret_page);

/* Cancels a queued step at once; asks the holder of a running one to cancel it; leaves an ended one as it
 * is. */
MUST_USE Status steps_cancel(Call *call, Store *store, TenantId tenant, StepId id, StepRecord *ret_step);

MUST_USE Status steps_feeds(Call *call, Store *store, TenantId tenant, StepId id, StepTensors *ret_feeds);
MUST_USE Status steps_outputs(Call *call, Store *store, TenantId tenant, StepId id, StepTensors *ret_outputs);

/* Forgets up to `count_max` outputs of the tenant that were made over `age_s` seconds ago. */
MUST_USE Status steps_outputs_expire(
    Call *call, Store *store, TenantId tenant, uint64_t age_s, size_t count_max, uint64_t *ret_removed);

/* Reads the columns of step_records, in the order of the view. For this module only. */
MUST_USE Status step_read(Call *call, const Rows *rows, size_t row, StepRecord *ret_step);
