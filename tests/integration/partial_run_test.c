/* Partial runs: stages of one step over several requests, and every way in which one may end. */
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/raw_http.h"

enum { PATH_SIZE = 256, WAIT_MS = 5000, PAUSE_MS = 10 };

#define T_FLOAT "\"T\":{\"type\":\"DT_FLOAT\"}"
#define NODE(name, op, input, attr)                                                                          \
    "{\"name\":\"" name "\",\"op\":\"" op "\",\"input\":[" input "],\"attr\":{" attr "}}"
#define PLACEHOLDER(name) NODE(name, "Placeholder", "", "\"dtype\":{\"type\":\"DT_FLOAT\"}")
#define SCALAR(name, value)                                                                                  \
    NODE(name, "Const", "",                                                                                  \
        "\"dtype\":{\"type\":\"DT_FLOAT\"},\"value\":{\"tensor\":{\"dtype\":\"DT_FLOAT\",\"tensorShape\":"   \
        "{},\"floatVal\":[" value "]}}")

/* a = −x; b = a·y; c = b + x, and d = c + z. w counts: init sets it to 0, bump adds 1 behind a. A division of
 * whole numbers fails when k is 0; on which side of the switch its value comes out, p says. */
static const char stages[] = "{\"node\":[" PLACEHOLDER("x") "," PLACEHOLDER("y") "," PLACEHOLDER(
    "z") "," NODE("a", "Neg", "\"x\"", T_FLOAT) "," NODE("b", "Mul", "\"a\",\"y\"", T_FLOAT) "," NODE("c",
    "Add", "\"b\",\"x\"", T_FLOAT) "," NODE("d", "Add", "\"c\",\"z\"", T_FLOAT) "," NODE("w", "VariableV2",
    "", "\"dtype\":{\"type\":\"DT_FLOAT\"},\"shape\":{\"shape\":{}}") "," SCALAR("zero",
    "0") "," SCALAR("one", "1") "," NODE("init", "Assign", "\"w\",\"zero\"", T_FLOAT) "," NODE("bump",
    "AssignAdd", "\"w\",\"one\",\"^a\"",
    T_FLOAT) "," NODE("read", "Identity", "\"w\"", T_FLOAT) "," NODE("late", "Identity", "\"w\",\"^b\"",
    T_FLOAT) "," NODE("k", "Placeholder", "", "\"dtype\":{\"type\":\"DT_INT32\"}") "," NODE("quotient",
    "FloorDiv", "\"k\",\"k\"", "\"T\":{\"type\":\"DT_INT32\"}") "," NODE("p", "Placeholder", "",
    "\"dtype\":{\"type\":\"DT_BOOL\"}") "," NODE("side", "Switch", "\"x\",\"p\"", T_FLOAT) "]}";

/* --- Helpers -------------------------------------------------------------------------------------------- */

static void
pause_ms(long milliseconds)
{
    const struct timespec pause = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
    (void)nanosleep(&pause, NULL);
}

static void
expect(RestResponse *response, int status, const char *part)
{
    if (response->status != status || (part != NULL && strstr(rest_text(response), part) == NULL)) {
        fail_msg("%d %s instead of %d %s", response->status, rest_text(response), status,
            part == NULL ? "" : part);
    }
}

static void
begin(Cluster *cluster, const char *body, RestResponse *ret_response)
{
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/partial-runs", cluster->session);
    cluster_send(cluster, "POST", path, body, ret_response);
}

/* The path of the new run. */
static void
begun(Cluster *cluster, const char *body, char ret_path[PATH_SIZE])
{
    AUTO_REST response;
    begin(cluster, body, &response);
    expect(&response, 201, "\"state\":\"open\"");
    (void)snprintf(ret_path, PATH_SIZE, "%s", rest_header(&response, "Location"));
    assert_non_null(strstr(ret_path, "/partial-runs/prt_"));
}

