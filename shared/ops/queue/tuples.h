/* A row of tuples of tensors with two ends, at both of which tuples are put and taken: the contents of a
 * queue.
 *
 * Ownership: holds a reference to each tensor in it. One with only a device and a component count is
 * empty.
 * Threads:   one at a time.
 * Errors:    false without memory. */
#pragma once

#include "worker/reference/room.h"

typedef struct Tuples {
    Device *device; /* whose memory the tuples take */
    uint32_t component_count;
    int64_t size;
    int64_t first; /* index of the first tuple in a ring of `room` */
    int64_t room;
    Room memory;
    Tensor *components; /* in `memory` */
} Tuples;

/* Makes room for one more tuple, so that the next put cannot fail. */
MUST_USE bool tuples_reserve(Tuples *tuples, int64_t size);

/* Takes over the references of component_count tensors. There is room. */
void tuples_put_last(Tuples *tuples, const Tensor *tuple);
void tuples_put_first(Tuples *tuples, const Tensor *tuple);

/* Takes tuple `index` out; unless it was the first, the last one replaces it. */
void tuples_take(Tuples *tuples, int64_t index, Tensor *ret_tuple);

const Tensor *tuples_at(const Tuples *tuples, int64_t index);
void tuples_done(Tuples *tuples);
