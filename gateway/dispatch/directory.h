/* The directory of workers: the one list that all loops bind slots from. A poller (discovery.h) publishes
 * snapshots; loops compare versions and take the newest snapshot, without a lock while the version is the
 * same. A loop that meets a worker's next incarnation notes it: snapshots made of older answers do not undo
 * that.
 *
 * Ownership: snapshots are refcounted and immutable.
 * Threads:   any may publish and take.
 * Errors:    none but lack of memory, which gives NULL. */
#pragma once

#include "gateway/dispatch/assignments.h"
#include "gateway/dispatch/gpu_facts.h"
#include "shared/base/call.h"
#include "shared/base/map.h"
#include "shared/net/socket.h"
#include "shared/wire/labels.h"
#include "shared/wire/messages.h"

enum { WORKER_NAME_SIZE = 64, WORKER_COUNT_MAX = 4096 };

typedef enum WorkerState { WORKER_SERVING, WORKER_DRAINING, WORKER_LOST } WorkerState;

typedef struct WorkerDevice {
    char type[8];
    char isa[64]; /* of a GPU also its libraries: results are equal only where it is equal */
    int64_t id;
    int64_t thread_count;
    int64_t slot_count; /* steps that it computes at a time */
    int64_t memory_limit;
    int64_t memory_in_use;
} WorkerDevice;

/* One worker as of the last poll. */
typedef struct WorkerInfo {
    char name[WORKER_NAME_SIZE];
    char address[ADDRESS_TEXT_SIZE];
    char incarnation[INCARNATION_TEXT_SIZE];
    char labels[LABELS_TEXT_SIZE];
    int32_t task; /* lowest free number when first seen, kept by name; -1: not known yet */
    WorkerState state;
    WireVersions versions; /* of the worker protocol that it speaks */
    int64_t version;       /* the one that it and this gateway use; 0: there is none, and it counts as lost */
    bool has_gpu;          /* one that is in service */
    uint64_t gpu_memory;   /* bytes that it may use; 0: it has none in service */
    GpuFacts *gpu;         /* the roster holds a reference; NULL: the worker tells nothing */
    bool has_joined;       /* by itself; false: it is configured */
    int64_t running_count; /* running steps by the worker's own count */
    size_t device_first;   /* its devices are in the list of the roster (roster_devices()) */
    size_t device_count;   /* at most WIRE_DEVICE_COUNT_MAX */
} WorkerInfo;

typedef struct Roster {
    int32_t reference_count; /* atomic */
    int64_t epoch;           /* rises with every change among the workers that join by themselves */
    size_t count;
    size_t device_count;
    WorkerDevice *devices; /* of all workers */
    Map *by_name;          /* name → WorkerInfo; NULL before the list is published */
    Map *by_address;       /* address → WorkerInfo */
    WorkerInfo workers[];  /* ordered by task number and address */
} Roster;

/* Makes a list with room for so many workers and devices, to be filled and published. The references of its
 * workers are its own. */
MUST_USE Roster *roster_new(size_t count, size_t device_count);
Roster *roster_ref(Roster *list);
void roster_unref(Roster *list); /* NULL is allowed */
const WorkerInfo *roster_find(const Roster *list, const char *address);
const WorkerInfo *roster_find_name(const Roster *list, Slice name);

/* Returns the first worker with this task number. */
const WorkerInfo *roster_find_task(const Roster *list, int32_t task);

/* Says that no worker serves, and of how many that is for their versions: UNAVAILABLE. */
MUST_USE Status roster_refuse_all(Call *call, const Roster *list);

/* Says why no worker can take a slot whose node asks for a GPU: FAILED_PRECONDITION when none has one,
 * UNAVAILABLE when those that have do not serve, or their cards do not. */
MUST_USE Status roster_refuse_gpu(Call *call, const Roster *list, Slice node);

/* Says why no worker can take a step of a session that asks for these labels: FAILED_PRECONDITION when none
 * has them, UNAVAILABLE when those that have do not serve. */
MUST_USE Status roster_refuse_labels(Call *call, const Roster *list, const char *labels);

static inline bool
worker_has_labels(const WorkerInfo *worker, const char *labels)
{
    return labels[0] == '\0' || labels_have(slice_from_string(worker->labels), slice_from_string(labels));
}

static inline const WorkerDevice *
roster_devices(const Roster *list, const WorkerInfo *worker)
{
    return list->devices + worker->device_first;
}

/* Returns whether the worker answers, and has no version of the worker protocol in common with this gateway.
 */
static inline bool
worker_is_refused(const WorkerInfo *worker)
{
    return worker->versions.newest != 0 && worker->version == 0;
}

typedef struct Directory Directory;

MUST_USE Directory *directory_new(void);
void directory_free(Directory *directory);

/* Publishes a snapshot and takes over the caller's reference. Incarnations that are known to be gone are
 * replaced in it, so that nobody else may hold it yet. */
void directory_publish(Directory *directory, Roster *list);

/* Publishes the present list with another incarnation for this worker, if it has the one that `known` has,
 * and keeps the old one out of later lists. Without memory the poller finds out by itself. */
void directory_note_restart(Directory *directory, const WorkerInfo *known, Slice incarnation);

/* Returns a number that changes with every publication. */
uint64_t directory_version(const Directory *directory);

/* Returns what the workers told of the partitions that they registered; it lives as long as the directory. */
Assignments *directory_assignments(const Directory *directory);

/* Returns a new reference; never NULL (an empty list before the first publication). */
Roster *directory_take(Directory *directory);
