/* Records of synchronous steps on their way to the database: a ring for each loop, and one thread that
 * writes them in batches, at most RECORD_DELAY_MS later. A reply waits while its loop's ring is full, so
 * that a crash loses a bounded number of records.
 *
 * While PostgreSQL cannot be reached the thread tries again. Records that the database refuses for good,
 * and records that are left when the gateway has to end, are counted in sluice_step_records_lost_total.
 *
 * Ownership: a Recorder owns its rings; recorder_put() takes the record over.
 * Threads:   a ring belongs to its loop's thread; a flush to its loop's.
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

/* Writes the records that are left, for at most `time_ms`, and ends the thread; no records may be put any
 * more. Tasks that it has posted to the loops must still be run. NULL is allowed, here and below. */
void recorder_stop(Recorder *recorder, uint64_t time_ms);
void recorder_free(Recorder *recorder); /* after recorder_stop() */

/* Makes the ring of a loop, before that loop runs. NULL without memory. */
MUST_USE RecordRing *recorder_ring(Recorder *recorder, Loop *loop);

/* Copies a record, texts included, for recorder_put(). Bytes that are no UTF-8 become '?'. NULL without
 * memory. */
MUST_USE StepRecord *record_copy(const StepRecord *record);

/* A record that may have to wait for room. */
typedef struct RecordWait {
    ListLink link;
    StepRecord *record;
    void (*taken)(struct RecordWait *wait); /* called on the loop when the record has been taken */
} RecordWait;

/* Returns true when the record is taken at once; else wait->taken() follows. */
MUST_USE bool recorder_put(RecordRing *ring, RecordWait *wait);

/* Stops waiting: a record that was not taken yet is lost, and counted. */
void recorder_abandon(RecordRing *ring, RecordWait *wait);

/* Counts a record that could not be made for want of memory. */
void recorder_note_lost(void);

/* A wait for records to be written, for readers that must see their own steps. */
typedef struct RecordFlush {
    Task task; /* first: brings `flushed` to the loop */
    ListLink link;
    Loop *loop;
    uint64_t number;
    void (*flushed)(struct RecordFlush *flush); /* called on the loop */
} RecordFlush;

/* Calls flush->flushed once all records that were put before are written. That takes as long as PostgreSQL
 * does. */
void recorder_flush(Recorder *recorder, RecordFlush *flush);

/* Stops waiting. False when `flushed` is about to be called nevertheless. */
MUST_USE bool recorder_flush_leave(Recorder *recorder, RecordFlush *flush);
