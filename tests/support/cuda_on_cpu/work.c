#include "tests/support/cuda_on_cpu/work.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/cuda_on_cpu/activity.h"
#include "tests/support/cuda_on_cpu/grid.h"
#include "tests/support/cuda_on_cpu/memory.h"
#include "tests/support/cuda_on_cpu/runtime.h"

enum { STREAMS_MAX = 256 };

static Stream *streams[STREAMS_MAX];
static size_t stream_count;

/* Never by calloc(), into which compilers turn malloc() and memset(): tests have it fail
 * (tests/support/fail_alloc.h). */
void *
work_allocate(size_t size)
{
    void *data = NULL;
    int code = posix_memalign(&data, sizeof(max_align_t), size);
    assert(code == 0);
    memset(data, 0, size);
    return data;
}

void
work_unref(Work *work)
{
    if (work != NULL && --work->references == 0) {
        free(work->launch.arguments);
        free(work);
    }
}

void
event_unref(Event *event)
{
    if (event != NULL && --event->references == 0) {
        free(event);
    }
}

static void
free_step(Step *step)
{
    work_unref(step->work);
    event_unref(step->records);
    event_unref(step->waits_for);
    free(step);
}

void
stream_enqueue(Stream *stream, Step step)
{
    Step *made = work_allocate(sizeof *made);
    *made = step;
    *stream->end = made;
    stream->end = &made->next;
}

static uint64_t
now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static CardWorkKind
kind_of(const Work *work)
{
    if (work->launch.body != NULL) {
        return CARD_KERNEL;
    }
    if (work->from == NULL) {
        return CARD_FILL;
    }
    if (device_memory_is_host(work->from)) {
        return CARD_COPY_IN;
    }
    return device_memory_is_host(work->to) ? CARD_COPY_OUT : CARD_COPY;
}

static void
tell_work(const Stream *stream, const Step *step, uint64_t start_ns)
{
    const KernelLaunch *launch = &step->work->launch;
    CardWork work = {
        .call = step->call,
        .stream = stream->number,
        .kind = kind_of(step->work),
        .grid = {launch->grid.x, launch->grid.y, launch->grid.z},
        .block = {launch->block.x, launch->block.y, launch->block.z},
        .size = step->work->size,
        .captured = step->captured,
        .start_ns = start_ns,
        .end_ns = now_ns(),
    };
    activity_tell(&work);
}

static void
run_step(const Stream *stream, Step *step)
{
    if (step->work != NULL && runtime_broken() == cudaSuccess) {
        uint64_t start_ns = now_ns();
        device_memory_open();
        step->work->run(step->work);
        device_memory_close();
        if (step->call != 0) {
            tell_work(stream, step, start_ns);
        }
    }
    if (step->records != NULL) {
        step->records->completed = step->turn;
        step->records->completed_ms = (double)now_ns() * 1e-6;
    }
}

/* Does the next work of the stream, or of the one that it waits for. Returns false when there is none. */
static bool
advance(Stream *stream)
{
    Step *step = stream->first;
    if (step == NULL) {
        return false;
    }
    Event *awaited = step->waits_for;
    if (awaited != NULL && awaited->completed < step->turn) {
        return advance(awaited->stream);
    }
    stream->first = step->next;
    if (stream->first == NULL) {
        stream->end = &stream->first;
    }
    run_step(stream, step);
    free_step(step);
    return true;
}

void
stream_finish(Stream *stream)
{
    while (advance(stream)) {}
}

void
stream_finish_event(Event *event)
{
    while (event->completed < event->recorded && advance(event->stream)) {}
}

void
stream_draw_progress(void)
{
    enum { ONE_IN = 4 };
    while (stream_count > 0 && grid_random(ONE_IN) == 0) {
        (void)advance(streams[grid_random(stream_count)]);
    }
}

Stream *
stream_new(void)
{
    assert(stream_count < STREAMS_MAX);
    Stream *stream = work_allocate(sizeof *stream);
    stream->end = &stream->first;
    stream->device = runtime_device();
    streams[stream_count++] = stream;
    stream->number = (uint32_t)stream_count;
    return stream;
}

/* The legacy stream is never used by the plugin: it waits for all others, and they for it. */
Stream *
stream_of(cudaStream_t handle)
{
    if (handle == NULL) {
        fprintf(stderr, "cuda_on_cpu: work was enqueued in the legacy default stream\n");
        abort();
    }
    return (Stream *)(void *)handle;
}

cudaStream_t
stream_handle(Stream *stream)
{
    return (cudaStream_t)(void *)stream;
}

Work *
work_new(void (*run)(Work *))
{
    Work *work = work_allocate(sizeof *work);
    work->references = 1;
    work->run = run;
    return work;
}

static void
drop_stream(Stream *stream)
{
    while (stream->first != NULL) {
        Step *step = stream->first;
        stream->first = step->next;
        free_step(step);
    }
    free(stream);
}

void
stream_drop_all(void)
{
    for (size_t i = 0; i < stream_count; i++) {
        drop_stream(streams[i]);
    }
    stream_count = 0;
}

Stream *
stream_at(size_t index)
{
    return index < stream_count ? streams[index] : NULL;
}

void
stream_destroy(Stream *stream)
{
    stream_finish(stream);
    for (size_t i = 0; i < stream_count; i++) {
        if (streams[i] == stream) {
            streams[i] = streams[--stream_count];
            drop_stream(stream);
            break;
        }
    }
}
