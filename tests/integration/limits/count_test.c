/* The numbers of things in a request, and of things that a tenant has: a request at the limit is served,
 * one past it is refused. */
#include <signal.h>
#include <unistd.h>

#include "shared/base/uuid.h"
#include "tests/support/await.h"
#include "tests/support/limit_checks.h"
#include "tests/support/partial_runs.h"
#include "tests/support/raw_http.h"

static Cluster counts;

static void
limit_graph_nodes(void **state)
{
    (void)state;
    uint64_t count = limit_shown(&counts, "graph_nodes");
    AUTO_BUFFER last = {0};
    AUTO_BUFFER over = {0};
    cluster_session(&counts, "{}");
    limit_placeholders(&last, count);
    limit_placeholders(&over, count + 1);
    limit_expect(&counts, limit_session_path(&counts, "graphs"), buffer_slice(&last), NULL, 201);
    limit_expect(&counts, limit_session_path(&counts, "graphs"), buffer_slice(&over), NULL, 400);
}

/* Each version adds a node; the version whose number is the limit is the last one accepted. */
static void
limit_graph_versions(void **state)
{
    (void)state;
    uint64_t count = limit_shown(&counts, "graph_versions");
    cluster_session(&counts, "{}");
    cluster_graph(&counts, "{\"node\":[{\"name\":\"n1\",\"op\":\"NoOp\"}]}");
    for (uint64_t version = 2; version <= count + 1; version++) {
        char body[64];
        (void)snprintf(body, sizeof body, "{\"node\":[{\"name\":\"n%d\",\"op\":\"NoOp\"}]}", (int)version);
        limit_extend(&counts, body, version <= count ? 201 : 400);
    }
}

static void
assert_step(uint64_t feed_count, uint64_t fetch_count, int expected)
{
    AUTO_BUFFER step = {0};
    buffer_append_string(&step, "{\"feeds\":{");
    for (uint64_t index = 0; index < feed_count; index++) {
        buffer_append_format(&step, "%s\"p%llu\":1", index == 0 ? "" : ",", (unsigned long long)index);
    }
    buffer_append_string(&step, "},\"fetches\":[");
    for (uint64_t index = 0; index < fetch_count; index++) {
        buffer_append_format(&step, "%s\"y%llu\"", index == 0 ? "" : ",", (unsigned long long)index);
    }
    buffer_append_string(&step, "]}");
    limit_expect(&counts, limit_session_path(&counts, "steps"), buffer_slice(&step), NULL, expected);
}

static void
limit_step_feeds(void **state)
{
    (void)state;
    uint64_t count = limit_shown(&counts, "step_feeds");
    limit_pairs_create(&counts, count + 1);
    assert_step(count, 1, 200);
    assert_step(count + 1, 1, 400);
}

static void
limit_step_fetches(void **state)
{
    (void)state;
    uint64_t count = limit_shown(&counts, "step_fetches");
    assert_true(count < limit_shown(&counts, "step_feeds"));
    limit_pairs_create(&counts, count + 1);
    assert_step(count + 1, count, 200);
    assert_step(count + 1, count + 1, 400);
}

static const char partial_run[] =
    "{\"feeds\":[\"p0\"],\"fetches\":[\"y0\"],\"options\":{\"timeout_ms\":30000}}";

static void
limit_partial_runs(void **state)
{
    (void)state;
    uint64_t count = limit_shown(&counts, "partial_runs");
    limit_pairs_create(&counts, 1);
    for (uint64_t index = 0; index < count; index++) {
        limit_expect(&counts, limit_session_path(&counts, "partial-runs"), SLICE(partial_run), NULL, 201);
    }
    limit_expect(&counts, limit_session_path(&counts, "partial-runs"), SLICE(partial_run), NULL, 429);
    AUTO_REST deleted = {0};
    char session[CLUSTER_URL_SIZE];
    (void)snprintf(session, sizeof session, "/api/v1/sessions/%s", counts.session);
    cluster_send(&counts, "DELETE", session, NULL, &deleted);
    cluster_expect(&deleted, 204, NULL);
}