static void
go_on(Cluster *cluster, const char *path, const char *body, RestResponse *ret_response)
{
    char target[PATH_SIZE + 16];
    (void)snprintf(target, sizeof target, "%.255s:continue", path);
    cluster_send(cluster, "POST", target, body, ret_response);
}

static void
expect_go_on(Cluster *cluster, const char *path, const char *body, int status, const char *part)
{
    AUTO_REST response;
    go_on(cluster, path, body, &response);
    expect(&response, status, part);
}

static void
expect_get(Cluster *cluster, const char *path, int status, const char *part)
{
    AUTO_REST response;
    cluster_send(cluster, "GET", path, NULL, &response);
    expect(&response, status, part);
}

static void
expect_step(Cluster *cluster, const char *body, const char *part)
{
    AUTO_REST response;
    cluster_step(cluster, body, &response);
    expect(&response, 200, part);
}

static void
ready(Cluster *cluster, const char *options)
{
    cluster_session(cluster, options);
    cluster_graph(cluster, stages);
}

/* Until nothing is left of it. */
static void
await_gone(Cluster *cluster, const char *path)
{
    for (int waited = 0; waited < WAIT_MS; waited += PAUSE_MS) {
        AUTO_REST response;
        cluster_send(cluster, "GET", path, NULL, &response);
        if (response.status == 404) {
            expect(&response, 404, "may be complete, have failed, or have expired");
            return;
        }
        pause_ms(PAUSE_MS);
    }
    fail_msg("%s is still there", path);
}

/* Until the workers run this many slots together. */
static void
await_running(Cluster *cluster, int wanted)
{
    int running = -1;
    for (int waited = 0; waited < WAIT_MS && running != wanted; waited += PAUSE_MS) {
        running = 0;
        for (int index = 0; index < cluster->options.worker_count; index++) {
            running += cluster_worker_running(cluster, index);
        }
        pause_ms(running == wanted ? 0 : PAUSE_MS);
    }
    assert_int_equal(running, wanted);
}

/* The worker that runs the one slot that is under way. */
static int
runner(Cluster *cluster)
{
    for (int waited = 0; waited < WAIT_MS; waited += PAUSE_MS) {
        for (int index = 0; index < cluster->options.worker_count; index++) {
            if (cluster_worker_running(cluster, index) == 1) {
                return index;
            }
        }
        pause_ms(PAUSE_MS);
    }
    fail_msg("no worker runs it");
    return -1;
}

static const char two_stages[] = "{\"feeds\":[\"x\",\"y\"],\"fetches\":[\"a\",\"c\"]}";

/* --- How it goes ---------------------------------------------------------------------------------------- */

static void
each_request_gives_feeds_and_gets_fetches(void **state)
{
    Cluster *const cluster = *state;
    char path[PATH_SIZE];
    ready(cluster, "{}");
    begun(cluster, two_stages, path);
    expect_get(cluster, path, 200, "\"state\":\"open\"");
    expect_get(cluster, path, 200, "\"feeds\":[\"x\",\"y\"],\"fetches\":[\"a\",\"c\"]");
    expect_go_on(cluster, path, "{\"feeds\":{\"x\":[1,2]},\"fetches\":[\"a:0\"]}", 200,
        "\"outputs\":{\"a:0\":{\"dtype\":\"float32\",\"shape\":[2],\"data\":[-1,-2]}}");
    expect_get(cluster, path, 200, "\"feeds\":[\"y\"],\"fetches\":[\"c\"]");
    expect_go_on(
        cluster, path, "{\"feeds\":{\"y\":[10,100]},\"fetches\":[\"c\"]}", 200, "\"data\":[-9,-198]");
    expect_get(cluster, path, 404, "it may be complete, have failed, or have expired");
    await_running(cluster, 0);
}

