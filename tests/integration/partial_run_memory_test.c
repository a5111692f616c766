/* The memory that partial runs hold in the gateway: the outputs that nobody has asked for yet, and the
 * answers that their clients do not read. */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/await.h"
#include "tests/support/partial_runs.h"
#include "tests/support/process_memory.h"
#include "tests/support/raw_http.h"

/* The output y (0, 1, 2, …) has as many int32 as n says, z is its product with k, t the strings s, and small
 * the sum of k with itself. */
static const char *const GRAPH = "zero = Const() dtype=int32 value=int32<>(0)\n"
                                 "one = Const() dtype=int32 value=int32<>(1)\n"
                                 "n = Placeholder() dtype=int32 shape=<>\n"
                                 "k = Placeholder() dtype=int32 shape=<>\n"
                                 "y = Range(zero, n, one) Tidx=int32\n"
                                 "z = Mul(y, k) T=int32\n"
                                 "small = Add(k, k) T=int32\n"
                                 "s = Placeholder() dtype=string\n"
                                 "t = Identity(s) T=string\n";

static const char *const HELD = "sluice_output_memory_bytes";

enum {
    STREAM_ROOM = 256 * 1024, /* bytes that an answer takes beside its outputs, as in step_reply.c */
    COUNT = 300000,           /* elements of an output of which two find room in a half of 8 MiB */
    HELD_OF_ONE = COUNT * (int)sizeof(int32_t) + STREAM_ROOM,
};

static const char *const small_memory[] = {"--output-memory=8MiB", NULL};
static const char *const one_slot[] = {"--slots", "1", NULL};
static const char setup_y[] = "{\"feeds\":[\"n\"],\"fetches\":[\"y\"]}";

static void
begin(Cluster *cluster)
{
    cluster_session(cluster, "{}");
    cluster_graph_literal(cluster, GRAPH);
}

static void
start_small(Cluster *cluster)
{
    ClusterOptions options = {
        .worker_count = 1, .has_keys = true, .gateway_arguments = small_memory, .worker_arguments = one_slot};
    assert_true(cluster_start(cluster, &options));
    cluster_make_key(cluster, "greedy", NULL, cluster->key);
    begin(cluster);
}

/* Starts a partial run of y and has it computed; nobody asks for it. */
static void
compute_unasked(Cluster *cluster, int count, char ret_path[PARTIAL_RUN_PATH_SIZE])
{
    AUTO_BUFFER body = {0};
    partial_run_begun(cluster, setup_y, ret_path);
    buffer_append_format(&body, "{\"feeds\":{\"n\":%d}}", count);
    partial_run_expect(cluster, ret_path, buffer_string(&body), 200, NULL);
}

/* Sends a continue request over a socket that takes little by itself; the answer is the caller's to read. */
static int
ask(const Cluster *cluster, const char *path, const char *body)
{
    AUTO_BUFFER request = {0};
    int fd = raw_open_narrow(cluster->gateway.address);
    buffer_append_format(&request,
        "POST %s:continue HTTP/1.1\r\nHost: h\r\nConnection: close\r\n%s%s"
        "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
        path, cluster->key, cluster->key[0] == '\0' ? "" : "\r\n", strlen(body), body);
    raw_send(fd, request.data, request.size);
    return fd;
}

static void
await_answer(int fd)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&ready, 1, AWAIT_MS), 1);
}

/* Reads all answers to their ends, whichever goes on. */
static void
read_all(const int *fds, Buffer *answers, size_t count)
{
    struct pollfd ready[16];
    size_t open = count;
    assert_true(count <= COUNT_OF(ready));
    for (size_t index = 0; index < count; index++) {
        ready[index] = (struct pollfd){.fd = fds[index], .events = POLLIN};
    }
    while (open > 0) {
        assert_true(poll(ready, (nfds_t)count, AWAIT_MS) > 0);
        for (size_t index = 0; index < count; index++) {
            char bytes[8192];
            ssize_t got = (ready[index].revents & (POLLIN | POLLHUP)) == 0
                              ? -1
                              : recv(fds[index], bytes, sizeof bytes, 0);
            if (got > 0) {
                buffer_append_slice(&answers[index], slice_of(bytes, (size_t)got));
            } else if (got == 0) {
                ready[index].fd = -1;
                ready[index].revents = 0;
                open--;
            }
        }
    }
}

