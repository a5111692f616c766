/* Records of synchronous steps on their way to the database: a ring for each loop, and one thread that writes
 * what is in them in batches, at most RECORD_DELAY_MS later. A reply waits while its loop's ring is full, so
 * that what a crash can lose is bounded.
 *
 * With PostgreSQL gone the thread tries again until it is back. A record that the database refuses for good
 * is counted in sluice_step_records_lost_total, as are those that are left when the gateway has to end.
 *
 * Ownership: a Recorder owns its rings; recorder_put() takes the record over.
 * Threads:   a ring belongs to its loop's thread; recorder_flush() any thread that may wait.
 * Errors:    recorder_new(): UNAVAILABLE for the thread, RESOURCE_EXHAUSTED. */
#pragma once

#include "gateway/store/steps.h"
#include "shared/base/list.h"
#include "shared/net/loop.h"

enum { RECORD_DELAY_MS = 200, RECORD_RINGS_MAX = 64 };

typedef struct Recorder Recorder;
typedef struct RecordRing RecordRing;

typedef struct RecorderOptions {
    const char *conninfo; /* outlives the recorder */
    size_t ring_size;     /* records a loop, rounded up to a power of two */
} RecorderOptions;

MUST_USE Status recorder_new(Call *call, const RecorderOptions *options, Recorder **ret_recorder);

/* Writes what is left, for at most `time_ms`, and ends the thread; nobody may put any more. What it has
 * posted to the loops is still to be run. NULL is allowed, here and below. */
void recorder_stop(Recorder *recorder, uint64_t time_ms);
void recorder_free(Recorder *recorder); /* behind recorder_stop() */

/* The ring of a loop, before that loop runs. NULL without memory. */
MUST_USE RecordRing *recorder_ring(Recorder *recorder, Loop *loop);

/* A record of its own, texts included, for recorder_put(). Bytes that are no UTF-8 become '?'. NULL without
 * memory. */
MUST_USE StepRecord *record_copy(const StepRecord *record);

/* A record that may have to wait for room. */
typedef struct RecordWait {
    ListLink link;
    StepRecord *record;
    void (*taken)(struct RecordWait *wait); /* on the loop; the record is on its way */
} RecordWait;

/* True: taken at once. False: wait->taken() follows. */
MUST_USE bool recorder_put(RecordRing *ring, RecordWait *wait);

/* Nobody waits any more: a record that was not taken yet is lost, and counted. */
void recorder_abandon(RecordRing *ring, RecordWait *wait);

/* Counts a record that could not even be made. */
void recorder_note_lost(void);

/* Comes back when all that was put before is written: for readers that must see their own steps.
 * DEADLINE_EXCEEDED when the call's deadline, or a second, is over first. */
MUST_USE Status recorder_flush(Call *call, Recorder *recorder);
