#include "shared/wire/trace.h"
#include "tests/support/call_fixture.h"
#include "tests/support/cmocka_all.h"

static void
a_trace_comes_back_as_it_was_written(void **state)
{
    WireTraceNode nodes[] = {{.name = SLICE("unused"), .op = SLICE("Neg")},
        {.name = SLICE("c"), .op = SLICE("Add")},
        {.name = SLICE("a/\"b\""), .op = SLICE("_Send"), .key = SLICE("x;y;z;0:0")}};
    WireTraceRow rows[] = {
        {.node = 2, .scheduled_ns = 1, .start_ns = 2, .end_ns = UINT64_MAX, .thread = 3, .output_bytes = 4},
        {.node = 1, .start_ns = 5, .end_ns = 6, .allocated_bytes = 7, .scratch_bytes = 8, .device_bytes = 9},
        {.node = 2, .start_ns = 10, .was_pulled = 1},
    };
    WireTrace trace = {.elapsed_ns = 7,
        .left_out_count = 8,
        .left_out_iteration_count = 9,
        .nodes = nodes,
        .node_count = COUNT_OF(nodes),
        .rows = rows,
        .row_count = COUNT_OF(rows)};
    AUTO_BUFFER json = {0};
    WireTrace read;
    wire_trace_write(&json, &trace);
    assert_int_equal(wire_trace_read(*state, buffer_slice(&json), &read), STATUS_OK);
    assert_int_equal(read.elapsed_ns, 7);
    assert_int_equal(read.left_out_count, 8);
    assert_int_equal(read.left_out_iteration_count, 9);
    assert_int_equal(read.row_count, COUNT_OF(rows));
    assert_int_equal(read.node_count, 2); /* only nodes that have rows */
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        const WireTraceNode *node = &read.nodes[read.rows[index].node];
        const WireTraceNode *written = &nodes[rows[index].node];
        assert_true(slice_equal(node->name, written->name));
        assert_true(slice_equal(node->op, written->op));
        assert_true(slice_equal(node->key, written->key));
        assert_true(slice_equal(read.rows[index].key, written->key));
        rows[index].node = read.rows[index].node;
        rows[index].key = read.rows[index].key;
        assert_memory_equal(&read.rows[index], &rows[index], sizeof rows[index]);
    }
}

static void
what_the_accelerator_did_comes_back(void **state)
{
    WireTraceNode nodes[] = {{.name = SLICE("unused")}, {.name = SLICE("a"), .op = SLICE("Neg")}};
    WireTraceRow rows[] = {{.node = 1, .end_ns = 1}};
    Slice texts[] = {SLICE("stream 7"), SLICE("sluice::neg"), SLICE("copy in"), SLICE("")};
    WireTraceActivity activities[] = {
        {.has_node = true,
            .node = 1,
            .name = 1,
            .start_ns = 1,
            .end_ns = UINT64_MAX,
            .captured = 4,
            .grid = {1, 2, 3},
            .block = {4, 5, 6}},
        {.track = 2, .name = 3, .end_ns = 9, .bytes = 7},
        {.has_node = true, .node = 0, .track = 2, .name = 3}, /* its node has no row */
    };
    WireTrace trace = {.nodes = nodes,
        .node_count = COUNT_OF(nodes),
        .rows = rows,
        .row_count = COUNT_OF(rows),
        .device_source = SLICE("CUPTI 13.0"),
        .device_left_out_count = 3,
        .device_texts = texts,
        .device_text_count = COUNT_OF(texts),
        .activities = activities,
        .activity_count = COUNT_OF(activities)};
    AUTO_BUFFER json = {0};
    WireTrace read;
    wire_trace_write(&json, &trace);
    assert_int_equal(wire_trace_read(*state, buffer_slice(&json), &read), STATUS_OK);
    assert_true(slice_equals_string(read.device_source, "CUPTI 13.0"));
    assert_int_equal(read.device_left_out_count, 3);
    assert_int_equal(read.device_text_count, COUNT_OF(texts));
    assert_true(slice_equals_string(read.device_texts[1], "sluice::neg"));
    assert_int_equal(read.activity_count, COUNT_OF(activities));
    activities[0].node = 0; /* the only one that is told */
    activities[2].has_node = false;
    for (size_t index = 0; index < COUNT_OF(activities); index++) {
        assert_memory_equal(&read.activities[index], &activities[index], sizeof activities[index]);
    }
}

