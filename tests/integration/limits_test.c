/* Every row of GET /api/v1/limits: what is at the limit is served, what is one past it is refused. Rows are
 * lowered by --limit, and the tests go by the values that the gateway shows. A row without a test fails.
 *
 * Three gateways, for some limits would hide others: one with small sizes, one with short times, one with few
 * connections. */
#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/domain/limits.h"
#include "shared/base/clock.h"
#include "shared/gzip/gzip.h"
#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/raw_http.h"

enum { TIMEOUT_MS = 8000, PAUSE_MS = 50 };

static Cluster sizes;
static Cluster times;
static Cluster few;

static char reply[RAW_REPLY_SIZE];

/* --- Helpers -------------------------------------------------------------------------------------------- */

static uint64_t
elapsed_ms(uint64_t since_ns)
{
    return (clock_monotonic_ns() - since_ns) / CLOCK_NS_PER_MS;
}

/* What the gateway shows. */
static uint64_t
shown(Cluster *cluster, const char *name)
{
    char row[128];
    uint64_t value = 0;
    AUTO_REST limits = {0};
    cluster_send(cluster, "GET", "/api/v1/limits", NULL, &limits);
    (void)snprintf(row, sizeof row, "{\"name\":\"%s\",\"value\":", name);
    const char *const found = strstr(rest_text(&limits), row);
    if (found == NULL) {
        fail_msg("the limit %s is not shown", name);
    }
    const char *const digits = found + strlen(row);
    assert_true(slice_to_uint64(slice_of(digits, strspn(digits, "0123456789")), &value));
    return value;
}

static void
send_with(Cluster *cluster, const char *path, Slice body, const char *header, RestResponse *ret_response)
{
    char url[CLUSTER_URL_SIZE];
    const char *const headers[] = {header, NULL};
    (void)snprintf(url, sizeof url, "http://%s%s", cluster->gateway.address, path);
    const RestRequest request = {.method = "POST", .url = url, .body = body, .headers = headers};
    rest_send(&request, ret_response);
}

static void
assert_post(Cluster *cluster, const char *path, Slice body, const char *header, int expected)
{
    AUTO_REST response = {0};
    send_with(cluster, path, body, header, &response);
    if (response.status != expected) {
        fail_msg("POST %s: status %d, not %d: %s", path, response.status, expected, rest_text(&response));
    }
}

/* The path of something of the cluster's session. */
static const char *
session_path(const Cluster *cluster, const char *what)
{
    static char path[CLUSTER_URL_SIZE / 2];
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/%s", cluster->session, what);
    return path;
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
    assert_post(cluster, "/api/v1/sessions", slice_from_string(body), NULL, expected);
}

/* A graph of this many placeholders p0, p1, … */
static void
placeholders(Buffer *graph, uint64_t count)
{
    buffer_append_string(graph, "{\"node\":[");
    for (uint64_t index = 0; index < count; index++) {
        buffer_append_format(graph,
            "%s{\"name\":\"p%llu\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"}}}",
            index == 0 ? "" : ",", (unsigned long long)index);
    }
    buffer_append_string(graph, "]}");
}

/* A session with a graph of this many placeholders p0, p1, … and what they feed, y0, y1, … */
static void
pairs_create(Cluster *cluster, uint64_t count)
{
    AUTO_BUFFER graph = {0};
    placeholders(&graph, count);
    graph.size -= strlen("]}");
    for (uint64_t index = 0; index < count; index++) {
        buffer_append_format(&graph,
            ",{\"name\":\"y%llu\",\"op\":\"Identity\",\"input\":[\"p%llu\"],"
            "\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}}",
            (unsigned long long)index, (unsigned long long)index);
    }
    buffer_append_string(&graph, "]}");
    cluster_session(cluster, "{}");
    cluster_graph(cluster, buffer_string(&graph));
}

static void
pad(Buffer *text, uint64_t size)
{
    while (text->size < size) {
        buffer_append_byte(text, ' ');
    }
    assert_int_equal(text->size, size);
}

/* A step that feeds p0 with a number in this many brackets and fetches y0. */
static void
nested_step(Buffer *step, uint64_t depth)
{
    buffer_append_string(step, "{\"feeds\":{\"p0\":");
    for (uint64_t level = 0; level < depth; level++) {
        buffer_append_byte(step, '[');
    }
    buffer_append_byte(step, '1');
    for (uint64_t level = 0; level < depth; level++) {
        buffer_append_byte(step, ']');
    }
    buffer_append_string(step, "},\"fetches\":[\"y0\"]}");
}

