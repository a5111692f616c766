#include "gateway/tensors/constant_pieces.h"

#include "gateway/jobs/job_context.h"
#include "gateway/store/blobs.h"
#include "shared/base/atomic.h"
#include "shared/base/memory.h"

enum { TRANSFERS_MAX = 8, ARENA_SIZE_MAX = 1 << 20 };

struct ConstantPieces {
    JobPool *jobs;
    int reading_max;
    int transfers_max;
    int reading_count; /* atomic */
};

typedef struct Reading {
    Job job;
    ConstantPieces *pieces;
    BlobPiece *piece;
} Reading;

ConstantPieces *
constant_pieces_new(JobPool *jobs, int job_threads, int loop_count)
{
    ConstantPieces *pieces = memory_new(1, sizeof *pieces);
    if (pieces != NULL) {
        pieces->jobs = jobs;
        pieces->reading_max = job_threads > 2 ? job_threads / 2 : 1;
        pieces->transfers_max = loop_count < TRANSFERS_MAX ? TRANSFERS_MAX / loop_count : 1;
    }
    return pieces;
}

void
constant_pieces_free(ConstantPieces *pieces)
{
    memory_free(pieces);
}

static Status
read_piece(Call *call, JobContext *context, BlobPiece *piece)
{
    Store *store = NULL;
    TenantId tenant;
    if (!uuid_from_text(slice_from_string(piece->tenant), &tenant.value)) {
        return call_fail(call, STATUS_INTERNAL, "'%s' is no tenant", piece->tenant);
    }
    TRY(job_store(call, context, STORE_ROLE_APP, &store));
    BlobRange range = {.offset = piece->offset, .size = piece->size};
    TRY(blobs_read(call, store, tenant, &piece->digest, range, &piece->bytes));
    return piece->bytes.size == piece->size
               ? STATUS_OK
               : call_fail(
                     call, STATUS_DATA_LOSS, "a constant of the graph has fewer bytes than it must have");
}

static void
run_reading(Job *job, JobContext *context)
{
    Reading *reading = (Reading *)job;
    BlobPiece *piece = reading->piece;
    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    Call call = {.arena = arena};
    Status status =
        arena == NULL ? call_fail_memory(&call, "a constant's bytes") : read_piece(&call, context, piece);
    if (status != STATUS_OK) {
        piece->failure = failure_of_call(&call, (Slice){0});
        buffer_done(&piece->bytes);
    }
}

static void
end_reading(Job *job)
{
    Reading *reading = (Reading *)job;
    BlobPiece *piece = reading->piece;
    (void)atomic_sub_relaxed(&reading->pieces->reading_count, 1);
    memory_free(reading);
    piece->done(piece);
}

static bool
begin_reading(void *context, BlobPiece *piece)
{
    ConstantPieces *pieces = context;
    bool may_read = atomic_add_relaxed(&pieces->reading_count, 1) <= pieces->reading_max;
    Reading *reading = may_read ? memory_new(1, sizeof *reading) : NULL;
    if (reading != NULL) {
        *reading = (Reading){
            .job = {.loop = piece->loop, .run = run_reading, .done = end_reading},
            .pieces = pieces,
            .piece = piece,
        };
        if (job_submit(pieces->jobs, &reading->job)) {
            return true;
        }
    }
    memory_free(reading);
    (void)atomic_sub_relaxed(&pieces->reading_count, 1);
    return false;
}

BlobPieces
constant_pieces_reader(ConstantPieces *pieces)
{
    return (BlobPieces){.context = pieces, .read = begin_reading, .transfers_max = pieces->transfers_max};
}
