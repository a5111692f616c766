/* The commands of `sluice`: graphs are pushed and run, files fed and fetched, steps, sessions and workers
 * shown. */
#include "shared/base/memory.h"
#include "shared/tensor/npy.h"
#include "tests/support/files.h"
#include "tests/support/sluice_command.h"
#include "tests/support/step_graphs.h"

/* Writes the .npy file of a float32 matrix of one row and two columns. */
static void
npy_of(SluiceFixture *fixture, const float *row, Buffer *bytes)
{
    AUTO_TENSOR tensor = {0};
    Shape shape = {.rank = 2, .dims = {1, 2}};
    assert_true(tensor_new(DTYPE_FLOAT32, &shape, &tensor));
    memcpy(tensor.data, row, 2 * sizeof *row);
    assert_status(&fixture->call, STATUS_OK, npy_write_header(&fixture->call, &tensor, bytes));
    buffer_append(bytes, tensor.data, 2 * sizeof *row);
    assert_true(buffer_is_ok(bytes));
}

static void
a_pushed_graph_runs_with_a_feed_in_json(void **state)
{
    SluiceFixture *fixture = *state;
    sluice_push_affine(fixture);
    assert_int_equal(strncmp(fixture->out, "grf_", 4), 0);
    assert_holds(fixture->out, "5 nodes");
    assert_holds(fixture->out, "input x float32");
    assert_exit(0, fixture, "run", "--feed", "x=[[1,2]]", "--fetch", "y", "--fetch=xw");
    assert_holds(fixture->out, "y: float32 [1,2]\n[[17, 30]]\nxw: float32 [1,2]\n[[7, 10]]\nstp_");
    assert_holds(fixture->out, " succeeded in ");
    assert_string_equal(fixture->error, "");
}

/* The model brings its variables; it computes x·w + b `times` times. */
static void
a_saved_models_directory_is_pushed_and_runs(void **state)
{
    SluiceFixture *fixture = *state;
    char folder[FILE_PATH_SIZE];
    assert_true(archive_unpack("tests/unit/gateway/expand/data/affine.tar", folder));
    assert_exit(0, fixture, "session", "create", "saved");
    assert_exit(0, fixture, "graph", "push", folder, "--session", "saved");
    folder_remove(folder);
    assert_null(strstr(fixture->out, "warning"));
    assert_exit(0, fixture, "--json", "run", "--feed", "x=[[1,1]]", "--feed", "times=2", "--fetch", "y",
        "--session", "saved");
    assert_holds(fixture->out, "\"data\":[21.5,30.5]");
    assert_exit(2, fixture, "graph", "push", "/proc/self/fd", "--session", "saved");
    assert_holds(fixture->error, "folder '/proc/self/fd' has neither saved_model.pb nor a .onnx file");
}

/* The model fills its tables from a file of its assets. */
static void
a_saved_models_assets_go_with_it(void **state)
{
    SluiceFixture *fixture = *state;
    char folder[FILE_PATH_SIZE];
    assert_true(archive_unpack("tests/unit/gateway/expand/data/words.tar", folder));
    assert_exit(0, fixture, "session", "create", "words");
    assert_exit(0, fixture, "graph", "push", folder, "--session", "words");
    folder_remove(folder);
    assert_exit(0, fixture, "--json", "run", "--feed", "word=[\"two\",\"none\"]", "--fetch", "number",
        "--session", "words");
    assert_holds(fixture->out, "\"data\":[2,-1]");
}

static void
files_are_fed_and_fetched_bit_by_bit(void **state)
{
    SluiceFixture *fixture = *state;
    static const float row[] = {1, 2};
    static const float expected[] = {17, 30};
    AUTO_BUFFER fed = {0};
    AUTO_BUFFER wanted = {0};
    char got[512];
    sluice_push_affine(fixture);
    npy_of(fixture, row, &fed);
    npy_of(fixture, expected, &wanted);
    sluice_write(fixture, "x.npy", buffer_slice(&fed));
    sluice_write(fixture, "x.raw", slice_of(row, sizeof row));
    sluice_write(fixture, "x.json", SLICE("[[1, 2]]\n"));
    static const char *const feeds[] = {"x=@%/x.npy", "x=@%/x.raw:float32:1x2", "x=@%/x.json"};
    for (size_t index = 0; index < COUNT_OF(feeds); index++) {
        assert_exit(0, fixture, "run", "--feed", feeds[index], "--fetch", "y=%/y.npy");
        assert_holds(fixture->out, "y in /tmp/");
        assert_holds(fixture->out, " succeeded\n");
        size_t size = sluice_read(fixture, "y.npy", got, sizeof got);
        assert_int_equal(size, wanted.size);
        assert_memory_equal(got, wanted.data, size);
        sluice_write(fixture, "y.npy", SLICE(""));
    }
    assert_exit(0, fixture, "run", "--feed", "x=@%/x.npy", "--fetch", "y=%/y.npy", "--fetch", "xw");
    assert_holds(fixture->out, "y: float32 [1,2] in /tmp/");
    assert_holds(fixture->out, "xw: float32 [1,2]\n[[7, 10]]\n");
    assert_int_equal(sluice_read(fixture, "y.npy", got, sizeof got), wanted.size);
    assert_memory_equal(got, wanted.data, wanted.size);
}

