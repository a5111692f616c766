/* The work of streams: queues of kernels, copies, fills and events, which get on as late as they may
 * (streams.h).
 *
 * Threads: any; under the lock of runtime.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/support/cuda_on_cpu/streams.h"

/* One piece of a stream's work: a kernel, a copy or a fill; shared by the graphs that hold it. */
typedef struct Work {
    int references;
    void (*run)(struct Work *work);
    KernelLaunch launch;
    void *to;
    const void *from;
    int value;
    size_t size;
} Work;

typedef struct Event Event;
typedef struct Stream Stream;
typedef struct Graph Graph; /* capture.h */

typedef struct Step {
    struct Step *next;
    Work *work;
    Event *records;
    Event *waits_for;
    uint64_t turn;     /* of the event */
    uint32_t call;     /* that enqueued the work (activity.h) */
    uint64_t captured; /* the work's number in a graph; 0: in none */
} Step;

struct Event {
    int references;
    unsigned flags;
    uint64_t recorded;
    uint64_t completed;
    double completed_ms;
    Stream *stream;          /* of the last record */
    uint64_t capture_number; /* of the capture that the last record is in; 0: in none */
    size_t position;         /* in the capture */
};

struct Stream {
    Step *first;
    Step **end;
    int device;
    uint32_t number;
    Graph *capture;
    bool is_origin;
    size_t captured; /* number of its last work in the capture */
    size_t joined;   /* number of its work that another stream of the capture has waited for */
    bool (*may_use)(const void *owner); /* cuda_on_cpu_guard(); NULL: anybody may */
    const void *owner;
};

/* Returns zeroes; never NULL. */
void *work_allocate(size_t size);

/* Makes work with one reference. */
Work *work_new(void (*run)(Work *work));
void work_unref(Work *work);
void event_unref(Event *event);

/* Returns the stream of a number, from 0 on; NULL behind the last. */
Stream *stream_at(size_t index);
Stream *stream_new(void);
void stream_destroy(Stream *stream);
void stream_drop_all(void);
Stream *stream_of(cudaStream_t handle);
cudaStream_t stream_handle(Stream *stream);

/* Takes over the references of the step. */
void stream_enqueue(Stream *stream, Step step);

/* Do the work of a stream, up to its end or to an event. */
void stream_finish(Stream *stream);
void stream_finish_event(Event *event);

/* Lets some streams get on a little: what others do meanwhile is never certain. */
void stream_draw_progress(void);
