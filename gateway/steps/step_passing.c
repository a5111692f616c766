#include "gateway/steps/step_passing.h"

#include <assert.h>

#include "gateway/resources/resource.h"
#include "gateway/steps/step_forms.h"
#include "shared/base/clock.h"

enum { LOOP_BODY_SIZE_MAX = 256 * 1024, FEED_RATE_MIN = 1 << 20 /* bytes a second */ };

typedef struct StepPassing {
    StepUpload *upload;
    Exchange *exchange;
    StepLoop *loop;
    StepPassingRun run;
    bool is_wanted;    /* a large feed has come: the step is to begin with it */
    StepCall *step;    /* NULL: no large feed has come */
    bool is_preparing; /* a job thread has the step and its call */
    bool is_finished;  /* the step is the handler's */
    bool is_broken;    /* the form is refused, or the client gone */
    Status status;     /* why the step has ended; its call says it */
    Buffer pending;    /* of the feed, until the workers are ready: less than libmicrohttpd's buffer */
    size_t feed;       /* in the signature's order */
    Tensor described;
    bool has_begun; /* the workers know of it */
} StepPassing;

/* NULL: all feeds of the form are collected. */
static StepPassing *
find_passing(const StepUpload *upload)
{
    return upload->taker == NULL ? NULL : upload->taker_owner;
}

static StepPassing *
passing_of(const StepUpload *upload)
{
    assert(upload->taker_owner != NULL);

    return upload->taker_owner;
}

static void
passing_release(void *resource)
{
    StepPassing *passing = resource;
    buffer_done(&passing->pending);
}

static bool
is_running(const StepPassing *passing)
{
    return passing->step != NULL && !passing->is_preparing && passing->step->running.run != NULL;
}

/* Gives the exchange back, which was kept when the step was made. */
static void
release_exchange(StepPassing *passing)
{
    exchange_unref(passing->exchange);
}

/* Sends what waits, and takes more of the body. */
static void
send_pending(StepPassing *passing)
{
    if (is_running(passing) && !step_feeds_must_wait(passing->step->running.run)) {
        StepRun *run = passing->step->running.run;
        if (!passing->has_begun) {
            passing->has_begun = true;
            step_feed_begin(run, passing->feed, &passing->described);
        }
        if (passing->pending.size > 0) {
            step_feed_piece(run, buffer_slice(&passing->pending));
            buffer_done(&passing->pending);
        }
    }
    if (!step_passing_must_wait(passing->upload)) {
        exchange_take_more(passing->exchange);
    }
}

void
step_passing_go_on(StepCall *step)
{
    StepPassing *passing = passing_of(step->upload);
    if (!passing->is_broken) {
        send_pending(passing);
    }
}

/* Returns the time of a body of this many bytes, if it may take all that it is given. */
static uint64_t
feeding_ns(const StepPassing *passing)
{
    uint64_t size = passing->upload->limits->step_body_bytes;
    (void)slice_to_uint64(request_header(exchange_request(passing->exchange), "Content-Length"), &size);
    return size * (CLOCK_NS_PER_S / FEED_RATE_MIN);
}

/* Begins the run of the prepared step. */
static Status
begin_run(StepPassing *passing)
{
    StepCall *step = passing->step;
    Slice name = passing->upload->feeds[passing->upload->feed_count - 1].name;
    TRY(step_form_choose(step));
    if (!signature_find_feed(&step->signature, name, &passing->feed)) {
        return call_fail(step->call, STATUS_INTERNAL, "a feed is missing from its own signature");
    }
    TRY(step_feed_check_shape(step, name, &passing->described.shape));
    passing->run(step, clock_monotonic_ns() + step->body.timeout_ms * CLOCK_NS_PER_MS + feeding_ns(passing));
    return step->running.run != NULL ? STATUS_OK : call_fail_memory(step->call, "a step");
}

/* Notes that nothing will run: the next piece is refused with this status. */
static void
fail_passing(StepPassing *passing, Status status)
{
    passing->status = status;
    exchange_take_more(passing->exchange);
    release_exchange(passing);
}

static Status
prepare_on_job(Call *call, JobContext *job_context, void *owner)
{
    const StepPassing *passing = owner;
    bool needs_job = false;
    (void)call;
    return step_call_prepare(passing->step, step_call_json(passing->step), job_context, &needs_job);
}

static void
prepared_on_job(Exchange *exchange, Status status, void *owner)
{
    StepPassing *passing = owner;
    (void)exchange;
    passing->is_preparing = false;
    if (status == STATUS_OK && passing->is_broken) {
        status = call_fail(passing->step->call, STATUS_CANCELLED, "the form has broken off");
    }
    status = status == STATUS_OK ? begin_run(passing) : status;
    if (status != STATUS_OK) {
        fail_passing(passing, status);
    }
}