/* Creates a partial run, feeds it this many numbers as p0 and expects this status; returns its path. */
static void
feed_partial_run(
    const char *body, uint64_t count, const char *fetches, int status, char ret_path[CLUSTER_URL_SIZE])
{
    AUTO_BUFFER stage = {0};
    cluster_partial_run(&counts, body);
    (void)snprintf(
        ret_path, CLUSTER_URL_SIZE, "%s/%s", limit_session_path(&counts, "partial-runs"), counts.partial_run);
    buffer_append_string(&stage, "{\"feeds\":{\"p0\":[1");
    for (uint64_t index = 1; index < count; index++) {
        buffer_append_string(&stage, ",1");
    }
    buffer_append_format(&stage, "]},\"fetches\":[%s]}", fetches);
    partial_run_expect(&counts, ret_path, buffer_string(&stage), status, NULL);
}

static void
end_partial_run(const char *path)
{
    AUTO_REST deleted;
    cluster_send(&counts, "DELETE", path, NULL, &deleted);
}

/* Returns whether a partial run that holds `count` numbers of a feed and as many of an output refuses one
 * more. The output comes when it has been computed: after too short a pause it does not count yet. */
static bool
is_full(uint64_t count, long pause)
{
    static const char body[] =
        "{\"feeds\":[\"p0\",\"p1\"],\"fetches\":[\"y0\",\"y1\"],\"options\":{\"timeout_ms\":30000}}";
    char path[CLUSTER_URL_SIZE];
    AUTO_REST more;
    feed_partial_run(body, count, "", 200, path);
    pause_ms(pause);
    partial_run_go_on(&counts, path, "{\"feeds\":{\"p1\":1}}", &more);
    if (more.status == 400) { /* fetching the output makes room */
        partial_run_expect(&counts, path, "{\"fetches\":[\"y0\"]}", 200, NULL);
        partial_run_expect(&counts, path, "{\"feeds\":{\"p1\":1},\"fetches\":[\"y1\"]}", 200, NULL);
    }
    end_partial_run(path);
    return more.status == 400;
}

static void
assert_full_partial_run(uint64_t count)
{
    long pause = 10;
    limit_pairs_create(&counts, 2);
    while (!is_full(count, pause)) {
        assert_true((pause *= 4) < AWAIT_MS);
    }
}

static bool
has_failed(const char *path)
{
    AUTO_REST shown;
    cluster_send(&counts, "GET", path, NULL, &shown);
    return strstr(rest_text(&shown), "RESOURCE_EXHAUSTED") != NULL;
}

/* Feeds count, and outputs that nobody has fetched. */
static void
limit_partial_run_bytes(void **state)
{
    (void)state;
    uint64_t count = limit_shown(&counts, "partial_run_bytes") / sizeof(float);
    char path[CLUSTER_URL_SIZE];
    limit_pairs_create(&counts, 1);
    feed_partial_run(partial_run, count, "\"y0\"", 200, path);
    partial_run_await_gone(&counts, path);
    feed_partial_run(partial_run, count + 1, "\"y0\"", 400, path);
    partial_run_expect_view(&counts, path, 200, "\"state\":\"open\"");
    end_partial_run(path);
    feed_partial_run(partial_run, count / 2, "", 200, path);
    AWAIT(cluster_worker_running(&counts, 0) == 0); /* the output has come */
    partial_run_expect(&counts, path, "{\"fetches\":[\"y0\"]}", 200, NULL);
    feed_partial_run(partial_run, count / 2 + 1, "", 200, path);
    AWAIT(has_failed(path));
    assert_full_partial_run(count / 2);
}

/* Sends a look-up of a step that nobody knows, about which other gateways are asked. */
static int
begin_lookup(void)
{
    char request[256];
    char step[ID_TEXT_SIZE];
    id_to_text("stp", uuid_new(), step);
    int fd = raw_open(counts.gateway.address);
    (void)snprintf(request, sizeof request,
        "GET /api/v1/sessions/%s/steps/%s HTTP/1.1\r\nHost: localhost\r\n\r\n", counts.session, step);
    raw_send_text(fd, request);
    return fd;
}

/* Sends this many look-ups at once and returns how many of them are refused. */
static int
refused_lookups(uint64_t count)
{
    enum { LOOKUPS_MAX = 8 };
    int open[LOOKUPS_MAX];
    int refused = 0;
    assert_true(count <= LOOKUPS_MAX);
    for (uint64_t index = 0; index < count; index++) {
        open[index] = begin_lookup();
    }
    for (uint64_t index = 0; index < count; index++) {
        char reply[RAW_REPLY_SIZE];
        int status = raw_reply(open[index], reply, AWAIT_MS);
        assert_true(status == 404 || status == 429);
        refused += status == 429;
        (void)close(open[index]);
    }
    return refused;
}

