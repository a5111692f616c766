#include "gateway/dispatch/directory.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/memory.h"

struct Directory {
    pthread_mutex_t lock; /* guards `current` */
    Roster *current;
    uint64_t version; /* atomic */
};

Roster *
roster_new(size_t count)
{
    Roster *const list = memory_new(1, sizeof *list + count * sizeof(WorkerInfo));
    if (list != NULL) {
        list->reference_count = 1;
        list->count = count;
    }
    return list;
}

Roster *
roster_ref(Roster *list)
{
    (void)__atomic_add_fetch(&list->reference_count, 1, __ATOMIC_RELAXED);
    return list;
}

void
roster_unref(Roster *list)
{
    if (list != NULL && __atomic_sub_fetch(&list->reference_count, 1, __ATOMIC_ACQ_REL) == 0) {
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
    Roster *const changed = roster_new(list->count);
    for (size_t index = 0; changed != NULL && index < list->count; index++) {
        WorkerInfo *const worker = &changed->workers[index];
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
    Directory *const directory = memory_new(1, sizeof *directory);
    Roster *const empty = roster_new(0);
    if (directory == NULL || empty == NULL) {
        memory_free(directory);
        memory_free(empty);
        return NULL;
    }
    (void)pthread_mutex_init(&directory->lock, NULL);
    directory->current = empty;
    directory->version = 1;
    return directory;
}

void
directory_free(Directory *directory)
{
    if (directory != NULL) {
        roster_unref(directory->current);
        (void)pthread_mutex_destroy(&directory->lock);
        memory_free(directory);
    }
}

void
directory_publish(Directory *directory, Roster *list)
{
    (void)pthread_mutex_lock(&directory->lock);
    Roster *const previous = directory->current;
    directory->current = list;
    (void)__atomic_add_fetch(&directory->version, 1, __ATOMIC_RELEASE);
    (void)pthread_mutex_unlock(&directory->lock);
    roster_unref(previous);
}

uint64_t
directory_version(const Directory *directory)
{
    return __atomic_load_n(&directory->version, __ATOMIC_ACQUIRE);
}

Roster *
directory_take(Directory *directory)
{
    (void)pthread_mutex_lock(&directory->lock);
    Roster *const list = roster_ref(directory->current);
    (void)pthread_mutex_unlock(&directory->lock);
    return list;
}
