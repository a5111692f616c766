/* The resolver turns the name of a headless service into the addresses behind it, on a job thread, as
 * resolving waits.
 *
 * Threads: resolver_ask() on the discovery's loop, which also gets the answer.
 * Errors:  a name that does not resolve keeps its former addresses; the log says why. */
#pragma once

#include "gateway/dispatch/discovery.h"
#include "gateway/jobs/job_pool.h"

typedef struct ResolverTarget {
    JobPool *jobs;
    Loop *loop;
    Discovery **discovery; /* points to NULL while there is no discovery */
} ResolverTarget;

void resolver_ask(const ResolverTarget *target, size_t entry, Slice name_and_port);
