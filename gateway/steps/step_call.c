#include "gateway/steps/step_call.h"

#include <assert.h>

#include "gateway/graphs/plan_obtain.h"
#include "gateway/jobs/job_context.h"
#include "gateway/resources/resource.h"
#include "gateway/sessions/session_places.h"
#include "gateway/tensors/tensor_blob.h"
#include "shared/base/clock.h"
#include "shared/base/text.h"
#include "shared/json/reader.h"
#include "shared/tensor/tensor_json.h"

static void
release_feeds(StepCall *step)
{
    for (size_t index = 0; step->given != NULL && index < step->body.feed_count; index++) {
        tensor_unref(&step->given[index]);
    }
}

/* Claims memory for a feed that is fetched for a request; queued steps and partial runs have limits of their
 * own. */
static Status
hold_feed(void *owner, uint64_t size)
{
    StepCall *step = owner;
    return step->exchange == NULL ? STATUS_OK : exchange_hold(step->exchange, size);
}

static Status
read_reference(StepCall *step, Slice ref, JobContext *context, Tensor *ret_tensor)
{
    Sha256 digest;
    Store *store = NULL;
    TRY(sha256_parse_ref(step->call, ref, &digest));
    TRY(job_store(step->call, context, STORE_ROLE_APP, &store));
    TensorBlobOptions options = {
        .size_max = (size_t)step->loop->steps->limits->step_body_bytes,
        .hold = hold_feed,
        .owner = step,
    };
    return tensor_blob_read(step->call, store, step->tenant, &digest, &options, ret_tensor);
}

static Status
read_json(StepCall *step, Slice json, Dtype dtype, Tensor *ret_tensor, Slice *ret_ref)
{
    JsonScanner scanner;
    json_scan_begin(&scanner, json, (int)step->loop->steps->limits->json_depth);
    TensorJsonOptions options = {
        .expected = dtype,
        .byte_size_max = (size_t)step->loop->steps->limits->json_body_bytes,
    };
    return tensor_json_read(step->call, &scanner, options, ret_tensor, ret_ref);
}

Status
step_feed_check_shape(StepCall *step, Slice name, const Shape *given)
{
    Dtype dtype = DTYPE_INVALID;
    Shape declared;
    Shape merged;
    TRY(plan_describe_feed(step->call, step->graph->graph, name, &dtype, &declared));
    if (shape_merge(given, &declared, &merged)) {
        return STATUS_OK;
    }
    char text[SHAPE_TEXT_SIZE];
    char expected[SHAPE_TEXT_SIZE];
    return call_fail(step->call, STATUS_INVALID_ARGUMENT, "the graph takes shape %s here, not %s",
        shape_text(&declared, expected), shape_text(given, text));
}

/* Checks the dtype, which a tensor may say itself, against the graph's, and the rank against its limit. */
static Status
check_feed(StepCall *step, Dtype expected, const Tensor *tensor)
{
    uint64_t rank_max = step->loop->steps->limits->tensor_rank;
    if (expected != DTYPE_INVALID && expected != tensor->dtype) {
        return call_fail(step->call, STATUS_INVALID_ARGUMENT, "the graph takes %s here, not %s",
            dtype_name(expected), dtype_name(tensor->dtype));
    }
    if ((uint64_t)tensor->shape.rank > rank_max) {
        return call_fail(step->call, STATUS_OUT_OF_RANGE, "rank %d is above the limit tensor_rank, %llu",
            tensor->shape.rank, (unsigned long long)rank_max);
    }
    return STATUS_OK;
}

/* Sets *ret_tensor, unless that needs a job thread. */
static Status
read_feed(StepCall *step, const StepFeedText *text, JobContext *context, Tensor *ret_tensor)
{
    Slice ref = {0};
    Shape shape;
    Dtype dtype = DTYPE_INVALID;
    TRY(plan_describe_feed(step->call, step->graph->graph, text->name, &dtype, &shape));
    if (text->comes && text->tensor.dtype == DTYPE_INVALID) {
        *ret_tensor = (Tensor){.dtype = dtype};
        return dtype != DTYPE_INVALID ? STATUS_OK
                                      : call_fail(step->call, STATUS_INVALID_ARGUMENT,
                                            "the graph does not tell its dtype: send it before large feeds");
    }
    if (text->tensor.dtype != DTYPE_INVALID) {
        *ret_tensor = tensor_ref(&text->tensor);
    } else {
        TRY(read_json(step, text->json, dtype, ret_tensor, &ref));
    }
    if (ref.size > 0 && context != NULL) {
        TRY(read_reference(step, ref, context, ret_tensor));
    }
    if (ret_tensor->dtype == DTYPE_INVALID) {
        return STATUS_OK;
    }
    TRY(check_feed(step, dtype, ret_tensor));
    return step_feed_check_shape(step, text->name, &ret_tensor->shape);
}