/* Look-ups wait only a moment for other gateways: on a busy machine the first may have ended before the last
 * one comes. */
static void
limit_step_lookups(void **state)
{
    (void)state;
    Process other; /* a gateway that is alone asks nobody */
    uint64_t count = limit_shown(&counts, "step_lookups");
    assert_true(cluster_add_gateway(&counts, &other));
    cluster_session(&counts, "{}");
    assert_int_equal(refused_lookups(count), 0);
    AWAIT(refused_lookups(count + 1) == 1);
    (void)process_stop(&other, SIGTERM);
}

/* Sets how many steps of the tenant may run. */
static void
set_running_max(int count)
{
    char update[80];
    (void)snprintf(update, sizeof update, "update sluice.quotas set running_steps_max = %d", count);
    (void)database_ask(counts.database, update);
}

/* Returns whether a step is held back by its tenant's quota: gateways hear of a new one within moments. */
static bool
is_held_back(void)
{
    AUTO_REST late = {0};
    cluster_step(
        &counts, "{\"feeds\":{\"p0\":1},\"fetches\":[\"y0\"],\"options\":{\"timeout_ms\":50}}", &late);
    return late.status == 504 && strstr(rest_text(&late), "while the step waited for a slot") != NULL;
}

/* Returns whether the record of a step that was held back says how long it waited: its whole time. */
static bool
has_recorded_wait(void)
{
    const char *count = database_ask(counts.database,
        "select count(*) from sluice.step_history where error_code = 'DEADLINE_EXCEEDED' and "
        "(stats ->> 'waited_us')::bigint >= 50000");
    return strcmp(count, "0") != 0;
}

static int
begin_step(void)
{
    static const char body[] = "{\"feeds\":{\"p0\":1},\"fetches\":[\"y0\"]}";
    char request[512];
    int fd = raw_open(counts.gateway.address);
    (void)snprintf(request, sizeof request,
        "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
        "%zu\r\n\r\n%s",
        limit_session_path(&counts, "steps"), sizeof body - 1, body);
    raw_send_text(fd, request);
    return fd;
}

/* Steps that wait while none of their tenant may run; all of them run once they may. */
static void
limit_waiting_steps(void **state)
{
    enum { WAITING_MAX = 8 };
    (void)state;
    int open[WAITING_MAX];
    uint64_t count = limit_shown(&counts, "waiting_steps");
    assert_true(count <= WAITING_MAX);
    limit_pairs_create(&counts, 1);
    set_running_max(0);
    AWAIT(is_held_back());
    AWAIT(has_recorded_wait());
    for (uint64_t index = 0; index < count; index++) {
        open[index] = begin_step();
    }
    AWAIT((uint64_t)cluster_metric(&counts, "sluice_admission_waiting") == count);
    cluster_expect_step(
        &counts, "{\"feeds\":{\"p0\":1},\"fetches\":[\"y0\"]}", 429, "the limit waiting_steps");
    set_running_max(1);
    for (uint64_t index = 0; index < count; index++) {
        char reply[RAW_REPLY_SIZE];
        assert_int_equal(raw_reply(open[index], reply, AWAIT_MS), 200);
        (void)close(open[index]);
    }
    set_running_max(64);
}

static void assert_session(Cluster *cluster, int expected, const char *format, ...) PRINTF_LIKE(3, 4);

