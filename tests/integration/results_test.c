/* The forms in which a step's tensors leave and enter: JSON, .npy, multipart, frames, references. */
#include <stdio.h>

#include "shared/tensor/npy.h"
#include "shared/wire/frame.h"
#include "tests/support/call_fixture.h"
#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"

#define assert_http(expected, response)                                                                      \
    do {                                                                                                     \
        if ((response)->status != (expected)) {                                                              \
            fail_msg("status %d, not %d: %s", (response)->status, (expected), rest_text(response));          \
        }                                                                                                    \
    } while (0)

/* CURLE_PARTIAL_FILE and CURLE_RECV_ERROR: how libcurl calls a chunked body without its last chunk. */
static bool
is_cut(const RestResponse *response)
{
    return response->curl_code == 18 || response->curl_code == 56;
}

#define PLACEHOLDER(name, type)                                                                              \
    "{\"name\":\"" name "\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"" type "\"}}}"
#define NODE(name, op, inputs, type)                                                                         \
    "{\"name\":\"" name "\",\"op\":\"" op "\",\"input\":[" inputs "],\"attr\":{\"T\":{\"type\":\"" type      \
    "\"}}}"

/* sum = x + y, product = x * sum; words passes strings; quotient fails when y is 0, long after sum. */
static const char graph[] = "{\"node\":[" PLACEHOLDER("x", "DT_FLOAT") "," PLACEHOLDER(
    "y", "DT_FLOAT") "," PLACEHOLDER("i", "DT_INT32") "," PLACEHOLDER("j", "DT_INT32") "," PLACEHOLDER("s",
    "DT_STRING") "," NODE("sum", "Add", "\"x\",\"y\"", "DT_FLOAT") "," NODE("product", "Mul", "\"x\",\"sum\"",
    "DT_FLOAT") "," NODE("words", "Identity", "\"s\"", "DT_STRING") "," NODE("i2", "Identity", "\"i\"",
    "DT_INT32") "," NODE("first", "Add", "\"i\",\"j\"", "DT_INT32") "," NODE("late", "Identity",
    "\"j\",\"^first\"", "DT_INT32") "," NODE("later", "Identity", "\"late\"", "DT_INT32") "," NODE("quotient",
    "FloorDiv", "\"i2\",\"later\"", "DT_INT32") "]}";

static void
begin(Cluster *cluster)
{
    cluster_session(cluster, "{}");
    cluster_graph(cluster, graph);
}

typedef struct StepSend {
    const char *body;
    const char *accept; /* NULL: none */
    const char *content_type;
    Slice bytes; /* in place of `body` */
} StepSend;

static void
send_step(Cluster *cluster, const StepSend *send, RestResponse *ret_response)
{
    char url[CLUSTER_URL_SIZE];
    char accept[128];
    const char *const headers[] = {accept, NULL};
    (void)snprintf(
        url, sizeof url, "http://%s/api/v1/sessions/%s/steps", cluster->gateway.address, cluster->session);
    (void)snprintf(accept, sizeof accept, "Accept: %s", send->accept == NULL ? "*/*" : send->accept);
    const RestRequest request = {
        .method = "POST",
        .url = url,
        .content_type = send->content_type,
        .body = send->body == NULL ? send->bytes : slice_from_string(send->body),
        .headers = headers,
    };
    rest_send(&request, ret_response);
}

/* --- Reading replies ------------------------------------------------------------------------------------ */

typedef struct Part {
    Slice headers;
    Slice body;
} Part;

enum { PARTS_MAX = 8 };

static Slice
find(Slice bytes, Slice wanted)
{
    const char *const found =
        bytes.size == 0 ? NULL : memmem(bytes.data, bytes.size, wanted.data, wanted.size);
    return found == NULL ? (Slice){0} : slice_part(bytes, (size_t)(found - bytes.data), bytes.size);
}

