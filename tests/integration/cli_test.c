/* The command `sluice` as people and scripts run it, against a whole Sluice. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "shared/base/memory.h"
#include "shared/json/scanner.h"
#include "shared/tensor/npy.h"
#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/files.h"

enum { OUTPUT_SIZE = 64 * 1024, PATH_SIZE = 64 };

/* A cluster for all tests, a folder for files, and what the last run of the program gave. Tests that hold up
 * or end a part of the cluster stand last. */
typedef struct Fixture {
    Cluster cluster;
    char url[PATH_SIZE * 2];
    char folder[PATH_SIZE];
    char out[OUTPUT_SIZE];
    char error[OUTPUT_SIZE];
    Call call;
} Fixture;

/* y = x·w + b; x [?,2]. */
static const char affine[] =
    "{\"node\":["
    "{\"name\":\"x\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"}}},"
    "{\"name\":\"w\",\"op\":\"Const\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"},\"value\":{\"tensor\":"
    "{\"dtype\":\"DT_FLOAT\",\"tensorShape\":{\"dim\":[{\"size\":\"2\"},{\"size\":\"2\"}]},"
    "\"floatVal\":[1,2,3,4]}}}},"
    "{\"name\":\"b\",\"op\":\"Const\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"},\"value\":{\"tensor\":"
    "{\"dtype\":\"DT_FLOAT\",\"tensorShape\":{\"dim\":[{\"size\":\"2\"}]},\"floatVal\":[10,20]}}}},"
    "{\"name\":\"xw\",\"op\":\"MatMul\",\"input\":[\"x\",\"w\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}},"
    "{\"name\":\"y\",\"op\":\"Add\",\"input\":[\"xw\",\"b\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}}]}";

/* --- The fixture ---------------------------------------------------------------------------------------- */

static int
set_up(void **state)
{
    Fixture *const fixture = memory_new(1, sizeof *fixture);
    *state = fixture;
    if (fixture == NULL || !cluster_start(&fixture->cluster, &(ClusterOptions){0})) {
        return -1;
    }
    fixture->call.arena = arena_new(1 << 20);
    (void)snprintf(fixture->url, sizeof fixture->url, "http://%s", fixture->cluster.gateway.address);
    (void)snprintf(fixture->folder, sizeof fixture->folder, "/tmp/cli_test.XXXXXX");
    return mkdtemp(fixture->folder) == NULL ? -1 : 0;
}

static void
signal_workers(const Fixture *fixture, int number)
{
    for (int index = 0; index < CLUSTER_WORKER_MAX; index++) {
        if (fixture->cluster.workers[index].pid > 0) {
            assert_int_equal(kill(fixture->cluster.workers[index].pid, number), 0);
        }
    }
}

static int
tear_down(void **state)
{
    static const char *const names[] = {"affine.json", "wrong.json", "x.npy", "x.json", "x.raw", "y.npy"};
    Fixture *const fixture = *state;
    for (size_t index = 0; index < COUNT_OF(names); index++) {
        char path[PATH_SIZE * 2];
        (void)snprintf(path, sizeof path, "%s/%s", fixture->folder, names[index]);
        (void)unlink(path);
    }
    (void)rmdir(fixture->folder);
    signal_workers(fixture, SIGCONT); /* a test that failed left them stopped: they would not end */
    cluster_stop(&fixture->cluster);
    arena_free(fixture->call.arena);
    memory_free(fixture);
    return 0;
}

