/* `sluice graph plan` and `sluice graph compile` against a whole Sluice: where nodes run and why, and what
 * they cost, as tables and as a drawing. */
#include <unistd.h>

#include "shared/base/memory.h"
#include "shared/json/scanner.h"
#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"

enum { OUTPUT_SIZE = 64 * 1024, WORD_SIZE = 128 };

typedef struct Fixture {
    Cluster cluster;
    char url[WORD_SIZE];
    char file[WORD_SIZE]; /* holds the graph */
    char graph[WORD_SIZE];
    char out[OUTPUT_SIZE];
    char error[OUTPUT_SIZE];
} Fixture;

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

/* Runs the command and returns its exit code. */
static int
sluice(Fixture *fixture, const char *const *arguments)
{
    const char *all[PROCESS_ARGUMENTS_MAX] = {"--url", fixture->url};
    const ProcessOutput output = {fixture->out, sizeof fixture->out, fixture->error, sizeof fixture->error};
    for (size_t count = 2; *arguments != NULL && count + 1 < PROCESS_ARGUMENTS_MAX; count++) {
        all[count] = *arguments++;
    }
    return process_capture("sluice", all, &output);
}

#define RUN(fixture, ...) sluice(fixture, (const char *const[]){__VA_ARGS__, NULL})

#define assert_exit(expected, fixture, ...)                                                                  \
    do {                                                                                                     \
        const int code_ = RUN(fixture, __VA_ARGS__);                                                         \
        if (code_ != (expected)) {                                                                           \
            fail_msg("exit code %d, not %d: %s%s", code_, (expected), (fixture)->out, (fixture)->error);     \
        }                                                                                                    \
    } while (0)

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
    Fixture *const fixture = memory_new(1, sizeof *fixture);
    *state = fixture;
    if (fixture == NULL || !cluster_start(&fixture->cluster, &(ClusterOptions){.worker_count = 2})) {
        return -1;
    }
    (void)snprintf(fixture->url, sizeof fixture->url, "http://%s", fixture->cluster.gateway.address);
    (void)snprintf(fixture->file, sizeof fixture->file, "/tmp/cli_plan_test.XXXXXX.json");
    const int file = mkstemps(fixture->file, (int)sizeof ".json" - 1);
    const ssize_t size = sizeof two_tasks - 1;
    if (file < 0 || write(file, two_tasks, (size_t)size) != size || close(file) != 0) {
        return -1;
    }
    if (RUN(fixture, "graph", "push", fixture->file) != 0) {
        return -1;
    }
    Slice out = slice_from_string(fixture->out);
    Slice id;
    (void)slice_split(&out, '\n', &id);
    (void)snprintf(fixture->graph, sizeof fixture->graph, "%.*s", SLICE_PRINT(id));
    return 0;
}

static int
tear_down(void **state)
{
    Fixture *const fixture = *state;
    (void)unlink(fixture->file);
    cluster_stop(&fixture->cluster);
    memory_free(fixture);
    return 0;
}

static void
a_plan_is_tables_of_slots_transfers_changes_and_reasons(void **state)
{
    Fixture *const fixture = *state;
    assert_exit(0, fixture, "graph", "plan", fixture->graph, "--feed", "x", "--fetch", "y");
    assert_line(fixture->out, fixture->graph);
    assert_line(fixture->out, "SLOT DEVICE TASK MEMORY OPERATIONS");
    assert_line(fixture->out, "1 CPU 1 28 B 2");
    assert_line(fixture->out, "PARTITION NODES SIZE FEEDS FETCHES DIGEST");
    assert_line(fixture->out, "TRANSFER FROM TO DTYPE SHAPE SIZE LOOP");
    assert_line(fixture->out, "xw 0 1 float32 [-1,2] 8 B -");
    assert_line(fixture->out, "PASS NODE INTO REASON");
    assert_line(fixture->out, "identity same - -");
    assert_line(fixture->out, "NODE SLOT REASON");
    assert_line(fixture->out, "y 1 asks for '/job:worker/task:1'");
    assert_null(strstr(fixture->out, "COST OF"));
}

static void
what_traced_steps_have_measured_is_told(void **state)
{
    Fixture *const fixture = *state;
    assert_exit(0, fixture, "run", "--graph", fixture->graph, "--feed", "x=[[1,2]]", "--fetch", "y",
        "--trace", "node");
    assert_exit(0, fixture, "graph", "plan", fixture->graph, "--feed", "x=[[1,2]]", "--fetch", "y");
    assert_line(fixture->out, "COST OF OP SLOT RUNS MEAN OUTPUT ALLOCATED SCRATCH");
}

static void
a_plan_is_drawn_for_graphviz(void **state)
{
    Fixture *const fixture = *state;
    assert_exit(0, fixture, "graph", "plan", fixture->graph, "--feed", "x", "--fetch", "y", "--dot");
    assert_line(fixture->out, "digraph plan {");
    assert_line(fixture->out, "label=\"slot 1\";");
    assert_line(fixture->out, "\"1:_recv_xw_0\" -> \"1:y\";");
    assert_line(fixture->out, "\"/slot:0/device:CPU:0;/slot:1/device:CPU:0;edge_0_xw\" -> \"1:_recv_xw_0\";");
}

static void
as_json_a_plan_is_what_the_api_says(void **state)
{
    Fixture *const fixture = *state;
    JsonScanner scanner;
    Slice ignored;
    Call call = {0};
    assert_exit(0, fixture, "graph", "plan", fixture->graph, "--feed", "x", "--fetch", "y", "--json");
    json_scan_begin(&scanner, slice_from_string(fixture->out), JSON_DEPTH_MAX);
    assert_true(json_skip(&scanner, &ignored));
    assert_status(&call, STATUS_OK, json_scan_end(&call, &scanner));
}

static void
a_graph_is_compiled_ahead_once(void **state)
{
    Fixture *const fixture = *state;
    assert_exit(0, fixture, "graph", "compile", fixture->graph, "--feed", "x=float32", "--fetch", "xw");
    assert_line(fixture->out, "SLOT TASK NODES MEMORY KNOWN UPLOADED TIME DIGEST");
    assert_non_null(strstr(fixture->out, " planned in "));
    assert_exit(0, fixture, "graph", "compile", fixture->graph, "--feed", "x", "--fetch", "xw");
    assert_non_null(strstr(fixture->out, " was planned, registered in "));
}

static void
what_cannot_be_planned_is_refused(void **state)
{
    Fixture *const fixture = *state;
    assert_exit(1, fixture, "graph", "plan", fixture->graph, "--fetch", "nobody");
    assert_non_null(strstr(fixture->error, "nobody"));
    assert_exit(1, fixture, "graph", "compile", fixture->graph, "--feed", "x=int32", "--fetch", "y");
    assert_non_null(strstr(fixture->error, "feed 'x': the graph takes float32 here, not int32"));
    assert_exit(2, fixture, "graph", "plan", "y", "--fetch", "y");
    assert_non_null(strstr(fixture->error, "'y' is no id of a graph"));
    assert_exit(2, fixture, "graph", "plan", fixture->graph, "--feed", "=1", "--fetch", "y");
    assert_non_null(strstr(fixture->error, "'=1' is no feed: expected NAME or NAME=DTYPE"));
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
    return cmocka_run_group_tests_name("sluice graph plan", tests, set_up, tear_down);
}