/* Splits a multipart body as a reader does that knows nothing of sizes. */
static size_t
split_parts(RestResponse *response, Part parts[PARTS_MAX])
{
    char delimiter[128] = "\r\n--";
    const char *const boundary = strstr(rest_header(response, "Content-Type"), "boundary=");
    assert_non_null(boundary);
    (void)snprintf(delimiter + 4, sizeof delimiter - 4, "%s", boundary + strlen("boundary="));
    const Slice line = slice_from_string(delimiter);
    Slice rest = buffer_slice(&response->body);
    size_t count = 0;
    assert_true(slice_starts_with(rest, slice_part(line, 2, line.size)));
    rest = slice_part(rest, line.size - 2, rest.size);
    while (slice_starts_with(rest, SLICE("\r\n"))) {
        const Slice behind = find(rest, line);
        const Slice whole = slice_part(rest, 0, rest.size - behind.size);
        const Slice body = find(whole, SLICE("\r\n\r\n"));
        assert_non_null(behind.data);
        assert_non_null(body.data);
        assert_true(count < PARTS_MAX);
        parts[count++] = (Part){
            .headers = slice_part(whole, 0, whole.size - body.size),
            .body = slice_part(body, 4, body.size),
        };
        rest = slice_part(behind, line.size, behind.size);
    }
    assert_true(slice_equal(rest, SLICE("--\r\n")));
    return count;
}

static bool
part_has(const Part *part, const char *text)
{
    return find(part->headers, slice_from_string(text)).data != NULL;
}

static bool
body_has(const Part *part, const char *text)
{
    return find(part->body, slice_from_string(text)).data != NULL;
}

static void
assert_npy(Slice bytes, const float *expected, size_t count)
{
    AUTO_ARENA arena = arena_new(1 << 16);
    Call call = {.arena = arena};
    AUTO_TENSOR tensor = {0};
    if (npy_read(&call, bytes, 1 << 20, &tensor) != STATUS_OK) {
        fail_msg("%s", call.error.message);
    }
    assert_int_equal(tensor_element_count(&tensor), count);
    assert_int_equal(tensor.dtype, DTYPE_FLOAT32);
    assert_memory_equal(tensor.data, expected, count * sizeof *expected);
}

/* --- Out ------------------------------------------------------------------------------------------------ */

#define FEEDS "\"feeds\":{\"x\":[1.5,-2,3],\"y\":[10,20,0.25]}"
static const float sum_expected[] = {11.5F, 18.0F, 3.25F};
static const float product_expected[] = {17.25F, -36.0F, 9.75F};

static void
every_form_gives_the_same_tensors(void **state)
{
    Cluster *const cluster = *state;
    static const char both[] = "{" FEEDS ",\"fetches\":[\"product\",\"sum\"]}";
    static const char one[] = "{" FEEDS ",\"fetches\":[\"product\"]}";
    AUTO_REST json = {0};
    AUTO_REST npy = {0};
    AUTO_REST multipart = {0};
    Part parts[PARTS_MAX];
    begin(cluster);

    send_step(cluster, &(StepSend){.body = both}, &json);
    assert_http(200, &json);
    assert_string_equal(rest_header(&json, "Content-Type"), "application/json");
    assert_string_equal(rest_header(&json, "Vary"), "Accept");
    assert_non_null(strstr(rest_text(&json),
        "\"outputs\":{\"product\":{\"dtype\":\"float32\",\"shape\":[3],\"data\":[17.25,-36,9.75]},"
        "\"sum\":{\"dtype\":\"float32\",\"shape\":[3],\"data\":[11.5,18,3.25]}}"));

    send_step(cluster, &(StepSend){.body = one, .accept = "application/x-npy"}, &npy);
    assert_http(200, &npy);
    assert_string_equal(rest_header(&npy, "Content-Type"), "application/x-npy");
    assert_string_equal(rest_header(&npy, "Content-Length"), "140");
    assert_npy(buffer_slice(&npy.body), product_expected, 3);

    send_step(cluster, &(StepSend){.body = both, .accept = "multipart/mixed"}, &multipart);
    assert_http(200, &multipart);
    assert_int_equal(multipart.curl_code, 0);
    assert_string_equal(rest_header(&multipart, "Transfer-Encoding"), "chunked");
    assert_int_equal(split_parts(&multipart, parts), 3);
    const size_t sum = part_has(&parts[0], "name=\"sum\"") ? 0 : 1;
    assert_true(part_has(&parts[sum], "Content-Type: application/x-npy\r\n"));
    assert_true(part_has(&parts[sum], "Content-Disposition: attachment; name=\"sum\"\r\n"));
    assert_true(part_has(&parts[1 - sum], "Content-Disposition: attachment; name=\"product\"\r\n"));
    assert_npy(parts[sum].body, sum_expected, 3);
    assert_true(slice_equal(parts[1 - sum].body, buffer_slice(&npy.body)));
    assert_true(part_has(&parts[2], "Content-Type: application/json"));
    assert_true(body_has(&parts[2], "\"state\":\"succeeded\""));
    assert_false(body_has(&parts[2], "outputs"));
}

