#include "gateway/queue/held_steps.h"

#include <assert.h>
#include <string.h>

#include "gateway/queue/metrics.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

void
held_steps_init(HeldSteps *steps)
{
    assert(steps != NULL);

    *steps = (HeldSteps){0};
    mutex_init(&steps->lock);
}

void
held_steps_done(HeldSteps *steps)
{
    memory_free(steps->items);
    mutex_done(&steps->lock);
}

static bool
has_room(HeldSteps *steps)
{
    enum { FIRST = 64 };
    if (steps->count < steps->capacity) {
        return true;
    }
    size_t capacity = steps->capacity == 0 ? FIRST : steps->capacity * 2;
    HeldStep *items =
        capacity > HELD_STEPS_MAX ? NULL : memory_resize(steps->items, capacity * sizeof *items);
    if (items == NULL) {
        return false;
    }
    steps->items = items;
    steps->capacity = capacity;
    return true;
}

bool
held_steps_add(HeldSteps *steps, const HeldStep *step)
{
    mutex_lock(&steps->lock);
    bool is_added = has_room(steps);
    if (is_added) {
        steps->items[steps->count++] = *step;
        steps->claimed_count += step->is_claimed;
        metric_set(&metric_queue_active, 0, (int64_t)steps->claimed_count);
    }
    mutex_unlock(&steps->lock);
    return is_added;
}

static HeldStep *
find_held(HeldSteps *steps, const StepHold *hold)
{
    for (size_t index = 0; index < steps->count; index++) {
        const StepHold *held = &steps->items[index].hold;
        if (held->fence == hold->fence && uuid_equal(held->id.value, hold->id.value) &&
            uuid_equal(held->tenant.value, hold->tenant.value)) {
            return &steps->items[index];
        }
    }
    return NULL;
}

void
held_steps_remove(HeldSteps *steps, const StepHold *hold)
{
    mutex_lock(&steps->lock);
    HeldStep *step = find_held(steps, hold);
    if (step != NULL) {
        steps->claimed_count -= step->is_claimed;
        *step = steps->items[--steps->count];
        metric_set(&metric_queue_active, 0, (int64_t)steps->claimed_count);
    }
    mutex_unlock(&steps->lock);
}

void
held_steps_note(HeldSteps *steps, const StepHold *hold, int loop_index, bool may_repeat)
{
    mutex_lock(&steps->lock);
    HeldStep *step = find_held(steps, hold);
    if (step != NULL) {
        step->loop_index = loop_index;
        step->may_repeat = may_repeat;
    }
    mutex_unlock(&steps->lock);
}

void
held_steps_begin(HeldSteps *steps, const StepHold *hold, bool may_repeat)
{
    mutex_lock(&steps->lock);
    HeldStep *step = find_held(steps, hold);
    if (step != NULL) {
        step->has_begun = true;
        step->may_repeat = may_repeat;
    }
    mutex_unlock(&steps->lock);
}

size_t
held_steps_claimed(HeldSteps *steps)
{
    mutex_lock(&steps->lock);
    size_t count = steps->claimed_count;
    mutex_unlock(&steps->lock);
    return count;
}

HeldStep *
held_steps_copy(HeldSteps *steps, Arena *arena, size_t *ret_count)
{
    mutex_lock(&steps->lock);
    HeldStep *copy = arena_alloc(arena, (steps->count + 1) * sizeof *copy);
    if (copy != NULL && steps->count > 0) {
        memcpy(copy, steps->items, steps->count * sizeof *copy);
    }
    *ret_count = steps->count;
    mutex_unlock(&steps->lock);
    return copy;
}
