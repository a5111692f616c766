/* Constants on their way from a loop into the store. The loop hands over their bytes as they come; threads
 * that do nothing else find them room, write and hash them, and check them at the end, so that no loop waits
 * for a disk, for memory or for a digest.
 *
 * Happy path: blob_intake_begin() → on_begun, when the blob is new here → blob_intake_write() as bytes come;
 * on_taken tells when they are written, and the sender may send as many → blob_intake_finish() → on_end.
 *
 * Bytes that are not written yet are held: the sender's window bounds them, which the owner opens again by no
 * more than what on_taken says.
 *
 * Ownership: an intake ends with on_end or blob_intake_abandon(), after which nothing is told any more. All
 *            intakes have ended and blob_intake_count() is 0 before the threads are freed.
 * Threads:   blob_intakes_new(), blob_intakes_free() and blob_intake_count() any; all else on the loop's
 *            thread, where the events come, too.
 * Errors:    those of blob_arrival_…(), told by on_end. */
#pragma once

#include "shared/net/loop.h"
#include "worker/serve/blob_store.h"

enum { BLOB_INTAKE_THREADS_MAX = 4 };

typedef struct BlobIntakes BlobIntakes;
typedef struct BlobIntake BlobIntake;

/* Starts the threads. `store` outlives them. */
MUST_USE Status blob_intakes_new(Call *call, BlobStore *store, int thread_count, BlobIntakes **ret_intakes);
void blob_intakes_free(BlobIntakes *intakes); /* NULL is allowed */

/* Counts the intakes that a thread or a loop still has to do with, abandoned ones included. */
int64_t blob_intake_count(const BlobIntakes *intakes);

typedef struct BlobIntakeEnd {
    BlobState state; /* BLOB_IS_NEW: the blob was not here, and is now if `status` is OK; else nothing came */
    Status status;
    bool is_wrong;    /* the bytes have another digest */
    const Call *call; /* its error says why `status` is not OK */
} BlobIntakeEnd;

typedef struct BlobIntakeEvents {
    void (*on_begun)(void *context); /* the blob is new and has room; may be NULL */
    void (*on_taken)(void *context, size_t size);
    void (*on_end)(void *context, const BlobIntakeEnd *end);
} BlobIntakeEvents;

/* Begins to take a blob of `size` bytes; the events come in later turns of the loop. NULL without memory. */
MUST_USE BlobIntake *blob_intake_begin(BlobIntakes *intakes, Loop *loop, CacheKey key, uint64_t size,
    const BlobIntakeEvents *events, void *context);

/* Hands over the next bytes (copied), never more than `size` in all. False without memory: the intake is of
 * no use then, and is to be abandoned. */
MUST_USE bool blob_intake_write(BlobIntake *intake, Slice bytes);

/* Says that no bytes follow. */
void blob_intake_finish(BlobIntake *intake);

/* Gives the blob up: no event comes any more. Allowed within an event but on_end. NULL is allowed. */
void blob_intake_abandon(BlobIntake *intake);