static void
feeds_and_fetches_need_not_come_together(void **state)
{
    Cluster *const cluster = *state;
    char path[PATH_SIZE];
    ready(cluster, "{}");
    begun(cluster, two_stages, path);
    expect_go_on(cluster, path, "{\"feeds\":{\"y\":[3]}}", 200, "\"outputs\":{}");
    expect_go_on(cluster, path, "{\"feeds\":{\"x\":[2]}}", 200, "\"state\":\"open\"");
    await_running(cluster, 0);
    expect_go_on(cluster, path, "{\"fetches\":[\"c\"]}", 200, "\"data\":[-4]");
    expect_go_on(cluster, path, "{\"fetches\":[\"a\"]}", 200, "\"state\":\"complete\"");
    expect_get(cluster, path, 404, NULL);
}

static void
stages_on_two_slots_meet(void **state)
{
    Cluster *const cluster = *state;
    char path[PATH_SIZE];
    ready(cluster, "{\"slots\":2,\"placement\":\"spread\"}");
    begun(cluster, "{\"feeds\":[\"x\",\"y\",\"z\"],\"fetches\":[\"a\",\"b\",\"c\",\"d\"]}", path);
    await_running(cluster, 2);
    expect_go_on(cluster, path, "{\"feeds\":{\"x\":5},\"fetches\":[\"a\"]}", 200, "\"data\":[-5]");
    expect_go_on(cluster, path, "{\"feeds\":{\"y\":2},\"fetches\":[\"c\",\"b\"]}", 200, "\"data\":[-5]");
    expect_go_on(cluster, path, "{\"feeds\":{\"z\":1},\"fetches\":[\"d\"]}", 200, "\"data\":[-4]");
    await_running(cluster, 0);
}

static void
what_a_stage_has_done_to_a_variable_is_seen_at_once(void **state)
{
    Cluster *const cluster = *state;
    char path[PATH_SIZE];
    ready(cluster, "{}");
    expect_step(cluster, "{\"targets\":[\"init\"]}", NULL);
    begun(cluster, "{\"feeds\":[\"x\",\"y\"],\"fetches\":[\"bump\",\"late\"]}", path);
    expect_step(cluster, "{\"fetches\":[\"read\"]}", "\"data\":[0]");
    expect_go_on(cluster, path, "{\"feeds\":{\"x\":1},\"fetches\":[\"bump\"]}", 200, "\"data\":[1]");
    expect_step(cluster, "{\"fetches\":[\"read\"]}", "\"data\":[1]");
    expect_step(cluster, "{\"feeds\":{\"x\":1},\"fetches\":[\"bump\"]}", "\"data\":[2]");
    expect_go_on(cluster, path, "{\"feeds\":{\"y\":1},\"fetches\":[\"late\"]}", 200, "\"data\":[2]");
}

static void
the_same_key_is_the_same_run(void **state)
{
    Cluster *const cluster = *state;
    char path[PATH_SIZE];
    const char *const headers[] = {"Idempotency-Key: one", NULL};
    AUTO_REST first = {0};
    AUTO_REST second = {0};
    ready(cluster, "{}");
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/partial-runs", cluster->session);
    cluster_send_with(cluster, "POST", path, headers, two_stages, &first);
    expect(&first, 201, "\"state\":\"open\"");
    cluster_send_with(cluster, "POST", path, headers, two_stages, &second);
    expect(&second, 201, NULL);
    assert_string_equal(rest_header(&second, "Idempotent-Replayed"), "true");
    assert_string_equal(rest_text(&first), rest_text(&second));
    await_running(cluster, 1);
}

/* --- What is refused ------------------------------------------------------------------------------------ */

