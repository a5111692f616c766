/* Drain marks of workers: an operator sets them in the database through any gateway; every gateway looks
 * there every WORKER_MARKS_MS and tells its discovery.
 *
 * Ownership: one of the gateway's parts; stop before the discovery ends, free once the job threads have.
 * Threads:   the first loop's; worker_marks_look() from any. */
#pragma once

#include "shared/base/call.h"

enum { WORKER_MARKS_MS = 2000 };

typedef struct Gateway Gateway;
typedef struct WorkerMarks WorkerMarks;

MUST_USE Status worker_marks_start(Call *call, Gateway *gateway, WorkerMarks **ret_marks);

/* Looks now, for a mark was just set. */
void worker_marks_look(WorkerMarks *marks);

void worker_marks_stop(WorkerMarks *marks); /* NULL is allowed */
void worker_marks_free(WorkerMarks *marks); /* NULL is allowed */