/* Allocates room for the feeds, once. */
static Status
make_room(StepCall *step)
{
    if (step->given == NULL) {
        step->given = arena_alloc(step->call->arena, (step->body.feed_count + 1) * sizeof *step->given);
    }
    return step->given == NULL ? call_fail_memory(step->call, "the feeds of a step") : STATUS_OK;
}

/* Checks the feeds' size in memory: the body's limit does not bound it, as references are short and may be
 * repeated. */
static Status
check_size(const StepCall *step, uint64_t size)
{
    uint64_t size_max = step->loop->steps->limits->step_body_bytes;
    return size <= size_max ? STATUS_OK
                            : call_fail(step->call, STATUS_OUT_OF_RANGE,
                                  "the limit step_body_bytes is %llu bytes: the step's feeds have more",
                                  (unsigned long long)size_max);
}

Status
step_feeds_take(StepCall *step, JobContext *context, bool *ret_needs_job)
{
    assert(step->graph != NULL);

    size_t count = step->body.feed_count;
    uint64_t size = 0;
    TRY(make_room(step));
    for (size_t index = 0; index < count; index++) {
        const StepFeedText *text = &step->body.feeds[index];
        Tensor *tensor = &step->given[index];
        if (tensor->dtype == DTYPE_INVALID && read_feed(step, text, context, tensor) != STATUS_OK) {
            return call_wrap(step->call, "feed '%.*s'", SLICE_PRINT(slice_part(text->name, 0, 128)));
        }
        *ret_needs_job = *ret_needs_job || tensor->dtype == DTYPE_INVALID;
        size += tensor->dtype == DTYPE_INVALID ? 0 : tensor_byte_size(tensor);
        TRY(check_size(step, size));
    }
    return STATUS_OK;
}

typedef struct Description {
    const char *dtype;
    Slice shape;
    Slice values; /* any form of values; they are not read */
} Description;

/* Reads the dtype that a JSON object says; a bare number, string or array has the graph's. */
static Status
read_dtype(StepCall *step, Slice json, Dtype *ret_dtype)
{
    static const JsonMember members[] = {
        {"dtype", JSON_STRING_COPY, .offset = offsetof(Description, dtype)},
        {"shape", JSON_TEXT, .offset = offsetof(Description, shape)},
        {"data", JSON_TEXT, .offset = offsetof(Description, values)},
        {"b64", JSON_TEXT, .offset = offsetof(Description, values)},
        {"npy", JSON_TEXT, .offset = offsetof(Description, values)},
        {"ref", JSON_TEXT, .offset = offsetof(Description, values)},
    };
    static const JsonTable table = JSON_TABLE("a tensor", members);
    Description description = {0};
    if (!slice_starts_with(json, SLICE("{"))) {
        return STATUS_OK;
    }
    TRY(json_document_read(step->call, json, &table, &description));
    if (description.dtype == NULL) {
        return STATUS_OK;
    }
    *ret_dtype = dtype_from_name(slice_from_string(description.dtype));
    return *ret_dtype != DTYPE_INVALID
               ? STATUS_OK
               : call_fail(step->call, STATUS_INVALID_ARGUMENT, "'%.32s' is no dtype", description.dtype);
}

static Status
describe_feed(StepCall *step, const StepFeedText *text, Tensor *ret_tensor)
{
    Shape shape;
    Dtype dtype = DTYPE_INVALID;
    Tensor described = {.data = NULL};
    TRY(plan_describe_feed(step->call, step->graph->graph, text->name, &dtype, &shape));
    described.dtype = dtype;
    TRY(read_dtype(step, text->json, &described.dtype));
    TRY(check_feed(step, dtype, &described));
    *ret_tensor = described;
    return STATUS_OK;
}

Status
step_feeds_describe(StepCall *step)
{
    assert(step->graph != NULL);

    TRY(make_room(step));
    for (size_t index = 0; index < step->body.feed_count; index++) {
        const StepFeedText *text = &step->body.feeds[index];
        if (describe_feed(step, text, &step->given[index]) != STATUS_OK) {
            return call_wrap(step->call, "feed '%.*s'", SLICE_PRINT(slice_part(text->name, 0, 128)));
        }
    }
    return STATUS_OK;
}

