#include "gateway/dispatch/assignments.h"

#include <assert.h>

#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "shared/base/text.h"

/* Bytes of all answers. Beyond that all are forgotten: most belong to plans that no longer exist. */
enum { ANSWERS_SIZE_MAX = 16 << 20, ENTRY_SIZE = 256 };

typedef struct Entry {
    char *worker;
    char *answer;
    size_t answer_size;
} Entry;

struct Assignments {
    Mutex lock;   /* guards all below */
    Map *entries; /* digest → Entry */
    size_t byte_size;
};

Assignments *
assignments_new(void)
{
    Assignments *assignments = memory_new(1, sizeof *assignments);
    Map *entries = map_new();
    if (assignments == NULL || entries == NULL) {
        memory_free(assignments);
        map_free(entries);
        return NULL;
    }
    mutex_init(&assignments->lock);
    assignments->entries = entries;
    return assignments;
}

static void
entry_free(Entry *entry)
{
    if (entry != NULL) {
        memory_free(entry->worker);
        memory_free(entry->answer);
        memory_free(entry);
    }
}

static size_t
entry_size(const Entry *entry)
{
    return entry == NULL ? 0 : ENTRY_SIZE + entry->answer_size;
}

static void
forget_all(Assignments *assignments)
{
    size_t cursor = 0;
    for (const MapEntry *entry = map_next(assignments->entries, &cursor); entry != NULL;
         entry = map_next(assignments->entries, &cursor)) {
        entry_free(map_remove(assignments->entries, entry->key));
    }
    assignments->byte_size = 0;
}

void
assignments_free(Assignments *assignments)
{
    if (assignments != NULL) {
        forget_all(assignments);
        map_free(assignments->entries);
        mutex_done(&assignments->lock);
        memory_free(assignments);
    }
}

/* Returns a copy with a NUL behind it; NULL without memory. */
static char *
copy_bytes(Slice bytes)
{
    char *copy = memory_new(bytes.size + 1, 1);
    if (copy != NULL && bytes.size > 0) {
        memcpy(copy, bytes.data, bytes.size);
    }
    return copy;
}

static Entry *
entry_new(const char *worker, Slice answer)
{
    Entry *entry = memory_new(1, sizeof *entry);
    if (entry == NULL) {
        return NULL;
    }
    entry->worker = copy_bytes(slice_from_string(worker));
    entry->answer = copy_bytes(answer);
    entry->answer_size = answer.size;
    if (entry->worker == NULL || entry->answer == NULL) {
        entry_free(entry);
        return NULL;
    }
    return entry;
}

void
assignments_note(Assignments *assignments, Slice digest, const char *worker, Slice answer)
{
    assert(worker != NULL);

    Entry *entry = entry_new(worker, answer);
    if (entry == NULL) {
        return;
    }
    mutex_lock(&assignments->lock);
    if (assignments->byte_size + entry_size(entry) > ANSWERS_SIZE_MAX) {
        forget_all(assignments);
    }
    Entry *before = map_get(assignments->entries, digest);
    if (map_put(assignments->entries, digest, entry)) {
        assignments->byte_size += entry_size(entry);
        assignments->byte_size -= entry_size(before);
        entry_free(before);
        entry = NULL;
    }
    mutex_unlock(&assignments->lock);
    entry_free(entry);
}

Status
assignments_find(Call *call, Assignments *assignments, Slice digest, Assignment *ret_assignment)
{
    const char *worker = NULL;
    const char *answer = NULL;
    size_t size = 0;
    mutex_lock(&assignments->lock);
    const Entry *entry = map_get(assignments->entries, digest);
    bool is_known = entry != NULL;
    if (is_known) {
        size = entry->answer_size;
        worker = text_copy(call->arena, slice_from_string(entry->worker));
        answer = text_copy(call->arena, slice_of(entry->answer, size));
    }
    mutex_unlock(&assignments->lock);
    if (is_known && (worker == NULL || answer == NULL)) {
        return call_fail_memory(call, "what a worker told of a partition");
    }
    Assignment found = {.worker = worker};
    TRY(is_known ? wire_assignment_read(call, slice_of(answer, size), &found.told) : STATUS_OK);
    *ret_assignment = found;
    return STATUS_OK;
}
