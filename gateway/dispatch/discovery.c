#include "gateway/dispatch/discovery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/memory.h"

enum { INTERVAL_MS = 1000, MISS_MAX = 3, POLL_ARENA_SIZE_MAX = 1 << 20 };

/* One configured address. */
typedef struct Target {
    Discovery *discovery;
    UpstreamCall *call; /* while a poll is under way */
    WorkerInfo info;    /* name "" until it has answered once */
    int miss_count;
    bool is_marked_draining;
} Target;

struct Discovery {
    Loop *loop;
    Directory *directory;
    Upstream *upstream;
    DiscoveryOptions options;
    Timer timer;
    size_t target_count;
    Target targets[];
};

static int
by_task(const void *left, const void *right)
{
    const int32_t left_task = ((const WorkerInfo *)left)->task;
    const int32_t right_task = ((const WorkerInfo *)right)->task;
    return (left_task > right_task) - (left_task < right_task);
}

static void
publish(Discovery *discovery)
{
    Roster *const list = roster_new(discovery->target_count);
    if (list == NULL) {
        return; /* the list of before stays in force; the next poll publishes */
    }
    list->count = 0;
    for (size_t index = 0; index < discovery->target_count; index++) {
        const Target *const target = &discovery->targets[index];
        if (target->info.name[0] == '\0') {
            continue;
        }
        WorkerInfo *const info = &list->workers[list->count++];
        *info = target->info;
        if (info->state == WORKER_SERVING && target->is_marked_draining) {
            info->state = WORKER_DRAINING;
        }
    }
    qsort(list->workers, list->count, sizeof list->workers[0], by_task);
    directory_publish(discovery->directory, list);
}

/* --- One answer ----------------------------------------------------------------------------------------- */

static void
copy_text(char *target, size_t size, Slice text)
{
    (void)snprintf(target, size, "%.*s", SLICE_PRINT(text));
}

static void
info_fill(WorkerInfo *info, const WireWorker *worker)
{
    copy_text(info->name, sizeof info->name, worker->name);
    copy_text(info->incarnation, sizeof info->incarnation, worker->incarnation);
    info->state = slice_equals_string(worker->state, "serving") ? WORKER_SERVING : WORKER_DRAINING;
    info->running_count = worker->running_count;
    info->device_count = worker->device_count < WORKER_DEVICE_MAX ? worker->device_count : WORKER_DEVICE_MAX;
    for (size_t index = 0; index < info->device_count; index++) {
        const WireDevice *const device = &worker->devices[index];
        WorkerDevice *const known = &info->devices[index];
        copy_text(known->type, sizeof known->type, device->type);
        copy_text(known->isa, sizeof known->isa, device->isa);
        known->id = device->id;
        known->thread_count = device->thread_count;
        known->memory_limit = device->memory_limit;
        known->memory_in_use = device->memory_in_use;
    }
}

static void
target_answered(Target *target, const WireWorker *worker)
{
    const bool is_new = !slice_equals_string(worker->name, target->info.name) ||
                        !slice_equals_string(worker->incarnation, target->info.incarnation);
    if (!slice_equals_string(worker->name, target->info.name)) {
        target->info.task = -1;
    }
    target->miss_count = 0;
    info_fill(&target->info, worker);
    if (is_new && target->discovery->options.on_seen != NULL) {
        target->discovery->options.on_seen(target->discovery->options.context, &target->info);
    }
}

static void
target_missed(Target *target)
{
    target->miss_count++;
    if (target->miss_count >= MISS_MAX) {
        target->info.state = WORKER_LOST;
    }
}

static void
poll_done(UpstreamCall *call, Status status, const char *message)
{
    (void)message;
    Target *const target = upstream_context(call);
    AUTO_ARENA arena = arena_new(POLL_ARENA_SIZE_MAX);
    Call reading = {.arena = arena};
    WireWorker worker;
    target->call = NULL;
    const bool is_answer = status == STATUS_OK && upstream_http_status(call) == 200 && arena != NULL &&
                           wire_worker_read(&reading, upstream_body(call), &worker) == STATUS_OK;
    if (is_answer) {
        target_answered(target, &worker);
    } else {
        target_missed(target);
    }
    publish(target->discovery);
}

static const UpstreamEvents poll_events = {.on_done = poll_done};

/* --- The round ------------------------------------------------------------------------------------------ */

static void
target_poll(Target *target)
{
    if (target->call != NULL) {
        /* The poll of before has not come back: that is a miss, and the answer may still come. */
        target_missed(target);
        publish(target->discovery);
        return;
    }
    const UpstreamHead head = {
        .method = "GET",
        .path = SLICE("/worker/v1/status"),
        .address = target->info.address,
        .deadline_ms = INTERVAL_MS,
    };
    target->call = upstream_begin(target->discovery->upstream, &head, &poll_events, target);
    if (target->call != NULL) {
        upstream_end(target->call);
    }
}

static void
poll_all(Timer *timer)
{
    Discovery *const discovery = (Discovery *)(void *)((char *)timer - offsetof(Discovery, timer));
    const uint32_t interval_ms =
        discovery->options.interval_ms == 0 ? INTERVAL_MS : discovery->options.interval_ms;
    for (size_t index = 0; index < discovery->target_count; index++) {
        target_poll(&discovery->targets[index]);
    }
    timer_set(discovery->loop, timer, loop_now_ns(discovery->loop) + interval_ms * CLOCK_NS_PER_MS);
}

Status
discovery_start(
    Call *call, Loop *loop, Directory *directory, const DiscoveryOptions *options, Discovery **ret_discovery)
{
    if (options->address_count > WORKER_COUNT_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%zu workers are configured, at most %d are possible",
            options->address_count, WORKER_COUNT_MAX);
    }
    Discovery *const discovery = memory_new(1, sizeof *discovery + options->address_count * sizeof(Target));
    if (discovery == NULL) {
        return call_fail_memory(call, "the discovery of workers");
    }
    discovery->loop = loop;
    discovery->directory = directory;
    discovery->options = *options;
    discovery->timer.fire = poll_all;
    discovery->target_count = options->address_count;
    discovery->upstream = upstream_new(loop, &options->upstream);
    if (discovery->upstream == NULL) {
        memory_free(discovery);
        return call_fail_memory(call, "the discovery of workers");
    }
    for (size_t index = 0; index < options->address_count; index++) {
        Target *const target = &discovery->targets[index];
        target->discovery = discovery;
        target->info.task = -1;
        target->info.state = WORKER_LOST;
        copy_text(target->info.address, sizeof target->info.address, options->addresses[index]);
    }
    timer_set(loop, &discovery->timer, loop_now_ns(loop));
    *ret_discovery = discovery;
    return STATUS_OK;
}

void
discovery_stop(Discovery *discovery)
{
    if (discovery != NULL) {
        timer_clear(discovery->loop, &discovery->timer);
        upstream_free(discovery->upstream);
        memory_free(discovery);
    }
}

static Target *
target_find(Discovery *discovery, const char *name)
{
    for (size_t index = 0; index < discovery->target_count; index++) {
        if (strcmp(discovery->targets[index].info.name, name) == 0) {
            return &discovery->targets[index];
        }
    }
    return NULL;
}

void
discovery_set_task(Discovery *discovery, const char *name, int32_t task)
{
    Target *const target = target_find(discovery, name);
    if (target != NULL) {
        target->info.task = task;
        publish(discovery);
    }
}

void
discovery_set_draining(Discovery *discovery, const char *name, bool is_draining)
{
    Target *const target = target_find(discovery, name);
    if (target != NULL) {
        target->is_marked_draining = is_draining;
        publish(discovery);
    }
}
