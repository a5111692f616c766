/* Asks the worker that listens on this machine how it is, as a supervisor's health check does: Kubernetes'
 * probes of its own kind speak HTTP/1.1 and know no token.
 *
 * Threads: the calling one, which waits for the answer.
 * Errors:  UNAVAILABLE when nobody answers within PROBE_MS and a second, or the worker does not take new
 * work, with what it says of itself; FAILED_PRECONDITION when it refuses the token; INVALID_ARGUMENT for an
 * address without a port of its own. */
#pragma once

#include "shared/base/call.h"

enum { PROBE_MS = 2000 };

/* `listen`: the worker's setting; an address that stands for all ("0.0.0.0") is asked through loopback.
 * `token`: NULL for a worker that asks for none. */
MUST_USE Status worker_probe(Call *call, const char *listen, const char *token);
