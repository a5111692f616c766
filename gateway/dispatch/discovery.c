#include "gateway/dispatch/discovery.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/telemetry/log.h"

enum {
    INTERVAL_MS = 1000,
    MISS_MAX = 3,
    TASK_ASK_POLLS = 10,
    /* A worker that is started anew at another address is refused until the life before is found lost, of
     * which nothing is said: a name is taken when it has been for this many polls more than that needs. */
    QUIET_REFUSALS = MISS_MAX + 3,
    POLL_ARENA_SIZE_MAX = 1 << 20,
    /* A pool of more workers than this is polled in several turns, spread over the interval. */
    TURN_POLLS = 32,
    /* Changes that follow each other more closely are published together: a list of thousands of workers
     * takes a millisecond to make. */
    PUBLISH_GAP_MS = 20,
};

/* One address of one configured entry. */
typedef struct Target {
    Discovery *discovery;
    size_t entry;
    UpstreamCall *call; /* while a poll is under way */
    WorkerInfo info;    /* its name is "" until the worker has answered once */
    WorkerDevice *devices;
    size_t device_capacity;
    int miss_count;
    int ask_count;     /* answers to come until its task number is asked for again, while it has none */
    int refusal_count; /* answers in a row at which another had the name */
    bool is_marked_draining;
    bool takes_none;                  /* whoever started it says that it is to get no new steps */
    bool is_member;                   /* of a configured one: it has joined by itself, too */
    char namesake[ADDRESS_TEXT_SIZE]; /* the address of that worker, when this one is to be told; "": nothing
                                         is */
} Target;

struct Discovery {
    Loop *loop;
    Directory *directory;
    Upstream *upstream;
    DiscoveryOptions options;
    Timer timer;
    Timer resolve_timer;
    Timer publish_timer;
    uint64_t published_ns; /* 0: never */
    int64_t epoch;         /* of those that have joined */
    size_t poll_position;  /* of the next target to be polled */
    Map *names;            /* name → Target that has answered so */
    size_t target_count;
    Target *targets[WORKER_COUNT_MAX];
};

static int
by_task(const void *left, const void *right)
{
    const WorkerInfo *first = &(*(const Target *const *)left)->info;
    const WorkerInfo *second = &(*(const Target *const *)right)->info;
    int tasks = (first->task > second->task) - (first->task < second->task);
    return tasks != 0 ? tasks : strcmp(first->address, second->address);
}

/* Returns the target that the worker is listed by, when this one is another address of the same life; else
 * NULL. */
static const Target *
find_listed(const Target *target)
{
    const Target *named = map_get(target->discovery->names, slice_from_string(target->info.name));
    bool is_same =
        named != NULL && named != target && strcmp(named->info.incarnation, target->info.incarnation) == 0;
    return is_same ? named : NULL;
}

/* Lists the targets that have answered once, by task and address, each worker once; returns how many. */
static size_t
list_answered(const Discovery *discovery, const Target **targets, size_t *ret_device_count)
{
    size_t count = 0;
    *ret_device_count = 0;
    for (size_t index = 0; index < discovery->target_count; index++) {
        const Target *target = discovery->targets[index];
        if (target->info.name[0] != '\0' && find_listed(target) == NULL) {
            targets[count++] = target;
            *ret_device_count += target->info.device_count;
        }
    }
    if (count > 1) {
        qsort(targets, count, sizeof *targets, by_task);
    }
    return count;
}

static void
roster_add(Roster *list, const Target *target)
{
    WorkerInfo *info = &list->workers[list->count++];
    *info = target->info;
    (void)gpu_facts_ref(info->gpu);
    info->device_first = list->device_count;
    if (info->device_count > 0) {
        memcpy(
            list->devices + list->device_count, target->devices, info->device_count * sizeof(WorkerDevice));
    }
    list->device_count += info->device_count;
    if (info->state == WORKER_SERVING && (target->is_marked_draining || target->takes_none)) {
        info->state = WORKER_DRAINING;
    }
}