/* Its exit code. '%' in an argument stands for the folder. */
static int
sluice(Fixture *fixture, const char *const *arguments)
{
    char expanded[PROCESS_ARGUMENTS_MAX][256];
    const char *all[PROCESS_ARGUMENTS_MAX] = {"--url", fixture->url};
    size_t count = 2;
    for (; *arguments != NULL && count + 1 < PROCESS_ARGUMENTS_MAX; arguments++, count++) {
        const Slice argument = slice_from_string(*arguments);
        const size_t mark = slice_find(argument, '%');
        const bool has_mark = mark < argument.size;
        (void)snprintf(expanded[count], sizeof expanded[count], "%.*s%s%s", (int)mark, argument.data,
            has_mark ? fixture->folder : "", has_mark ? argument.data + mark + 1 : "");
        all[count] = expanded[count];
    }
    const ProcessOutput output = {fixture->out, sizeof fixture->out, fixture->error, sizeof fixture->error};
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

#define assert_holds(text, part)                                                                             \
    do {                                                                                                     \
        if (strstr(text, part) == NULL) {                                                                    \
            fail_msg("'%s' is not in: %s", part, text);                                                      \
        }                                                                                                    \
    } while (0)

static void
write_file(const Fixture *fixture, const char *name, Slice content)
{
    char path[PATH_SIZE * 2];
    (void)snprintf(path, sizeof path, "%s/%s", fixture->folder, name);
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(content.data, 1, content.size, file), content.size);
    assert_int_equal(fclose(file), 0);
}

static size_t
read_file(const Fixture *fixture, const char *name, char *content, size_t size)
{
    char path[PATH_SIZE * 2];
    (void)snprintf(path, sizeof path, "%s/%s", fixture->folder, name);
    FILE *const file = fopen(path, "rb");
    assert_non_null(file);
    const size_t got = fread(content, 1, size, file);
    assert_int_equal(fclose(file), 0);
    return got;
}

static void
push_affine(Fixture *fixture)
{
    write_file(fixture, "affine.json", slice_from_string(affine));
    assert_exit(0, fixture, "graph", "push", "%/affine.json");
}

/* The .npy file of a float32 matrix of one row of two. */
static void
npy_of(Fixture *fixture, const float *row, Buffer *bytes)
{
    AUTO_TENSOR tensor = {0};
    const Shape shape = {.rank = 2, .dims = {1, 2}};
    assert_true(tensor_new(DTYPE_FLOAT32, &shape, &tensor));
    memcpy(tensor.data, row, 2 * sizeof *row);
    assert_status(&fixture->call, STATUS_OK, npy_write_header(&fixture->call, &tensor, bytes));
    buffer_append(bytes, tensor.data, 2 * sizeof *row);
    assert_true(buffer_is_ok(bytes));
}

static void
assert_is_json(Fixture *fixture, const char *text)
{
    JsonScanner scanner;
    Slice whole;
    json_scan_begin(&scanner, slice_from_string(text), JSON_DEPTH_MAX);
    (void)json_skip(&scanner, &whole);
    assert_status(&fixture->call, STATUS_OK, json_scan_end(&fixture->call, &scanner));
}

/* --- Graphs and runs ------------------------------------------------------------------------------------ */

static void
a_pushed_graph_runs_with_a_feed_in_json(void **state)
{
    Fixture *const fixture = *state;
    push_affine(fixture);
    assert_int_equal(strncmp(fixture->out, "grf_", 4), 0);
    assert_holds(fixture->out, "5 nodes");
    assert_holds(fixture->out, "input x float32");
    assert_exit(0, fixture, "run", "--feed", "x=[[1,2]]", "--fetch", "y", "--fetch=xw");
    assert_holds(fixture->out, "y: float32 [1,2]\n[[17, 30]]\nxw: float32 [1,2]\n[[7, 10]]\nstp_");
    assert_holds(fixture->out, " succeeded in ");
    assert_string_equal(fixture->error, "");
}

/* It comes with its variables: a loop of x w + b, twice. */
static void
a_saved_models_directory_is_pushed_and_runs(void **state)
{
    Fixture *const fixture = *state;
    char folder[FILE_PATH_SIZE];
    assert_true(archive_unpack("tests/unit/gateway/expand/data/affine.tar", folder));
    assert_exit(0, fixture, "session", "create", "saved");
    assert_exit(0, fixture, "graph", "push", folder, "--session", "saved");
    folder_remove(folder);
    assert_holds(fixture->out, "variable 'w' is a constant");
    assert_exit(0, fixture, "--json", "run", "--feed", "x=[[1,1]]", "--feed", "times=2", "--fetch", "y",
        "--session", "saved");
    assert_holds(fixture->out, "\"data\":[21.5,30.5]");
    assert_exit(1, fixture, "graph", "push", "/tmp", "--session", "saved");
    assert_holds(fixture->error, "'/tmp/saved_model.pb' cannot be read: ");
}

