#include "gateway/dispatch/discovery.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/memory.h"

enum { INTERVAL_MS = 1000, MISS_MAX = 3, TASK_ASK_POLLS = 10, POLL_ARENA_SIZE_MAX = 1 << 20 };

/* One address of one configured entry. */
typedef struct Target {
    Discovery *discovery;
    size_t entry;
    UpstreamCall *call; /* while a poll is under way */
    WorkerInfo info;    /* its name is "" until the worker has answered once */
    int miss_count;
    int ask_count; /* answers to come until its task number is asked for again, while it has none */
    bool is_marked_draining;
} Target;

struct Discovery {
    Loop *loop;
    Directory *directory;
    Upstream *upstream;
    DiscoveryOptions options;
    Timer timer;
    Timer resolve_timer;
    size_t target_count;
    Target *targets[WORKER_COUNT_MAX];
};

static int
by_task(const void *left, const void *right)
{
    int32_t left_task = ((const WorkerInfo *)left)->task;
    int32_t right_task = ((const WorkerInfo *)right)->task;
    return (left_task > right_task) - (left_task < right_task);
}

static void
publish_roster(Discovery *discovery)
{
    Roster *list = roster_new(discovery->target_count);
    if (list == NULL) {
        return; /* the last list stays in force; the next poll publishes */
    }
    list->count = 0;
    for (size_t index = 0; index < discovery->target_count; index++) {
        const Target *target = discovery->targets[index];
        if (target->info.name[0] == '\0') {
            continue;
        }
        WorkerInfo *info = &list->workers[list->count++];
        *info = target->info;
        if (info->state == WORKER_SERVING && target->is_marked_draining) {
            info->state = WORKER_DRAINING;
        }
    }
    qsort(list->workers, list->count, sizeof list->workers[0], by_task);
    directory_publish(discovery->directory, list);
}

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
        const WireDevice *device = &worker->devices[index];
        WorkerDevice *known = &info->devices[index];
        copy_text(known->type, sizeof known->type, device->type);
        copy_text(known->isa, sizeof known->isa, device->isa);
        known->id = device->id;
        known->thread_count = device->thread_count;
        known->memory_limit = device->memory_limit;
        known->memory_in_use = device->memory_in_use;
    }
}

static void
target_announce(const Target *target)
{
    const DiscoveryOptions *options = &target->discovery->options;
    if (options->on_seen != NULL) {
        options->on_seen(options->context, &target->info);
    }
}

static void
target_answered(Target *target, const WireWorker *worker)
{
    bool is_new = !slice_equals_string(worker->name, target->info.name) ||
                  !slice_equals_string(worker->incarnation, target->info.incarnation);
    if (!slice_equals_string(worker->name, target->info.name)) {
        target->info.task = -1;
    }
    target->miss_count = 0;
    info_fill(&target->info, worker);
    if (is_new || (target->info.task < 0 && --target->ask_count <= 0)) {
        target->ask_count = TASK_ASK_POLLS;
        target_announce(target);
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
    Target *target = upstream_context(call);
    AUTO_ARENA arena = arena_new(POLL_ARENA_SIZE_MAX);
    Call reading = {.arena = arena};
    WireWorker worker;
    target->call = NULL;
    bool is_answer = status == STATUS_OK && upstream_http_status(call) == 200 && arena != NULL &&
                     wire_worker_read(&reading, upstream_body(call), &worker) == STATUS_OK;
    if (is_answer) {
        target_answered(target, &worker);
    } else {
        target_missed(target);
    }
    publish_roster(target->discovery);
}

static const UpstreamEvents poll_events = {.on_done = poll_done};

static void
target_poll(Target *target)
{
    if (target->call != NULL) {
        /* The last poll is still under way: that is a miss, although its answer may still come. */
        target_missed(target);
        publish_roster(target->discovery);
        return;
    }
    UpstreamHead head = {
        .method = "GET",
        .path = SLICE("/worker/v1/status"),
        .address = target->info.address,
        .deadline_ms = (uint64_t)MISS_MAX * INTERVAL_MS,
    };
    target->call = upstream_begin(target->discovery->upstream, &head, &poll_events, target);
    if (target->call != NULL) {
        upstream_end(target->call);
    }
}

static void
poll_all(Timer *timer)
{
    Discovery *discovery = (Discovery *)(void *)((char *)timer - offsetof(Discovery, timer));
    uint32_t interval_ms = discovery->options.interval_ms == 0 ? INTERVAL_MS : discovery->options.interval_ms;
    for (size_t index = 0; index < discovery->target_count; index++) {
        target_poll(discovery->targets[index]);
    }
    timer_set(discovery->loop, timer, loop_now_ns(discovery->loop) + interval_ms * CLOCK_NS_PER_MS);
}

static bool
target_add(Discovery *discovery, size_t entry, Slice address)
{
    Target *target = memory_new(1, sizeof *target);
    if (target == NULL || discovery->target_count == WORKER_COUNT_MAX) {
        memory_free(target);
        return false;
    }
    target->discovery = discovery;
    target->entry = entry;
    target->info.task = -1;
    target->info.state = WORKER_LOST;
    copy_text(target->info.address, sizeof target->info.address, address);
    discovery->targets[discovery->target_count++] = target;
    return true;
}

static void
target_remove(Discovery *discovery, size_t index)
{
    Target *target = discovery->targets[index];
    if (target->call != NULL) {
        upstream_detach(target->call);
    }
    discovery->targets[index] = discovery->targets[--discovery->target_count];
    memory_free(target);
}

static bool
is_among(const char *address, const Slice *addresses, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        if (slice_equals_string(addresses[index], address)) {
            return true;
        }
    }
    return false;
}