/* Prepares the step from the caches, or else on a job thread. */
static Status
prepare_step(StepPassing *passing)
{
    StepCall *step = passing->step;
    bool needs_job = false;
    TRY(session_id_read(step->call, exchange_request(passing->exchange), &step->session_id));
    TRY(step_call_prepare(step, step_call_json(step), NULL, &needs_job));
    if (!needs_job) {
        return begin_run(passing);
    }
    exchange_expect_long(passing->exchange);
    passing->is_preparing = exchange_offload(passing->exchange, prepare_on_job, prepared_on_job, passing);
    return passing->is_preparing ? STATUS_OK : exchange_note_overload(passing->exchange);
}

/* Begins the step with the feed whose header has come. */
static Status
begin_step(StepPassing *passing)
{
    Call *call = exchange_call(passing->exchange);
    passing->step = step_call_new(passing->exchange, passing->loop);
    if (passing->step == NULL) {
        return call_fail_memory(call, "a step");
    }
    passing->step->comes = true;
    exchange_ref(passing->exchange);
    Status status = prepare_step(passing);
    if (status != STATUS_OK) {
        passing->status = status;
        release_exchange(passing);
    }
    return status;
}

/* Returns whether the feed whose header has come is the last part, as its size and the body's say. */
static bool
is_last_part(const StepPassing *passing, const NpyHead *head)
{
    enum { DASHES = 6, LINE_END = 2 }; /* CRLF "--" boundary "--", and perhaps CRLF */
    const StepUpload *upload = passing->upload;
    uint64_t length = 0;
    uint64_t begin = multipart_position(upload->multipart) - upload->rest_size;
    uint64_t end = begin + tensor_byte_size(&head->described) + upload->boundary.size + DASHES;
    return slice_to_uint64(request_header(exchange_request(passing->exchange), "Content-Length"), &length) &&
           (length == end || length == end + LINE_END);
}

/* Returns whether the step may begin now: all its feeds are known, and it is not kept. A request that is too
 * large to be read on a loop thread is not looked at. */
static bool
may_begin(const StepPassing *passing, const NpyHead *head)
{
    StepBody body;
    const StepUpload *upload = passing->upload;
    AUTO_ARENA arena = arena_new(upload->request.size + ((size_t)1 << 20));
    Call reading = {.arena = arena};
    bool is_read_soon = upload->has_request && upload->request.size <= LOOP_BODY_SIZE_MAX;
    if (!is_read_soon || arena == NULL ||
        step_body_read(&reading, buffer_slice(&upload->request), upload->limits, &body) != STATUS_OK) {
        return false; /* what is wrong is told when all has come */
    }
    return !body.is_durable && (body.part_count > 0 || is_last_part(passing, head));
}

/* Finds the feed among those of the step, and compares its dtype and shape with the graph's. */
static Status
find_feed(StepPassing *passing, const UploadedFeed *uploaded, const Tensor *described)
{
    Dtype dtype = described->dtype;
    StepCall *step = passing->step;
    for (size_t index = 0; index < step->body.feed_count; index++) {
        const StepFeedText *text = &step->body.feeds[index];
        if (!text->comes || !slice_equal(text->name, uploaded->name)) {
            continue;
        }
        if (step->given[index].dtype != dtype) {
            return call_fail(step->call, STATUS_INVALID_ARGUMENT, "the graph takes %s here, not %s",
                dtype_name(step->given[index].dtype), dtype_name(dtype));
        }
        TRY(step_feed_check_shape(step, text->name, &described->shape));
        return signature_find_feed(&step->signature, text->name, &passing->feed)
                   ? STATUS_OK
                   : call_fail(step->call, STATUS_INTERNAL, "a feed is missing from its own signature");
    }
    return call_fail(step->call, STATUS_INVALID_ARGUMENT, "'parts' does not name it");
}

/* Fails when the step has ended, or is going to. */
static Status
check_running(const StepPassing *passing)
{
    TRY(passing->status);
    return passing->is_broken
               ? call_fail(exchange_call(passing->exchange), STATUS_CANCELLED, "nobody waits any more")
               : STATUS_OK;
}

static Status
feed_begin(StepUpload *upload, const NpyHead *head, bool *ret_takes)
{
    StepPassing *passing = passing_of(upload);
    bool is_large = tensor_byte_size(&head->described) >= PASSED_SIZE_MIN && !head->is_fortran;
    if (!is_large || (passing->step == NULL && !may_begin(passing, head))) {
        return STATUS_OK;
    }
    TRY(check_running(passing));
    *ret_takes = true;
    passing->described = head->described;
    if (passing->step == NULL) {
        passing->is_wanted = true; /* step_passing_write() begins it */
        return STATUS_OK;
    }
    TRY(find_feed(passing, &upload->feeds[upload->feed_count - 1], &head->described));
    passing->has_begun = true;
    step_feed_begin(passing->step->running.run, passing->feed, &passing->described);
    return STATUS_OK;
}

