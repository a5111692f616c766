/* Reads large constants from the store, a piece at a time, for their way to workers (gateway/dispatch).
 *
 * Ownership: made by the process, which frees it after the job threads.
 * Threads:   as BlobPieces.
 * Errors:    those of blobs_read(); DATA_LOSS when the store has fewer bytes than the constant. */
#pragma once

#include "gateway/dispatch/blob_pieces.h"
#include "gateway/jobs/job_pool.h"

typedef struct ConstantPieces ConstantPieces;

/* Makes readers for at most half of the `job_threads`; all `loop_count` loops together send few enough
 * constants at once to hold some dozen MiB. NULL without memory. */
MUST_USE ConstantPieces *constant_pieces_new(JobPool *jobs, int job_threads, int loop_count);
void constant_pieces_free(ConstantPieces *pieces); /* NULL is allowed */

/* Returns what dispatchers are given. */
BlobPieces constant_pieces_reader(ConstantPieces *pieces);