static void
files_are_fed_and_fetched_bit_by_bit(void **state)
{
    Fixture *const fixture = *state;
    static const float row[] = {1, 2};
    static const float expected[] = {17, 30};
    AUTO_BUFFER fed = {0};
    AUTO_BUFFER wanted = {0};
    char got[512];
    push_affine(fixture);
    npy_of(fixture, row, &fed);
    npy_of(fixture, expected, &wanted);
    write_file(fixture, "x.npy", buffer_slice(&fed));
    write_file(fixture, "x.raw", slice_of(row, sizeof row));
    write_file(fixture, "x.json", SLICE("[[1, 2]]\n"));
    static const char *const feeds[] = {"x=@%/x.npy", "x=@%/x.raw:float32:1x2", "x=@%/x.json"};
    for (size_t index = 0; index < COUNT_OF(feeds); index++) {
        assert_exit(0, fixture, "run", "--feed", feeds[index], "--fetch", "y=%/y.npy");
        assert_holds(fixture->out, "y in /tmp/");
        assert_holds(fixture->out, " succeeded\n");
        const size_t size = read_file(fixture, "y.npy", got, sizeof got);
        assert_int_equal(size, wanted.size);
        assert_memory_equal(got, wanted.data, size);
        write_file(fixture, "y.npy", SLICE(""));
    }
    assert_exit(0, fixture, "run", "--feed", "x=@%/x.npy", "--fetch", "y=%/y.npy", "--fetch", "xw");
    assert_holds(fixture->out, "y: float32 [1,2] in /tmp/");
    assert_holds(fixture->out, "xw: float32 [1,2]\n[[7, 10]]\n");
    assert_int_equal(read_file(fixture, "y.npy", got, sizeof got), wanted.size);
    assert_memory_equal(got, wanted.data, wanted.size);
}

/* Too large for JSON: they go as parts of a form. */
static void
large_files_are_fed_as_they_are(void **state)
{
    enum { ROWS = 1 << 18, NPY_HEADER = 128 };
    Fixture *const fixture = *state;
    AUTO_BUFFER fed = {0};
    AUTO_MEMORY float *rows = memory_new((size_t)ROWS * 2, sizeof *rows);
    static float got[NPY_HEADER / sizeof(float) + ROWS * 2];
    assert_non_null(rows);
    for (int index = 0; index < ROWS * 2; index++) {
        rows[index] = (float)(index % 1000);
    }
    const Slice raw = slice_of(rows, (size_t)ROWS * 2 * sizeof *rows);
    AUTO_TENSOR tensor = {0};
    Shape shape = {.rank = 2, .dims = {ROWS, 2}};
    assert_true(tensor_new(DTYPE_FLOAT32, &shape, &tensor));
    assert_status(&fixture->call, STATUS_OK, npy_write_header(&fixture->call, &tensor, &fed));
    const size_t header_size = fed.size;
    buffer_append_slice(&fed, raw);
    push_affine(fixture);
    write_file(fixture, "x.npy", buffer_slice(&fed));
    write_file(fixture, "x.raw", raw);
    static const char *const feeds[] = {"x=@%/x.npy", "x:0=@%/x.raw:float32:262144x2"};
    for (size_t index = 0; index < COUNT_OF(feeds); index++) {
        assert_exit(0, fixture, "run", "--feed", feeds[index], "--fetch", "y=%/y.npy");
        const size_t size = read_file(fixture, "y.npy", (char *)got, sizeof got);
        assert_int_equal(size, fed.size);
        const float *const last = got + (header_size + raw.size) / sizeof(float) - 2;
        const float *const row = rows + (size_t)ROWS * 2 - 2;
        assert_true(last[0] == row[0] + 3 * row[1] + 10 && last[1] == 2 * row[0] + 4 * row[1] + 20);
        write_file(fixture, "y.npy", SLICE(""));
    }
    assert_exit(2, fixture, "run", "--feed", "x=@%/x.raw:float32:262143x2", "--fetch", "y");
    assert_holds(fixture->error, "has 2097152 bytes, float32 [262143,2] needs 2097144");
}

