/* Where a random node's next numbers begin. A node with seeds goes on where the session's last run of it
 * stopped, whatever the signature (TensorFlow keeps its kernel for the session and the node's name); without
 * seeds, or without a session, where this partition's last run did.
 *
 * Threads: runs of one node take turns; each gets counters of its own.
 * Errors:  RESOURCE_EXHAUSTED; those of container_obtain(). */
#pragma once

#include "worker/reference/philox.h"
#include "worker/runtime/kernel.h"

/* Kernel.create and Kernel.destroy of ops with attributes "seed" and "seed2". */
MUST_USE Status random_sequence_create(Call *call, const Node *node, void **ret_state);
void random_sequence_destroy(void *state);

/* The next `counters` counters, of four words each, are the caller's. */
MUST_USE Status random_sequence_reserve(KernelContext *context, uint64_t counters, Philox *ret_start);
