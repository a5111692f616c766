#include "gateway/dispatch/directory.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/atomic.h"
#include "shared/base/list.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

/* A worker that has begun a new life before the poller heard of it. */
typedef struct Restart {
    ListLink link;
    char address[ADDRESS_TEXT_SIZE];
    char before[INCARNATION_TEXT_SIZE];
    char after[INCARNATION_TEXT_SIZE];
} Restart;

struct Directory {
    Mutex lock; /* guards `current` and `restarts` */
    Roster *current;
    ListLink restarts; /* in the order in which they were noted */
    uint64_t version;  /* atomic */
    Assignments *assignments;
};

Roster *
roster_new(size_t count, size_t device_count)
{
    Roster *list = memory_new(1, sizeof *list + count * sizeof(WorkerInfo));
    WorkerDevice *devices = memory_new(device_count + 1, sizeof *devices);
    if (list == NULL || devices == NULL) {
        memory_free(list);
        memory_free(devices);
        return NULL;
    }
    list->reference_count = 1;
    list->count = count;
    list->device_count = device_count;
    list->devices = devices;
    return list;
}

/* Returns false without memory. The first of two workers of one name or address is found. */
static bool
index_first(Map *map, const char *text, WorkerInfo *worker)
{
    Slice key = slice_from_string(text);
    return map_get(map, key) != NULL || map_put(map, key, worker);
}

/* Makes the maps. Without memory for them the list is searched from its beginning. */
static void
roster_index(Roster *list)
{
    Map *by_name = map_new();
    Map *by_address = map_new();
    bool is_whole = by_name != NULL && by_address != NULL;
    for (size_t index = 0; is_whole && index < list->count; index++) {
        WorkerInfo *worker = &list->workers[index];
        is_whole =
            index_first(by_name, worker->name, worker) && index_first(by_address, worker->address, worker);
    }
    if (!is_whole) {
        map_free(by_name);
        map_free(by_address);
        return;
    }
    list->by_name = by_name;
    list->by_address = by_address;
}

Roster *
roster_ref(Roster *list)
{
    reference_count_add(&list->reference_count);
    return list;
}

void
roster_unref(Roster *list)
{
    if (list != NULL && reference_count_drop(&list->reference_count)) {
        map_free(list->by_name);
        map_free(list->by_address);
        for (size_t index = 0; index < list->count; index++) {
            gpu_facts_unref(list->workers[index].gpu);
        }
        memory_free(list->devices);
        memory_free(list);
    }
}

/* Returns the index of the worker at this address; the count when there is none. */
static size_t
address_index(const Roster *list, const char *address)
{
    size_t index = 0;
    if (list->by_address != NULL) {
        const WorkerInfo *found = map_get(list->by_address, slice_from_string(address));
        return found == NULL ? list->count : (size_t)(found - list->workers);
    }
    while (index < list->count && strcmp(list->workers[index].address, address) != 0) {
        index++;
    }
    return index;
}

const WorkerInfo *
roster_find(const Roster *list, const char *address)
{
    size_t index = address_index(list, address);
    return index == list->count ? NULL : &list->workers[index];
}

const WorkerInfo *
roster_find_name(const Roster *list, Slice name)
{
    if (list->by_name != NULL) {
        return map_get(list->by_name, name);
    }
    for (size_t index = 0; index < list->count; index++) {
        if (slice_equals_string(name, list->workers[index].name)) {
            return &list->workers[index];
        }
    }
    return NULL;
}

const WorkerInfo *
roster_find_task(const Roster *list, int32_t task)
{
    size_t low = 0;
    size_t high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->workers[middle].task < task) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < list->count && list->workers[low].task == task ? &list->workers[low] : NULL;
}

/* Returns the first worker that has a card, else the first one; NULL: there is none. */
static const WorkerInfo *
nearest_to_gpu(const Roster *list)
{
    for (size_t index = 0; index < list->count; index++) {
        if (gpu_facts_have_card(list->workers[index].gpu)) {
            return &list->workers[index];
        }
    }
    return list->count == 0 ? NULL : &list->workers[0];
}

Status
roster_refuse_all(Call *call, const Roster *list)
{
    size_t refused = 0;
    for (size_t index = 0; index < list->count; index++) {
        refused += worker_is_refused(&list->workers[index]);
    }
    return refused == 0 ? call_fail(call, STATUS_UNAVAILABLE, "no worker is serving (%zu known)", list->count)
                        : call_fail(call, STATUS_UNAVAILABLE,
                              "no worker is serving (%zu known, %zu of them without a version of this "
                              "gateway's protocol)",
                              list->count, refused);
}

Status
roster_refuse_gpu(Call *call, const Roster *list, Slice node)
{
    const WorkerInfo *nearest = nearest_to_gpu(list);
    if (nearest == NULL) {
        return call_fail(call, STATUS_UNAVAILABLE, "no worker is serving (0 known)");
    }
    Slice reason = gpu_facts_why_not(nearest->gpu);
    if (gpu_facts_have_card(nearest->gpu)) {
        return call_fail(call, STATUS_UNAVAILABLE,
            "node '%.*s' asks for a GPU, and no serving worker has one in service: worker '%s' %s%.*s",
            SLICE_PRINT(node), nearest->name,
            nearest->has_gpu ? "is not serving" : "has lost its own: ", SLICE_PRINT(reason));
    }
    return call_fail(call, STATUS_FAILED_PRECONDITION,
        "node '%.*s' asks for a GPU, and no worker has one (worker '%s': %.*s); in a session with "
        "'soft_placement' a CPU would compute it",
        SLICE_PRINT(node), nearest->name, SLICE_PRINT(reason));
}