static void
a_request_that_is_refused_changes_nothing(void **state)
{
    static const struct {
        const char *body;
        const char *message;
    } cases[] = {
        {"{\"feeds\":{\"y\":1},\"fetches\":[\"c\"]}",
            "fetch 'c' needs feed 'x', which has not been given yet"},
        {"{\"feeds\":{\"x\":1},\"fetches\":[\"a\",\"c\"]}", "fetch 'c' needs feed 'y'"},
        {"{\"feeds\":{\"z\":1}}", "feed 'z' is none of those that the partial run was made with"},
        {"{\"feeds\":{\"x\":1},\"fetches\":[\"b\"]}",
            "fetch 'b' is none of those that the partial run was made with"},
        {"{\"feeds\":{\"x\":1,\"x:0\":1}}", "feed 'x:0' has been given already"},
        {"{\"feeds\":{\"x\":1},\"fetches\":[\"a\",\"a:0\"]}", "fetch 'a:0' has been asked for already"},
        {"{}", "gives feeds or asks for fetches"},
        {"{\"feeds\":{\"x\":{\"dtype\":\"int32\",\"shape\":[],\"data\":[1]}}}", "feed 'x'"},
        {"{\"feeds\":{\"nowhere\":1}}", "nowhere"},
        {"{\"targets\":[\"init\"]}", "unknown member"},
        {"{\"feeds\":[1]}", "does not continue a partial run"},
        {"{\"feeds\":", "does not continue a partial run"},
        {"", NULL},
    };
    Cluster *const cluster = *state;
    char path[PATH_SIZE];
    ready(cluster, "{}");
    begun(cluster, two_stages, path);
    for (size_t index = 0; index < sizeof cases / sizeof cases[0]; index++) {
        expect_go_on(cluster, path, cases[index].body, 400, cases[index].message);
    }
    expect_get(cluster, path, 200, "\"feeds\":[\"x\",\"y\"],\"fetches\":[\"a\",\"c\"]");
    expect_go_on(cluster, path, "{\"feeds\":{\"x\":1},\"fetches\":[\"a\"]}", 200, "\"data\":[-1]");
    expect_go_on(cluster, path, "{\"feeds\":{\"x\":1}}", 400, "feed 'x' has been given already");
    expect_go_on(cluster, path, "{\"fetches\":[\"a\"]}", 400, "fetch 'a' has been asked for already");
    expect_go_on(cluster, path, "{\"feeds\":{\"y\":4},\"fetches\":[\"c\"]}", 200, "\"data\":[-3]");
}

static void
a_setup_that_makes_no_sense_is_refused(void **state)
{
    static const struct {
        const char *body;
        int status;
        const char *message;
    } cases[] = {
        {"{\"feeds\":{\"x\":1},\"fetches\":[\"a\"]}", 400, "the request is no partial run"},
        {"{\"feeds\":[\"x\"]}", 400, NULL},
        {"{\"feeds\":[\"x\",\"x:0\"],\"fetches\":[\"a\"]}", 400, "'x:0'"},
        {"{\"feeds\":[\"x\"],\"fetches\":[\"nothing\"]}", 404, "nothing"},
        {"{\"feeds\":[\"nothing\"],\"fetches\":[\"a\"]}", 404, "nothing"},
        {"{\"feeds\":[\"y\"],\"fetches\":[\"a\"]}", 400, "placeholder 'x' must be fed"},
        {"{\"feeds\":[\"x\"],\"fetches\":[\"x\"]}", 400, "both fed and fetched"},
        {"{\"feeds\":[\"x\"],\"fetches\":[\"a\"],\"options\":{\"trace\":\"node\"}}", 400,
            "\"/options/trace\""},
        {"{\"feeds\":[\"x\"],\"fetches\":[\"a\"],\"options\":{\"timeout_ms\":0}}", 400, "step_timeout_ms"},
        {"{\"graph\":\"grf_none\",\"feeds\":[\"x\"],\"fetches\":[\"a\"]}", 404, "graph 'grf_none'"},
    };
    Cluster *const cluster = *state;
    ready(cluster, "{}");
    for (size_t index = 0; index < sizeof cases / sizeof cases[0]; index++) {
        AUTO_REST response;
        begin(cluster, cases[index].body, &response);
        expect(&response, cases[index].status, cases[index].message);
    }
    await_running(cluster, 0);
}