static void
activities_that_do_not_fit_are_counted(void **state)
{
    enum { COUNT = 40 * 1000 };
    static WireTraceActivity activities[COUNT];
    static WireTraceRow rows[COUNT];
    WireTraceNode nodes[] = {{.name = SLICE("a"), .op = SLICE("Neg")}};
    Slice texts[] = {SLICE("stream 7")};
    for (size_t index = 0; index < COUNT; index++) {
        activities[index] = (WireTraceActivity){.start_ns = UINT64_MAX / 2, .end_ns = UINT64_MAX};
    }
    WireTrace trace = {.nodes = nodes,
        .node_count = COUNT_OF(nodes),
        .rows = rows,
        .row_count = COUNT_OF(rows),
        .device_source = SLICE("CUPTI 13.0"),
        .device_texts = texts,
        .device_text_count = COUNT_OF(texts),
        .activities = activities,
        .activity_count = COUNT};
    AUTO_BUFFER json = {0};
    WireTrace read;
    wire_trace_write(&json, &trace);
    assert_true(json.size <= WIRE_TRACE_SIZE_MAX);
    assert_int_equal(wire_trace_read(*state, buffer_slice(&json), &read), STATUS_OK);
    assert_true(read.row_count > 1000 && read.activity_count > 1000);
    assert_int_equal(read.activity_count + read.device_left_out_count, COUNT);
    assert_int_equal(read.row_count + read.left_out_count, COUNT);
}

static void
activities_that_name_what_is_not_told_are_refused(void **state)
{
    static const char *const documents[] = {
        "{\"device_texts\":[\"s\"],\"device\":[[1,0,0,0,0,0,0,0,0,0,0,0,0,0]]}",
        "{\"device_texts\":[\"s\"],\"device\":[[0,1,0,0,0,0,0,0,0,0,0,0,0,0]]}",
        "{\"device_texts\":[\"s\"],\"device\":[[0,0,1,0,0,0,0,0,0,0,0,0,0,0]]}",
        "{\"device_texts\":[\"s\"],\"device\":[[0,0,0,1,0,0,0,0,0,0,0,0,0,0]]}",
        "{\"device_texts\":[\"s\"],\"device\":[[0,0,0,0,0,0]]}",
    };
    for (size_t index = 0; index < COUNT_OF(documents); index++) {
        WireTrace read;
        assert_int_equal(
            wire_trace_read(*state, slice_from_string(documents[index]), &read), STATUS_INVALID_ARGUMENT);
    }
}

static void
the_accelerators_nodes_are_told(void **state)
{
    WireTraceNode nodes[] = {{.name = SLICE("a"), .op = SLICE("Neg")},
        {.name = SLICE("unused"), .op = SLICE("Neg"), .is_accelerated = true},
        {.name = SLICE("b"), .op = SLICE("MatMul"), .is_accelerated = true}};
    WireTraceRow rows[] = {{.node = 2, .end_ns = 1}, {.node = 0, .end_ns = 2}, {.node = 2, .end_ns = 3}};
    WireTrace trace = {.accelerator = SLICE("/device:GPU:0"),
        .nodes = nodes,
        .node_count = COUNT_OF(nodes),
        .rows = rows,
        .row_count = COUNT_OF(rows)};
    AUTO_BUFFER json = {0};
    WireTrace read;
    wire_trace_write(&json, &trace);
    assert_int_equal(wire_trace_read(*state, buffer_slice(&json), &read), STATUS_OK);
    assert_true(slice_equals_string(read.accelerator, "/device:GPU:0"));
    assert_int_equal(read.node_count, 2);
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        const WireTraceNode *node = &read.nodes[read.rows[index].node];
        assert_int_equal(node->is_accelerated, slice_equals_string(node->name, "b"));
    }
}

/* The key of a Send in iteration 17 of a loop, within iteration 3 of another. */
static void
keys_and_paths_name_every_loop_around(void **state)
{
    WireTraceNode nodes[] = {{.name = SLICE("send"), .op = SLICE("_Send"), .key = SLICE("a;b;t;")}};
    Slice frames[] = {SLICE(""), SLICE("outer"), SLICE("outer/inner")};
    WireTraceIteration iterations[] = {{.frame = 1, .number = 3}, {.frame = 2, .around = 1, .number = 17}};
    WireTraceRow rows[] = {{.node = 0, .iteration = 2}, {.node = 0, .iteration = 1}};
    WireTrace trace = {.nodes = nodes,
        .node_count = 1,
        .frames = frames,
        .frame_count = COUNT_OF(frames),
        .iterations = iterations,
        .iteration_count = COUNT_OF(iterations),
        .rows = rows,
        .row_count = COUNT_OF(rows)};
    AUTO_BUFFER json = {0};
    AUTO_BUFFER path = {0};
    WireTrace read;
    wire_trace_write(&json, &trace);
    assert_int_equal(wire_trace_read(*state, buffer_slice(&json), &read), STATUS_OK);
    assert_true(slice_equals_string(read.rows[0].key, "a;b;t;outer:3/outer/inner:17"));
    assert_true(slice_equals_string(read.rows[1].key, "a;b;t;outer:3"));
    wire_trace_path(&read, read.rows[0].iteration, &path);
    assert_string_equal(buffer_string(&path), "outer:3/outer/inner:17");
}