/* The files are too large for JSON and are sent as parts of a form. */
static void
large_files_are_fed_as_they_are(void **state)
{
    enum { ROWS = 1 << 18, NPY_HEADER = 128 };
    SluiceFixture *fixture = *state;
    AUTO_BUFFER fed = {0};
    AUTO_MEMORY float *rows = memory_new((size_t)ROWS * 2, sizeof *rows);
    static float got[NPY_HEADER / sizeof(float) + (size_t)ROWS * 2];
    assert_non_null(rows);
    for (int index = 0; index < ROWS * 2; index++) {
        rows[index] = (float)(index % 1000);
    }
    Slice raw = slice_of(rows, (size_t)ROWS * 2 * sizeof *rows);
    AUTO_TENSOR tensor = {0};
    Shape shape = {.rank = 2, .dims = {ROWS, 2}};
    assert_true(tensor_new(DTYPE_FLOAT32, &shape, &tensor));
    assert_status(&fixture->call, STATUS_OK, npy_write_header(&fixture->call, &tensor, &fed));
    size_t header_size = fed.size;
    buffer_append_slice(&fed, raw);
    sluice_push_affine(fixture);
    sluice_write(fixture, "x.npy", buffer_slice(&fed));
    sluice_write(fixture, "x.raw", raw);
    static const char *const feeds[] = {"x=@%/x.npy", "x:0=@%/x.raw:float32:262144x2"};
    for (size_t index = 0; index < COUNT_OF(feeds); index++) {
        assert_exit(0, fixture, "run", "--feed", feeds[index], "--fetch", "y=%/y.npy");
        size_t size = sluice_read(fixture, "y.npy", (char *)got, sizeof got);
        assert_int_equal(size, fed.size);
        const float *last = got + (header_size + raw.size) / sizeof(float) - 2;
        const float *row = rows + (size_t)ROWS * 2 - 2;
        assert_true(last[0] == row[0] + 3 * row[1] + 10 && last[1] == 2 * row[0] + 4 * row[1] + 20);
        sluice_write(fixture, "y.npy", SLICE(""));
    }
    assert_exit(2, fixture, "run", "--feed", "x=@%/x.raw:float32:262143x2", "--fetch", "y");
    assert_holds(fixture->error, "has 2097152 bytes, float32 [262143,2] needs 2097144");
}