static void
step_call_release(void *resource)
{
    StepCall *step = resource;
    timer_clear(step->loop->loop, &step->reply.held);
    release_feeds(step);
    for (size_t index = 0; step->outputs != NULL && index < step->plan->fetch_count; index++) {
        tensor_unref(&step->outputs[index]);
    }
    buffer_done(&step->reply.text.text);
    buffer_done(&step->reply.text.block);
    memory_claim_close(&step->reply.claim);
    session_snapshot_unref(step->session);
    graph_snapshot_unref(step->graph);
    plan_unref(step->plan);
}

bool
step_call_init(StepCall *step, StepLoop *loop, Call *call)
{
    assert(loop != NULL && call->arena != NULL);

    step->loop = loop;
    step->call = call;
    step->received_us = clock_wall_us();
    return arena_defer(call->arena, step_call_release, step) != NULL;
}

StepCall *
step_call_new(Exchange *exchange, StepLoop *loop)
{
    const Request *request = exchange_request(exchange);
    Call *call = exchange_call(exchange);
    StepCall *step = arena_alloc(call->arena, sizeof *step);
    if (step == NULL || !step_call_init(step, loop, call)) {
        return NULL;
    }
    step->exchange = exchange;
    step->upload = request->sink_state;
    step->tenant = request->principal.tenant;
    step->id = step_id_new(loop);
    return step;
}

Slice
step_call_json(const StepCall *step)
{
    assert(step->exchange != NULL);

    return step->upload == NULL ? exchange_request(step->exchange)->body
                                : buffer_slice(&step->upload->request);
}

static void
tensor_release(void *resource)
{
    tensor_unref(resource);
}

bool
step_call_keep(StepCall *step, Tensor *tensor)
{
    if (arena_defer(step->call->arena, tensor_release, tensor) == NULL) {
        tensor_unref(tensor);
        return false;
    }
    return true;
}

void
step_call_describe(const StepCall *step, char ret_tenant[UUID_TEXT_SIZE], char ret_session[ID_TEXT_SIZE],
    StepRunOptions *ret_options)
{
    assert(step->plan != NULL && step->session != NULL);

    uuid_to_text(step->tenant.value, ret_tenant);
    id_to_text("ses", step->session_id.value, ret_session);
    *ret_options = (StepRunOptions){
        .id = step->id,
        .payer = step->tenant,
        .priority = (int)step->body.priority,
        .plan = step->plan,
        .feeds = step->feeds,
        .feed_count = step->body.feed_count,
        .pins = step->pins,
        .tenant = ret_tenant,
        .session = ret_session,
        .worker_labels = step->session->options.worker_labels,
        .request_id = step->call->request_id,
        .memory_limit = step->session->options.step_memory_bytes,
        .is_pure = step->plan->is_pure || step->body.is_idempotent,
        .traces_nodes = step->body.trace == STEP_TRACE_NODE,
    };
}

bool
step_is_once(const StepCall *step)
{
    return !step->plan->is_pure && !step->body.is_idempotent && session_places_are_needed(step->plan);
}

Status
step_call_read(StepCall *step, Slice json)
{
    if (step->has_body) {
        return STATUS_OK;
    }
    TRY(step_body_read_as(step->call, step->kind, json, step->loop->steps->limits, &step->body));
    if (step->upload != NULL) {
        TRY(step_upload_check_parts(step->call, step->upload, &step->body, !step->comes));
        TRY(step_upload_add_feeds(step->call, step->upload, &step->body));
    } else if (step->body.part_count > 0) {
        return call_fail(
            step->call, STATUS_INVALID_ARGUMENT, "'parts' names parts of a form: a request in JSON has none");
    }
    step->has_body = true;
    return STATUS_OK;
}

static Status
load_session(StepCall *step, JobContext *context)
{
    SessionCache *sessions = step->loop->steps->sessions;
    Store *store = NULL;
    Status status = job_store(step->call, context, STORE_ROLE_APP, &store);
    if (status == STATUS_OK) {
        status =
            session_cache_load(step->call, sessions, store, step->tenant, step->session_id, &step->session);
    }
    if (status == STATUS_UNAVAILABLE) {
        step->session = session_cache_find_stale(sessions, step->tenant, step->session_id);
        status = step->session == NULL ? status : STATUS_OK;
    }
    return status;
}