static void
scripts_get_the_json_of_the_api(void **state)
{
    Fixture *const fixture = *state;
    write_file(fixture, "affine.json", slice_from_string(affine));
    assert_exit(0, fixture, "--json", "graph", "push", "%/affine.json");
    assert_is_json(fixture, fixture->out);
    assert_exit(0, fixture, "--json", "run", "--feed", "x=[[1,2]]", "--fetch", "y");
    assert_is_json(fixture, fixture->out);
    assert_holds(
        fixture->out, "\"outputs\":{\"y\":{\"dtype\":\"float32\",\"shape\":[1,2],\"data\":[17,30]}}");
    static const char *const lists[][2] = {{"devices", "\"devices\":["}, {"workers", "\"workers\":["}};
    for (size_t index = 0; index < COUNT_OF(lists); index++) {
        assert_exit(0, fixture, lists[index][0], "--json");
        assert_is_json(fixture, fixture->out);
        assert_holds(fixture->out, lists[index][1]);
    }
    assert_exit(1, fixture, "--json", "run", "--feed", "x=[[1,2]]", "--fetch", "nope");
    assert_is_json(fixture, fixture->out);
    assert_holds(fixture->out, "\"code\":\"NOT_FOUND\"");
    assert_holds(fixture->error, "'nope'");
}

/* The id that the last command printed. */
static void
take_id(const Fixture *fixture, char ret_id[PATH_SIZE])
{
    (void)snprintf(ret_id, PATH_SIZE, "%.*s", (int)strcspn(fixture->out, "\n"), fixture->out);
    assert_int_equal(strncmp(ret_id, "stp_", 4), 0);
}

static void
a_queued_step_is_awaited_and_leaves_its_outputs(void **state)
{
    Fixture *const fixture = *state;
    char id[PATH_SIZE];
    char got[512];
    push_affine(fixture);
    assert_exit(0, fixture, "run", "--async", "--feed", "x=[[1,2]]", "--fetch", "y");
    take_id(fixture, id);
    assert_exit(0, fixture, "step", "watch", id, "--timeout", "20s");
    assert_holds(fixture->out, " succeeded");
    assert_exit(0, fixture, "step", "get", id);
    assert_holds(fixture->out, " succeeded");
    assert_exit(0, fixture, "step", "get", id, "--fetch", "y:0", "--fetch", "y=%/y.npy");
    assert_holds(fixture->out, "y:0: float32 [1,2]\n[[17, 30]]\ny in /tmp/");
    assert_int_equal(read_file(fixture, "y.npy", got, sizeof got), 128 + 2 * sizeof(float));
    assert_exit(0, fixture, "step", "get", id, "--json");
    assert_is_json(fixture, fixture->out);
    assert_exit(2, fixture, "run", "--async", "--fetch", "y=%/y.npy");
}

static void
a_step_run_with_a_trace_leaves_it(void **state)
{
    Fixture *const fixture = *state;
    char id[PATH_SIZE];
    push_affine(fixture);
    assert_exit(0, fixture, "run", "--async", "--trace", "node", "--feed", "x=[[1,2]]", "--fetch", "y");
    take_id(fixture, id);
    assert_exit(0, fixture, "step", "watch", id, "--timeout", "20s");
    assert_exit(0, fixture, "step", "trace", id);
    assert_is_json(fixture, fixture->out);
    assert_holds(fixture->out, "\"op\":\"MatMul\"");
    assert_exit(0, fixture, "run", "--async", "--feed", "x=[[1,2]]", "--fetch", "y");
    take_id(fixture, id);
    assert_exit(1, fixture, "step", "trace", id);
    assert_holds(fixture->error, "there is no trace of step");
}

static void
a_queued_step_that_fails_gives_4_when_it_is_awaited(void **state)
{
    Fixture *const fixture = *state;
    char id[PATH_SIZE];
    push_affine(fixture);
    assert_exit(0, fixture, "run", "--async", "--feed", "x=[[1,2,3]]", "--fetch", "y");
    take_id(fixture, id);
    assert_exit(4, fixture, "step", "watch", id, "--timeout", "20s");
    assert_holds(fixture->error, " failed: node 'xw': ");
}

