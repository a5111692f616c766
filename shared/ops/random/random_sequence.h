/* The position in its random sequence at which a node continues. A node with seeds continues where the
 * session's last run of it stopped, whatever the signature (TensorFlow keeps its kernel for the session
 * and the node's name). Without seeds, or without a session, it continues after this partition's last run.
 *
 * Threads: runs of one node take turns; each gets counters of its own.
 * Errors:  RESOURCE_EXHAUSTED; those of container_obtain(). */
#pragma once

#include "worker/reference/philox.h"
#include "worker/runtime/kernel.h"

/* Kernel.create and Kernel.destroy for ops with the attributes "seed" and "seed2". */
MUST_USE Status random_sequence_create(Call *call, const Node *node, void **ret_state);
void random_sequence_destroy(void *state);

/* Reserves the next `counters` counters, of four words each, for the caller. */
MUST_USE Status random_sequence_reserve(KernelContext *context, uint64_t counters, Philox *ret_start);