static void
frames_carry_the_tensors_by_name_and_a_status(void **state)
{
    Cluster *const cluster = *state;
    AUTO_REST response = {0};
    AUTO_ARENA arena = arena_new(1 << 16);
    Call call = {.arena = arena};
    const FrameLimits limits = {.tensor_size_max = 1 << 20};
    FrameReader *const reader = frame_reader_new(&limits);
    Frame frame;
    bool is_complete = false;
    size_t tensor_count = 0;
    begin(cluster);
    send_step(cluster,
        &(StepSend){.body = "{" FEEDS ",\"fetches\":[\"sum:0\",\"product\"]}",
            .accept = "application/vnd.sluice.frames"},
        &response);
    assert_http(200, &response);
    Slice rest = buffer_slice(&response.body);
    while (frame_read(&call, reader, &rest, &frame, &is_complete) == STATUS_OK && is_complete &&
           frame.kind == FRAME_TENSOR) {
        const bool is_sum = slice_equals_string(frame.name, "sum:0");
        assert_true(is_sum || slice_equals_string(frame.name, "product"));
        assert_memory_equal(frame.tensor.data, is_sum ? sum_expected : product_expected, 12);
        tensor_unref(&frame.tensor);
        tensor_count++;
    }
    assert_int_equal(tensor_count, 2);
    assert_true(is_complete);
    assert_int_equal(frame.kind, FRAME_STATUS);
    assert_non_null(find(frame.json, SLICE("\"OK\"")).data);
    assert_int_equal(rest.size, 0);
    frame_reader_free(reader);
}

static void
the_step_is_named_before_its_body(void **state)
{
    Cluster *const cluster = *state;
    static const char *const accepts[] = {
        "application/json", "multipart/mixed", "application/x-npy", "application/vnd.sluice.frames"};
    char prefix[128];
    begin(cluster);
    (void)snprintf(prefix, sizeof prefix, "/api/v1/sessions/%s/steps/stp_", cluster->session);
    for (size_t index = 0; index < COUNT_OF(accepts); index++) {
        AUTO_REST response = {0};
        send_step(cluster, &(StepSend){.body = "{" FEEDS ",\"fetches\":[\"sum\"]}", .accept = accepts[index]},
            &response);
        assert_http(200, &response);
        const Slice location = slice_from_string(rest_header(&response, "Location"));
        assert_true(slice_starts_with(location, slice_from_string(prefix)));
    }
}

static void
strings_come_as_json_parts(void **state)
{
    Cluster *const cluster = *state;
    static const char body[] = "{\"feeds\":{\"s\":[\"one\",\"zwei\"]},\"fetches\":[\"words\"]}";
    AUTO_REST multipart = {0};
    AUTO_REST npy = {0};
    Part parts[PARTS_MAX];
    begin(cluster);
    send_step(cluster, &(StepSend){.body = body, .accept = "multipart/mixed"}, &multipart);
    assert_http(200, &multipart);
    assert_int_equal(split_parts(&multipart, parts), 2);
    assert_true(part_has(&parts[0], "Content-Type: application/json\r\n"));
    assert_true(part_has(&parts[0], "name=\"words\""));
    assert_true(slice_equal(
        parts[0].body, SLICE("{\"dtype\":\"string\",\"shape\":[2],\"data\":[\"one\",\"zwei\"]}")));
    send_step(cluster, &(StepSend){.body = body, .accept = "application/x-npy"}, &npy);
    assert_http(406, &npy);
    assert_non_null(strstr(rest_text(&npy), "a .npy file cannot hold string elements"));
}