static void
a_step_is_cancelled(void **state)
{
    Fixture *const fixture = *state;
    char id[PATH_SIZE];
    push_affine(fixture);
    signal_workers(fixture, SIGSTOP);
    assert_exit(0, fixture, "run", "--async", "--feed", "x=[[1,2]]", "--fetch", "y");
    take_id(fixture, id);
    assert_exit(5, fixture, "step", "watch", id, "--timeout", "200ms");
    assert_holds(fixture->error, "the step has not ended in time; it goes on\n");
    assert_exit(0, fixture, "step", "cancel", id);
    assert_exit(0, fixture, "step", "cancel", id);
    const int code = RUN(fixture, "step", "watch", id, "--timeout", "20s");
    signal_workers(fixture, SIGCONT);
    assert_int_equal(code, 4);
    assert_holds(fixture->error, " cancelled");
}

static void
the_pool_is_shown_as_tables(void **state)
{
    Fixture *const fixture = *state;
    assert_exit(0, fixture, "devices");
    assert_holds(fixture->out, "DEVICE ");
    assert_holds(fixture->out, "/job:worker/replica:0/task:1/device:CPU:0  CPU ");
    assert_exit(0, fixture, "workers");
    assert_holds(fixture->out, "TASK  NAME  ADDRESS ");
    assert_holds(fixture->out, " serving  ");
}

/* w, which one sets to 5. */
static const char variable[] =
    "{\"node\":["
    "{\"name\":\"w\",\"op\":\"VariableV2\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"},\"shape\":{\"shape\":{"
    "}}}},"
    "{\"name\":\"five\",\"op\":\"Const\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"},\"value\":{\"tensor\":"
    "{\"dtype\":\"DT_FLOAT\",\"tensorShape\":{},\"floatVal\":[5]}}}},"
    "{\"name\":\"set\",\"op\":\"Assign\",\"input\":[\"w\",\"five\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}}"
    "]}";

static void
containers_are_reset(void **state)
{
    Fixture *const fixture = *state;
    assert_exit(0, fixture, "session", "create", "kept");
    write_file(fixture, "affine.json", slice_from_string(variable));
    assert_exit(0, fixture, "graph", "push", "%/affine.json", "--session", "kept");
    assert_exit(0, fixture, "run", "--session", "kept", "--fetch", "set");
    assert_exit(0, fixture, "container", "reset", "kept", "nobody's", "other");
    assert_string_equal(fixture->out, "0 dropped\n");
    assert_exit(0, fixture, "container", "reset", "kept");
    assert_string_equal(fixture->out, "1 dropped\n");
    assert_exit(0, fixture, "container", "reset", "kept", "--json");
    assert_holds(fixture->out, "\"resources\":0,\"failed\":0}");
}

static void
sessions_are_named(void **state)
{
    Fixture *const fixture = *state;
    char id[PATH_SIZE];
    assert_exit(0, fixture, "session", "create", "cut", "--options={\"slots\":2,\"placement\":\"spread\"}");
    (void)snprintf(id, sizeof id, "%.36s", fixture->out);
    assert_int_equal(strncmp(id, "ses_", 4), 0);
    write_file(fixture, "affine.json", slice_from_string(affine));
    assert_exit(0, fixture, "graph", "push", "%/affine.json", "--session", "cut");
    assert_exit(0, fixture, "graph", "list", "--session", "cut");
    assert_holds(fixture->out, "\ngrf_");
    assert_holds(fixture->out, "  application/json\n");
    assert_exit(0, fixture, "run", "--session", id, "--feed", "x=[[1,2]]", "--fetch", "y");
    assert_holds(fixture->out, "; task 0: ");
    assert_holds(fixture->out, "; task 1: ");
    assert_exit(0, fixture, "session", "list");
    assert_holds(fixture->out, id);
    assert_holds(fixture->out, "cut\n");
    assert_exit(1, fixture, "run", "--session", "none", "--fetch", "y");
    assert_string_equal(
        fixture->error, "sluice: there is no session 'none': 'sluice session create' makes one\n");
    assert_exit(0, fixture, "session", "delete", "cut");
    assert_exit(1, fixture, "session", "delete", "cut");
}