/* Writes the outputs of such a run as the API shows them. */
static void
write_expected(Buffer *text, int count, int string_count)
{
    buffer_append_format(text,
        "\"state\":\"complete\",\"outputs\":{\"y\":{\"dtype\":\"int32\",\"shape\":[%d],\"data\":[", count);
    for (int index = 0; index < count; index++) {
        buffer_append_format(text, "%s%d", index == 0 ? "" : ",", index);
    }
    buffer_append_format(text, "]},\"t\":{\"dtype\":\"string\",\"shape\":[%d],\"data\":[", string_count);
    for (int index = 0; index < string_count; index++) {
        buffer_append_format(text, "%s\"string \\\"%d\\\"\"", index == 0 ? "" : ",", index);
    }
    buffer_append_string(text, "]}}}");
}

/* Writes the answer without what differs from run to run: its ids and time. */
static void
write_comparable(Buffer *text, RestResponse *answer)
{
    const char *state = strstr(rest_text(answer), "\"state\":\"complete\"");
    const char *outputs = strstr(rest_text(answer), "\"feeds\":[],\"fetches\":[],\"outputs\":{");
    assert_non_null(state);
    assert_non_null(outputs);
    assert_int_equal(strncmp(rest_text(answer), "{\"id\":\"prt_", 11), 0);
    buffer_append_format(text, "\"state\":\"complete\",%s", outputs + strlen("\"feeds\":[],\"fetches\":[],"));
}

/* Answers of 64 KiB are written at once, larger ones in turns. */
static void
an_answer_is_the_same_text_whatever_its_size(void **state)
{
    static const struct {
        int count;
        int string_count;
    } cases[] = {{3, 2}, {16 << 10, 0}, {(16 << 10) + 1, 0}, {COUNT, 9000}};
    Cluster *cluster = *state;
    begin(cluster);
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        char path[PARTIAL_RUN_PATH_SIZE];
        AUTO_BUFFER body = {0};
        AUTO_BUFFER expected = {0};
        AUTO_BUFFER shown = {0};
        AUTO_REST answer = {0};
        partial_run_begun(cluster, "{\"feeds\":[\"n\",\"s\"],\"fetches\":[\"y\",\"t\"]}", path);
        buffer_append_format(
            &body, "{\"fetches\":[\"y\",\"t\"],\"feeds\":{\"n\":%d,\"s\":[", cases[index].count);
        for (int string = 0; string < cases[index].string_count; string++) {
            buffer_append_format(&body, "%s\"string \\\"%d\\\"\"", string == 0 ? "" : ",", string);
        }
        buffer_append_string(&body, "]}}");
        partial_run_go_on(cluster, path, buffer_string(&body), &answer);
        cluster_expect(&answer, 200, NULL);
        write_expected(&expected, cases[index].count, cases[index].string_count);
        write_comparable(&shown, &answer);
        if (!slice_equal(buffer_slice(&shown), buffer_slice(&expected))) {
            fail_msg(
                "case %zu: %.300s instead of %.300s", index, buffer_string(&shown), buffer_string(&expected));
        }
    }
    AWAIT(cluster_metric(cluster, HELD) == 0);
}

/* The text of the output would be more than 150 MB. */
static void
a_client_that_does_not_read_holds_no_text(void **state)
{
    enum { LARGE = 16 << 20, GROWTH_MAX = 24 << 20 };
    size_t output_size = LARGE * sizeof(int32_t);
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    AUTO_BUFFER body = {0};
    begin(cluster);
    partial_run_begun(cluster, setup_y, path);
    size_t before = process_resident(cluster->gateway.pid);
    process_forget_peak(cluster->gateway.pid);
    buffer_append_format(&body, "{\"feeds\":{\"n\":%d},\"fetches\":[\"y\"]}", LARGE);
    int fd = ask(cluster, path, buffer_string(&body));
    await_answer(fd);
    assert_true(cluster_metric(cluster, HELD) == (double)(output_size + STREAM_ROOM));
    cluster_expect_step(cluster, "{\"feeds\":{\"k\":4},\"fetches\":[\"small\"]}", 200, "\"data\":[8]");
    size_t peak = process_peak(cluster->gateway.pid);
    if (peak > before + output_size + GROWTH_MAX) {
        fail_msg("the gateway has grown by %zu KiB", (peak - before) / 1024);
    }
    (void)close(fd);
    AWAIT(cluster_metric(cluster, HELD) == 0);
}

/* One tenant gets half of the 8 MiB for outputs, for two of its runs. The outputs of the others wait on the
 * worker, whose only slot they leave to others, and come when the first have been read. */