static void
ids_of_other_gateways_and_of_nobody_are_told_apart(void **state)
{
    Cluster *const cluster = *state;
    char path[PATH_SIZE];
    ready(cluster, "{}");
    begun(cluster, two_stages, path);
    char *const id = strstr(path, "prt_") + 4;
    char *const time = &id[11];
    *time = *time == '0' ? '1' : '0';
    expect_get(cluster, path, 404, "does not exist");
    char *const gateway = &id[20];
    *gateway = *gateway == '0' ? '1' : '0';
    expect_go_on(cluster, path, "{\"fetches\":[\"a\"]}", 409, "was made by another gateway");
    (void)snprintf(id, 8, "nothing");
    expect_get(cluster, path, 404, "partial run 'prt_nothing' does not exist");
}

/* --- How it ends ---------------------------------------------------------------------------------------- */

static void
one_that_nobody_completes_expires_and_leaves_nothing(void **state)
{
    Cluster *const cluster = *state;
    char path[PATH_SIZE];
    ready(cluster, "{\"slots\":2,\"placement\":\"spread\"}");
    begun(cluster,
        "{\"feeds\":[\"x\",\"y\",\"z\"],\"fetches\":[\"a\",\"d\"],\"options\":{\"timeout_ms\":400}}", path);
    expect_go_on(cluster, path, "{\"feeds\":{\"x\":1}}", 200, NULL);
    await_running(cluster, 2);
    await_running(cluster, 0);
    await_gone(cluster, path);
    for (int index = 0; index < 2; index++) {
        assert_int_equal(cluster_worker_use(cluster, index).memory_in_use, 0);
    }
}

/* Sends a continue and does not wait for its answer. */
static int
send_go_on(const Cluster *cluster, const char *path, const char *body)
{
    char head[PATH_SIZE * 2 + 256];
    const int size = snprintf(head, sizeof head,
        "POST %s:continue HTTP/1.1\r\nHost: sluice\r\nContent-Type: application/json\r\n"
        "Content-Length: %zu\r\n\r\n%s",
        path, strlen(body), body);
    const int fd = raw_open(cluster->gateway.address);
    assert_true(fd >= 0);
    raw_send(fd, head, (size_t)size);
    return fd;
}

/* y takes seconds: the sum of a chain of matrix products that x begins; t is there at once. */
static const char *
slow_graph(void)
{
    enum { CHAIN_LENGTH = 400, SIDE = 512, GRAPH_SIZE = 96 * 1024 };
    static char text[GRAPH_SIZE];
    int used = snprintf(text, sizeof text,
        "{\"node\":[" PLACEHOLDER("x") "," PLACEHOLDER("u") "," NODE("t", "Neg", "\"u\"",
            T_FLOAT) ",{\"name\":\"shape\",\"op\":\"Const\",\"attr\":{\"dtype\":{\"type\":\"DT_INT32\"},"
                     "\"value\":{"
                     "\"tensor\":{\"dtype\":\"DT_INT32\",\"tensorShape\":{\"dim\":[{\"size\":\"2\"}]},"
                     "\"intVal\":[%d,%d]}}}}," NODE("m0", "Fill", "\"shape\",\"x\"", T_FLOAT),
        SIDE, SIDE);
    for (int index = 1; index <= CHAIN_LENGTH; index++) {
        used += snprintf(text + used, sizeof text - (size_t)used,
            ",{\"name\":\"m%d\",\"op\":\"MatMul\",\"input\":[\"m%d\",\"m0\"],\"attr\":{" T_FLOAT "}}", index,
            index - 1);
    }
    (void)snprintf(text + used, sizeof text - (size_t)used,
        ",{\"name\":\"axes\",\"op\":\"Const\",\"attr\":{\"dtype\":{\"type\":\"DT_INT32\"},\"value\":{"
        "\"tensor\":"
        "{\"dtype\":\"DT_INT32\",\"tensorShape\":{\"dim\":[{\"size\":\"2\"}]},\"intVal\":[0,1]}}}},"
        "{\"name\":\"y\",\"op\":\"Max\",\"input\":[\"m%d\",\"axes\"],\"attr\":{" T_FLOAT
        ",\"Tidx\":{\"type\":\"DT_INT32\"}}}]}",
        CHAIN_LENGTH);
    return text;
}