static void
rows_that_do_not_fit_are_counted(void **state)
{
    enum { COUNT = 50000 };
    static WireTraceRow rows[COUNT];
    WireTraceNode nodes[] = {
        {.name = SLICE("a/name/of/some/length/as/they/are/in/graphs"), .op = SLICE("MatMul")}};
    WireTrace trace = {.nodes = nodes, .node_count = 1, .rows = rows, .row_count = COUNT};
    AUTO_BUFFER json = {0};
    WireTrace read;
    for (size_t index = 0; index < COUNT; index++) {
        rows[index] = (WireTraceRow){.start_ns = index, .end_ns = 1000 * 1000 * 1000};
    }
    wire_trace_write(&json, &trace);
    assert_true(json.size <= WIRE_TRACE_SIZE_MAX);
    assert_int_equal(wire_trace_read(*state, buffer_slice(&json), &read), STATUS_OK);
    assert_true(read.row_count > COUNT / 4 && read.row_count < COUNT);
    assert_int_equal(read.row_count + read.left_out_count, COUNT);
    assert_int_equal(read.rows[read.row_count - 1].start_ns, read.row_count - 1);
}

static void
the_list_of_accelerated_nodes_leaves_the_trace_within_its_size(void **state)
{
    enum { COUNT = 50000 };
    static WireTraceRow rows[COUNT];
    static WireTraceNode nodes[COUNT];
    WireTrace trace = {.accelerator = SLICE("/device:GPU:0"),
        .nodes = nodes,
        .node_count = COUNT,
        .rows = rows,
        .row_count = COUNT};
    AUTO_BUFFER json = {0};
    WireTrace read;
    for (uint32_t index = 0; index < COUNT; index++) {
        nodes[index] = (WireTraceNode){.name = SLICE("n"), .op = SLICE("Neg"), .is_accelerated = true};
        rows[index] = (WireTraceRow){.node = index};
    }
    wire_trace_write(&json, &trace);
    assert_true(json.size <= WIRE_TRACE_SIZE_MAX);
    assert_int_equal(wire_trace_read(*state, buffer_slice(&json), &read), STATUS_OK);
    assert_true(read.row_count > 1000 && read.row_count < COUNT);
    assert_true(read.nodes[read.row_count - 1].is_accelerated);
}

static void
loops_whose_names_fill_a_frame_leave_nothing(void **state)
{
    (void)state;
    static char name[WIRE_TRACE_SIZE_MAX];
    Slice frames[] = {slice_of(memset(name, 'n', sizeof name), sizeof name)};
    WireTrace trace = {.frames = frames, .frame_count = 1};
    AUTO_BUFFER json = {0};
    buffer_append_string(&json, "before");
    wire_trace_write(&json, &trace);
    assert_string_equal(buffer_string(&json), "before");
}

static void
what_is_no_trace_is_refused(void **state)
{
    static const char *const texts[] = {
        "",
        "[]",
        "{\"rows\":{}}",
        "{\"rows\":[1]}",
        "{\"rows\":[[[\"a\",\"b\",\"c\"],0,1,2,3,4,5,6,7,8]]}",
        "{\"rows\":[[[\"a\",\"b\",\"c\"],0,1,2,3,4,5,6,7,8,0,0]]}",
        "{\"rows\":[[[\"a\",\"b\",\"c\"],0,1,2,3,4,-5,6,7,8,0]]}",
        "{\"rows\":[[[\"a\",\"b\"],0,1,2,3,4,5,6,7,8,0]]}",
        "{\"rows\":[[0,0,1,2,3,4,5,6,7,8,0]]}",
        "{\"rows\":[[[\"a\",\"b\",\"c\"],1,1,2,3,4,5,6,7,8,0]]}",
        "{\"frames\":[\"f\"],\"iterations\":[[1,0,0]]}",
        "{\"frames\":[\"f\"],\"iterations\":[[0,1,0]]}",
        "{\"frames\":[\"f\"],\"iterations\":[[0,0]]}",
        "{\"frames\":[1]}",
        "{\"elapsed_ns\":\"soon\"}",
        "{\"left_out\":1",
        "{\"rows\":[[[\"a\",\"b\",\"c\"],0,1,2,3,4,5,6,7,8,0]],\"accelerated\":[1]}",
        "{\"accelerated\":[-1]}",
    };
    for (size_t index = 0; index < COUNT_OF(texts); index++) {
        WireTrace read;
        if (wire_trace_read(*state, slice_from_string(texts[index]), &read) != STATUS_INVALID_ARGUMENT) {
            fail_msg("read as a trace: %s", texts[index]);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(a_trace_comes_back_as_it_was_written),
        CALL_TEST(the_accelerators_nodes_are_told),
        CALL_TEST(what_the_accelerator_did_comes_back),
        CALL_TEST(activities_that_do_not_fit_are_counted),
        CALL_TEST(activities_that_name_what_is_not_told_are_refused),
        CALL_TEST(keys_and_paths_name_every_loop_around),
        CALL_TEST(the_list_of_accelerated_nodes_leaves_the_trace_within_its_size),
        CALL_TEST(rows_that_do_not_fit_are_counted),
        CALL_TEST(loops_whose_names_fill_a_frame_leave_nothing),
        CALL_TEST(what_is_no_trace_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
