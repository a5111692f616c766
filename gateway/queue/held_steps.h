/* Steps that a gateway holds, copied by value. Only gateway/queue includes this.
 *
 * Threads: any; one lock. */
#pragma once

#include "gateway/store/queue.h"
#include "shared/base/mutex.h"

enum { HELD_STEPS_MAX = 16384 };

typedef struct HeldStep {
    StepHold hold;
    int loop_index;
    bool is_claimed; /* from the queue, not a synchronous step */
    bool has_begun;  /* to run: until then it only stands ready */
    bool may_repeat;
} HeldStep;

typedef struct HeldSteps {
    Mutex lock;
    HeldStep *items;
    size_t count;
    size_t capacity;
    size_t claimed_count;
} HeldSteps;

void held_steps_init(HeldSteps *steps);
void held_steps_done(HeldSteps *steps);

MUST_USE bool held_steps_add(HeldSteps *steps, const HeldStep *step); /* false: no memory, or too many */
void held_steps_remove(HeldSteps *steps, const StepHold *hold);
void held_steps_note(HeldSteps *steps, const StepHold *hold, int loop_index, bool may_repeat);
void held_steps_begin(HeldSteps *steps, const StepHold *hold, bool may_repeat);
size_t held_steps_claimed(HeldSteps *steps);

/* Copies all held steps into the arena; NULL without memory. */
MUST_USE HeldStep *held_steps_copy(HeldSteps *steps, Arena *arena, size_t *ret_count);
