#include "worker/cuda/trace.h"

#include <assert.h>
#include <stdio.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "worker/cuda/activity.h"

enum { TIMED_MAX = 20 * 1000, RUN_NUMBER_MAX = (1 << 20) - 1 };

_Static_assert(DEVICE_MARK_BITS + 20 <= 64, "an id has room for a run's number and a mark");

typedef struct TimedSpan {
    struct TimedSpan *next;
    cudaEvent_t begun;
    cudaEvent_t ended;
    uint64_t mark;
    uint64_t bytes;
    const char *track;
} TimedSpan;

/* One moment on two clocks. */
typedef struct Moment {
    uint64_t host_ns;
    uint64_t card_ns;
} Moment;

struct CudaTrace {
    uint32_t number; /* of the run, for CUPTI; 0: events are recorded */
    uint32_t version;
    char reason[CUDA_ACTIVITY_REASON_SIZE];
    Moment begun;
    int card;
    cudaStream_t clock; /* an empty stream, in which the first event passes at once */
    cudaEvent_t first;
    Mutex lock; /* guards what follows */
    TimedSpan *spans;
    size_t span_count;
    uint64_t lost_count; /* spans without a record; with CUPTI, records lost before the run began */
};

static _Thread_local uint64_t this_mark;

void
cuda_trace_set_mark(uint64_t mark)
{
    assert(mark <= DEVICE_MARK_MAX);
    this_mark = mark;
}

uint64_t
cuda_trace_mark(void)
{
    return this_mark;
}

static uint32_t
next_number(void)
{
    static uint32_t count;
    return atomic_add_relaxed(&count, 1) % RUN_NUMBER_MAX + 1;
}

static Moment
read_clocks(void)
{
    uint64_t before_ns = clock_monotonic_ns();
    uint64_t card_ns = cuda_activity_clock_ns();
    return (Moment){.host_ns = before_ns + (clock_monotonic_ns() - before_ns) / 2, .card_ns = card_ns};
}

/* Records the event that times are counted from. False: CUDA refuses, and no span is timed. */
static bool
begin_clock(CudaTrace *trace)
{
    bool is_begun = cudaStreamCreateWithFlags(&trace->clock, cudaStreamNonBlocking) == cudaSuccess &&
                    cudaEventCreateWithFlags(&trace->first, cudaEventDefault) == cudaSuccess &&
                    cudaEventRecord(trace->first, trace->clock) == cudaSuccess &&
                    cudaEventSynchronize(trace->first) == cudaSuccess;
    trace->begun.host_ns = clock_monotonic_ns();
    (void)cudaGetLastError();
    return is_begun;
}

static void
free_trace(CudaTrace *trace)
{
    while (trace->spans != NULL) {
        TimedSpan *span = trace->spans;
        trace->spans = span->next;
        (void)cudaEventDestroy(span->begun);
        (void)cudaEventDestroy(span->ended);
        memory_free(span);
    }
    if (trace->first != NULL) {
        (void)cudaEventDestroy(trace->first);
    }
    if (trace->clock != NULL) {
        (void)cudaStreamDestroy(trace->clock);
    }
    (void)cudaGetLastError();
    mutex_done(&trace->lock);
    memory_free(trace);
}