static void
assert_nested_step(uint64_t depth, int expected)
{
    AUTO_BUFFER step = {0};
    nested_step(&step, depth);
    assert_post(&sizes, session_path(&sizes, "steps"), buffer_slice(&step), NULL, expected);
}

/* --- Sizes of a request --------------------------------------------------------------------------------- */

static int
ask_padded(const char *before, uint64_t padding, const char *behind)
{
    AUTO_BUFFER request = {0};
    buffer_append_string(&request, before);
    for (uint64_t index = 0; index < padding; index++) {
        buffer_append_byte(&request, 'a');
    }
    buffer_append_string(&request, behind);
    return raw_exchange(sizes.gateway.address, request.data, request.size, reply);
}

static void
limit_header_bytes(void **state)
{
    (void)state;
    static const char head[] = "GET /livez HTTP/1.1\r\nHost: x\r\nX: ";
    /* From the target to the end of the last value. */
    const uint64_t padding = shown(&sizes, "header_bytes") - (sizeof head - 1 - strlen("GET "));
    assert_int_equal(ask_padded(head, padding, "\r\n\r\n"), 200);
    assert_int_equal(ask_padded(head, padding + 1, "\r\n\r\n"), 431);
}

static void
limit_uri_bytes(void **state)
{
    (void)state;
    const uint64_t padding = shown(&sizes, "uri_bytes") - strlen("/livez?a=");
    assert_int_equal(ask_padded("GET /livez?a=", padding, " HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
    assert_int_equal(ask_padded("GET /livez?a=", padding + 1, " HTTP/1.1\r\nHost: x\r\n\r\n"), 414);
}

static void
limit_json_body_bytes(void **state)
{
    (void)state;
    AUTO_BUFFER step = {0};
    pairs_create(&sizes, 1);
    nested_step(&step, 0);
    pad(&step, shown(&sizes, "json_body_bytes"));
    assert_post(&sizes, session_path(&sizes, "steps"), buffer_slice(&step), NULL, 200);
    buffer_append_byte(&step, ' ');
    assert_post(&sizes, session_path(&sizes, "steps"), buffer_slice(&step), NULL, 413);
}

static int
send_form(uint64_t size)
{
    static const char head[] = "--b\r\nContent-Disposition: form-data; name=\"request\"\r\n"
                               "Content-Type: application/json\r\n\r\n";
    static const char tail[] = "\r\n--b--\r\n";
    char url[CLUSTER_URL_SIZE];
    AUTO_BUFFER form = {0};
    AUTO_REST response = {0};
    buffer_append_string(&form, head);
    nested_step(&form, 0);
    pad(&form, size - strlen(tail));
    buffer_append_string(&form, tail);
    (void)snprintf(url, sizeof url, "http://%s%s", sizes.gateway.address, session_path(&sizes, "steps"));
    const RestRequest request = {
        .method = "POST",
        .url = url,
        .content_type = "multipart/form-data; boundary=b",
        .body = buffer_slice(&form),
    };
    rest_send(&request, &response);
    return response.status;
}

static void
limit_step_body_bytes(void **state)
{
    (void)state;
    const uint64_t size = shown(&sizes, "step_body_bytes");
    pairs_create(&sizes, 1);
    assert_int_equal(send_form(size), 200);
    assert_int_equal(send_form(size + 1), 413);
}

static void
limit_graph_body_bytes(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    cluster_session(&sizes, "{}");
    placeholders(&graph, 1);
    pad(&graph, shown(&sizes, "graph_body_bytes"));
    assert_post(&sizes, session_path(&sizes, "graphs"), buffer_slice(&graph), NULL, 201);
    buffer_append_byte(&graph, ' ');
    assert_post(&sizes, session_path(&sizes, "graphs"), buffer_slice(&graph), NULL, 413);
}

static void
extend(Cluster *cluster, Slice body, int expected)
{
    char path[CLUSTER_URL_SIZE / 2];
    AUTO_REST response = {0};
    (void)snprintf(
        path, sizeof path, "/api/v1/sessions/%s/graphs/%s:extend", cluster->session, cluster->graph);
    send_with(cluster, path, body, "If-Match: *", &response);
    if (response.status != expected) {
        fail_msg("%s: status %d, not %d: %s", path, response.status, expected, rest_text(&response));
    }
    (void)rest_member(&response, "id", cluster->graph, sizeof cluster->graph);
}

static void
all_versions_of_a_graph_have_twice_the_bytes_of_one(void **state)
{
    (void)state;
    const uint64_t size = shown(&sizes, "graph_body_bytes");
    AUTO_BUFFER base = {0};
    AUTO_BUFFER added = {0};
    cluster_session(&sizes, "{}");
    placeholders(&base, 1);
    pad(&base, size);
    cluster_graph(&sizes, buffer_string(&base));
    buffer_append_string(&added, "{\"node\":[{\"name\":\"a\",\"op\":\"NoOp\"}]}");
    pad(&added, size);
    extend(&sizes, buffer_slice(&added), 201);
    extend(&sizes, SLICE("{\"node\":[{\"name\":\"b\",\"op\":\"NoOp\"}]}"), 413);
}

static void
limit_blob_bytes(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    cluster_session(&times, "{}");
    placeholders(&graph, 1);
    pad(&graph, shown(&times, "blob_bytes"));
    assert_post(&times, session_path(&times, "graphs"), buffer_slice(&graph), NULL, 201);
    buffer_append_byte(&graph, ' ');
    assert_post(&times, session_path(&times, "graphs"), buffer_slice(&graph), NULL, 413);
}

/* A session's name cannot be this long; a document with spaces can. */
static void
limit_inflated_ratio(void **state)
{
    (void)state;
    const uint64_t ratio = shown(&sizes, "inflated_ratio");
    AUTO_BUFFER text = {0};
    AUTO_BUFFER packed = {0};
    AUTO_BUFFER last = {0};
    buffer_append_string(&text, "{\"name\":\"packed\"}");
    assert_true(gzip_deflate(&packed, buffer_slice(&text), GZIP_LEVEL_USUAL));
    while (text.size <= ratio * packed.size) {
        buffer_clear(&last);
        buffer_append_slice(&last, buffer_slice(&packed));
        buffer_append_byte(&text, ' ');
        buffer_clear(&packed);
        assert_true(gzip_deflate(&packed, buffer_slice(&text), GZIP_LEVEL_USUAL));
    }
    assert_post(&sizes, "/api/v1/sessions", buffer_slice(&last), "Content-Encoding: gzip", 201);
    assert_post(&sizes, "/api/v1/sessions", buffer_slice(&packed), "Content-Encoding: gzip", 413);
}

static void
limit_json_depth(void **state)
{
    (void)state;
    /* The body, "feeds", and as many arrays as are left. */
    const uint64_t arrays = shown(&sizes, "json_depth") - 2;
    assert_true(arrays <= shown(&sizes, "tensor_rank"));
    pairs_create(&sizes, 1);
    assert_nested_step(arrays, 200);
    assert_nested_step(arrays + 1, 400);
}

static void
limit_tensor_rank(void **state)
{
    (void)state;
    const uint64_t rank = shown(&times, "tensor_rank");
    AUTO_BUFFER last = {0};
    AUTO_BUFFER over = {0};
    pairs_create(&times, 1);
    nested_step(&last, rank);
    nested_step(&over, rank + 1);
    assert_post(&times, session_path(&times, "steps"), buffer_slice(&last), NULL, 200);
    assert_post(&times, session_path(&times, "steps"), buffer_slice(&over), NULL, 400);
}

/* --- Counts --------------------------------------------------------------------------------------------- */

static void
limit_graph_nodes(void **state)
{
    (void)state;
    const uint64_t count = shown(&sizes, "graph_nodes");
    AUTO_BUFFER last = {0};
    AUTO_BUFFER over = {0};
    cluster_session(&sizes, "{}");
    placeholders(&last, count);
    placeholders(&over, count + 1);
    assert_post(&sizes, session_path(&sizes, "graphs"), buffer_slice(&last), NULL, 201);
    assert_post(&sizes, session_path(&sizes, "graphs"), buffer_slice(&over), NULL, 400);
}

/* Each version adds a node; the last one that is taken is the limit's. */
static void
limit_graph_versions(void **state)
{
    (void)state;
    const uint64_t count = shown(&sizes, "graph_versions");
    cluster_session(&sizes, "{}");
    cluster_graph(&sizes, "{\"node\":[{\"name\":\"n1\",\"op\":\"NoOp\"}]}");
    for (uint64_t version = 2; version <= count + 1; version++) {
        char body[64];
        (void)snprintf(body, sizeof body, "{\"node\":[{\"name\":\"n%d\",\"op\":\"NoOp\"}]}", (int)version);
        extend(&sizes, slice_from_string(body), version <= count ? 201 : 400);
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
    assert_post(&sizes, session_path(&sizes, "steps"), buffer_slice(&step), NULL, expected);
}

static void
limit_step_feeds(void **state)
{
    (void)state;
    const uint64_t count = shown(&sizes, "step_feeds");
    pairs_create(&sizes, count + 1);
    assert_step(count, 1, 200);
    assert_step(count + 1, 1, 400);
}

static void
limit_step_fetches(void **state)
{
    (void)state;
    const uint64_t count = shown(&sizes, "step_fetches");
    assert_true(count < shown(&sizes, "step_feeds"));
    pairs_create(&sizes, count + 1);
    assert_step(count + 1, count, 200);
    assert_step(count + 1, count + 1, 400);
}

static const char partial_run[] =
    "{\"feeds\":[\"p0\"],\"fetches\":[\"y0\"],\"options\":{\"timeout_ms\":2000}}";

static void
limit_partial_runs(void **state)
{
    (void)state;
    const uint64_t count = shown(&sizes, "partial_runs");
    pairs_create(&sizes, 1);
    for (uint64_t index = 0; index < count; index++) {
        assert_post(&sizes, session_path(&sizes, "partial-runs"), SLICE(partial_run), NULL, 201);
    }
    assert_post(&sizes, session_path(&sizes, "partial-runs"), SLICE(partial_run), NULL, 429);
    AUTO_REST deleted = {0};
    char session[CLUSTER_URL_SIZE];
    (void)snprintf(session, sizeof session, "/api/v1/sessions/%s", sizes.session);
    cluster_send(&sizes, "DELETE", session, NULL, &deleted);
    assert_int_equal(deleted.status, 204);
}

/* Gives p0 this many numbers, asks for y0 or not; the run is deleted after that. */
static void
assert_partial_run(uint64_t count, const char *fetches, int expected, const char *state)
{
    char target[CLUSTER_URL_SIZE];
    char path[CLUSTER_URL_SIZE];
    AUTO_BUFFER stage = {0};
    AUTO_REST shown_run = {0};
    AUTO_REST deleted = {0};
    cluster_partial_run(&sizes, partial_run);
    (void)snprintf(path, sizeof path, "%s/%s", session_path(&sizes, "partial-runs"), sizes.partial_run);
    (void)snprintf(
        target, sizeof target, "%s/%s:continue", session_path(&sizes, "partial-runs"), sizes.partial_run);
    buffer_append_string(&stage, "{\"feeds\":{\"p0\":[1");
    for (uint64_t index = 1; index < count; index++) {
        buffer_append_string(&stage, ",1");
    }
    buffer_append_format(&stage, "]},\"fetches\":[%s]}", fetches);
    assert_post(&sizes, target, buffer_slice(&stage), NULL, expected);
    pause_ms(PAUSE_MS);
    cluster_send(&sizes, "GET", path, NULL, &shown_run);
    if (strstr(rest_text(&shown_run), state) == NULL) {
        fail_msg("%llu numbers: %s", (unsigned long long)count, rest_text(&shown_run));
    }
    cluster_send(&sizes, "DELETE", path, NULL, &deleted);
}

/* One that keeps `count` numbers of a feed and of an output takes no more; once the output has been fetched,
 * it does. */
static void
assert_full_partial_run(uint64_t count)
{
    char target[CLUSTER_URL_SIZE];
    AUTO_BUFFER stage = {0};
    pairs_create(&sizes, 2);
    cluster_partial_run(
        &sizes, "{\"feeds\":[\"p0\",\"p1\"],\"fetches\":[\"y0\",\"y1\"],\"options\":{\"timeout_ms\":4000}}");
    (void)snprintf(
        target, sizeof target, "%s/%s:continue", session_path(&sizes, "partial-runs"), sizes.partial_run);
    buffer_append_string(&stage, "{\"feeds\":{\"p0\":[1");
    for (uint64_t index = 1; index < count; index++) {
        buffer_append_string(&stage, ",1");
    }
    buffer_append_string(&stage, "]}}");
    assert_post(&sizes, target, buffer_slice(&stage), NULL, 200);
    pause_ms(PAUSE_MS);
    assert_post(&sizes, target, SLICE("{\"feeds\":{\"p1\":1}}"), NULL, 400);
    assert_post(&sizes, target, SLICE("{\"fetches\":[\"y0\"]}"), NULL, 200);
    assert_post(&sizes, target, SLICE("{\"feeds\":{\"p1\":1},\"fetches\":[\"y1\"]}"), NULL, 200);
}

/* Of feeds, and of feeds and the outputs that nobody asks for. */
static void
limit_partial_run_bytes(void **state)
{
    (void)state;
    const uint64_t count = shown(&sizes, "partial_run_bytes") / sizeof(float);
    pairs_create(&sizes, 1);
    assert_partial_run(count, "\"y0\"", 200, "does not exist");
    assert_partial_run(count + 1, "\"y0\"", 400, "\"state\":\"open\"");
    assert_partial_run(count / 2, "", 200, "\"state\":\"open\"");
    assert_partial_run(count / 2 + 1, "", 200, "RESOURCE_EXHAUSTED");
    assert_full_partial_run(count / 2);
}

static void
limit_session_slots(void **state)
{
    (void)state;
    const unsigned count = (unsigned)shown(&sizes, "session_slots");
    assert_session(&sizes, 201, "{\"options\":{\"slots\":%u}}", count);
    assert_session(&sizes, 400, "{\"options\":{\"slots\":%u}}", count + 1);
}

static void
limit_name_bytes(void **state)
{
    (void)state;
    const int size = (int)shown(&sizes, "name_bytes");
    assert_session(&sizes, 201, "{\"name\":\"%0*d\"}", size, 0);
    assert_session(&sizes, 400, "{\"name\":\"%0*d\"}", size + 1, 0);
}

static void
limit_idempotency_key_bytes(void **state)
{
    (void)state;
    const int size = (int)shown(&sizes, "idempotency_key_bytes");
    char last[300];
    char over[300];
    (void)snprintf(last, sizeof last, "Idempotency-Key: %0*d", size, 0);
    (void)snprintf(over, sizeof over, "Idempotency-Key: %0*d", size + 1, 0);
    assert_post(&sizes, "/api/v1/sessions", SLICE("{}"), last, 201);
    assert_post(&sizes, "/api/v1/sessions", SLICE("{}"), over, 400);
}

static size_t
items_of_page(uint64_t page_size, bool *ret_has_next)
{
    char path[64];
    char token[256] = "";
    AUTO_REST page = {0};
    size_t count = 0;
    (void)snprintf(path, sizeof path, "/api/v1/sessions?page_size=%llu", (unsigned long long)page_size);
    cluster_send(&sizes, "GET", path, NULL, &page);
    assert_int_equal(page.status, 200);
    const char *found = strstr(rest_text(&page), "\"id\":\"ses_");
    for (; found != NULL; found = strstr(found + 1, "\"id\":\"ses_")) {
        count++;
    }
    assert_true(rest_member(&page, "next_page_token", token, sizeof token));
    *ret_has_next = token[0] != '\0';
    assert_int_equal(*ret_has_next, rest_header(&page, "Link")[0] != '\0');
    return count;
}

/* More than the limit counts as the limit (AIP-158). */
static void
limit_page_size(void **state)
{
    (void)state;
    const uint64_t size = shown(&sizes, "page_size");
    bool has_next = false;
    for (uint64_t index = 0; index < size + 1; index++) {
        assert_session(&sizes, 201, "{}");
    }
    assert_int_equal(items_of_page(size, &has_next), size);
    assert_true(has_next);
    assert_int_equal(items_of_page(size + 1, &has_next), size);
    assert_true(has_next);
}

/* --- Times ---------------------------------------------------------------------------------------------- */

static void
assert_step_timeout(uint64_t timeout_ms, int expected)
{
    char body[128];
    (void)snprintf(body, sizeof body,
        "{\"feeds\":{\"p0\":1},\"fetches\":[\"y0\"],\"options\":{\"timeout_ms\":%llu}}",
        (unsigned long long)timeout_ms);
    assert_post(&sizes, session_path(&sizes, "steps"), slice_from_string(body), NULL, expected);
}

static void
limit_step_timeout_ms(void **state)
{
    (void)state;
    const uint64_t most_ms = shown(&sizes, "step_timeout_ms");
    pairs_create(&sizes, 1);
    assert_step_timeout(most_ms, 200);
    assert_step_timeout(most_ms + 1, 400);
}

/* A step whose worker has stopped ends when its time does, and not before. */
static void
limit_step_timeout_default_ms(void **state)
{
    (void)state;
    const uint64_t time_ms = shown(&times, "step_timeout_default_ms");
    static const char step[] = "{\"feeds\":{\"p0\":1},\"fetches\":[\"y0\"]}";
    pairs_create(&times, 1);
    assert_post(&times, session_path(&times, "steps"), slice_from_string(step), NULL, 200);
    (void)kill(times.workers[0].pid, SIGSTOP);
    const uint64_t begin_ns = clock_monotonic_ns();
    AUTO_REST response = {0};
    send_with(&times, session_path(&times, "steps"), slice_from_string(step), NULL, &response);
    const uint64_t took_ms = elapsed_ms(begin_ns);
    (void)kill(times.workers[0].pid, SIGCONT);
    assert_int_equal(response.status, 504);
    assert_in_range(took_ms, time_ms, time_ms + 1500);
}

/* A queued step too ends when its time does. */
static void
limit_queued_timeout_default_ms(void **state)
{
    (void)state;
    static const char body[] = "{\"feeds\":{\"p0\":1},\"fetches\":[\"y0\"]}";
    const uint64_t time_ms = shown(&times, "queued_timeout_default_ms");
    char path[CLUSTER_URL_SIZE / 2];
    char name[32] = "";
    AUTO_REST accepted = {0};
    pairs_create(&times, 1);
    cluster_queued_step(&times, body); /* in time */
    (void)kill(times.workers[0].pid, SIGSTOP);
    const uint64_t begin_ns = clock_monotonic_ns();
    send_with(
        &times, session_path(&times, "steps"), slice_from_string(body), "Prefer: respond-async", &accepted);
    (void)snprintf(path, sizeof path, "%s", rest_header(&accepted, "Location"));
    while (elapsed_ms(begin_ns) < TIMEOUT_MS && strcmp(name, "failed") != 0 && strcmp(name, "expired") != 0) {
        AUTO_REST step = {0};
        pause_ms(PAUSE_MS);
        cluster_send(&times, "GET", path, NULL, &step);
        (void)rest_member(&step, "state", name, sizeof name);
    }
    (void)kill(times.workers[0].pid, SIGCONT);
    assert_in_range(elapsed_ms(begin_ns), time_ms, time_ms + 3000);
}

/* Above the limit, an answer is kept back as long as at the limit. */
static void
limit_step_wait_ms(void **state)
{
    (void)state;
    static const char body[] =
        "{\"feeds\":{\"p0\":1},\"fetches\":[\"y0\"],\"options\":{\"timeout_ms\":20000}}";
    static const char *const asked[] = {"Prefer: respond-async, wait=1", "Prefer: respond-async, wait=2"};
    const uint64_t most_ms = shown(&times, "step_wait_ms");
    pairs_create(&times, 1);
    (void)kill(times.workers[0].pid, SIGSTOP);
    for (size_t index = 0; index < COUNT_OF(asked); index++) {
        AUTO_REST response = {0};
        const uint64_t begin_ns = clock_monotonic_ns();
        send_with(&times, session_path(&times, "steps"), slice_from_string(body), asked[index], &response);
        assert_in_range(elapsed_ms(begin_ns), most_ms, most_ms + 800);
        assert_int_equal(response.status, 202);
        assert_string_equal(rest_header(&response, "Preference-Applied"), "respond-async, wait=1");
    }
    (void)kill(times.workers[0].pid, SIGCONT);
}

/* Sends the text in two parts with a pause between; the status, 0 when the gateway closed instead. */
static int
ask_slowly(const char *first, long wait_ms, const char *second)
{
    const int fd = raw_open(times.gateway.address);
    raw_send_text(fd, first);
    pause_ms(wait_ms);
    raw_send_text(fd, second);
    const int status = raw_reply(fd, reply, TIMEOUT_MS);
    close(fd);
    return status;
}

static void
limit_header_timeout_ms(void **state)
{
    (void)state;
    const long time_ms = (long)shown(&times, "header_timeout_ms");
    assert_int_equal(ask_slowly("GET /livez HTTP/1.1\r\nHost: x\r\n", time_ms / 2, "\r\n"), 200);
    assert_int_not_equal(ask_slowly("GET /livez HTTP/1.1\r\nHost: x\r\n", time_ms + 300, "\r\n"), 200);
}

#define BODY_OF_600                                                                                          \
    "POST /api/v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"                        \
    "Content-Length: 600\r\n\r\n"

/* Sends the 600 bytes of a body in pieces, each after a pause. */
static int
ask_in_pieces(size_t piece_size, long wait_ms)
{
    char body[601];
    (void)snprintf(body, sizeof body, "{}%598s", "");
    const int fd = raw_open(times.gateway.address);
    raw_send_text(fd, BODY_OF_600);
    for (size_t sent = 0; sent < 600; sent += piece_size) {
        pause_ms(wait_ms);
        raw_send(fd, body + sent, piece_size);
    }
    const int status = raw_reply(fd, reply, TIMEOUT_MS);
    close(fd);
    return status;
}

static void
limit_body_grace_ms(void **state)
{
    (void)state;
    const long grace_ms = (long)shown(&times, "body_grace_ms");
    assert_int_equal(ask_in_pieces(600, grace_ms / 2), 201);
    assert_int_not_equal(ask_in_pieces(600, grace_ms + 300), 201);
}

/* Twice the rate passes, half of it does not; both take longer than the grace. */
static void
limit_body_bytes_per_second(void **state)
{
    (void)state;
    const uint64_t rate = shown(&times, "body_bytes_per_second");
    const uint64_t grace_ms = shown(&times, "body_grace_ms");
    assert_true(600 * 1000 / (2 * rate) > grace_ms);
    assert_int_equal(ask_in_pieces(60, (long)(60 * 1000 / (2 * rate))), 201);
    assert_int_not_equal(ask_in_pieces(60, (long)(60 * 1000 * 2 / rate)), 201);
}

static void
limit_idle_timeout_ms(void **state)
{
    (void)state;
    static const char request[] = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n";
    const long time_ms = (long)shown(&times, "idle_timeout_ms");
    const int fd = raw_open(times.gateway.address);
    raw_send_text(fd, request);
    assert_int_equal(raw_reply(fd, reply, TIMEOUT_MS), 200);
    pause_ms(time_ms / 2);
    raw_send_text(fd, request);
    assert_int_equal(raw_reply(fd, reply, TIMEOUT_MS), 200);
    const uint64_t begin_ns = clock_monotonic_ns();
    assert_true(raw_is_closed(fd, TIMEOUT_MS));
    assert_in_range(elapsed_ms(begin_ns), (uint64_t)time_ms - PAUSE_MS, (uint64_t)time_ms + 1500);
    close(fd);
}

/* --- Connections ---------------------------------------------------------------------------------------- */

/* From 127.0.0.`host`. */
static int
open_from(uint32_t host)
{
    const struct sockaddr_in own = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl((INADDR_LOOPBACK & 0xffffff00U) | host)};
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    uint64_t port = 0;
    assert_true(slice_to_uint64(slice_from_string(strrchr(few.gateway.address, ':') + 1), &port));
    peer.sin_port = htons((in_port_t)port);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&own, sizeof own), 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&peer, sizeof peer), 0);
    return fd;
}