static Status
take_session(StepCall *step, JobContext *context, bool *ret_needs_job)
{
    SessionCache *sessions = step->loop->steps->sessions;
    if (step->session != NULL) {
        return STATUS_OK;
    }
    step->session = session_cache_find(sessions, step->tenant, step->session_id, clock_monotonic_ns());
    if (step->session != NULL) {
        return STATUS_OK;
    }
    if (context == NULL) {
        *ret_needs_job = true;
        return STATUS_OK;
    }
    return load_session(step, context);
}

static Status
graph_wanted(const StepCall *step, GraphId *ret_id)
{
    if (step->body.graph.size > 0) {
        return id_from_text("grf", step->body.graph, &ret_id->value)
                   ? STATUS_OK
                   : call_fail(step->call, STATUS_NOT_FOUND, "graph '%.*s' does not exist",
                         SLICE_PRINT(slice_part(step->body.graph, 0, 64)));
    }
    if (uuid_is_zero(step->session->newest.value)) {
        return call_fail(
            step->call, STATUS_FAILED_PRECONDITION, "the session has no graph yet: create one first");
    }
    *ret_id = step->session->newest;
    return STATUS_OK;
}

static Status
take_graph(StepCall *step, JobContext *context, bool *ret_needs_job)
{
    GraphCache *graphs = step->loop->steps->graphs;
    GraphSnapshot wanted = {.tenant = step->tenant, .session = step->session_id};
    if (step->graph != NULL) {
        return STATUS_OK;
    }
    TRY(graph_wanted(step, &wanted.id));
    step->graph = graph_cache_find(graphs, wanted.tenant, wanted.session, wanted.id);
    if (step->graph != NULL) {
        return STATUS_OK;
    }
    if (context == NULL) {
        *ret_needs_job = true;
        return STATUS_OK;
    }
    Store *store = NULL;
    TRY(job_store(step->call, context, STORE_ROLE_APP, &store));
    return graph_cache_load(step->call, graphs, store, &wanted, &step->graph);
}

/* Makes the signature and puts the feeds into its order; feeds that are still to come have no dtype. */
static Status
take_signature(StepCall *step)
{
    Arena *arena = step->call->arena;
    size_t count = step->body.feed_count;
    SignatureFeed *names = arena_alloc(arena, (count + 1) * sizeof *names);
    Tensor *feeds = arena_alloc(arena, (count + 1) * sizeof *feeds);
    if (names == NULL || feeds == NULL) {
        return call_fail_memory(step->call, "the feeds of a step");
    }
    for (size_t index = 0; index < count; index++) {
        names[index] = (SignatureFeed){
            .name = step->body.feeds[index].name,
            .dtype = step->given[index].dtype,
            .shape = shape_unknown(),
        };
    }
    Signature given = {
        .feeds = names,
        .feed_count = count,
        .fetches = step->body.fetches,
        .fetch_count = step->body.fetch_count,
        .targets = step->body.targets,
        .target_count = step->body.target_count,
        .options = step->session->options.plan,
    };
    TRY(signature_make(step->call, slice_from_string(step->graph->id_text), &given, &step->signature));
    for (size_t index = 0; index < count; index++) {
        size_t position = 0;
        if (!signature_find_feed(&step->signature, names[index].name, &position)) {
            return call_fail(step->call, STATUS_INTERNAL, "a feed is missing from its own signature");
        }
        if (step->kind != STEP_BODY_PARTIAL_RUN && !step->body.feeds[index].comes) {
            feeds[position] = step->given[index];
        }
    }
    step->feeds = feeds;
    return STATUS_OK;
}

static Status
take_feeds(StepCall *step, JobContext *context, bool *ret_needs_job)
{
    if (step->feeds != NULL) {
        return STATUS_OK;
    }
    bool has_names_alone = step->is_rehearsal || step->kind == STEP_BODY_PARTIAL_RUN;
    TRY(has_names_alone ? step_feeds_describe(step) : step_feeds_take(step, context, ret_needs_job));
    return *ret_needs_job ? STATUS_OK : take_signature(step);
}