Status
roster_refuse_labels(Call *call, const Roster *list, const char *labels)
{
    assert(labels[0] != '\0');

    size_t count = 0;
    for (size_t index = 0; index < list->count; index++) {
        count += worker_has_labels(&list->workers[index], labels);
    }
    return count == 0
               ? call_fail(call, STATUS_FAILED_PRECONDITION,
                     "the session asks for workers with the labels '%s', and none has them (%zu known)",
                     labels, list->count)
               : call_fail(call, STATUS_UNAVAILABLE,
                     "the session asks for workers with the labels '%s', and none of the %zu that have "
                     "them can take the step",
                     labels, count);
}

Directory *
directory_new(void)
{
    Directory *directory = memory_new(1, sizeof *directory);
    Roster *empty = roster_new(0, 0);
    Assignments *assignments = assignments_new();
    if (directory == NULL || empty == NULL || assignments == NULL) {
        memory_free(directory);
        roster_unref(empty);
        assignments_free(assignments);
        return NULL;
    }
    mutex_init(&directory->lock);
    list_init(&directory->restarts);
    directory->current = empty;
    directory->assignments = assignments;
    directory->version = 1;
    return directory;
}

static void
restart_forget(Restart *restart)
{
    list_remove(&restart->link);
    memory_free(restart);
}

void
directory_free(Directory *directory)
{
    if (directory != NULL) {
        while (!list_is_empty(&directory->restarts)) {
            restart_forget(LIST_ITEM(list_first(&directory->restarts), Restart, link));
        }
        roster_unref(directory->current);
        assignments_free(directory->assignments);
        mutex_done(&directory->lock);
        memory_free(directory);
    }
}

static WorkerInfo *
find_incarnation(Roster *list, const char *address, const char *incarnation)
{
    size_t index = address_index(list, address);
    bool is_it = index < list->count && strcmp(list->workers[index].incarnation, incarnation) == 0;
    return is_it ? &list->workers[index] : NULL;
}

/* Another release may have taken the worker's place: until a poll tells, it is asked only what all can do. */
static void
begin_next_life(WorkerInfo *worker, const Restart *restart)
{
    memcpy(worker->incarnation, restart->after, sizeof worker->incarnation);
    worker->version = WIRE_VERSION_OLDEST;
}

/* Replaces the incarnations that are gone. The poller has caught up with a restart when its list does not
 * have the old one any more. */
static void
apply_restarts(Directory *directory, Roster *list)
{
    LIST_EACH(&directory->restarts, link)
    {
        Restart *restart = LIST_ITEM(link, Restart, link);
        WorkerInfo *stale = find_incarnation(list, restart->address, restart->before);
        if (stale == NULL) {
            restart_forget(restart);
        } else {
            begin_next_life(stale, restart);
        }
    }
}

/* Makes `list` the present one and returns the one before. The lock must be held. */
static Roster *
replace_current(Directory *directory, Roster *list)
{
    Roster *previous = directory->current;
    directory->current = list;
    (void)atomic_add_acq_rel(&directory->version, 1);
    return previous;
}

void
directory_publish(Directory *directory, Roster *list)
{
    assert(list != NULL && list->reference_count == 1 && list->by_name == NULL);

    roster_index(list);
    mutex_lock(&directory->lock);
    apply_restarts(directory, list);
    Roster *previous = replace_current(directory, list);
    mutex_unlock(&directory->lock);
    roster_unref(previous);
}

static Roster *
roster_copy(const Roster *list)
{
    Roster *copy = roster_new(list->count, list->device_count);
    if (copy != NULL) {
        copy->epoch = list->epoch;
        memcpy(copy->workers, list->workers, list->count * sizeof list->workers[0]);
        memcpy(copy->devices, list->devices, list->device_count * sizeof *list->devices);
        for (size_t index = 0; index < copy->count; index++) {
            (void)gpu_facts_ref(copy->workers[index].gpu);
        }
        roster_index(copy);
    }
    return copy;
}

static Restart *
restart_new(const WorkerInfo *known, Slice incarnation)
{
    Restart *restart = memory_new(1, sizeof *restart);
    if (restart != NULL) {
        memcpy(restart->address, known->address, sizeof restart->address);
        memcpy(restart->before, known->incarnation, sizeof restart->before);
        (void)snprintf(restart->after, sizeof restart->after, "%.*s", SLICE_PRINT(incarnation));
    }
    return restart;
}

void
directory_note_restart(Directory *directory, const WorkerInfo *known, Slice incarnation)
{
    Roster *previous = NULL;
    mutex_lock(&directory->lock);
    bool is_news = find_incarnation(directory->current, known->address, known->incarnation) != NULL;
    Restart *restart = is_news ? restart_new(known, incarnation) : NULL;
    Roster *changed = restart != NULL ? roster_copy(directory->current) : NULL;
    if (changed != NULL) {
        WorkerInfo *stale = find_incarnation(changed, restart->address, restart->before);
        assert(stale != NULL);
        list_append(&directory->restarts, &restart->link);
        begin_next_life(stale, restart);
        previous = replace_current(directory, changed);
    } else {
        memory_free(restart);
    }
    mutex_unlock(&directory->lock);
    roster_unref(previous);
}

uint64_t
directory_version(const Directory *directory)
{
    return atomic_load_acquire(&directory->version);
}

Assignments *
directory_assignments(const Directory *directory)
{
    return directory->assignments;
}

Roster *
directory_take(Directory *directory)
{
    mutex_lock(&directory->lock);
    Roster *list = roster_ref(directory->current);
    mutex_unlock(&directory->lock);
    return list;
}