/* --- What goes wrong ------------------------------------------------------------------------------------ */

static void
a_wrong_graph_is_explained_on_one_line(void **state)
{
    Fixture *const fixture = *state;
    write_file(
        fixture, "wrong.json", SLICE("{\"node\":[{\"name\":\"y\",\"op\":\"Neg\",\"input\":[\"nowhere\"]}]}"));
    assert_exit(1, fixture, "graph", "push", "%/wrong.json");
    assert_holds(fixture->error, "sluice: ");
    assert_holds(fixture->error, "'nowhere'");
    assert_holds(fixture->error, " [/node/0");
    assert_holds(fixture->error, ", request ");
    assert_int_equal(strcspn(fixture->error, "\n") + 1, strlen(fixture->error));
    assert_string_equal(fixture->out, "");
}

static void
a_step_that_fails_gives_4_and_leaves_no_file(void **state)
{
    Fixture *const fixture = *state;
    push_affine(fixture);
    assert_exit(4, fixture, "run", "--feed", "x=[[1,2,3]]", "--fetch", "y=%/none.npy");
    assert_holds(fixture->error, "node 'xw'");
    assert_exit(1, fixture, "run", "--feed", "x=[[1,2]]", "--fetch", "nope=%/none.npy");
    char path[PATH_SIZE * 2];
    (void)snprintf(path, sizeof path, "%s/none.npy", fixture->folder);
    assert_int_equal(access(path, F_OK), -1);
    (void)snprintf(path, sizeof path, "%s/none.npy.part", fixture->folder);
    assert_int_equal(access(path, F_OK), -1);
}

static void
a_step_that_takes_too_long_gives_5(void **state)
{
    Fixture *const fixture = *state;
    push_affine(fixture);
    signal_workers(fixture, SIGSTOP);
    const int code = RUN(fixture, "run", "--feed", "x=[[1,2]]", "--fetch", "y", "--timeout", "300ms");
    signal_workers(fixture, SIGCONT);
    assert_int_equal(code, 5);
    assert_holds(fixture->error, "(DEADLINE_EXCEEDED, request ");
}

static void *
interrupt_soon(void *context)
{
    usleep(500 * 1000);
    const pid_t pid = __atomic_load_n(&process_captured, __ATOMIC_SEQ_CST);
    return pid > 0 && kill(pid, SIGINT) == 0 ? NULL : context;
}

static void
an_interrupted_run_gives_130(void **state)
{
    Fixture *const fixture = *state;
    pthread_t interrupter;
    void *failure = NULL;
    push_affine(fixture);
    signal_workers(fixture, SIGSTOP);
    assert_int_equal(pthread_create(&interrupter, NULL, interrupt_soon, fixture), 0);
    const int code = RUN(fixture, "run", "--feed", "x=[[1,2]]", "--fetch", "y");
    assert_int_equal(pthread_join(interrupter, &failure), 0);
    signal_workers(fixture, SIGCONT);
    assert_null(failure);
    assert_int_equal(code, 130);
    assert_string_equal(fixture->error, "sluice: interrupted\n");
}

static void
a_gateway_that_is_not_there_gives_3(void **state)
{
    Fixture *const fixture = *state;
    (void)process_stop(&fixture->cluster.gateway, SIGTERM);
    assert_exit(3, fixture, "devices");
    assert_holds(fixture->error, "cannot be reached: Connection refused\n");
    assert_true(cluster_restart_gateway(&fixture->cluster));
}