/* Somebody waits for y. */
static int
wait_for_slow(Cluster *cluster, char ret_path[PATH_SIZE])
{
    cluster_session(cluster, "{}");
    cluster_graph(cluster, slow_graph());
    begun(cluster, "{\"feeds\":[\"x\",\"u\"],\"fetches\":[\"y\",\"t\"]}", ret_path);
    const int fd = send_go_on(cluster, ret_path, "{\"feeds\":{\"x\":0.001953125},\"fetches\":[\"y\"]}");
    for (int waited = 0; waited < WAIT_MS; waited += PAUSE_MS) {
        AUTO_REST response;
        cluster_send(cluster, "GET", ret_path, NULL, &response);
        if (strstr(rest_text(&response), "\"fetches\":[\"t\"]") != NULL) {
            return fd;
        }
        pause_ms(PAUSE_MS);
    }
    fail_msg("nobody waits");
    return fd;
}

static void
expect_answer(int fd, int status, const char *part)
{
    static char answer[RAW_REPLY_SIZE];
    const int came = raw_reply(fd, answer, 30000);
    (void)close(fd);
    if (came != status || strstr(answer, part) == NULL) {
        fail_msg("%d %s instead of %d %s", came, answer, status, part);
    }
}

static void
one_that_is_deleted_ends_for_who_waits_too(void **state)
{
    Cluster *const cluster = *state;
    char path[PATH_SIZE];
    AUTO_REST response = {0};
    const int fd = wait_for_slow(cluster, path);
    cluster_send(cluster, "DELETE", path, NULL, &response);
    expect(&response, 204, NULL);
    expect_answer(fd, 499, "the partial run was deleted");
    expect_get(cluster, path, 404, NULL);
    await_running(cluster, 0);
}

static void
while_one_fetch_is_computed_another_is_given(void **state)
{
    Cluster *const cluster = *state;
    char path[PATH_SIZE];
    const int fd = wait_for_slow(cluster, path);
    (void)close(fd);
    expect_go_on(cluster, path, "{\"feeds\":{\"u\":4}}", 200, "\"outputs\":{}");
    expect_go_on(cluster, path, "{\"fetches\":[\"t\"]}", 200, "\"data\":[-4]");
}

static void
a_worker_that_dies_is_told_to_who_waits(void **state)
{
    Cluster *const cluster = *state;
    char path[PATH_SIZE];
    const int fd = wait_for_slow(cluster, path);
    (void)process_stop(&cluster->workers[runner(cluster)], SIGKILL);
    expect_answer(fd, 503, "the partial run has ended and cannot be repeated");
}

static void
a_gateway_that_drains_serves_who_waits(void **state)
{
    Cluster *const cluster = *state;
    char path[PATH_SIZE];
    const int fd = wait_for_slow(cluster, path);
    assert_int_equal(process_stop(&cluster->gateway, SIGTERM), 0);
    expect_answer(fd, 200, "\"outputs\":{\"y\":");
    await_running(cluster, 0);
}

static void
with_its_session_it_ends(void **state)
{
    Cluster *const cluster = *state;
    char path[PATH_SIZE];
    char session[PATH_SIZE];
    AUTO_REST response = {0};
    ready(cluster, "{}");
    begun(cluster, two_stages, path);
    await_running(cluster, 1);
    (void)snprintf(session, sizeof session, "/api/v1/sessions/%s", cluster->session);
    cluster_send(cluster, "DELETE", session, NULL, &response);
    expect(&response, 204, NULL);
    await_running(cluster, 0);
    expect_get(cluster, path, 404, NULL);
}