static void
runs_of_a_tenant_keep_to_its_share(void **state)
{
    enum { RUNS = 6, HELD_RUNS = 2 };
    Cluster cluster = {0};
    char paths[RUNS][PARTIAL_RUN_PATH_SIZE];
    int fds[RUNS];
    Buffer answers[RUNS] = {{0}};
    char greedy[CLUSTER_KEY_SIZE];
    char other_path[PARTIAL_RUN_PATH_SIZE];
    (void)state;
    start_small(&cluster);
    (void)snprintf(greedy, sizeof greedy, "%s", cluster.key);
    for (int index = 0; index < RUNS; index++) {
        compute_unasked(&cluster, COUNT, paths[index]);
    }
    AWAIT(cluster_metric(&cluster, HELD) == HELD_RUNS * HELD_OF_ONE);

    cluster_make_key(&cluster, "other", NULL, cluster.key);
    begin(&cluster);
    cluster_expect_step(&cluster, "{\"feeds\":{\"n\":300000},\"fetches\":[\"y\"]}", 200, ",299998,299999]}");
    partial_run_begun(&cluster, setup_y, other_path);
    partial_run_expect(
        &cluster, other_path, "{\"feeds\":{\"n\":300000},\"fetches\":[\"y\"]}", 200, ",299998,299999]}");
    AWAIT(cluster_metric(&cluster, HELD) == HELD_RUNS * HELD_OF_ONE);

    (void)snprintf(cluster.key, sizeof cluster.key, "%s", greedy);
    for (int index = 0; index < RUNS; index++) {
        fds[index] = ask(&cluster, paths[index], "{\"fetches\":[\"y\"]}");
    }
    read_all(fds, answers, RUNS);
    for (int index = 0; index < RUNS; index++) {
        assert_true(slice_starts_with(buffer_slice(&answers[index]), SLICE("HTTP/1.1 200 ")));
        assert_true(slice_ends_with(buffer_slice(&answers[index]), SLICE("\r\n0\r\n\r\n")));
        buffer_done(&answers[index]);
        (void)close(fds[index]);
    }
    AWAIT(cluster_metric(&cluster, HELD) == 0);
    cluster_stop(&cluster);
}

/* A run that holds memory does not wait for more, since its client may be the one who waits. */
static void
a_run_that_would_hold_too_much_ends_with_advice(void **state)
{
    static const char setup[] = "{\"feeds\":[\"n\",\"k\"],\"fetches\":[\"y\",\"z\"]}";
    Cluster cluster = {0};
    char path[PARTIAL_RUN_PATH_SIZE];
    (void)state;
    start_small(&cluster);
    partial_run_begun(&cluster, setup, path);
    partial_run_expect(&cluster, path, "{\"feeds\":{\"n\":600000}}", 200, NULL);
    AWAIT(cluster_metric(&cluster, HELD) == 600000 * sizeof(int32_t) + STREAM_ROOM);
    partial_run_expect(&cluster, path, "{\"feeds\":{\"k\":2},\"fetches\":[\"z\"]}", 429,
        "output 'z' of 2400000 bytes has to be whole in the gateway, and its memory for outputs has no room "
        "for "
        "that: ask for each fetch as soon as it can be computed, or raise --output-memory");
    AWAIT(cluster_metric(&cluster, HELD) == 0);

    partial_run_begun(&cluster, setup, path);
    partial_run_expect(
        &cluster, path, "{\"feeds\":{\"n\":600000},\"fetches\":[\"y\"]}", 200, ",599998,599999]}");
    partial_run_expect(
        &cluster, path, "{\"feeds\":{\"k\":2},\"fetches\":[\"z\"]}", 200, ",1199996,1199998]}");

    partial_run_begun(&cluster, setup_y, path);
    partial_run_expect(&cluster, path, "{\"feeds\":{\"n\":1100000},\"fetches\":[\"y\"]}", 400,
        "output 'y' of 4400000 bytes has to be whole in the gateway, and its memory for outputs has no room "
        "for "
        "that: fetch a smaller one, or raise --output-memory");
    AWAIT(cluster_metric(&cluster, HELD) == 0);
    cluster_stop(&cluster);
}

/* Outputs that were handed out do not count against the little that each run keeps without asking. */
static void
a_small_output_comes_while_others_wait_for_room(void **state)
{
    Cluster cluster = {0};
    char path[PARTIAL_RUN_PATH_SIZE];
    char holding[PARTIAL_RUN_PATH_SIZE];
    char waiting[PARTIAL_RUN_PATH_SIZE];
    (void)state;
    start_small(&cluster);
    partial_run_begun(&cluster, "{\"feeds\":[\"n\",\"k\"],\"fetches\":[\"y\",\"small\"]}", path);
    partial_run_expect(
        &cluster, path, "{\"feeds\":{\"n\":30000},\"fetches\":[\"y\"]}", 200, ",29998,29999]}");
    AWAIT(cluster_metric(&cluster, HELD) == 0);
    compute_unasked(&cluster, 3 * COUNT, holding);
    AWAIT(cluster_metric(&cluster, HELD) > 0);
    compute_unasked(&cluster, 3 * COUNT, waiting);
    /* This step has the only slot when the output waits. */
    cluster_expect_step(&cluster, "{\"feeds\":{\"k\":4},\"fetches\":[\"small\"]}", 200, "\"data\":[8]");
    partial_run_expect(&cluster, path, "{\"feeds\":{\"k\":3},\"fetches\":[\"small\"]}", 200, "\"data\":[6]");
    cluster_stop(&cluster);
}