static void
a_wrong_command_line_gives_2(void **state)
{
    Fixture *const fixture = *state;
    static const struct {
        const char *arguments[6];
        const char *message;
    } cases[] = {
        {{"nonsense"}, "sluice: there is no command 'nonsense': 'sluice --help' lists them\n"},
        {{"graph", "push"}, "sluice: usage: sluice graph push FILE; 'sluice help graph push' says more\n"},
        {{"devices", "--feed", "x=1"}, "sluice: 'sluice devices' does not take '--feed'\n"},
        {{"devices", "--fead", "x=1"}, "sluice: there is no setting '--fead': did you mean '--feed'\n"},
        {{"graph", "push", "model.txt"}, "add --format json|graphdef|onnx|saved_model\n"},
        {{"graph", "push", "/nowhere/model.onnx"}, "file '/nowhere/model.onnx' cannot be opened: "},
        {{"run", "--feed", "x=@/nowhere.npy", "--fetch", "y"},
            "feed 'x': file '/nowhere.npy' cannot be opened"},
        {{"run", "--fetch", "y=result.txt"}, "'y=result.txt' is no fetch: expected NAME or NAME=FILE.npy\n"},
        {{"step", "get", "7"}, "'7' is no id of a step"},
        {{"devices", "--url", "ftp://x"}, "is no http or https address"},
        {{"devices", "--key-file", "/nowhere"}, "'/nowhere' cannot be opened"},
    };
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        assert_int_equal(sluice(fixture, cases[index].arguments), 2);
        assert_holds(fixture->error, cases[index].message);
    }
}

static void
help_names_commands_settings_and_exit_codes(void **state)
{
    Fixture *const fixture = *state;
    assert_exit(0, fixture, "--help");
    assert_holds(fixture->out, "graph push FILE ");
    assert_holds(fixture->out, "--key-file <path>");
    assert_holds(fixture->out, "  130  stopped by Ctrl-C\n");
    assert_exit(0, fixture, "help", "run");
    assert_holds(fixture->out, "usage: sluice run ");
    assert_holds(fixture->out, "--feed x=@input.npy");
    assert_exit(2, fixture, "help", "nonsense");
}

static void
a_key_is_read_from_its_file(void **state)
{
    Fixture *const fixture = *state;
    (void)process_stop(&fixture->cluster.gateway, SIGTERM);
    fixture->cluster.options.has_keys = true;
    assert_true(cluster_restart_gateway(&fixture->cluster));
    assert_exit(1, fixture, "devices");
    assert_holds(fixture->error, "'--key-file' names the file of a key (UNAUTHENTICATED, request ");
    char key[PATH_SIZE * 2];
    const char *const create[] = {"key", "create", "--database", fixture->cluster.conninfo, NULL};
    assert_int_equal(process_run("sluice-gateway", create, key, sizeof key), 0);
    write_file(fixture, "x.raw", slice_from_string(key));
    assert_exit(0, fixture, "devices", "--key-file", "%/x.raw");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pushed_graph_runs_with_a_feed_in_json),
        cmocka_unit_test(a_saved_models_directory_is_pushed_and_runs),
        cmocka_unit_test(files_are_fed_and_fetched_bit_by_bit),
        cmocka_unit_test(large_files_are_fed_as_they_are),
        cmocka_unit_test(scripts_get_the_json_of_the_api),
        cmocka_unit_test(a_queued_step_is_awaited_and_leaves_its_outputs),
        cmocka_unit_test(a_step_run_with_a_trace_leaves_it),
        cmocka_unit_test(a_queued_step_that_fails_gives_4_when_it_is_awaited),
        cmocka_unit_test(the_pool_is_shown_as_tables),
        cmocka_unit_test(sessions_are_named),
        cmocka_unit_test(containers_are_reset),
        cmocka_unit_test(a_wrong_graph_is_explained_on_one_line),
        cmocka_unit_test(a_step_that_fails_gives_4_and_leaves_no_file),
        cmocka_unit_test(a_wrong_command_line_gives_2),
        cmocka_unit_test(help_names_commands_settings_and_exit_codes),
        cmocka_unit_test(a_step_that_takes_too_long_gives_5),
        cmocka_unit_test(an_interrupted_run_gives_130),
        cmocka_unit_test(a_step_is_cancelled),
        cmocka_unit_test(a_gateway_that_is_not_there_gives_3),
        cmocka_unit_test(a_key_is_read_from_its_file),
    };
    return cmocka_run_group_tests_name("cli", tests, set_up, tear_down);
}