static bool
has_target(const Discovery *discovery, size_t entry, Slice address)
{
    for (size_t index = 0; index < discovery->target_count; index++) {
        const Target *target = discovery->targets[index];
        if (target->entry == entry && slice_equals_string(address, target->info.address)) {
            return true;
        }
    }
    return false;
}

void
discovery_set_addresses(Discovery *discovery, size_t entry, const Slice *addresses, size_t address_count)
{
    assert(entry < discovery->options.address_count);

    for (size_t index = discovery->target_count; index > 0; index--) {
        const Target *target = discovery->targets[index - 1];
        if (target->entry == entry && !is_among(target->info.address, addresses, address_count)) {
            target_remove(discovery, index - 1);
        }
    }
    for (size_t index = 0; index < address_count; index++) {
        if (!has_target(discovery, entry, addresses[index]) &&
            target_add(discovery, entry, addresses[index])) {
            target_poll(discovery->targets[discovery->target_count - 1]);
        }
    }
    publish_roster(discovery);
}

#define DNS_PREFIX SLICE("dns:")

static void
resolve_all(Timer *timer)
{
    Discovery *discovery = (Discovery *)(void *)((char *)timer - offsetof(Discovery, resolve_timer));
    const DiscoveryOptions *options = &discovery->options;
    bool has_names = false;
    for (size_t entry = 0; entry < options->address_count; entry++) {
        if (slice_starts_with(options->addresses[entry], DNS_PREFIX)) {
            assert(options->on_resolve != NULL);
            has_names = true;
            options->on_resolve(
                options->context, entry, slice_part(options->addresses[entry], DNS_PREFIX.size, SIZE_MAX));
        }
    }
    if (has_names) {
        timer_set(
            discovery->loop, timer, loop_now_ns(discovery->loop) + DISCOVERY_RESOLVE_MS * CLOCK_NS_PER_MS);
    }
}

static Status
targets_open(Call *call, Discovery *discovery)
{
    const DiscoveryOptions *options = &discovery->options;
    for (size_t entry = 0; entry < options->address_count; entry++) {
        bool is_name = slice_starts_with(options->addresses[entry], DNS_PREFIX);
        if (!is_name && !target_add(discovery, entry, options->addresses[entry])) {
            return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
                "%zu workers are configured, at most %d are possible", options->address_count,
                WORKER_COUNT_MAX);
        }
    }
    return STATUS_OK;
}

Status
discovery_start(
    Call *call, Loop *loop, Directory *directory, const DiscoveryOptions *options, Discovery **ret_discovery)
{
    Discovery *discovery = memory_new(1, sizeof *discovery);
    if (discovery == NULL) {
        return call_fail_memory(call, "the discovery of workers");
    }
    discovery->loop = loop;
    discovery->directory = directory;
    discovery->options = *options;
    discovery->timer.fire = poll_all;
    discovery->resolve_timer.fire = resolve_all;
    discovery->upstream = upstream_new(loop, &options->upstream);
    Status status = discovery->upstream == NULL ? call_fail_memory(call, "the discovery of workers")
                                                : targets_open(call, discovery);
    if (status != STATUS_OK) {
        discovery_stop(discovery);
        return status;
    }
    timer_set(loop, &discovery->timer, loop_now_ns(loop));
    timer_set(loop, &discovery->resolve_timer, loop_now_ns(loop));
    *ret_discovery = discovery;
    return STATUS_OK;
}

void
discovery_stop(Discovery *discovery)
{
    if (discovery == NULL) {
        return;
    }
    timer_clear(discovery->loop, &discovery->timer);
    timer_clear(discovery->loop, &discovery->resolve_timer);
    while (discovery->target_count > 0) {
        target_remove(discovery, discovery->target_count - 1);
    }
    upstream_free(discovery->upstream);
    memory_free(discovery);
}

static Target *
target_find(Discovery *discovery, const char *name)
{
    for (size_t index = 0; index < discovery->target_count; index++) {
        if (strcmp(discovery->targets[index]->info.name, name) == 0) {
            return discovery->targets[index];
        }
    }
    return NULL;
}

void
discovery_set_task(Discovery *discovery, const char *name, int32_t task)
{
    Target *target = target_find(discovery, name);
    if (target != NULL) {
        target->info.task = task;
        publish_roster(discovery);
    }
}

void
discovery_set_draining(Discovery *discovery, const char *name, bool is_draining)
{
    Target *target = target_find(discovery, name);
    if (target != NULL) {
        target->is_marked_draining = is_draining;
        publish_roster(discovery);
    }
}