static void
publish_roster(Discovery *discovery)
{
    const Target *targets[WORKER_COUNT_MAX];
    size_t device_count = 0;
    size_t count = list_answered(discovery, targets, &device_count);
    Roster *list = roster_new(count, device_count);
    if (list == NULL) {
        return; /* the last list stays in force; the next change or round of polls publishes */
    }
    list->count = list->device_count = 0;
    list->epoch = discovery->epoch;
    for (size_t index = 0; index < count; index++) {
        roster_add(list, targets[index]);
    }
    discovery->published_ns = loop_now_ns(discovery->loop);
    timer_clear(discovery->loop, &discovery->publish_timer);
    directory_publish(discovery->directory, list);
}

static void
publish_due(Timer *timer)
{
    publish_roster((Discovery *)(void *)((char *)timer - offsetof(Discovery, publish_timer)));
}

/* Publishes a change now, or in a moment together with others. */
static void
publish_change(Discovery *discovery)
{
    uint64_t due_ns = discovery->published_ns + PUBLISH_GAP_MS * CLOCK_NS_PER_MS;
    if (discovery->published_ns == 0 || loop_now_ns(discovery->loop) >= due_ns) {
        publish_roster(discovery);
    } else if (discovery->publish_timer.due_ns == 0) {
        timer_set(discovery->loop, &discovery->publish_timer, due_ns);
    }
}

static void
copy_text(char *target, size_t size, Slice text)
{
    (void)snprintf(target, size, "%.*s", SLICE_PRINT(text));
}

/* The devices that were known stay when there is no memory for new ones. */
static void
devices_fill(Target *target, const WireWorker *worker)
{
    if (worker->device_count > target->device_capacity) {
        WorkerDevice *devices = memory_resize(target->devices, worker->device_count * sizeof *devices);
        if (devices == NULL) {
            return;
        }
        target->devices = devices;
        target->device_capacity = worker->device_count;
    }
    target->info.device_count = worker->device_count;
    for (size_t index = 0; index < worker->device_count; index++) {
        const WireDevice *device = &worker->devices[index];
        WorkerDevice *known = &target->devices[index];
        copy_text(known->type, sizeof known->type, device->type);
        copy_text(known->isa, sizeof known->isa, device->isa);
        known->id = device->id;
        known->thread_count = device->thread_count;
        known->slot_count = device->slot_count > 0 ? device->slot_count : device->thread_count;
        known->memory_limit = device->memory_limit;
        known->memory_in_use = device->memory_in_use;
    }
}

static void
info_fill(WorkerInfo *info, const WireWorker *worker)
{
    copy_text(info->name, sizeof info->name, worker->name);
    copy_text(info->incarnation, sizeof info->incarnation, worker->incarnation);
    copy_text(info->labels, sizeof info->labels, worker->labels);
    info->state = slice_equals_string(worker->state, "serving") ? WORKER_SERVING : WORKER_DRAINING;
    info->running_count = worker->running_count;
}

/* Notes what the worker tells of its GPU. Facts that there is no memory for come with a later answer. */
static void
note_gpu(WorkerInfo *info, const WireWorker *worker)
{
    const WireDevice *gpu = gpu_of_worker(worker);
    GpuFacts *before = info->gpu;
    info->has_gpu = gpu != NULL && gpu->fault.size == 0;
    info->gpu_memory = info->has_gpu ? (uint64_t)gpu->memory_limit : 0;
    info->gpu = gpu_facts_obtain(before, worker);
    gpu_facts_unref(before);
}

/* Takes the target's name out of the map, if it is the target's there. */
static void
release_name(const Target *target)
{
    Map *names = target->discovery->names;
    Slice name = slice_from_string(target->info.name);
    if (map_get(names, name) == target) {
        (void)map_remove(names, name);
    }
}

