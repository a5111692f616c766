/* Slots have clocks that nothing relates: they are put on one clock so that no tensor arrives before it
 * was sent. */
#include "gateway/traces/trace_clock.h"

#include <stdio.h>

#include "tests/support/call_fixture.h"
#include "tests/support/cmocka_all.h"

static WireTraceNode nodes[] = {{.op = {"_Send", 5}}, {.op = {"_Recv", 5}}, {.op = {"Add", 3}}};

#define SEND(name, start, end)                                                                               \
    {                                                                                                        \
        .node = 0, .key = SLICE(name), .start_ns = (start), .end_ns = (end)                                  \
    }
#define RECEIVE(name, start, end)                                                                            \
    {                                                                                                        \
        .node = 1, .key = SLICE(name), .start_ns = (start), .end_ns = (end)                                  \
    }

static void
a_slot_begins_when_it_was_asked_for(void **state)
{
    const Call *call = *state;
    WireTraceRow rows[] = {{.node = 2, .start_ns = 1, .end_ns = 4}};
    SlotRows slot = {.trace = {.nodes = nodes, .elapsed_ns = 5, .rows = rows, .row_count = 1},
        .room_ns = 20,
        .offset_ns = 7};
    assert_true(trace_clock_align(call->arena, &slot, 1));
    assert_int_equal(slot.offset_ns, 7);
}

static void
a_receiver_is_put_behind_its_sender(void **state)
{
    const Call *call = *state;
    WireTraceRow sends[] = {SEND("k", 80, 81)};
    WireTraceRow receives[] = {RECEIVE("k", 0, 10)};
    SlotRows slots[] = {
        {.trace = {.nodes = nodes, .elapsed_ns = 10, .rows = receives, .row_count = 1},
            .room_ns = 100,
            .offset_ns = 1},
        {.trace = {.nodes = nodes, .elapsed_ns = 90, .rows = sends, .row_count = 1},
            .room_ns = 100,
            .offset_ns = 1},
    };
    assert_true(trace_clock_align(call->arena, slots, 2));
    assert_int_equal(slots[1].offset_ns, 1);
    assert_int_equal(slots[0].offset_ns, 1 + 80 - 10);
}

/* Slot 2 sends to 1, and 1 to 0: moving 1 moves 0. */
static void
slots_push_each_other_along_a_chain(void **state)
{
    const Call *call = *state;
    WireTraceRow first[] = {RECEIVE("b", 0, 5)};
    WireTraceRow second[] = {RECEIVE("a", 0, 5), SEND("b", 6, 7)};
    WireTraceRow third[] = {SEND("a", 50, 51)};
    SlotRows slots[] = {
        {.trace = {.nodes = nodes, .elapsed_ns = 10, .rows = first, .row_count = 1}, .room_ns = 200},
        {.trace = {.nodes = nodes, .elapsed_ns = 10, .rows = second, .row_count = 2}, .room_ns = 200},
        {.trace = {.nodes = nodes, .elapsed_ns = 60, .rows = third, .row_count = 1}, .room_ns = 200},
    };
    assert_true(trace_clock_align(call->arena, slots, 3));
    assert_int_equal(slots[2].offset_ns, 0);
    assert_int_equal(slots[1].offset_ns, 45);
    assert_int_equal(slots[0].offset_ns, 46);
}

/* Each slot waits for what the other sends afterwards: no clock makes that true. */
static void
what_contradicts_stays_between_request_and_answer(void **state)
{
    const Call *call = *state;
    WireTraceRow first[] = {RECEIVE("a", 0, 1), SEND("b", 90, UINT64_MAX)};
    WireTraceRow second[] = {RECEIVE("b", 0, 1), SEND("a", 90, 91)};
    SlotRows slots[] = {
        {.trace = {.nodes = nodes, .elapsed_ns = UINT64_MAX, .rows = first, .row_count = 2},
            .room_ns = 100,
            .offset_ns = 3},
        {.trace = {.nodes = nodes, .elapsed_ns = 95, .rows = second, .row_count = 2},
            .room_ns = 100,
            .offset_ns = 3},
    };
    assert_true(trace_clock_align(call->arena, slots, 2));
    assert_int_equal(slots[0].trace.elapsed_ns, 100);
    assert_int_equal(first[1].end_ns, 100);
    assert_int_equal(slots[0].offset_ns, 3);
    assert_int_equal(slots[1].offset_ns, 8);
}

static void
rows_out_of_order_are_put_in_order(void **state)
{
    const Call *call = *state;
    WireTraceRow rows[] = {{.node = 2, .scheduled_ns = 9, .start_ns = 8, .end_ns = 7}};
    SlotRows slot = {
        .trace = {.nodes = nodes, .elapsed_ns = 10, .rows = rows, .row_count = 1}, .room_ns = 10};
    assert_true(trace_clock_align(call->arena, &slot, 1));
    assert_int_equal(rows[0].scheduled_ns, 7);
    assert_int_equal(rows[0].start_ns, 7);
}

