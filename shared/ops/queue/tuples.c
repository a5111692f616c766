#include "shared/ops/queue/tuples.h"

#include <assert.h>
#include <string.h>

static Tensor *
tuple_at(const Tuples *tuples, int64_t index)
{
    assert(index >= 0 && index < tuples->size);
    return tuples->components +
           (tuples->first + index + tuples->room) % tuples->room * tuples->component_count;
}

bool
tuples_reserve(Tuples *tuples, int64_t size)
{
    enum { ROOM_FIRST = 16 };
    if (size <= tuples->room) {
        return true;
    }
    int64_t room = size > 2 * tuples->room ? size + ROOM_FIRST : 2 * tuples->room;
    Room memory = NULL;
    if (!room_grow(tuples->device, &memory, 0, (size_t)room * tuples->component_count * sizeof(Tensor))) {
        return false;
    }
    Tensor *components = room_data(memory);
    for (int64_t index = 0; index < tuples->size; index++) {
        memcpy(components + index * tuples->component_count, tuple_at(tuples, index),
            tuples->component_count * sizeof *components);
    }
    room_free(&tuples->memory);
    tuples->memory = memory;
    tuples->components = components;
    tuples->room = room;
    tuples->first = 0;
    return true;
}

void
tuples_put_last(Tuples *tuples, const Tensor *tuple)
{
    assert(tuples->size < tuples->room);
    tuples->size++;
    memcpy(tuple_at(tuples, tuples->size - 1), tuple, tuples->component_count * sizeof *tuple);
}

void
tuples_put_first(Tuples *tuples, const Tensor *tuple)
{
    assert(tuples->size < tuples->room);
    tuples->first = (tuples->first + tuples->room - 1) % tuples->room;
    tuples->size++;
    memcpy(tuple_at(tuples, 0), tuple, tuples->component_count * sizeof *tuple);
}

void
tuples_take(Tuples *tuples, int64_t index, Tensor *ret_tuple)
{
    size_t size = tuples->component_count * sizeof *ret_tuple;
    memcpy(ret_tuple, tuple_at(tuples, index), size);
    if (index == 0) {
        tuples->first = (tuples->first + 1) % tuples->room;
    } else {
        memcpy(tuple_at(tuples, index), tuple_at(tuples, tuples->size - 1), size);
    }
    tuples->size--;
}

const Tensor *
tuples_at(const Tuples *tuples, int64_t index)
{
    return tuple_at(tuples, index);
}

void
tuples_done(Tuples *tuples)
{
    for (int64_t index = 0; index < tuples->size; index++) {
        Tensor *tuple = tuple_at(tuples, index);
        for (uint32_t component = 0; component < tuples->component_count; component++) {
            tensor_unref(&tuple[component]);
        }
    }
    room_free(&tuples->memory);
    tuples->components = NULL;
    tuples->size = 0;
    tuples->room = 0;
}
