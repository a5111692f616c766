/* Which workers there are: the one list that all loops bind slots from. A poller (discovery.h) publishes
 * snapshots; loops take the newest one when its version has moved, without a lock otherwise.
 *
 * Ownership: snapshots are refcounted and immutable, but for the load counters, which are atomic.
 * Threads:   publishing and taking: any. */
#pragma once

#include "shared/base/call.h"
#include "shared/net/socket.h"
#include "shared/wire/messages.h"

enum { WORKER_NAME_SIZE = 64, WORKER_DEVICE_MAX = 4, WORKER_COUNT_MAX = 256 };

typedef enum WorkerState { WORKER_SERVING, WORKER_DRAINING, WORKER_LOST } WorkerState;

typedef struct WorkerDevice {
    char type[8];
    char isa[16];
    int64_t id;
    int64_t thread_count;
    int64_t memory_limit;
    int64_t memory_in_use;
} WorkerDevice;

/* One worker as of the last poll. */
typedef struct WorkerInfo {
    char name[WORKER_NAME_SIZE];
    char address[ADDRESS_TEXT_SIZE];
    char incarnation[INCARNATION_TEXT_SIZE];
    int32_t task; /* lowest free number when first seen, kept by name; -1: not known yet */
    WorkerState state;
    int64_t running_count; /* steps it said to be running */
    WorkerDevice devices[WORKER_DEVICE_MAX];
    size_t device_count;
} WorkerInfo;

typedef struct Roster {
    int32_t reference_count; /* atomic */
    size_t count;
    WorkerInfo workers[]; /* ordered by task number */
} Roster;

MUST_USE Roster *roster_new(size_t count);
Roster *roster_ref(Roster *list);
void roster_unref(Roster *list); /* NULL is allowed */
/* The same list, but for one worker's incarnation. NULL without memory. */
MUST_USE Roster *roster_with_incarnation(const Roster *list, const char *address, Slice incarnation);
const WorkerInfo *roster_find(const Roster *list, const char *address);
const WorkerInfo *roster_find_name(const Roster *list, Slice name);

typedef struct Directory Directory;

MUST_USE Directory *directory_new(void);
void directory_free(Directory *directory);

/* Takes over the caller's reference. */
void directory_publish(Directory *directory, Roster *list);

/* Moves with every publication: compare before taking. */
uint64_t directory_version(const Directory *directory);

/* A new reference; never NULL (an empty list before the first publication). */
Roster *directory_take(Directory *directory);
