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
};

Roster *
roster_new(size_t count)
{
    Roster *list = memory_new(1, sizeof *list + count * sizeof(WorkerInfo));
    if (list != NULL) {
        list->reference_count = 1;
        list->count = count;
    }
    return list;
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
        memory_free(list);
    }
}

const WorkerInfo *
roster_find(const Roster *list, const char *address)
{
    for (size_t index = 0; index < list->count; index++) {
        if (strcmp(list->workers[index].address, address) == 0) {
            return &list->workers[index];
        }
    }
    return NULL;
}

const WorkerInfo *
roster_find_name(const Roster *list, Slice name)
{
    for (size_t index = 0; index < list->count; index++) {
        if (slice_equals_string(name, list->workers[index].name)) {
            return &list->workers[index];
        }
    }
    return NULL;
}

Directory *
directory_new(void)
{
    Directory *directory = memory_new(1, sizeof *directory);
    Roster *empty = roster_new(0);
    if (directory == NULL || empty == NULL) {
        memory_free(directory);
        memory_free(empty);
        return NULL;
    }
    mutex_init(&directory->lock);
    list_init(&directory->restarts);
    directory->current = empty;
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
        mutex_done(&directory->lock);
        memory_free(directory);
    }
}

static WorkerInfo *
find_incarnation(Roster *list, const char *address, const char *incarnation)
{
    for (size_t index = 0; index < list->count; index++) {
        WorkerInfo *worker = &list->workers[index];
        if (strcmp(worker->address, address) == 0 && strcmp(worker->incarnation, incarnation) == 0) {
            return worker;
        }
    }
    return NULL;
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
            memcpy(stale->incarnation, restart->after, sizeof stale->incarnation);
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
    assert(list != NULL && list->reference_count == 1);

    mutex_lock(&directory->lock);
    apply_restarts(directory, list);
    Roster *previous = replace_current(directory, list);
    mutex_unlock(&directory->lock);
    roster_unref(previous);
}

static Roster *
roster_copy(const Roster *list)
{
    Roster *copy = roster_new(list->count);
    if (copy != NULL) {
        memcpy(copy->workers, list->workers, list->count * sizeof list->workers[0]);
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
        list_append(&directory->restarts, &restart->link);
        memcpy(find_incarnation(changed, restart->address, restart->before)->incarnation, restart->after,
            sizeof restart->after);
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

Roster *
directory_take(Directory *directory)
{
    mutex_lock(&directory->lock);
    Roster *list = roster_ref(directory->current);
    mutex_unlock(&directory->lock);
    return list;
}
