/* `sluice graph plan` and `sluice graph compile` against a whole Sluice: where nodes run and why, and what
 * they cost, as tables and as a drawing. */
#include "tests/support/sluice_command.h"

enum { GRAPH_ID_SIZE = 64 };

/* The id of the graph, which is pushed before the first test. */
static char graph[GRAPH_ID_SIZE];

/* A graph of two tasks: x·w is computed on task 0, y = -(x·w) on task 1. */
static const char two_tasks[] =
    "{\"node\":["
    "{\"name\":\"x\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"}}},"
    "{\"name\":\"w\",\"op\":\"Const\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"},\"value\":{\"tensor\":"
    "{\"dtype\":\"DT_FLOAT\",\"tensorShape\":{\"dim\":[{\"size\":\"2\"},{\"size\":\"2\"}]},"
    "\"floatVal\":[1,2,3,4]}}}},"
    "{\"name\":\"xw\",\"op\":\"MatMul\",\"device\":\"/job:worker/task:0\",\"input\":[\"x\",\"w\"],"
    "\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}},"
    "{\"name\":\"same\",\"op\":\"Identity\",\"input\":[\"xw\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}},"
    "{\"name\":\"y\",\"op\":\"Neg\",\"device\":\"/job:worker/task:1\",\"input\":[\"same\"],"
    "\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}}]}";

/* Fails unless one line of the text consists of these words, with any number of blanks between them. */
static void
assert_line(const char *text, const char *words)
{
    Slice rest = slice_from_string(text);
    Slice line;
    while (slice_split(&rest, '\n', &line)) {
        Slice wanted = slice_from_string(words);
        Slice word;
        bool is_same = true;
        while (is_same && slice_split(&wanted, ' ', &word)) {
            line = slice_trim(line);
            is_same = slice_starts_with(line, word);
            line = slice_part(line, word.size, line.size);
        }
        if (is_same && slice_trim(line).size == 0) {
            return;
        }
    }
    fail_msg("no line '%s' in:\n%s", words, text);
}

static int
set_up(void **state)
{
    if (sluice_setup(state) != 0) {
        return -1;
    }
    SluiceFixture *fixture = *state;
    sluice_write(fixture, "two_tasks.json", slice_from_string(two_tasks));
    if (SLUICE_RUN(fixture, "graph", "push", "%/two_tasks.json") != 0) {
        return -1;
    }
    (void)snprintf(graph, sizeof graph, "%.*s", (int)strcspn(fixture->out, "\n"), fixture->out);
    return 0;
}

static void
a_plan_is_tables_of_slots_transfers_changes_and_reasons(void **state)
{
    SluiceFixture *fixture = *state;
    assert_exit(0, fixture, "graph", "plan", graph, "--feed", "x", "--fetch", "y");
    assert_line(fixture->out, graph);
    assert_line(fixture->out, "SLOT DEVICE TASK MEMORY OPERATIONS");
    assert_line(fixture->out, "1 CPU 1 8 B 2");
    assert_line(fixture->out, "PARTITION NODES SIZE FEEDS FETCHES DIGEST");
    assert_line(fixture->out, "TRANSFER FROM TO DTYPE SHAPE SIZE LOOP");
    assert_line(fixture->out, "xw 0 1 float32 [-1,2] 8 B -");
    assert_line(fixture->out, "PASS NODE INTO REASON");
    assert_line(fixture->out, "identity same - -");
    assert_line(fixture->out, "NODE SLOT DEVICE REASON");
    assert_line(fixture->out, "y 1 /device:CPU:0 asks for '/job:worker/task:1'");
    assert_null(strstr(fixture->out, "COST OF"));
    assert_line(fixture->out, "REGISTRATION STATE WORKER COPIES");
    assert_line(fixture->out, "0 not registered yet - -");
}

static void
what_traced_steps_have_measured_is_told(void **state)
{
    SluiceFixture *fixture = *state;
    assert_exit(
        0, fixture, "run", "--graph", graph, "--feed", "x=[[1,2]]", "--fetch", "y", "--trace", "node");
    assert_exit(0, fixture, "graph", "plan", graph, "--feed", "x=[[1,2]]", "--fetch", "y");
    assert_line(fixture->out, "COST OF OP SLOT RUNS MEAN OUTPUT ALLOCATED SCRATCH");
}

static void
a_plan_is_drawn_for_graphviz(void **state)
{
    SluiceFixture *fixture = *state;
    assert_exit(0, fixture, "graph", "plan", graph, "--feed", "x", "--fetch", "y", "--dot");
    assert_line(fixture->out, "digraph plan {");
    assert_line(fixture->out, "label=\"slot 1\";");
    assert_line(fixture->out, "\"1:_recv_xw_0\" -> \"1:y\";");
    assert_line(fixture->out, "\"/slot:0/device:CPU:0;/slot:1/device:CPU:0;edge_0_xw\" -> \"1:_recv_xw_0\";");
}

static void
as_json_a_plan_is_what_the_api_says(void **state)
{
    SluiceFixture *fixture = *state;
    assert_exit(0, fixture, "graph", "plan", graph, "--feed", "x", "--fetch", "y", "--json");
    assert_is_json(fixture, fixture->out);
}

static void
a_graph_is_compiled_ahead_once(void **state)
{
    SluiceFixture *fixture = *state;
    assert_exit(0, fixture, "graph", "compile", graph, "--feed", "x=float32", "--fetch", "xw");
    assert_line(fixture->out, "SLOT TASK NODES MEMORY KNOWN UPLOADED TIME DIGEST");
    assert_holds(fixture->out, " planned in ");
    assert_exit(0, fixture, "graph", "compile", graph, "--feed", "x", "--fetch", "xw");
    assert_holds(fixture->out, " was planned, registered in ");
    assert_exit(0, fixture, "graph", "plan", graph, "--feed", "x", "--fetch", "xw");
    assert_holds(fixture->out, "registered  w"); /* either worker may have been given task 0 */
}

static void
what_cannot_be_planned_is_refused(void **state)
{
    SluiceFixture *fixture = *state;
    assert_exit(1, fixture, "graph", "plan", graph, "--fetch", "nobody");
    assert_holds(fixture->error, "nobody");
    assert_exit(1, fixture, "graph", "compile", graph, "--feed", "x=int32", "--fetch", "y");
    assert_holds(fixture->error, "feed 'x': the graph takes float32 here, not int32");
    assert_exit(2, fixture, "graph", "plan", "y", "--fetch", "y");
    assert_holds(fixture->error, "'y' is no id of a graph");
    assert_exit(2, fixture, "graph", "plan", graph, "--feed", "=1", "--fetch", "y");
    assert_holds(fixture->error, "'=1' is no feed: expected NAME or NAME=DTYPE");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_tables_of_slots_transfers_changes_and_reasons),
        cmocka_unit_test(what_traced_steps_have_measured_is_told),
        cmocka_unit_test(a_plan_is_drawn_for_graphviz),
        cmocka_unit_test(as_json_a_plan_is_what_the_api_says),
        cmocka_unit_test(a_graph_is_compiled_ahead_once),
        cmocka_unit_test(what_cannot_be_planned_is_refused),
    };
    return cmocka_run_group_tests_name("sluice graph plan", tests, set_up, sluice_teardown);
}
