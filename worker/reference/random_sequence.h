/* The random sequence of a node: its first run begins where its seeds say, and every run begins where the one
 * before stopped, on whatever device.
 *
 * Threads: any.
 * Errors:  RESOURCE_EXHAUSTED without memory. */
#pragma once

#include "worker/reference/philox.h"
#include "worker/runtime/kernel.h"

/* Implement create() and destroy() of kernels of ops with the attributes "seed" and "seed2". */
MUST_USE Status random_sequence_create(Call *call, const Node *node, void **ret_state);
void random_sequence_destroy(void *state);

/* Reserves the next `counters` counters, of four words each, for the caller. */
MUST_USE Status random_sequence_reserve(KernelContext *context, uint64_t counters, Philox *ret_start);

/* TensorFlow reserves this many words for an output, so that distributions may draw again; the next run
 * begins as many counters, of four words each, further on. */
enum { RANDOM_WORDS_PER_OUTPUT = 256 };

MUST_USE Status random_sequence_reserve_outputs(KernelContext *context, int64_t outputs, Philox *ret_start);

/* Returns how many counters lie between two groups of numbers of which each may draw again. */
static inline int64_t
random_counters_apart(int64_t group)
{
    return group * RANDOM_WORDS_PER_OUTPUT / PHILOX_WORDS;
}

/* Returns how many outputs TensorFlow counts for `samples` classes drawn for each of `rows` examples. */
static inline int64_t
random_words_of_classes(int64_t samples, int64_t rows)
{
    return (samples + 3) / 4 * 4 * 2 * rows;
}

/* Reads the two seeds of a stateless op, which are input 1. */
MUST_USE Status random_stateless(KernelContext *context, Philox *ret_start);

/* Reads the key and the counter of a stateless op of the second version, inputs 1 and 2, and input 3, which
 * names the generator: 1 is Philox, 3 leaves the choice to the device. UNIMPLEMENTED for another one. */
MUST_USE Status random_keyed(KernelContext *context, Philox *ret_start);

/* Reads inputs `low` and `low` + 1: the lowest number, and the one above the highest. INVALID_ARGUMENT when
 * there is no number between them. */
MUST_USE Status random_range(KernelContext *context, uint32_t low, int64_t *ret_minimum, uint64_t *ret_range);