/* Sends elements to the workers, or keeps them until these are ready: no more of the body is read then. */
static Status
feed_piece(StepUpload *upload, Slice elements)
{
    StepPassing *passing = passing_of(upload);
    TRY(check_running(passing));
    if (is_running(passing) && passing->has_begun) {
        step_feed_piece(passing->step->running.run, elements);
        return STATUS_OK;
    }
    buffer_append_slice(&passing->pending, elements);
    return buffer_is_ok(&passing->pending)
               ? STATUS_OK
               : call_fail_memory(exchange_call(passing->exchange), "a part of a feed");
}

static Status
feed_end(StepUpload *upload)
{
    return check_running(passing_of(upload));
}

/* Brings a small feed that has come behind a large one. */
static Status
feed_whole(StepUpload *upload, const UploadedFeed *feed)
{
    StepPassing *passing = passing_of(upload);
    if (passing->step == NULL) {
        return STATUS_OK;
    }
    TRY(check_running(passing));
    TRY(find_feed(passing, feed, &feed->tensor));
    step_feed(passing->step->running.run, passing->feed, &feed->tensor);
    return STATUS_OK;
}

bool
step_passing_is_allowed(const Request *request)
{
    return request_header(request, "Idempotency-Key").data == NULL &&
           request_header(request, "Prefer").data == NULL;
}

void
step_passing_attach(Exchange *exchange, StepLoop *loop, StepUpload *upload, StepPassingRun run)
{
    static const StepFeedTaker taker = {
        .begin = feed_begin, .piece = feed_piece, .end = feed_end, .whole = feed_whole};
    Arena *arena = exchange_call(exchange)->arena;
    StepPassing *passing = arena_alloc(arena, sizeof *passing);
    if (passing != NULL && arena_defer(arena, passing_release, passing) != NULL) {
        *passing = (StepPassing){.upload = upload, .exchange = exchange, .loop = loop, .run = run};
        upload->taker = &taker;
        upload->taker_owner = passing;
    }
}

Status
step_passing_write(Call *call, void *state, Slice piece)
{
    StepPassing *passing = find_passing(state);
    TRY(step_upload_write(call, state, piece));
    return passing != NULL && TAKE(passing->is_wanted) ? begin_step(passing) : STATUS_OK;
}

bool
step_passing_must_wait(const void *state)
{
    const StepPassing *passing = find_passing(state);
    if (passing == NULL || passing->step == NULL || passing->is_finished) {
        return false;
    }
    return passing->is_preparing ||
           (is_running(passing) && !passing->is_broken &&
               (passing->pending.size > 0 || step_feeds_must_wait(passing->step->running.run)));
}

bool
step_passing_is_awaited(const void *state)
{
    const StepPassing *passing = find_passing(state);
    return passing != NULL && is_running(passing);
}

void
step_passing_broken(void *state)
{
    StepPassing *passing = find_passing(state);
    if (passing == NULL || passing->step == NULL || passing->is_broken) {
        return;
    }
    passing->is_broken = true;
    if (is_running(passing)) {
        step_cancel(passing->step->running.run, "the form has broken off");
    }
}

StepCall *
step_passing_step(const StepUpload *upload)
{
    const StepPassing *passing = find_passing(upload);
    return passing == NULL ? NULL : passing->step;
}

/* Checks that the form is sound to its end and had all its parts. */
static Status
check_form(StepPassing *passing)
{
    StepUpload *upload = passing->upload;
    Call *call = passing->step->call;
    TRY(check_running(passing));
    TRY(step_upload_end(call, upload));
    return step_upload_check_parts(call, upload, &passing->step->body, true);
}

Status
step_passing_finish(StepUpload *upload)
{
    StepPassing *passing = passing_of(upload);
    assert(passing->step != NULL && !passing->is_preparing && !passing->is_finished);

    const StepCall *step = passing->step;
    Status status = check_form(passing);
    if (status != STATUS_OK) {
        step_passing_broken(upload);
        return status;
    }
    passing->is_finished = true;
    step_feeds_end(step->running.run, clock_monotonic_ns() + step->body.timeout_ms * CLOCK_NS_PER_MS);
    release_exchange(passing);
    return STATUS_OK;
}

bool
step_passing_end(const StepCall *step, const StepReport *report)
{
    StepPassing *passing = step->upload == NULL ? NULL : find_passing(step->upload);
    if (passing == NULL || passing->step != step || passing->is_finished) {
        return false;
    }
    if (!passing->is_broken) {
        char text[ERROR_MESSAGE_SIZE];
        failure_text(&report->failure, text);
        Status code = report->failure.code == STATUS_OK ? STATUS_INTERNAL : report->failure.code;
        passing->status = call_fail(step->call, code, "%s", text);
        exchange_take_more(passing->exchange);
    }
    release_exchange(passing);
    return true;
}
