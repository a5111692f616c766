/* The messages and exit codes of `sluice` when something goes wrong. Tests that stop a part of the cluster
 * stand last. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "shared/base/atomic.h"
#include "tests/support/await.h"
#include "tests/support/sluice_command.h"

static void
a_wrong_graph_is_explained_on_one_line(void **state)
{
    SluiceFixture *fixture = *state;
    sluice_write(
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
    SluiceFixture *fixture = *state;
    sluice_push_affine(fixture);
    assert_exit(4, fixture, "run", "--feed", "x=[[1,2,3]]", "--fetch", "y=%/none.npy");
    assert_holds(fixture->error, "node 'xw'");
    assert_exit(1, fixture, "run", "--feed", "x=[[1,2]]", "--fetch", "nope=%/none.npy");
    char path[SLUICE_PATH_SIZE * 2];
    (void)snprintf(path, sizeof path, "%s/none.npy", fixture->folder);
    assert_int_equal(access(path, F_OK), -1);
    (void)snprintf(path, sizeof path, "%s/none.npy.part", fixture->folder);
    assert_int_equal(access(path, F_OK), -1);
}

static void
a_step_that_takes_too_long_gives_5(void **state)
{
    SluiceFixture *fixture = *state;
    sluice_push_affine(fixture);
    cluster_signal_workers(&fixture->cluster, SIGSTOP);
    int code = SLUICE_RUN(fixture, "run", "--feed", "x=[[1,2]]", "--fetch", "y", "--timeout", "300ms");
    cluster_signal_workers(&fixture->cluster, SIGCONT);
    assert_int_equal(code, 5);
    assert_holds(fixture->error, "(DEADLINE_EXCEEDED, request ");
}

static void
a_step_is_cancelled(void **state)
{
    SluiceFixture *fixture = *state;
    char id[SLUICE_PATH_SIZE];
    sluice_push_affine(fixture);
    cluster_signal_workers(&fixture->cluster, SIGSTOP);
    assert_exit(0, fixture, "run", "--async", "--feed", "x=[[1,2]]", "--fetch", "y");
    sluice_take_id(fixture, id);
    assert_exit(5, fixture, "step", "watch", id, "--timeout", "2s");
    assert_holds(fixture->error, "the step has not ended in time; it goes on\n");
    assert_exit(0, fixture, "step", "cancel", id);
    assert_exit(0, fixture, "step", "cancel", id);
    int code = SLUICE_RUN(fixture, "step", "watch", id, "--timeout", "20s");
    cluster_signal_workers(&fixture->cluster, SIGCONT);
    assert_int_equal(code, 4);
    assert_holds(fixture->error, " cancelled");
}

static void *
interrupt_run(void *context)
{
    SluiceFixture *fixture = context;
    AWAIT(cluster_metric(&fixture->cluster, "sluice_steps_running") == 1);
    pid_t pid = atomic_load_seq_cst(&process_captured);
    return pid > 0 && kill(pid, SIGINT) == 0 ? NULL : context;
}

static void
an_interrupted_run_gives_130(void **state)
{
    SluiceFixture *fixture = *state;
    pthread_t interrupter;
    void *failure = NULL;
    sluice_push_affine(fixture);
    cluster_signal_workers(&fixture->cluster, SIGSTOP);
    assert_int_equal(pthread_create(&interrupter, NULL, interrupt_run, fixture), 0);
    int code = SLUICE_RUN(fixture, "run", "--feed", "x=[[1,2]]", "--fetch", "y");
    assert_int_equal(pthread_join(interrupter, &failure), 0);
    cluster_signal_workers(&fixture->cluster, SIGCONT);
    assert_null(failure);
    assert_int_equal(code, 130);
    assert_string_equal(fixture->error, "sluice: interrupted\n");
}

static void
a_gateway_that_is_not_there_gives_3(void **state)
{
    SluiceFixture *fixture = *state;
    (void)process_stop(&fixture->cluster.gateway, SIGTERM);
    assert_exit(3, fixture, "devices");
    assert_holds(fixture->error, "cannot be reached: Connection refused\n");
    assert_true(cluster_restart_gateway(&fixture->cluster));
}

static void
a_wrong_command_line_gives_2(void **state)
{
    SluiceFixture *fixture = *state;
    static const struct {
        const char *arguments[6];
        const char *message;
    } cases[] = {
        {{"nonsense"}, "sluice: there is no command 'nonsense': 'sluice --help' lists them\n"},
        {{"blob"}, "sluice: 'blob' needs a second word: get, put\n"},
        {{"graph", "push"},
            "sluice: usage: sluice graph push FILE [FILE...]; 'sluice help graph push' says more\n"},
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
        assert_int_equal(sluice_run(fixture, cases[index].arguments), 2);
        assert_holds(fixture->error, cases[index].message);
    }
}

static void
a_key_is_read_from_its_file(void **state)
{
    SluiceFixture *fixture = *state;
    (void)process_stop(&fixture->cluster.gateway, SIGTERM);
    fixture->cluster.options.has_keys = true;
    assert_true(cluster_restart_gateway(&fixture->cluster));
    assert_exit(1, fixture, "devices");
    assert_holds(fixture->error, "'--key-file' names the file of a key (UNAUTHENTICATED, request ");
    char key[SLUICE_PATH_SIZE * 2];
    const char *const create[] = {"key", "create", "--database", fixture->cluster.conninfo, NULL};
    assert_int_equal(process_run("sluice-gateway", create, key, sizeof key), 0);
    sluice_write(fixture, "x.raw", slice_from_string(key));
    assert_exit(0, fixture, "devices", "--key-file", "%/x.raw");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_graph_is_explained_on_one_line),
        cmocka_unit_test(a_step_that_fails_gives_4_and_leaves_no_file),
        cmocka_unit_test(a_wrong_command_line_gives_2),
        cmocka_unit_test(a_step_that_takes_too_long_gives_5),
        cmocka_unit_test(an_interrupted_run_gives_130),
        cmocka_unit_test(a_step_is_cancelled),
        cmocka_unit_test(a_gateway_that_is_not_there_gives_3),
        cmocka_unit_test(a_key_is_read_from_its_file),
    };
    return cmocka_run_group_tests_name("cli failures", tests, sluice_setup, sluice_teardown);
}
