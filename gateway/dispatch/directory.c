#include "gateway/dispatch/directory.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

struct Directory {
    Mutex lock; /* guards `current` */
    Roster *current;
    uint64_t version; /* atomic */
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

Roster *
roster_with_incarnation(const Roster *list, const char *address, Slice incarnation)
{
    Roster *changed = roster_new(list->count);
    for (size_t index = 0; changed != NULL && index < list->count; index++) {
        WorkerInfo *worker = &changed->workers[index];
        *worker = list->workers[index];
        if (strcmp(worker->address, address) == 0) {
            (void)snprintf(worker->incarnation, sizeof worker->incarnation, "%.*s", SLICE_PRINT(incarnation));
        }
    }
    return changed;
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
    directory->current = empty;
    directory->version = 1;
    return directory;
}

void
directory_free(Directory *directory)
{
    if (directory != NULL) {
        roster_unref(directory->current);
        mutex_done(&directory->lock);
        memory_free(directory);
    }
}

void
directory_publish(Directory *directory, Roster *list)
{
    assert(list != NULL);

    mutex_lock(&directory->lock);
    Roster *previous = directory->current;
    directory->current = list;
    (void)atomic_add_acq_rel(&directory->version, 1);
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