CudaTrace *
cuda_trace_begin(int card)
{
    CudaTrace *made = memory_new(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    mutex_init(&made->lock);
    made->card = card;
    (void)cudaSetDevice(card);
    if (cuda_activity_begin(made->reason, &made->version)) {
        made->number = next_number();
        made->begun = read_clocks();
        made->lost_count = cuda_activity_lost_count();
    } else if (!begin_clock(made)) {
        free_trace(made);
        return NULL;
    }
    return made;
}

static TimedSpan *
new_timed_span(void)
{
    TimedSpan *made = memory_new(1, sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    if (cudaEventCreateWithFlags(&made->begun, cudaEventDefault) != cudaSuccess ||
        cudaEventCreateWithFlags(&made->ended, cudaEventDefault) != cudaSuccess) {
        if (made->begun != NULL) {
            (void)cudaEventDestroy(made->begun);
        }
        (void)cudaGetLastError();
        memory_free(made);
        return NULL;
    }
    return made;
}

/* Adds a span that begins now, if there is room. */
static TimedSpan *
begin_timed_span(CudaTrace *trace, cudaStream_t stream)
{
    TimedSpan *span = atomic_load_relaxed(&trace->span_count) < TIMED_MAX ? new_timed_span() : NULL;
    if (span != NULL && cudaEventRecord(span->begun, stream) != cudaSuccess) {
        (void)cudaGetLastError();
    }
    mutex_lock(&trace->lock);
    if (span == NULL) {
        trace->lost_count++;
    } else {
        span->next = trace->spans;
        trace->spans = span;
        atomic_store_relaxed(&trace->span_count, trace->span_count + 1);
    }
    mutex_unlock(&trace->lock);
    return span;
}

CudaSpan
cuda_span_begin(CudaTrace *trace, uint64_t mark, cudaStream_t stream, const char *track, uint64_t bytes)
{
    CudaSpan span = {.trace = trace, .stream = stream};
    if (trace == NULL) {
        return span;
    }
    if (trace->number != 0) {
        cuda_activity_push(trace->number, mark);
        return span;
    }
    span.timed = begin_timed_span(trace, stream);
    if (span.timed != NULL) {
        span.timed->mark = mark;
        span.timed->track = track;
        span.timed->bytes = bytes;
    }
    return span;
}

void
cuda_span_end(CudaSpan *span)
{
    CudaTrace *trace = TAKE(span->trace);
    if (trace != NULL && trace->number != 0) {
        cuda_activity_pop();
    } else if (trace != NULL && span->timed != NULL) {
        (void)cudaEventRecord(span->timed->ended, span->stream); /* the turn finds an error at its end */
    }
}

/* Returns a time of CUPTI's on the host's clock: both are read when the trace begins and when it ends. */
static uint64_t
to_host_ns(const Moment *begun, const Moment *ended, uint64_t card_ns)
{
    double passed = (double)card_ns - (double)begun->card_ns;
    double card_span = (double)ended->card_ns - (double)begun->card_ns;
    double host_span = (double)ended->host_ns - (double)begun->host_ns;
    double offset = card_span > 0 ? passed * (host_span / card_span) : passed;
    double host_ns = (double)begun->host_ns + offset;
    return host_ns > 0 ? (uint64_t)host_ns : 0;
}

static void
tell_activities(const CudaTrace *trace, DeviceReport *report)
{
    report->activities = cuda_activity_take(trace->number, &report->activity_count);
    report->lost_count = cuda_activity_lost_count() - trace->lost_count;
    Moment ended = read_clocks();
    for (size_t i = 0; i < report->activity_count; i++) {
        DeviceActivity *activity = &report->activities[i];
        activity->start_ns = to_host_ns(&trace->begun, &ended, activity->start_ns);
        activity->end_ns = to_host_ns(&trace->begun, &ended, activity->end_ns);
    }
    (void)snprintf(report->source, sizeof report->source, "CUPTI %u.%u", trace->version / 10000,
        trace->version % 10000 / 100);
    cuda_activity_end();
}

/* Reads a moment of the card's. False: its event was not recorded, or the card has failed. */
static bool
read_event(const CudaTrace *trace, cudaEvent_t event, uint64_t *ret_host_ns)
{
    float ms = 0;
    if (cudaEventElapsedTime(&ms, trace->first, event) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    *ret_host_ns = trace->begun.host_ns + (uint64_t)(ms < 0 ? 0 : (double)ms * CLOCK_NS_PER_MS);
    return true;
}

static void
tell_timed_spans(const CudaTrace *trace, DeviceReport *report)
{
    report->lost_count = trace->lost_count;
    report->activities = memory_new(trace->span_count + 1, sizeof(DeviceActivity));
    for (const TimedSpan *span = trace->spans; span != NULL; span = span->next) {
        DeviceActivity activity = {.mark = span->mark, .bytes = span->bytes};
        if (report->activities == NULL || !read_event(trace, span->begun, &activity.start_ns) ||
            !read_event(trace, span->ended, &activity.end_ns)) {
            report->lost_count++;
            continue;
        }
        (void)snprintf(activity.track, sizeof activity.track, "%s", span->track);
        report->activities[report->activity_count++] = activity;
    }
    (void)snprintf(report->source, sizeof report->source, "events around nodes, as %s", trace->reason);
}

void
cuda_trace_end(CudaTrace *trace, DeviceReport *ret_report)
{
    *ret_report = (DeviceReport){0};
    (void)cudaSetDevice(trace->card);
    if (trace->number != 0) {
        tell_activities(trace, ret_report);
    } else {
        tell_timed_spans(trace, ret_report);
    }
    free_trace(trace);
}