static Status
take_plan(StepCall *step, const JobContext *context, bool *ret_needs_job)
{
    PlanCache *plans = step->loop->steps->plans;
    step->plan = step->plan != NULL ? step->plan : plan_cache_find(plans, step->signature.key);
    if (step->plan == NULL && context == NULL) {
        *ret_needs_job = true;
        return STATUS_OK;
    }
    if (step->plan == NULL) {
        PlanRequest request = {.graph = step->graph->graph,
            .signature = &step->signature,
            .slot_count_max = (uint32_t)step->loop->steps->limits->session_slots};
        uint64_t begun_ns = clock_monotonic_ns();
        TRY(plan_obtain(step->call, plans, &request, &step->plan));
        step->plan_us = (clock_monotonic_ns() - begun_ns) / CLOCK_NS_PER_US + 1;
    }
    step->outputs = arena_alloc(step->call->arena, (step->plan->fetch_count + 1) * sizeof *step->outputs);
    return step->outputs == NULL ? call_fail_memory(step->call, "the outputs of a step") : STATUS_OK;
}

/* Walks all stages but the last. */
static Status
prepare_plan(StepCall *step, Slice json, JobContext *context, bool *ret_needs_job)
{
    *ret_needs_job = false;
    TRY(step_call_read(step, json));
    TRY(take_session(step, context, ret_needs_job));
    if (!*ret_needs_job) {
        TRY(take_graph(step, context, ret_needs_job));
    }
    if (!*ret_needs_job) {
        TRY(take_feeds(step, context, ret_needs_job));
    }
    if (!*ret_needs_job) {
        TRY(take_plan(step, context, ret_needs_job));
    }
    return STATUS_OK;
}

Status
step_call_take_places(StepCall *step, JobContext *context, bool *ret_needs_job)
{
    assert(step->plan != NULL && step->session != NULL);

    const Steps *steps = step->loop->steps;
    PlaceBinder binder = {
        .sessions = steps->sessions,
        .directory = steps->directory,
        .replica = steps->replica,
    };
    if (step->pins != NULL || !session_places_are_needed(step->plan)) {
        return STATUS_OK;
    }
    TRY(session_places_take(step->call, &binder, step->plan, &step->session, context, &step->pins));
    *ret_needs_job = step->pins == NULL;
    return STATUS_OK;
}

Status
step_call_prepare(StepCall *step, Slice json, JobContext *context, bool *ret_needs_job)
{
    TRY(prepare_plan(step, json, context, ret_needs_job));
    return *ret_needs_job ? STATUS_OK : step_call_take_places(step, context, ret_needs_job);
}

Status
step_call_plan(StepCall *step, const Request *request)
{
    assert(step->is_rehearsal);

    bool needs_job = false;
    GraphId graph;
    TRY(session_id_read(step->call, request, &step->session_id));
    TRY(graph_id_read(step->call, request, &graph));
    TRY(step_call_read(step, request->body));
    step->body.graph = request_parameter(request, "graph");
    return prepare_plan(step, request->body, request->job_context, &needs_job);
}

void
step_call_doubt_places(const StepCall *step, const StepReport *report)
{
    Status code = report->failure.code;
    if (step->pins != NULL && (code == STATUS_ABORTED || code == STATUS_UNAVAILABLE)) {
        session_cache_drop(step->loop->steps->sessions, step->tenant, step->session_id);
    }
}

void
step_call_keep_trace(const StepCall *step, const StepReport *report)
{
    assert(step->plan != NULL);

    TraceOrigin origin = {
        .tenant = step->tenant, .session = step->session_id, .id = step->id, .plan = step->plan};
    if (step->body.trace != STEP_TRACE_NONE) {
        trace_cache_keep(step->loop->steps->traces, &origin, report);
    }
}

static Slice
keep_words(const StepCall *step, Slice words)
{
    const char *copy = text_copy(step->call->arena, words);
    return slice_from_string(copy == NULL ? "" : copy);
}

void
step_call_keep_report(StepCall *step, const StepReport *report)
{
    StepReport *kept = &step->reply.report;
    SlotReport *slots = arena_alloc(step->call->arena, report->slot_count * sizeof *slots);
    *kept = *report;
    kept->slots = slots;
    kept->slot_count = slots == NULL ? 0 : report->slot_count;
    for (size_t index = 0; index < kept->slot_count; index++) {
        slots[index] = report->slots[index];
        slots[index].last_words = keep_words(step, report->slots[index].last_words);
        slots[index].stats.trace = (Slice){0};
    }
}

size_t
step_outputs_size(const StepCall *step)
{
    size_t size = 0;
    for (size_t fetch = 0; step->outputs != NULL && fetch < step->plan->fetch_count; fetch++) {
        size += tensor_byte_size(&step->outputs[fetch]);
    }
    return size;
}