static void
assert_session(Cluster *cluster, int expected, const char *format, ...)
{
    char body[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(body, sizeof body, format, arguments);
    va_end(arguments);
    limit_expect(cluster, "/api/v1/sessions", slice_from_string(body), NULL, expected);
}

static void
limit_session_slots(void **state)
{
    (void)state;
    unsigned count = (unsigned)limit_shown(&counts, "session_slots");
    assert_session(&counts, 201, "{\"options\":{\"slots\":%u}}", count);
    assert_session(&counts, 400, "{\"options\":{\"slots\":%u}}", count + 1);
}

static void
limit_name_bytes(void **state)
{
    (void)state;
    int size = (int)limit_shown(&counts, "name_bytes");
    assert_session(&counts, 201, "{\"name\":\"%0*d\"}", size, 0);
    assert_session(&counts, 400, "{\"name\":\"%0*d\"}", size + 1, 0);
}

static void
limit_idempotency_key_bytes(void **state)
{
    (void)state;
    int size = (int)limit_shown(&counts, "idempotency_key_bytes");
    char last[300];
    char over[300];
    (void)snprintf(last, sizeof last, "Idempotency-Key: %0*d", size, 0);
    (void)snprintf(over, sizeof over, "Idempotency-Key: %0*d", size + 1, 0);
    limit_expect(&counts, "/api/v1/sessions", SLICE("{}"), last, 201);
    limit_expect(&counts, "/api/v1/sessions", SLICE("{}"), over, 400);
}

static size_t
items_of_page(uint64_t page_size, bool *ret_has_next)
{
    char path[64];
    char token[256] = "";
    AUTO_REST page = {0};
    size_t count = 0;
    (void)snprintf(path, sizeof path, "/api/v1/sessions?page_size=%llu", (unsigned long long)page_size);
    cluster_send(&counts, "GET", path, NULL, &page);
    cluster_expect(&page, 200, NULL);
    const char *found = strstr(rest_text(&page), "\"id\":\"ses_");
    for (; found != NULL; found = strstr(found + 1, "\"id\":\"ses_")) {
        count++;
    }
    assert_true(rest_member(&page, "next_page_token", token, sizeof token));
    *ret_has_next = token[0] != '\0';
    assert_int_equal(*ret_has_next, rest_header(&page, "Link")[0] != '\0');
    return count;
}

/* A page size above the limit counts as the limit (AIP-158). */
/* Opens a stream of events, and returns the status of its head. */
static int
open_stream(int *ret_fd)
{
    char head[sizeof "HTTP/1.1 200"] = "";
    size_t size = 0;
    *ret_fd = raw_open(counts.gateway.address);
    raw_send_text(*ret_fd, "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    while (size < sizeof head - 1) {
        ssize_t got = read(*ret_fd, head + size, sizeof head - 1 - size);
        assert_true(got > 0);
        size += (size_t)got;
    }
    return atoi(head + sizeof "HTTP/1.1 " - 1);
}

static void
limit_event_streams(void **state)
{
    (void)state;
    int open[8];
    uint64_t count = limit_shown(&counts, "event_streams");
    assert_true(count < COUNT_OF(open));
    for (size_t index = 0; index <= count; index++) {
        assert_int_equal(open_stream(&open[index]), index < count ? 200 : 429);
    }
    for (size_t index = 0; index <= count; index++) {
        close(open[index]);
    }
}

static void
limit_page_size(void **state)
{
    (void)state;
    uint64_t size = limit_shown(&counts, "page_size");
    bool has_next = false;
    for (uint64_t index = 0; index < size + 1; index++) {
        assert_session(&counts, 201, "{}");
    }
    assert_int_equal(items_of_page(size, &has_next), size);
    assert_true(has_next);
    assert_int_equal(items_of_page(size + 1, &has_next), size);
    assert_true(has_next);
}

static const char *const small_counts[] = {"--limit",
    "graph_nodes=12,graph_versions=3,step_feeds=5,step_fetches=4,session_slots=3,name_bytes=20,page_size=3,"
    "partial_runs=2,step_lookups=3,waiting_steps=3,event_streams=4,partial_run_bytes=64,idempotency_key_"
    "bytes=40",
    NULL};

static int
set_up(void **state)
{
    (void)state;
    bool is_up =
        cluster_start(&counts, &(ClusterOptions){.worker_count = 1, .gateway_arguments = small_counts});
    return is_up ? 0 : -1;
}

static int
tear_down(void **state)
{
    (void)state;
    cluster_stop(&counts);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit_graph_nodes),
        cmocka_unit_test(limit_graph_versions),
        cmocka_unit_test(limit_step_feeds),
        cmocka_unit_test(limit_step_fetches),
        cmocka_unit_test(limit_step_lookups),
        cmocka_unit_test(limit_waiting_steps),
        cmocka_unit_test(limit_partial_runs),
        cmocka_unit_test(limit_partial_run_bytes),
        cmocka_unit_test(limit_session_slots),
        cmocka_unit_test(limit_name_bytes),
        cmocka_unit_test(limit_idempotency_key_bytes),
        cmocka_unit_test(limit_page_size),
        cmocka_unit_test(limit_event_streams),
    };
    return cmocka_run_group_tests_name("limits of counts", tests, set_up, tear_down);
}