static void
a_failing_node_ends_it_and_is_told_once(void **state)
{
    Cluster *const cluster = *state;
    char path[PATH_SIZE];
    ready(cluster, "{}");
    begun(cluster, "{\"feeds\":[\"x\",\"k\"],\"fetches\":[\"a\",\"quotient\"]}", path);
    expect_go_on(cluster, path, "{\"feeds\":{\"k\":0},\"fetches\":[\"quotient\"]}", 400, "node 'quotient'");
    expect_get(cluster, path, 404, NULL);
    begun(cluster, "{\"feeds\":[\"x\",\"k\"],\"fetches\":[\"a\",\"quotient\"]}", path);
    expect_go_on(cluster, path, "{\"feeds\":{\"k\":0}}", 200, NULL);
    await_running(cluster, 0);
    expect_get(cluster, path, 200, "\"state\":\"failed\"");
    expect_get(cluster, path, 200, "\"code\":\"INVALID_ARGUMENT\"");
    expect_go_on(cluster, path, "{\"feeds\":{\"x\":1},\"fetches\":[\"a\"]}", 400, "node 'quotient'");
    expect_get(cluster, path, 404, NULL);
}

static void
a_failure_that_nobody_asks_for_goes_when_its_time_is_over(void **state)
{
    Cluster *const cluster = *state;
    char path[PATH_SIZE];
    ready(cluster, "{}");
    begun(cluster, "{\"feeds\":[\"k\"],\"fetches\":[\"quotient\"],\"options\":{\"timeout_ms\":600}}", path);
    const uint64_t since_ns = clock_monotonic_ns();
    expect_go_on(cluster, path, "{\"feeds\":{\"k\":0},\"fetches\":[\"quotient\"]}", 400, "node 'quotient'");
    await_gone(cluster, path);
    begun(cluster,
        "{\"feeds\":[\"x\",\"k\"],\"fetches\":[\"a\",\"quotient\"],\"options\":{\"timeout_ms\":600}}", path);
    expect_go_on(cluster, path, "{\"feeds\":{\"k\":0}}", 200, NULL);
    await_gone(cluster, path);
    assert_true(clock_monotonic_ns() - since_ns > 500 * CLOCK_NS_PER_MS);
}

/* In TensorFlow, too, only whoever asks for it hears that it has no value. */
static void
a_fetch_on_a_branch_not_taken_hurts_only_who_asks_for_it(void **state)
{
    static const char body[] = "{\"feeds\":[\"x\",\"p\"],\"fetches\":[\"side:0\",\"side:1\"]}";
    Cluster *const cluster = *state;
    char path[PATH_SIZE];
    ready(cluster, "{}");
    begun(cluster, body, path);
    expect_go_on(
        cluster, path, "{\"feeds\":{\"x\":7,\"p\":true},\"fetches\":[\"side:1\"]}", 200, "\"data\":[7]");
    expect_go_on(cluster, path, "{\"fetches\":[\"side:0\"]}", 400,
        "fetch 'side:0' has no value: it lies on a branch that was not taken");
    expect_get(cluster, path, 404, NULL);
}

static void
with_its_worker_it_ends_and_is_not_repeated(void **state)
{
    Cluster *const cluster = *state;
    char path[PATH_SIZE];
    ready(cluster, "{\"slots\":2,\"placement\":\"spread\"}");
    begun(cluster, "{\"feeds\":[\"x\",\"y\",\"z\"],\"fetches\":[\"a\",\"b\",\"c\",\"d\"]}", path);
    await_running(cluster, 2);
    expect_go_on(cluster, path, "{\"feeds\":{\"x\":5},\"fetches\":[\"a\"]}", 200, "\"data\":[-5]");
    (void)process_stop(&cluster->workers[0], SIGKILL);
    expect_go_on(cluster, path, "{\"feeds\":{\"y\":5,\"z\":1},\"fetches\":[\"d\"]}", 503,
        "the partial run has ended and cannot be repeated");
    expect_get(cluster, path, 404, NULL);
}

