/* Slots whose clocks are unknown: where they are put, and that they never contradict what was sent. */
#include "gateway/services/trace_clock.h"

#include "tests/support/call_fixture.h"
#include "tests/support/cmocka_all.h"

#define SEND(name, start, end)                                                                               \
    {                                                                                                        \
        .op = SLICE("_Send"), .key = SLICE(name), .start_ns = (start), .end_ns = (end)                       \
    }
#define RECEIVE(name, start, end)                                                                            \
    {                                                                                                        \
        .op = SLICE("_Recv"), .key = SLICE(name), .start_ns = (start), .end_ns = (end)                       \
    }

static void
a_slot_begins_when_it_was_asked_for(void **state)
{
    const Call *const call = *state;
    WireTraceRow rows[] = {{.op = SLICE("Add"), .start_ns = 1, .end_ns = 4}};
    SlotRows slot = {.trace = {.elapsed_ns = 5, .rows = rows, .row_count = 1}, .room_ns = 20, .offset_ns = 7};
    assert_true(trace_clock_align(call->arena, &slot, 1));
    assert_int_equal(slot.offset_ns, 7);
}

static void
a_receiver_is_put_behind_its_sender(void **state)
{
    const Call *const call = *state;
    WireTraceRow sends[] = {SEND("k", 80, 81)};
    WireTraceRow receives[] = {RECEIVE("k", 0, 10)};
    SlotRows slots[] = {
        {.trace = {.elapsed_ns = 10, .rows = receives, .row_count = 1}, .room_ns = 100, .offset_ns = 1},
        {.trace = {.elapsed_ns = 90, .rows = sends, .row_count = 1}, .room_ns = 100, .offset_ns = 1},
    };
    assert_true(trace_clock_align(call->arena, slots, 2));
    assert_int_equal(slots[1].offset_ns, 1);
    assert_int_equal(slots[0].offset_ns, 1 + 80 - 10);
}

/* 2 sends to 1, 1 to 0: 0 moves because 1 has moved. */
static void
slots_push_each_other_along_a_chain(void **state)
{
    const Call *const call = *state;
    WireTraceRow first[] = {RECEIVE("b", 0, 5)};
    WireTraceRow second[] = {RECEIVE("a", 0, 5), SEND("b", 6, 7)};
    WireTraceRow third[] = {SEND("a", 50, 51)};
    SlotRows slots[] = {
        {.trace = {.elapsed_ns = 10, .rows = first, .row_count = 1}, .room_ns = 200},
        {.trace = {.elapsed_ns = 10, .rows = second, .row_count = 2}, .room_ns = 200},
        {.trace = {.elapsed_ns = 60, .rows = third, .row_count = 1}, .room_ns = 200},
    };
    assert_true(trace_clock_align(call->arena, slots, 3));
    assert_int_equal(slots[2].offset_ns, 0);
    assert_int_equal(slots[1].offset_ns, 45);
    assert_int_equal(slots[0].offset_ns, 46);
}

/* Each waits for what the other sends after it: no clock makes that true. */
static void
what_contradicts_stays_between_request_and_answer(void **state)
{
    const Call *const call = *state;
    WireTraceRow first[] = {RECEIVE("a", 0, 1), SEND("b", 90, UINT64_MAX)};
    WireTraceRow second[] = {RECEIVE("b", 0, 1), SEND("a", 90, 91)};
    SlotRows slots[] = {
        {.trace = {.elapsed_ns = UINT64_MAX, .rows = first, .row_count = 2}, .room_ns = 100, .offset_ns = 3},
        {.trace = {.elapsed_ns = 95, .rows = second, .row_count = 2}, .room_ns = 100, .offset_ns = 3},
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
    const Call *const call = *state;
    WireTraceRow rows[] = {{.op = SLICE("Add"), .scheduled_ns = 9, .start_ns = 8, .end_ns = 7}};
    SlotRows slot = {.trace = {.elapsed_ns = 10, .rows = rows, .row_count = 1}, .room_ns = 10};
    assert_true(trace_clock_align(call->arena, &slot, 1));
    assert_int_equal(rows[0].scheduled_ns, 7);
    assert_int_equal(rows[0].start_ns, 7);
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