static void
scripts_get_the_json_of_the_api(void **state)
{
    SluiceFixture *fixture = *state;
    sluice_write(fixture, "affine.json", SLICE(STEP_GRAPH_AFFINE));
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

static void
a_queued_step_is_awaited_and_leaves_its_outputs(void **state)
{
    SluiceFixture *fixture = *state;
    char id[SLUICE_PATH_SIZE];
    char got[512];
    sluice_push_affine(fixture);
    assert_exit(0, fixture, "run", "--async", "--feed", "x=[[1,2]]", "--fetch", "y");
    sluice_take_id(fixture, id);
    assert_exit(0, fixture, "step", "watch", id, "--timeout", "20s");
    assert_holds(fixture->out, " succeeded");
    assert_exit(0, fixture, "step", "get", id);
    assert_holds(fixture->out, " succeeded");
    assert_exit(0, fixture, "step", "get", id, "--fetch", "y:0", "--fetch", "y=%/y.npy");
    assert_holds(fixture->out, "y:0: float32 [1,2]\n[[17, 30]]\ny in /tmp/");
    assert_int_equal(sluice_read(fixture, "y.npy", got, sizeof got), 128 + 2 * sizeof(float));
    assert_exit(0, fixture, "step", "get", id, "--json");
    assert_is_json(fixture, fixture->out);
    assert_exit(2, fixture, "run", "--async", "--fetch", "y=%/y.npy");
}

static void
a_step_run_with_a_trace_leaves_it(void **state)
{
    SluiceFixture *fixture = *state;
    char id[SLUICE_PATH_SIZE];
    sluice_push_affine(fixture);
    assert_exit(0, fixture, "run", "--async", "--trace", "node", "--feed", "x=[[1,2]]", "--fetch", "y");
    sluice_take_id(fixture, id);
    assert_exit(0, fixture, "step", "watch", id, "--timeout", "20s");
    assert_exit(0, fixture, "step", "trace", id);
    assert_is_json(fixture, fixture->out);
    assert_holds(fixture->out, "\"op\":\"MatMul\"");
    assert_exit(0, fixture, "run", "--async", "--feed", "x=[[1,2]]", "--fetch", "y");
    sluice_take_id(fixture, id);
    assert_exit(1, fixture, "step", "trace", id);
    assert_holds(fixture->error, "there is no trace of step");
}

static void
a_queued_step_that_fails_gives_4_when_it_is_awaited(void **state)
{
    SluiceFixture *fixture = *state;
    char id[SLUICE_PATH_SIZE];
    sluice_push_affine(fixture);
    assert_exit(0, fixture, "run", "--async", "--feed", "x=[[1,2,3]]", "--fetch", "y");
    sluice_take_id(fixture, id);
    assert_exit(4, fixture, "step", "watch", id, "--timeout", "20s");
    assert_holds(fixture->error, " failed: node 'xw': ");
}

static void
the_pool_is_shown_as_tables(void **state)
{
    SluiceFixture *fixture = *state;
    assert_exit(0, fixture, "devices");
    assert_holds(fixture->out, "DEVICE ");
    assert_holds(fixture->out, "/job:worker/replica:0/task:1/device:CPU:0  CPU ");
    assert_exit(0, fixture, "workers");
    assert_holds(fixture->out, "TASK  NAME  ADDRESS ");
    assert_holds(fixture->out, " serving  ");
}

/* A variable w, which `set` sets to 5. */
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
    SluiceFixture *fixture = *state;
    assert_exit(0, fixture, "session", "create", "kept");
    sluice_write(fixture, "affine.json", slice_from_string(variable));
    assert_exit(0, fixture, "graph", "push", "%/affine.json", "--session", "kept");
    assert_exit(0, fixture, "run", "--session", "kept", "--target", "set");
    assert_exit(0, fixture, "run", "--session", "kept", "--fetch", "w");
    assert_holds(fixture->out, "5");
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
    SluiceFixture *fixture = *state;
    char id[SLUICE_PATH_SIZE];
    assert_exit(0, fixture, "session", "create", "cut", "--options={\"slots\":2,\"placement\":\"spread\"}");
    (void)snprintf(id, sizeof id, "%.36s", fixture->out);
    assert_int_equal(strncmp(id, "ses_", 4), 0);
    sluice_write(fixture, "affine.json", SLICE(STEP_GRAPH_AFFINE));
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
    assert_exit(0, fixture, "session", "create", "cut");
    assert_exit(1, fixture, "run", "--session", "cut", "--fetch", "y");
    assert_holds(fixture->error, "sluice: there are several sessions 'cut', such as ses_");
    assert_holds(fixture->error, ": name one by its id\n");
    assert_exit(1, fixture, "session", "delete", "cut");
    assert_exit(0, fixture, "session", "delete", id);
    assert_exit(0, fixture, "session", "delete", "cut");
    assert_exit(1, fixture, "session", "delete", "cut");
}

static void
help_names_commands_settings_and_exit_codes(void **state)
{
    SluiceFixture *fixture = *state;
    assert_exit(0, fixture, "--help");
    assert_holds(fixture->out, "graph push FILE [FILE...] ");
    assert_holds(fixture->out, "--key-file <path>");
    assert_holds(fixture->out, "  130  stopped by Ctrl-C\n");
    assert_exit(0, fixture, "help", "run");
    assert_holds(fixture->out, "usage: sluice run ");
    assert_holds(fixture->out, "--feed x=@input.npy");
    assert_exit(2, fixture, "help", "nonsense");
}

static void
the_command_tells_its_version(void **state)
{
    SluiceFixture *fixture = *state;
    assert_exit(0, fixture, "--version");
    assert_true(strncmp(fixture->out, "sluice 0.", strlen("sluice 0.")) == 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pushed_graph_runs_with_a_feed_in_json),
        cmocka_unit_test(a_saved_models_directory_is_pushed_and_runs),
        cmocka_unit_test(a_saved_models_assets_go_with_it),
        cmocka_unit_test(files_are_fed_and_fetched_bit_by_bit),
        cmocka_unit_test(large_files_are_fed_as_they_are),
        cmocka_unit_test(scripts_get_the_json_of_the_api),
        cmocka_unit_test(a_queued_step_is_awaited_and_leaves_its_outputs),
        cmocka_unit_test(a_step_run_with_a_trace_leaves_it),
        cmocka_unit_test(a_queued_step_that_fails_gives_4_when_it_is_awaited),
        cmocka_unit_test(the_pool_is_shown_as_tables),
        cmocka_unit_test(sessions_are_named),
        cmocka_unit_test(containers_are_reset),
        cmocka_unit_test(help_names_commands_settings_and_exit_codes),
        cmocka_unit_test(the_command_tells_its_version),
    };
    return cmocka_run_group_tests_name("cli commands", tests, sluice_setup, sluice_teardown);
}