static void
a_gateway_that_ends_takes_its_runs_with_it(void **state)
{
    Cluster *const cluster = *state;
    char path[PATH_SIZE];
    ready(cluster, "{}");
    begun(cluster, two_stages, path);
    await_running(cluster, 1);
    const uint64_t since_ns = clock_monotonic_ns();
    assert_int_equal(process_stop(&cluster->gateway, SIGTERM), 0);
    assert_true(clock_monotonic_ns() - since_ns < 3 * CLOCK_NS_PER_S);
    await_running(cluster, 0);
    assert_true(cluster_restart_gateway(cluster));
    expect_go_on(cluster, path, "{\"feeds\":{\"x\":5},\"fetches\":[\"a\"]}", 409,
        "made by another gateway, or before this one was restarted");
}

static void
a_client_that_hangs_up_can_ask_again(void **state)
{
    Cluster *const cluster = *state;
    char path[PATH_SIZE];
    const int fd = wait_for_slow(cluster, path);
    (void)close(fd);
    pause_ms(200);
    expect_get(cluster, path, 200, "\"feeds\":[\"u\"],\"fetches\":[\"t\",\"y\"]");
    expect_go_on(cluster, path, "{\"feeds\":{\"u\":2},\"fetches\":[\"y\",\"t\"]}", 200, "\"data\":[-2]");
}

static void
many_are_open_at_once(void **state)
{
    enum { COUNT = 64 };
    static char paths[COUNT][PATH_SIZE];
    Cluster *const cluster = *state;
    AUTO_REST response = {0};
    ready(cluster, "{}");
    for (int index = 0; index < COUNT; index++) {
        begun(cluster, two_stages, paths[index]);
    }
    begin(cluster, two_stages, &response);
    expect(&response, 429, "the limit partial_runs is 64 runs");
    for (int index = 0; index < COUNT; index++) {
        expect_go_on(
            cluster, paths[index], "{\"feeds\":{\"x\":1},\"fetches\":[\"a\"]}", 200, "\"data\":[-1]");
    }
    for (int index = COUNT; index-- > 0;) {
        expect_go_on(cluster, paths[index], "{\"feeds\":{\"y\":1},\"fetches\":[\"c\"]}", 200, "\"data\":[0]");
    }
    begun(cluster, two_stages, paths[0]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(each_request_gives_feeds_and_gets_fetches),
        CLUSTER_TEST(feeds_and_fetches_need_not_come_together),
        CLUSTER_TEST(stages_on_two_slots_meet),
        CLUSTER_TEST(what_a_stage_has_done_to_a_variable_is_seen_at_once),
        CLUSTER_TEST(the_same_key_is_the_same_run),
        CLUSTER_TEST(a_request_that_is_refused_changes_nothing),
        CLUSTER_TEST(a_setup_that_makes_no_sense_is_refused),
        CLUSTER_TEST(ids_of_other_gateways_and_of_nobody_are_told_apart),
        CLUSTER_TEST(one_that_nobody_completes_expires_and_leaves_nothing),
        CLUSTER_TEST(one_that_is_deleted_ends_for_who_waits_too),
        CLUSTER_TEST(while_one_fetch_is_computed_another_is_given),
        CLUSTER_TEST(a_worker_that_dies_is_told_to_who_waits),
        CLUSTER_TEST(a_gateway_that_drains_serves_who_waits),
        CLUSTER_TEST(with_its_session_it_ends),
        CLUSTER_TEST(a_failing_node_ends_it_and_is_told_once),
        CLUSTER_TEST(a_failure_that_nobody_asks_for_goes_when_its_time_is_over),
        CLUSTER_TEST(a_fetch_on_a_branch_not_taken_hurts_only_who_asks_for_it),
        CLUSTER_TEST(with_its_worker_it_ends_and_is_not_repeated),
        CLUSTER_TEST(a_gateway_that_ends_takes_its_runs_with_it),
        CLUSTER_TEST(a_client_that_hangs_up_can_ask_again),
        CLUSTER_TEST(many_are_open_at_once),
    };
    return cmocka_run_group_tests_name("partial run", tests, NULL, NULL);
}