enum { WORLD_SLOTS = 5, WORLD_TRANSFERS = 40, WORLD_NS = 100000 };

/* Returns a number from 0 to below - 1 (xorshift). */
static uint64_t
random_below(uint64_t *random, uint64_t below)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random % below;
}

/* The real order of events on one clock, and what each slot tells of it. */
typedef struct World {
    SlotRows slots[WORLD_SLOTS];
    WireTraceRow rows[WORLD_SLOTS][2 * WORLD_TRANSFERS];
    char keys[WORLD_TRANSFERS][8];
} World;

static void
world_tell(World *world, size_t slot, uint64_t start_ns, WireTraceRow row)
{
    SlotRows *rows = &world->slots[slot];
    row.start_ns -= start_ns;
    row.end_ns -= start_ns;
    world->rows[slot][rows->trace.row_count++] = row;
}

/* A run begins some time after it was requested and is answered some time after its end; a tensor arrives
 * some time after it was sent. */
static void
world_make(World *world, uint64_t *random)
{
    uint64_t start_ns[WORLD_SLOTS];
    for (size_t slot = 0; slot < WORLD_SLOTS; slot++) {
        uint64_t sent_ns = random_below(random, 5000);
        start_ns[slot] = sent_ns + random_below(random, 20000);
        world->slots[slot] = (SlotRows){
            .trace = {.nodes = nodes, .rows = world->rows[slot], .elapsed_ns = WORLD_NS - start_ns[slot]},
            .room_ns = WORLD_NS - sent_ns + random_below(random, 20000),
            .offset_ns = sent_ns,
        };
    }
    for (size_t index = 0; index < WORLD_TRANSFERS; index++) {
        size_t from = (size_t)random_below(random, WORLD_SLOTS);
        size_t to = (from + 1 + (size_t)random_below(random, WORLD_SLOTS - 1)) % WORLD_SLOTS;
        uint64_t sent_ns = 25000 + random_below(random, WORLD_NS - 27000);
        uint64_t came_ns = sent_ns + random_below(random, WORLD_NS - sent_ns);
        char *key = world->keys[index];
        (void)snprintf(key, sizeof world->keys[index], "%zu", index);
        world_tell(world, from, start_ns[from],
            (WireTraceRow){.node = 0, .start_ns = sent_ns, .end_ns = sent_ns, .key = slice_from_string(key)});
        world_tell(world, to, start_ns[to],
            (WireTraceRow){.node = 1, .start_ns = 25000, .end_ns = came_ns, .key = slice_from_string(key)});
    }
}

static void
assert_causal(Arena *arena, const SlotRows *slots)
{
    AUTO_MAP sends = map_new();
    assert_non_null(sends);
    assert_true(trace_sends_find(arena, slots, WORLD_SLOTS, sends));
    for (size_t slot = 0; slot < WORLD_SLOTS; slot++) {
        const WireTrace *trace = &slots[slot].trace;
        for (size_t index = 0; index < trace->row_count; index++) {
            const WireTraceRow *row = &trace->rows[index];
            if (trace_is_transfer(trace, row, "_Recv")) {
                const TraceSent *sent = map_get(sends, row->key);
                assert_non_null(sent);
                assert_true(
                    slots[sent->slot].offset_ns + sent->row->start_ns <= slots[slot].offset_ns + row->end_ns);
            }
        }
    }
}

/* Clocks are behind and ahead of each other: each slot tells time since its own start. */
static void
whatever_the_clocks_say_no_slot_hears_before_another_speaks(void **state)
{
    const Call *call = *state;
    uint64_t random = 7;
    for (int round = 0; round < 200; round++) {
        World world;
        uint64_t asked_ns[WORLD_SLOTS];
        uint64_t room_ns[WORLD_SLOTS];
        world_make(&world, &random);
        for (size_t slot = 0; slot < WORLD_SLOTS; slot++) {
            asked_ns[slot] = world.slots[slot].offset_ns;
            room_ns[slot] = world.slots[slot].room_ns;
        }
        assert_true(trace_clock_align(call->arena, world.slots, WORLD_SLOTS));
        assert_causal(call->arena, world.slots);
        for (size_t slot = 0; slot < WORLD_SLOTS; slot++) {
            const SlotRows *rows = &world.slots[slot];
            assert_true(rows->offset_ns >= asked_ns[slot]);
            assert_true(rows->offset_ns + rows->trace.elapsed_ns <= asked_ns[slot] + room_ns[slot]);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(a_slot_begins_when_it_was_asked_for),
        CALL_TEST(a_receiver_is_put_behind_its_sender),
        CALL_TEST(slots_push_each_other_along_a_chain),
        CALL_TEST(what_contradicts_stays_between_request_and_answer),
        CALL_TEST(rows_out_of_order_are_put_in_order),
        CALL_TEST(whatever_the_clocks_say_no_slot_hears_before_another_speaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
