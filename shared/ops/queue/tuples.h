/* Tuples of tensors in a row, at both ends of which some are put and taken: what a queue holds.
 *
 * Ownership: holds the references of what is in it. One with nothing but device and component count is empty.
 * Threads:   one at a time.
 * Errors:    false without memory. */
#pragma once

#include "worker/reference/room.h"

typedef struct Tuples {
    Device *device; /* whose memory the tensors' places take */
    uint32_t component_count;
    int64_t size;
    int64_t first; /* of `room` places, in a ring */
    int64_t room;
    Room memory;
    Tensor *components; /* in `memory` */
} Tuples;

/* Room for one more, so that the next put does not fail. */
MUST_USE bool tuples_reserve(Tuples *tuples, int64_t size);

/* component_count tensors, whose references move. There is room. */
void tuples_put_last(Tuples *tuples, const Tensor *tuple);
void tuples_put_first(Tuples *tuples, const Tensor *tuple);

/* Takes the `index`-th out, in whose place the last one comes unless it was the first. */
void tuples_take(Tuples *tuples, int64_t index, Tensor *ret_tuple);

const Tensor *tuples_at(const Tuples *tuples, int64_t index);
void tuples_done(Tuples *tuples);