static void
a_form_nobody_can_give_is_refused_before_the_run(void **state)
{
    Cluster *const cluster = *state;
    static const struct {
        const char *accept;
        const char *fetches;
    } cases[] = {
        {"text/html", "[\"sum\"]"},
        {"application/x-npy", "[\"sum\",\"product\"]"},
        {"application/json;q=0, multipart/*;q=0, application/vnd.sluice.frames;q=0", "[\"sum\",\"product\"]"},
    };
    begin(cluster);
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        char body[256];
        AUTO_REST response = {0};
        (void)snprintf(body, sizeof body, "{" FEEDS ",\"fetches\":%s}", cases[index].fetches);
        send_step(cluster, &(StepSend){.body = body, .accept = cases[index].accept}, &response);
        assert_http(406, &response);
        assert_string_equal(rest_header(&response, "Content-Type"), "application/problem+json");
    }
}

static const char failing[] = "{\"feeds\":{\"i\":[7],\"j\":[0]},\"fetches\":[\"quotient\",\"first\"]}";

static void
a_step_that_fails_behind_its_first_output_says_so_and_is_cut(void **state)
{
    Cluster *const cluster = *state;
    AUTO_REST response = {0};
    Part parts[PARTS_MAX];
    begin(cluster);
    send_step(cluster, &(StepSend){.body = failing, .accept = "multipart/mixed"}, &response);
    assert_http(200, &response);
    assert_true(is_cut(&response));
    assert_int_equal(split_parts(&response, parts), 2);
    assert_true(part_has(&parts[0], "name=\"first\""));
    assert_true(body_has(&parts[1], "\"state\":\"failed\""));
    assert_true(body_has(&parts[1], "\"error\":{\"code\":\"INVALID_ARGUMENT\""));
    assert_true(body_has(&parts[1], "\"node\":\"quotient\""));
}

static void
a_step_that_fails_before_any_output_is_a_problem_in_every_form(void **state)
{
    Cluster *const cluster = *state;
    static const char *const accepts[] = {
        "multipart/mixed", "application/vnd.sluice.frames", "application/x-npy", "application/json"};
    begin(cluster);
    for (size_t index = 0; index < COUNT_OF(accepts); index++) {
        AUTO_REST response = {0};
        send_step(cluster,
            &(StepSend){.body = "{\"feeds\":{\"i\":[7],\"j\":[0]},\"fetches\":[\"quotient\"]}",
                .accept = accepts[index]},
            &response);
        assert_http(400, &response);
        assert_string_equal(rest_header(&response, "Content-Type"), "application/problem+json");
        assert_non_null(strstr(rest_text(&response), "quotient"));
    }
}

static void
a_step_without_fetches_is_its_last_part(void **state)
{
    Cluster *const cluster = *state;
    AUTO_REST response = {0};
    Part parts[PARTS_MAX];
    begin(cluster);
    send_step(cluster, &(StepSend){.body = "{" FEEDS ",\"targets\":[\"sum\"]}", .accept = "multipart/mixed"},
        &response);
    assert_http(200, &response);
    assert_int_equal(split_parts(&response, parts), 1);
    assert_true(body_has(&parts[0], "\"state\":\"succeeded\""));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_gives_the_same_tensors),
        cmocka_unit_test(frames_carry_the_tensors_by_name_and_a_status),
        cmocka_unit_test(the_step_is_named_before_its_body),
        cmocka_unit_test(strings_come_as_json_parts),
        cmocka_unit_test(a_form_nobody_can_give_is_refused_before_the_run),
        cmocka_unit_test(a_step_that_fails_behind_its_first_output_says_so_and_is_cut),
        cmocka_unit_test(a_step_that_fails_before_any_output_is_a_problem_in_every_form),
        cmocka_unit_test(a_step_without_fetches_is_its_last_part),
    };
    return cmocka_run_group_tests_name("results", tests, cluster_setup, cluster_teardown);
}