/* Takes the target off the list, as one that has not answered yet. */
static void
unlist_target(Target *target)
{
    release_name(target);
    target->info.name[0] = '\0';
    target->info.task = -1;
    target->info.state = WORKER_LOST;
}

/* Names the target in the map, unless another has the name; that one may go, so that every answer asks. One
 * that is lost has gone: whoever looks for the name is to find this one only. */
static void
target_name(Target *target, Slice name)
{
    Map *names = target->discovery->names;
    if (!slice_equals_string(name, target->info.name)) {
        release_name(target);
    }
    Target *named = map_get(names, name);
    if (named != NULL && named != target && named->info.state == WORKER_LOST) {
        unlist_target(named);
        named = NULL;
    }
    if (named == NULL) {
        /* The next answer tries again when there was no memory. */
        (void)!map_put(names, name, target);
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

/* Returns the target that has the name of this worker, is served by another life, and lives. */
static const Target *
find_namesake(const Target *target, const WireWorker *worker)
{
    const Target *named =
        map_get(target->discovery->names, slice_part(worker->name, 0, WORKER_NAME_SIZE - 1));
    bool is_other = named != NULL && named != target && named->info.state != WORKER_LOST &&
                    !slice_equals_string(worker->incarnation, named->info.incarnation);
    return is_other ? named : NULL;
}

/* Says of two that live that they have one name, in the log and, with the next polls, to the second. */
static void
tell_of_namesake(Target *target, const Target *named)
{
    if (target->namesake[0] == '\0') {
        log_event(LOG_ERROR, "two workers have one name, the second gets no steps",
            log_text("name", named->info.name), log_text("first", named->info.address),
            log_text("second", target->info.address));
    }
    copy_text(target->namesake, sizeof target->namesake, slice_from_string(named->info.address));
}

/* Gives the second address of a worker what its first one was told, so that nothing is missing when the
 * first one goes. */
static void
follow_listed(Target *target)
{
    const Target *listed = find_listed(target);
    if (listed != NULL) {
        target->info.task = listed->info.task;
        target->is_marked_draining = listed->is_marked_draining;
    }
}

/* Refuses a worker: it is not listed. */
static void
refuse_namesake(Target *target, const Target *named)
{
    bool is_listed = target->info.name[0] != '\0';
    if (target->refusal_count < QUIET_REFUSALS) {
        target->refusal_count++;
    } else {
        tell_of_namesake(target, named);
    }
    unlist_target(target);
    if (is_listed) {
        publish_change(target->discovery);
    }
}

/* Says once of a life of a worker that it speaks no version of this gateway's; it is listed, and gets no
 * steps. */
static void
judge_versions(Target *target, const WireWorker *worker, bool is_new)
{
    WireVersions own = wire_versions_or_all(target->discovery->options.upstream.versions);
    target->info.versions = worker->versions;
    target->info.version = wire_versions_agree(own, worker->versions);
    if (target->info.version != 0) {
        return;
    }
    target->info.state = WORKER_LOST;
    if (is_new) {
        char ours[WIRE_VERSIONS_TEXT_SIZE];
        char theirs[WIRE_VERSIONS_TEXT_SIZE];
        wire_versions_text(own, ours);
        wire_versions_text(worker->versions, theirs);
        log_event(LOG_ERROR, "a worker speaks other versions of the worker protocol, and gets no steps",
            log_text("worker", target->info.name), log_text("its", theirs), log_text("ours", ours));
    }
}

static void
target_answered(Target *target, const WireWorker *worker)
{
    const Target *named = find_namesake(target, worker);
    if (named != NULL) {
        refuse_namesake(target, named);
        return;
    }
    target->namesake[0] = '\0';
    target->refusal_count = 0;
    WorkerState before = target->info.state;
    bool had_gpu = target->info.has_gpu;
    bool is_new = !slice_equals_string(worker->name, target->info.name) ||
                  !slice_equals_string(worker->incarnation, target->info.incarnation);
    if (!slice_equals_string(worker->name, target->info.name)) {
        target->info.task = -1;
    }
    target->miss_count = 0;
    target_name(target, slice_part(worker->name, 0, WORKER_NAME_SIZE - 1));
    info_fill(&target->info, worker);
    follow_listed(target);
    judge_versions(target, worker, is_new);
    note_gpu(&target->info, worker);
    devices_fill(target, worker);
    if (is_new || (target->info.task < 0 && --target->ask_count <= 0)) {
        target->ask_count = TASK_ASK_POLLS;
        target_announce(target);
    }
    if (is_new || target->info.state != before || target->info.has_gpu != had_gpu) {
        publish_change(target->discovery);
    }
}

static void
target_missed(Target *target)
{
    target->miss_count++;
    if (target->miss_count >= MISS_MAX && target->info.state != WORKER_LOST) {
        target->info.state = WORKER_LOST;
        publish_change(target->discovery);
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
}

static const UpstreamEvents poll_events = {.on_done = poll_done};

static void
target_poll(Target *target)
{
    if (target->call != NULL) {
        /* The last poll is still under way: that is a miss, although its answer may still come. */
        target_missed(target);
        return;
    }
    UpstreamHead head = {
        .method = "GET",
        .path = SLICE("/worker/v1/status"),
        .address = target->info.address,
        .name_taken = slice_from_string(target->namesake),
        .deadline_ms = (uint64_t)MISS_MAX * INTERVAL_MS,
    };
    target->call = upstream_begin(target->discovery->upstream, &head, &poll_events, target);
    if (target->call != NULL) {
        upstream_end(target->call);
    }
}

/* Returns in how many turns of equal size all targets are polled once. */
static size_t
turn_count(const Discovery *discovery)
{
    enum { TURNS_MAX = 50 };
    size_t turns = (discovery->target_count + TURN_POLLS - 1) / TURN_POLLS;
    return turns < 1 ? 1 : turns < TURNS_MAX ? turns : TURNS_MAX;
}

/* Polls the next share of the targets. A round that begins publishes what changes all the time, such as
 * memory in use. */
static void
poll_share(Timer *timer)
{
    Discovery *discovery = (Discovery *)(void *)((char *)timer - offsetof(Discovery, timer));
    uint64_t interval_ms = discovery->options.interval_ms == 0 ? INTERVAL_MS : discovery->options.interval_ms;
    size_t turns = turn_count(discovery);
    size_t share = (discovery->target_count + turns - 1) / turns;
    if (discovery->poll_position >= discovery->target_count) {
        discovery->poll_position = 0;
        publish_change(discovery);
    }
    for (; share > 0 && discovery->poll_position < discovery->target_count; share--) {
        target_poll(discovery->targets[discovery->poll_position++]);
    }
    timer_set(discovery->loop, timer, loop_now_ns(discovery->loop) + interval_ms * CLOCK_NS_PER_MS / turns);
}

/* Returns the number that stands for those that have joined, behind the configured entries. */
static size_t
member_entry(const Discovery *discovery)
{
    return discovery->options.address_count;
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
    target->info.has_joined = entry == member_entry(discovery);
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
    release_name(target);
    discovery->targets[index] = discovery->targets[--discovery->target_count];
    gpu_facts_unref(target->info.gpu);
    memory_free(target->devices);
    memory_free(target);
}

static void
target_set_entry(Target *target, size_t entry)
{
    target->entry = entry;
    target->info.has_joined = entry == member_entry(target->discovery);
    target->is_member = false;
    target->takes_none = false;
}

/* The addresses of an entry by text: `wanted` until the entry has a target there, then `present`. */
static char wanted;
static char present;

static bool
map_addresses(Map *map, const Slice *addresses, size_t count)
{
    bool is_ok = true;
    for (size_t index = 0; is_ok && index < count; index++) {
        is_ok = map_put(map, addresses[index], &wanted);
    }
    return is_ok;
}

/* Removes targets whose address is not in the map, and marks the others there. One that has joined, too,
 * goes on as a member. */
static void
keep_present(Discovery *discovery, size_t entry, Map *map)
{
    for (size_t index = discovery->target_count; index > 0; index--) {
        Slice address = slice_from_string(discovery->targets[index - 1]->info.address);
        if (discovery->targets[index - 1]->entry != entry) {
            continue;
        }
        if (map_get(map, address) == NULL && discovery->targets[index - 1]->is_member) {
            target_set_entry(discovery->targets[index - 1], member_entry(discovery));
        } else if (map_get(map, address) == NULL) {
            target_remove(discovery, index - 1);
        } else {
            (void)!map_put(map, address, &present); /* it replaces a value, which takes no memory */
        }
    }
}

/* Takes over members whose address the entry wants: they stay listed as they are. */
static void
take_members(Discovery *discovery, size_t entry, Map *map)
{
    for (size_t index = 0; index < discovery->target_count; index++) {
        Target *target = discovery->targets[index];
        Slice address = slice_from_string(target->info.address);
        if (target->entry == member_entry(discovery) && map_get(map, address) == &wanted) {
            target_set_entry(target, entry);
            target->is_member = true;
            (void)!map_put(map, address, &present); /* it replaces a value, which takes no memory */
        }
    }
}

static void
set_addresses(Discovery *discovery, size_t entry, const Slice *addresses, size_t address_count)
{
    AUTO_MAP map = map_new();
    if (map == NULL || !map_addresses(map, addresses, address_count)) {
        return; /* the name is resolved again in a moment */
    }
    size_t count = discovery->target_count;
    keep_present(discovery, entry, map);
    if (entry != member_entry(discovery)) {
        take_members(discovery, entry, map);
    }
    bool has_changed = discovery->target_count != count;
    for (size_t index = 0, polls = 0; index < address_count; index++) {
        if (map_get(map, addresses[index]) == &wanted && target_add(discovery, entry, addresses[index])) {
            (void)!map_put(map, addresses[index], &present);
            if (polls++ < TURN_POLLS) {
                target_poll(discovery->targets[discovery->target_count - 1]);
            }
        }
    }
    if (has_changed) {
        publish_change(discovery);
    }
}

void
discovery_set_addresses(Discovery *discovery, size_t entry, const Slice *addresses, size_t address_count)
{
    assert(entry < discovery->options.address_count);

    set_addresses(discovery, entry, addresses, address_count);
}

/* Marks the targets of the entry whose endpoints take no steps. Returns whether a mark has changed. */
static bool
mark_endpoints(Discovery *discovery, size_t entry, const Map *by_address)
{
    bool has_changed = false;
    for (size_t index = 0; index < discovery->target_count; index++) {
        Target *target = discovery->targets[index];
        const DiscoveryEndpoint *endpoint = map_get(by_address, slice_from_string(target->info.address));
        if (target->entry == entry && endpoint != NULL && target->takes_none == endpoint->takes_steps) {
            target->takes_none = !endpoint->takes_steps;
            has_changed = true;
        }
    }
    return has_changed;
}

void
discovery_set_endpoints(
    Discovery *discovery, size_t entry, DiscoveryEndpoint *endpoints, size_t endpoint_count)
{
    assert(entry < discovery->options.address_count && endpoint_count <= WORKER_COUNT_MAX);

    Slice addresses[WORKER_COUNT_MAX] = {0};
    AUTO_MAP by_address = map_new();
    bool is_whole = by_address != NULL;
    for (size_t index = 0; is_whole && index < endpoint_count; index++) {
        addresses[index] = endpoints[index].address;
        is_whole = map_put(by_address, endpoints[index].address, &endpoints[index]);
    }
    if (!is_whole) {
        return; /* the next change brings all of them */
    }
    set_addresses(discovery, entry, addresses, endpoint_count);
    if (mark_endpoints(discovery, entry, by_address)) {
        publish_change(discovery);
    }
}

/* Returns the configured targets by their addresses, none of which counts as a member; NULL without memory.
 */
static Map *
map_configured(const Discovery *discovery)
{
    Map *map = map_new();
    for (size_t index = 0; map != NULL && index < discovery->target_count; index++) {
        Target *target = discovery->targets[index];
        target->is_member = false;
        if (!target->info.has_joined && !map_put(map, slice_from_string(target->info.address), target)) {
            map_free(TAKE(map));
        }
    }
    return map;
}

/* Polls members that are not the life which has answered last. */
static void
poll_lives(const Discovery *discovery, DiscoveryMember *members, size_t member_count)
{
    AUTO_MAP by_address = map_new();
    for (size_t index = 0; by_address != NULL && index < member_count; index++) {
        /* A member that there is no memory for is polled when its turn comes. */
        (void)!map_put(by_address, members[index].address, &members[index]);
    }
    for (size_t index = 0; by_address != NULL && index < discovery->target_count; index++) {
        Target *target = discovery->targets[index];
        const DiscoveryMember *member = map_get(by_address, slice_from_string(target->info.address));
        if (member != NULL && target->call == NULL &&
            !slice_equals_string(member->incarnation, target->info.incarnation)) {
            target_poll(target);
        }
    }
}

void
discovery_set_members(Discovery *discovery, int64_t epoch, DiscoveryMember *members, size_t member_count)
{
    assert(member_count <= WORKER_COUNT_MAX);

    Slice addresses[WORKER_COUNT_MAX] = {0};
    size_t count = 0;
    AUTO_MAP configured = map_configured(discovery);
    if (configured == NULL) {
        return; /* they are told again in a moment */
    }
    for (size_t index = 0; index < member_count; index++) {
        Target *target = map_get(configured, members[index].address);
        if (target == NULL) {
            addresses[count++] = members[index].address;
        } else {
            target->is_member = true;
        }
    }
    bool has_changed = discovery->epoch != epoch;
    discovery->epoch = epoch;
    set_addresses(discovery, member_entry(discovery), addresses, count);
    poll_lives(discovery, members, member_count);
    if (has_changed) {
        publish_change(discovery);
    }
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
        bool is_name = slice_starts_with(options->addresses[entry], DNS_PREFIX) ||
                       slice_starts_with(options->addresses[entry], DISCOVERY_KUBERNETES_PREFIX);
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
    discovery->timer.fire = poll_share;
    discovery->resolve_timer.fire = resolve_all;
    discovery->publish_timer.fire = publish_due;
    discovery->names = map_new();
    discovery->upstream = upstream_new(loop, &options->upstream);
    bool is_made = discovery->upstream != NULL && discovery->names != NULL;
    Status status =
        is_made ? targets_open(call, discovery) : call_fail_memory(call, "the discovery of workers");
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
    timer_clear(discovery->loop, &discovery->publish_timer);
    while (discovery->target_count > 0) {
        target_remove(discovery, discovery->target_count - 1);
    }
    upstream_free(discovery->upstream);
    map_free(discovery->names);
    memory_free(discovery);
}

void
discovery_set_task(Discovery *discovery, const char *name, int32_t task)
{
    Target *target = map_get(discovery->names, slice_from_string(name));
    if (target != NULL && target->info.task != task) {
        target->info.task = task;
        publish_change(discovery);
    }
}

void
discovery_set_draining(Discovery *discovery, const char *name, bool is_draining)
{
    Target *target = map_get(discovery->names, slice_from_string(name));
    if (target != NULL && target->is_marked_draining != is_draining) {
        target->is_marked_draining = is_draining;
        publish_change(discovery);
    }
}
