/* The sizes that a request may have: a request at the limit is served, one past it is refused. */
#include "shared/gzip/gzip.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/limit_checks.h"
#include "tests/support/raw_http.h"

static Cluster sizes;
static Cluster others; /* for limits that those of `sizes` would hide */

static char reply[RAW_REPLY_SIZE];

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
    /* The limit counts from the target to the end of the last value. */
    uint64_t padding = limit_shown(&sizes, "header_bytes") - (sizeof head - 1 - strlen("GET "));
    assert_int_equal(ask_padded(head, padding, "\r\n\r\n"), 200);
    assert_int_equal(ask_padded(head, padding + 1, "\r\n\r\n"), 431);
}

static void
limit_uri_bytes(void **state)
{
    (void)state;
    uint64_t padding = limit_shown(&sizes, "uri_bytes") - strlen("/livez?a=");
    assert_int_equal(ask_padded("GET /livez?a=", padding, " HTTP/1.1\r\nHost: x\r\n\r\n"), 200);
    assert_int_equal(ask_padded("GET /livez?a=", padding + 1, " HTTP/1.1\r\nHost: x\r\n\r\n"), 414);
}

static void
limit_json_body_bytes(void **state)
{
    (void)state;
    AUTO_BUFFER step = {0};
    limit_pairs_create(&sizes, 1);
    limit_nested_step(&step, 0);
    limit_pad(&step, limit_shown(&sizes, "json_body_bytes"));
    limit_expect(&sizes, limit_session_path(&sizes, "steps"), buffer_slice(&step), NULL, 200);
    buffer_append_byte(&step, ' ');
    limit_expect(&sizes, limit_session_path(&sizes, "steps"), buffer_slice(&step), NULL, 413);
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
    limit_nested_step(&form, 0);
    limit_pad(&form, size - strlen(tail));
    buffer_append_string(&form, tail);
    (void)snprintf(
        url, sizeof url, "http://%s%s", sizes.gateway.address, limit_session_path(&sizes, "steps"));
    RestRequest request = {
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
    uint64_t size = limit_shown(&sizes, "step_body_bytes");
    limit_pairs_create(&sizes, 1);
    assert_int_equal(send_form(size), 200);
    assert_int_equal(send_form(size + 1), 413);
}

static void
limit_graph_body_bytes(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    cluster_session(&sizes, "{}");
    limit_placeholders(&graph, 1);
    limit_pad(&graph, limit_shown(&sizes, "graph_body_bytes"));
    limit_expect(&sizes, limit_session_path(&sizes, "graphs"), buffer_slice(&graph), NULL, 201);
    buffer_append_byte(&graph, ' ');
    limit_expect(&sizes, limit_session_path(&sizes, "graphs"), buffer_slice(&graph), NULL, 413);
}

static void
all_versions_of_a_graph_have_twice_the_bytes_of_one(void **state)
{
    (void)state;
    uint64_t size = limit_shown(&sizes, "graph_body_bytes");
    AUTO_BUFFER base = {0};
    AUTO_BUFFER added = {0};
    cluster_session(&sizes, "{}");
    limit_placeholders(&base, 1);
    limit_pad(&base, size);
    cluster_graph(&sizes, buffer_string(&base));
    buffer_append_string(&added, "{\"node\":[{\"name\":\"a\",\"op\":\"NoOp\"}]}");
    limit_pad(&added, size);
    limit_extend(&sizes, buffer_string(&added), 201);
    limit_extend(&sizes, "{\"node\":[{\"name\":\"b\",\"op\":\"NoOp\"}]}", 413);
}

static void
limit_blob_bytes(void **state)
{
    (void)state;
    AUTO_BUFFER graph = {0};
    cluster_session(&others, "{}");
    limit_placeholders(&graph, 1);
    limit_pad(&graph, limit_shown(&others, "blob_bytes"));
    limit_expect(&others, limit_session_path(&others, "graphs"), buffer_slice(&graph), NULL, 201);
    buffer_append_byte(&graph, ' ');
    limit_expect(&others, limit_session_path(&others, "graphs"), buffer_slice(&graph), NULL, 413);
}

/* Blanks make the document long: they are allowed in JSON, and compress well. */
static void
limit_inflated_ratio(void **state)
{
    (void)state;
    uint64_t ratio = limit_shown(&sizes, "inflated_ratio");
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
    limit_expect(&sizes, "/api/v1/sessions", buffer_slice(&last), "Content-Encoding: gzip", 201);
    limit_expect(&sizes, "/api/v1/sessions", buffer_slice(&packed), "Content-Encoding: gzip", 413);
}

static void
assert_nested_step(uint64_t depth, int expected)
{
    AUTO_BUFFER step = {0};
    limit_nested_step(&step, depth);
    limit_expect(&sizes, limit_session_path(&sizes, "steps"), buffer_slice(&step), NULL, expected);
}

static void
limit_json_depth(void **state)
{
    (void)state;
    /* The body and "feeds" take two levels, arrays the others. */
    uint64_t arrays = limit_shown(&sizes, "json_depth") - 2;
    assert_true(arrays <= limit_shown(&sizes, "tensor_rank"));
    limit_pairs_create(&sizes, 1);
    assert_nested_step(arrays, 200);
    assert_nested_step(arrays + 1, 400);
}

static void
limit_tensor_rank(void **state)
{
    (void)state;
    uint64_t rank = limit_shown(&others, "tensor_rank");
    AUTO_BUFFER last = {0};
    AUTO_BUFFER over = {0};
    limit_pairs_create(&others, 1);
    limit_nested_step(&last, rank);
    limit_nested_step(&over, rank + 1);
    limit_expect(&others, limit_session_path(&others, "steps"), buffer_slice(&last), NULL, 200);
    limit_expect(&others, limit_session_path(&others, "steps"), buffer_slice(&over), NULL, 400);
}

/* Sends a step with this many numbers twice under one key; fails unless the second answer has the outputs,
 * or has not. */
static void
assert_kept_answer(uint64_t count, bool has_outputs)
{
    static int number;
    char key[64];
    AUTO_BUFFER step = {0};
    AUTO_REST first = {0};
    AUTO_REST second = {0};
    limit_pairs_create(&sizes, 1);
    (void)snprintf(key, sizeof key, "Idempotency-Key: answer-%d", number++);
    buffer_append_string(&step, "{\"feeds\":{\"p0\":[7");
    for (uint64_t index = 1; index < count; index++) {
        buffer_append_string(&step, ",7");
    }
    buffer_append_string(&step, "]},\"fetches\":[\"y0\"]}");
    limit_send(&sizes, limit_session_path(&sizes, "steps"), buffer_slice(&step), key, &first);
    cluster_expect(&first, 200, "\"data\":[7,7");
    limit_send(&sizes, limit_session_path(&sizes, "steps"), buffer_slice(&step), key, &second);
    cluster_expect(&second, 200, has_outputs ? "\"data\":[7,7" : "\"state\":\"succeeded\"");
    assert_string_equal(rest_header(&second, "Idempotent-Replayed"), "true");
    assert_int_equal(strstr(rest_text(&second), "outputs") != NULL, has_outputs);
}

/* An answer's size is that of its bytes in memory (4 a number) and of its text (2 a number); the text
 * around the numbers has some hundred bytes. */
static void
limit_idempotency_answer_bytes(void **state)
{
    (void)state;
    uint64_t size = limit_shown(&sizes, "idempotency_answer_bytes");
    assert_kept_answer(2, true);
    assert_kept_answer(size / sizeof(float), false);
    assert_kept_answer(size / sizeof(float) + 1, false);
}

static const char *const small_sizes[] = {"--limit",
    "header_bytes=1000,uri_bytes=400,json_depth=8,json_body_bytes=2000,graph_body_bytes=3000,"
    "step_body_bytes=1500,inflated_ratio=10,idempotency_answer_bytes=600",
    NULL};
static const char *const other_sizes[] = {"--limit", "blob_bytes=2500,tensor_rank=5", NULL};

static int
set_up(void **state)
{
    (void)state;
    bool is_up =
        cluster_start(&sizes, &(ClusterOptions){.worker_count = 1, .gateway_arguments = small_sizes}) &&
        cluster_start(&others, &(ClusterOptions){.worker_count = 1, .gateway_arguments = other_sizes});
    return is_up ? 0 : -1;
}

static int
tear_down(void **state)
{
    (void)state;
    cluster_stop(&sizes);
    cluster_stop(&others);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit_header_bytes),
        cmocka_unit_test(limit_uri_bytes),
        cmocka_unit_test(limit_json_body_bytes),
        cmocka_unit_test(limit_step_body_bytes),
        cmocka_unit_test(limit_graph_body_bytes),
        cmocka_unit_test(all_versions_of_a_graph_have_twice_the_bytes_of_one),
        cmocka_unit_test(limit_blob_bytes),
        cmocka_unit_test(limit_inflated_ratio),
        cmocka_unit_test(limit_json_depth),
        cmocka_unit_test(limit_tensor_rank),
        cmocka_unit_test(limit_idempotency_answer_bytes),
    };
    return cmocka_run_group_tests_name("limits of sizes", tests, set_up, tear_down);
}