static bool
is_served(int fd)
{
    raw_send_text(fd, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n");
    return raw_reply(fd, reply, TIMEOUT_MS) == 200;
}

/* Opens connections until one is not served; how many were. All are closed again. */
static uint64_t
count_served(uint32_t first_host, uint64_t hosts, uint64_t most)
{
    int connections[64];
    uint64_t count = 0;
    bool goes_on = true;
    while (goes_on && count < most) {
        connections[count] = open_from(first_host + (uint32_t)(count % hosts));
        goes_on = is_served(connections[count]);
        count++;
    }
    for (uint64_t index = 0; index < count; index++) {
        close(connections[index]);
    }
    pause_ms(PAUSE_MS); /* the gateway sees them go */
    return goes_on ? count : count - 1;
}

static void
limit_connections(void **state)
{
    (void)state;
    const uint64_t count = shown(&few, "connections");
    pause_ms(PAUSE_MS);
    assert_int_equal(count_served(10, 8, 2 * count), count);
    assert_int_equal(count_served(10, 8, 2 * count), count); /* those that have closed count no more */
}

static void
limit_connections_per_address(void **state)
{
    (void)state;
    const uint64_t count = shown(&few, "connections_per_address");
    assert_true(count < shown(&few, "connections"));
    pause_ms(PAUSE_MS);
    assert_int_equal(count_served(30, 1, 2 * count), count);
    assert_int_equal(count_served(30, 1, 2 * count), count);
}

/* --- All of them ---------------------------------------------------------------------------------------- */

#define CASES(X)                                                                                             \
    X(header_bytes)                                                                                          \
    X(uri_bytes)                                                                                             \
    X(json_depth)                                                                                            \
    X(json_body_bytes)                                                                                       \
    X(graph_body_bytes)                                                                                      \
    X(inflated_ratio)                                                                                        \
    X(graph_nodes)                                                                                           \
    X(graph_versions)                                                                                        \
    X(tensor_rank)                                                                                           \
    X(blob_bytes)                                                                                            \
    X(step_body_bytes)                                                                                       \
    X(step_feeds)                                                                                            \
    X(step_fetches)                                                                                          \
    X(partial_runs)                                                                                          \
    X(partial_run_bytes)                                                                                     \
    X(session_slots)                                                                                         \
    X(name_bytes)                                                                                            \
    X(idempotency_key_bytes)                                                                                 \
    X(page_size)                                                                                             \
    X(step_timeout_ms)                                                                                       \
    X(step_timeout_default_ms)                                                                               \
    X(queued_timeout_default_ms)                                                                             \
    X(step_wait_ms)                                                                                          \
    X(header_timeout_ms)                                                                                     \
    X(body_bytes_per_second)                                                                                 \
    X(body_grace_ms)                                                                                         \
    X(idle_timeout_ms)                                                                                       \
    X(connections)                                                                                           \
    X(connections_per_address)

#define X(name) #name,
static const char *const tested[] = {CASES(X)};
#undef X

static bool
is_tested(const char *name)
{
    for (size_t index = 0; index < COUNT_OF(tested); index++) {
        if (strcmp(tested[index], name) == 0) {
            return true;
        }
    }
    return false;
}

static void
every_limit_is_shown_and_has_a_test(void **state)
{
    (void)state;
    for (size_t index = 0; index < limit_table_count; index++) {
        const LimitField *const limit = &limit_table[index];
        if (!is_tested(limit->name)) {
            fail_msg("the limit %s has no test here", limit->name);
        }
        assert_int_not_equal(shown(&sizes, limit->name), 0);
    }
    assert_int_equal(COUNT_OF(tested), limit_table_count);
}

static const char *const small_sizes[] = {"--limit",
    "header_bytes=1000,uri_bytes=400,json_depth=8,json_body_bytes=2000,graph_body_bytes=3000,"
    "step_body_bytes=1500,inflated_ratio=10,graph_nodes=12,graph_versions=3,step_feeds=5,step_fetches=4,"
    "session_slots=3,name_"
    "bytes=20,page_size=3,partial_runs=2,partial_run_bytes=64,"
    "step_timeout_ms=9000,idempotency_key_bytes=40",
    NULL};
static const char *const short_times[] = {"--limit",
    "blob_bytes=2500,tensor_rank=5,step_timeout_default_ms=600,queued_timeout_default_ms=900,header_timeout_"
    "ms=500,"
    "step_wait_ms=1000,body_bytes_per_second=400,body_grace_ms=300,idle_timeout_ms=600",
    NULL};
static const char *const few_connections[] = {"--limit", "connections=12,connections_per_address=5", NULL};

static int
set_up(void **state)
{
    (void)state;
    const bool is_up =
        cluster_start(&sizes, &(ClusterOptions){.worker_count = 1, .gateway_arguments = small_sizes}) &&
        cluster_start(&times, &(ClusterOptions){.worker_count = 1, .gateway_arguments = short_times}) &&
        cluster_start(&few, &(ClusterOptions){.worker_count = 1, .gateway_arguments = few_connections});
    return is_up ? 0 : -1;
}

static int
tear_down(void **state)
{
    (void)state;
    cluster_stop(&sizes);
    cluster_stop(&times);
    cluster_stop(&few);
    return 0;
}

int
main(void)
{
#define X(name) cmocka_unit_test(limit_##name),
    const struct CMUnitTest tests[] = {
        CASES(X) cmocka_unit_test(all_versions_of_a_graph_have_twice_the_bytes_of_one),
        cmocka_unit_test(every_limit_is_shown_and_has_a_test),
    };
#undef X
    return cmocka_run_group_tests_name("limits", tests, set_up, tear_down);
}