static void
every_end_gives_its_memory_back(void **state)
{
    enum { LARGE = 750000 }; /* elements; one finds room, two do not */
    Cluster cluster = {0};
    char path[PARTIAL_RUN_PATH_SIZE];
    char waiting[PARTIAL_RUN_PATH_SIZE];
    AUTO_REST deleted = {0};
    AUTO_REST session = {0};
    (void)state;
    start_small(&cluster);

    compute_unasked(&cluster, COUNT, path);
    AWAIT(cluster_metric(&cluster, HELD) == HELD_OF_ONE);
    cluster_send(&cluster, "DELETE", path, NULL, &deleted);
    cluster_expect(&deleted, 204, NULL);
    AWAIT(cluster_metric(&cluster, HELD) == 0);

    /* The second expires while its output waits for room, and says so. */
    compute_unasked(&cluster, LARGE, path);
    AWAIT(cluster_metric(&cluster, HELD) > 0);
    partial_run_begun(
        &cluster, "{\"feeds\":[\"n\"],\"fetches\":[\"y\"],\"options\":{\"timeout_ms\":3000}}", waiting);
    partial_run_expect(&cluster, waiting, "{\"feeds\":{\"n\":900000},\"fetches\":[\"y\"]}", 504,
        "the partial run has expired: its gateway had no room for an output");
    AWAIT(cluster_metric(&cluster, HELD) == LARGE * sizeof(int32_t) + STREAM_ROOM);

    char target[CLUSTER_URL_SIZE];
    (void)snprintf(target, sizeof target, "/api/v1/sessions/%s", cluster.session);
    cluster_send(&cluster, "DELETE", target, NULL, &session);
    cluster_expect(&session, 204, NULL);
    AWAIT(cluster_metric(&cluster, HELD) == 0);
    cluster_stop(&cluster);
}

/* One output is kept for nobody, one is in an answer that nobody reads, and one waits for room. */
static void
a_gateway_that_ends_waits_for_no_memory(void **state)
{
    enum { FEW = 17000, MOST = 850000, BYTES = (FEW + MOST) * (int)sizeof(int32_t) + 2 * STREAM_ROOM };
    static const char *const arguments[] = {"--output-memory=8MiB", "--grace=1s", NULL};
    static const char most[] = "{\"feeds\":{\"n\":850000},\"fetches\":[\"y\"]}";
    ClusterOptions options = {.worker_count = 1, .gateway_arguments = arguments};
    Cluster cluster = {0};
    char paths[3][PARTIAL_RUN_PATH_SIZE];
    (void)state;
    assert_true(cluster_start(&cluster, &options));
    begin(&cluster);
    compute_unasked(&cluster, FEW, paths[0]);
    partial_run_begun(&cluster, setup_y, paths[1]);
    partial_run_begun(&cluster, setup_y, paths[2]);
    int unread = ask(&cluster, paths[1], most);
    await_answer(unread);
    int waiting = ask(&cluster, paths[2], most);
    cluster_expect_step(&cluster, "{\"feeds\":{\"k\":4},\"fetches\":[\"small\"]}", 200, "\"data\":[8]");
    AWAIT(cluster_metric(&cluster, HELD) == BYTES);
    assert_int_equal(process_stop(&cluster.gateway, SIGTERM), 0);
    (void)close(unread);
    (void)close(waiting);
    partial_run_await_slots(&cluster, 0);
    assert_true(cluster_restart_gateway(&cluster));
    cluster_stop(&cluster);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(an_answer_is_the_same_text_whatever_its_size),
        CLUSTER_TEST(a_client_that_does_not_read_holds_no_text),
        cmocka_unit_test(runs_of_a_tenant_keep_to_its_share),
        cmocka_unit_test(a_run_that_would_hold_too_much_ends_with_advice),
        cmocka_unit_test(a_small_output_comes_while_others_wait_for_room),
        cmocka_unit_test(every_end_gives_its_memory_back),
        cmocka_unit_test(a_gateway_that_ends_waits_for_no_memory),
    };
    return cmocka_run_group_tests_name("partial run memory", tests, NULL, NULL);
}
