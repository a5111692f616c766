/* The forms in which a step's tensors leave and enter: JSON, .npy, multipart, frames, references. */
#include <stdio.h>

#include "shared/crypto/digest.h"
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

/* --- In ------------------------------------------------------------------------------------------------- */

#define BOUNDARY "f0rm"
#define FORM "multipart/form-data; boundary=" BOUNDARY

static void
form_part(Buffer *form, const char *name, const char *type, Slice bytes)
{
    buffer_append_format(form, "--" BOUNDARY "\r\nContent-Disposition: form-data; name=\"%s\"\r\n", name);
    buffer_append_format(
        form, type == NULL ? "%s\r\n" : "Content-Type: %s\r\n\r\n", type == NULL ? "" : type);
    buffer_append_slice(form, bytes);
    buffer_append_string(form, "\r\n");
}

static void
form_end(Buffer *form)
{
    buffer_append_string(form, "--" BOUNDARY "--\r\n");
}

static void
npy_of(const float *values, size_t count, Buffer *ret_file)
{
    Call call = {0};
    AUTO_TENSOR tensor = {0};
    const Shape shape = {.rank = 1, .dims = {(int64_t)count}};
    assert_true(tensor_new(DTYPE_FLOAT32, &shape, &tensor));
    memcpy(tensor.data, values, count * sizeof *values);
    buffer_clear(ret_file);
    assert_int_equal(npy_write_header(&call, &tensor, ret_file), STATUS_OK);
    buffer_append(ret_file, tensor.data, count * sizeof *values);
}

static const float x_values[] = {1.5F, -2.0F, 3.0F};
static const float y_values[] = {10.0F, 20.0F, 0.25F};

static void
feeds_come_as_parts_of_a_form(void **state)
{
    Cluster *const cluster = *state;
    const Slice request = SLICE("{\"fetches\":[\"product\"]}");
    AUTO_BUFFER form = {0};
    AUTO_BUFFER x = {0};
    AUTO_BUFFER y = {0};
    npy_of(x_values, 3, &x);
    npy_of(y_values, 3, &y);
    begin(cluster);
    for (int order = 0; order < 2; order++) {
        AUTO_REST response = {0};
        buffer_clear(&form);
        if (order == 0) {
            form_part(&form, "request", NULL, request);
        }
        form_part(&form, "x:0", "application/x-npy", buffer_slice(&x));
        form_part(&form, "y", NULL, buffer_slice(&y));
        if (order == 1) {
            form_part(&form, "request", "application/octet-stream", request);
        }
        form_end(&form);
        send_step(cluster,
            &(StepSend){.bytes = buffer_slice(&form), .content_type = FORM, .accept = "application/x-npy"},
            &response);
        assert_http(200, &response);
        assert_npy(buffer_slice(&response.body), product_expected, 3);
    }
}

static void
json_and_parts_feed_one_step(void **state)
{
    Cluster *const cluster = *state;
    AUTO_REST response = {0};
    AUTO_BUFFER form = {0};
    AUTO_BUFFER x = {0};
    npy_of(x_values, 3, &x);
    begin(cluster);
    form_part(&form, "x", NULL, buffer_slice(&x));
    form_part(&form, "request", NULL, SLICE("{\"feeds\":{\"y\":[10,20,0.25]},\"fetches\":[\"sum\"]}"));
    form_end(&form);
    send_step(cluster,
        &(StepSend){.bytes = buffer_slice(&form), .content_type = FORM, .accept = "application/x-npy"},
        &response);
    assert_http(200, &response);
    assert_npy(buffer_slice(&response.body), sum_expected, 3);
}

static void
a_large_feed_goes_through_a_form_and_back(void **state)
{
    Cluster *const cluster = *state;
    enum { COUNT = 3 << 20 };
    float *const values = test_malloc(COUNT * sizeof *values);
    AUTO_REST response = {0};
    AUTO_BUFFER form = {0};
    AUTO_BUFFER x = {0};
    for (size_t index = 0; index < COUNT; index++) {
        values[index] = (float)index;
    }
    npy_of(values, COUNT, &x);
    begin(cluster);
    form_part(&form, "request", NULL, SLICE("{\"feeds\":{\"y\":0},\"fetches\":[\"sum\"]}"));
    form_part(&form, "x", NULL, buffer_slice(&x));
    form_end(&form);
    send_step(cluster,
        &(StepSend){.bytes = buffer_slice(&form), .content_type = FORM, .accept = "application/x-npy"},
        &response);
    assert_http(200, &response);
    assert_true(slice_equal(buffer_slice(&response.body), buffer_slice(&x)));
    test_free(values);
}

static void
what_is_wrong_with_a_form_is_said(void **state)
{
    Cluster *const cluster = *state;
#define PART(headers, body) "--" BOUNDARY "\r\n" headers "\r\n" body "\r\n"
#define NAMED(name) "Content-Disposition: form-data; name=\"" name "\"\r\n"
#define REQUEST PART(NAMED("request"), "{\"fetches\":[\"sum\"]}")
#define END "--" BOUNDARY "--\r\n"
    static const struct {
        const char *type;
        const char *body;
        const char *message;
    } cases[] = {
        {FORM, REQUEST, "byte 79, part 1: the body ends before its closing boundary"},
        {FORM, END, "the form has no part 'request'"},
        {FORM, REQUEST REQUEST END, "the form has two parts 'request'"},
        {FORM, "{}", "byte 0, part 0: the body does not begin with the boundary"},
        {FORM, PART("Content-Type: a/b\r\n", "") END, "part 1: the part has no Content-Disposition"},
        {"multipart/form-data", REQUEST END, "the Content-Type names no boundary"},
        {FORM, REQUEST PART(NAMED("x"), "nothing of numpy's") END,
            "feed 'x': the bytes are no .npy file: the magic is missing"},
        {FORM, REQUEST PART(NAMED("x") "Content-Type: image/png\r\n", "") END,
            "feed 'x': its Content-Type is 'image/png', not 'application/x-npy'"},
        {FORM, PART(NAMED("request"), "{\"fetches\":[}") END, "line 1"},
    };
    begin(cluster);
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        AUTO_REST response = {0};
        send_step(
            cluster, &(StepSend){.body = cases[index].body, .content_type = cases[index].type}, &response);
        if (response.status != 400 || strstr(rest_text(&response), cases[index].message) == NULL) {
            fail_msg("%s: %d %s", cases[index].message, response.status, rest_text(&response));
        }
    }
}

static void
a_feed_of_another_dtype_is_refused(void **state)
{
    Cluster *const cluster = *state;
    AUTO_REST response = {0};
    AUTO_BUFFER form = {0};
    AUTO_BUFFER x = {0};
    npy_of(x_values, 3, &x);
    begin(cluster);
    form_part(&form, "request", NULL, SLICE("{\"feeds\":{\"j\":[1]},\"fetches\":[\"first\"]}"));
    form_part(&form, "i", NULL, buffer_slice(&x));
    form_end(&form);
    send_step(cluster, &(StepSend){.bytes = buffer_slice(&form), .content_type = FORM}, &response);
    assert_http(400, &response);
    assert_non_null(strstr(rest_text(&response), "feed 'i': the graph takes int32 here, not float32"));
}

/* The request and `count` feeds: 1,024 is the limit step_feeds. */
static void
send_feeds(Cluster *cluster, size_t count, RestResponse *ret_response)
{
    AUTO_BUFFER form = {0};
    AUTO_BUFFER x = {0};
    npy_of(x_values, 3, &x);
    form_part(&form, "request", NULL, SLICE("{\"fetches\":[\"sum\"]}"));
    for (size_t index = 0; index < count; index++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%zu", index);
        form_part(&form, name, NULL, buffer_slice(&x));
    }
    form_end(&form);
    send_step(cluster, &(StepSend){.bytes = buffer_slice(&form), .content_type = FORM}, ret_response);
}

static void
parts_are_counted(void **state)
{
    Cluster *const cluster = *state;
    AUTO_REST most = {0};
    AUTO_REST more = {0};
    begin(cluster);
    send_feeds(cluster, 1024, &most);
    assert_http(404, &most); /* all are taken; there is no node of such a name */
    assert_non_null(strstr(rest_text(&most), "'n0'"));
    send_feeds(cluster, 1025, &more);
    assert_http(400, &more);
    assert_non_null(strstr(rest_text(&more), "more than 1025 parts: the limit step_feeds"));
}

/* The form of one feed under a boundary of its own, with the key "once". */
static int
send_once(Cluster *cluster, const char *boundary, float value)
{
    char url[CLUSTER_URL_SIZE];
    char type[128];
    static const char *const headers[] = {"Idempotency-Key: \"once\"", NULL};
    const float values[] = {value};
    AUTO_BUFFER form = {0};
    AUTO_BUFFER x = {0};
    AUTO_REST response = {0};
    npy_of(values, 1, &x);
    buffer_append_format(&form,
        "--%s\r\n" NAMED("request") "\r\n{\"feeds\":{\"y\":1},\"fetches\":[\"sum\"]}\r\n"
                                    "--%s\r\n" NAMED("x") "\r\n",
        boundary, boundary);
    buffer_append_slice(&form, buffer_slice(&x));
    buffer_append_format(&form, "\r\n--%s--\r\n", boundary);
    (void)snprintf(
        url, sizeof url, "http://%s/api/v1/sessions/%s/steps", cluster->gateway.address, cluster->session);
    (void)snprintf(type, sizeof type, "multipart/form-data; boundary=%s", boundary);
    const RestRequest request = {
        .method = "POST", .url = url, .content_type = type, .body = buffer_slice(&form), .headers = headers};
    rest_send(&request, &response);
    if (response.status != 200 && response.status != 422) {
        fail_msg("%s", rest_text(&response));
    }
    return response.status;
}

static void
an_idempotency_key_stands_for_the_parts_of_a_form(void **state)
{
    Cluster *const cluster = *state;
    begin(cluster);
    assert_int_equal(send_once(cluster, "first", 1), 200);
    assert_int_equal(send_once(cluster, "second", 1), 200);
    assert_int_equal(send_once(cluster, "first", 2), 422);
}

/* --- By reference --------------------------------------------------------------------------------------- */

static void
put_tensor(Cluster *cluster, Slice file, const char *hex, RestResponse *ret_response)
{
    char url[CLUSTER_URL_SIZE];
    const char *const headers[] = {cluster->key, NULL};
    (void)snprintf(url, sizeof url, "http://%s/api/v1/tensors/%s", cluster->gateway.address, hex);
    const RestRequest request = {
        .method = "PUT",
        .url = url,
        .content_type = "application/x-npy",
        .body = file,
        .headers = cluster->key[0] == '\0' ? NULL : headers,
    };
    rest_send(&request, ret_response);
}

static void
hex_of(Slice file, char ret_hex[SHA256_HEX_SIZE])
{
    Sha256 digest;
    sha256(file, &digest);
    sha256_to_hex(&digest, ret_hex);
}

static void
an_uploaded_tensor_feeds_by_reference(void **state)
{
    Cluster *const cluster = *state;
    char hex[SHA256_HEX_SIZE];
    char path[128];
    char body[256];
    AUTO_BUFFER x = {0};
    AUTO_REST first = {0};
    AUTO_REST again = {0};
    AUTO_REST back = {0};
    npy_of(x_values, 3, &x);
    hex_of(buffer_slice(&x), hex);
    begin(cluster);
    put_tensor(cluster, buffer_slice(&x), hex, &first);
    assert_http(201, &first);
    assert_non_null(strstr(rest_text(&first), "\"dtype\":\"float32\",\"shape\":[3],\"size\":140"));
    assert_non_null(strstr(rest_text(&first), hex));
    put_tensor(cluster, buffer_slice(&x), hex, &again);
    assert_http(200, &again);
    (void)snprintf(path, sizeof path, "/api/v1/tensors/%s", hex);
    cluster_send(cluster, "GET", path, NULL, &back);
    assert_http(200, &back);
    assert_string_equal(rest_header(&back, "Content-Type"), "application/x-npy");
    assert_true(slice_equal(buffer_slice(&back.body), buffer_slice(&x)));
    (void)snprintf(body, sizeof body,
        "{\"feeds\":{\"y\":[10,20,0.25],\"x\":{\"ref\":\"sha256:%s\"}},\"fetches\":[\"product\"]}", hex);
    for (int round = 0; round < 2; round++) {
        AUTO_REST response = {0};
        send_step(cluster, &(StepSend){.body = body, .accept = "application/x-npy"}, &response);
        assert_http(200, &response);
        assert_npy(buffer_slice(&response.body), product_expected, 3);
    }
}

static void
what_is_wrong_with_a_reference_is_said(void **state)
{
    Cluster *const cluster = *state;
    char hex[SHA256_HEX_SIZE];
    char other[SHA256_HEX_SIZE];
    char body[256];
    AUTO_BUFFER x = {0};
    AUTO_REST mismatch = {0};
    AUTO_REST name = {0};
    AUTO_REST bytes = {0};
    AUTO_REST missing = {0};
    AUTO_REST form = {0};
    npy_of(y_values, 2, &x);
    hex_of(buffer_slice(&x), hex);
    hex_of(SLICE("no npy"), other);
    begin(cluster);
    put_tensor(cluster, buffer_slice(&x), other, &mismatch);
    assert_http(400, &mismatch);
    assert_non_null(strstr(rest_text(&mismatch), hex));
    put_tensor(cluster, buffer_slice(&x), "ABC", &name);
    assert_http(400, &name);
    put_tensor(cluster, SLICE("no npy"), other, &bytes);
    assert_http(400, &bytes);
    assert_non_null(strstr(rest_text(&bytes), "no .npy file"));
    (void)snprintf(
        body, sizeof body, "{\"feeds\":{\"x\":{\"ref\":\"sha256:%s\"},\"y\":1},\"fetches\":[\"sum\"]}", hex);
    send_step(cluster, &(StepSend){.body = body}, &missing);
    assert_http(404, &missing);
    assert_non_null(strstr(rest_text(&missing), "feed 'x': "));
    send_step(cluster,
        &(StepSend){.body = "{\"feeds\":{\"x\":{\"ref\":\"md5:1\"},\"y\":1},\"fetches\":[\"sum\"]}"}, &form);
    assert_http(400, &form);
    assert_non_null(strstr(rest_text(&form), "feed 'x': the reference 'md5:1' is not 'sha256:'"));
}

/* From here on the cluster's requests are this tenant's. */
static void
become(Cluster *cluster, const char *tenant)
{
    char key[128];
    const char *const arguments[] = {"key", "create", tenant, "--database", cluster->conninfo, NULL};
    assert_int_equal(process_run("sluice-gateway", arguments, key, sizeof key), 0);
    (void)snprintf(
        cluster->key, sizeof cluster->key, "Authorization: Bearer %.*s", (int)strcspn(key, "\n"), key);
}

static int
keys_setup(void **state)
{
    static Cluster cluster;
    *state = &cluster;
    return cluster_start(&cluster, &(ClusterOptions){.worker_count = 1, .has_keys = true}) ? 0 : -1;
}

static int
keys_teardown(void **state)
{
    cluster_stop(*state);
    return 0;
}

static void
another_tenants_tensor_is_not_there(void **state)
{
    Cluster *const cluster = *state;
    static const char *const tenants[] = {"one", "two"};
    char hex[SHA256_HEX_SIZE];
    char path[128];
    char body[256];
    AUTO_BUFFER x = {0};
    npy_of(x_values, 3, &x);
    hex_of(buffer_slice(&x), hex);
    (void)snprintf(path, sizeof path, "/api/v1/tensors/%s", hex);
    (void)snprintf(
        body, sizeof body, "{\"feeds\":{\"x\":{\"ref\":\"sha256:%s\"},\"y\":1},\"fetches\":[\"sum\"]}", hex);
    for (size_t index = 0; index < COUNT_OF(tenants); index++) {
        AUTO_REST get = {0};
        AUTO_REST step = {0};
        become(cluster, tenants[index]);
        begin(cluster);
        if (index == 0) {
            AUTO_REST put = {0};
            put_tensor(cluster, buffer_slice(&x), hex, &put);
            assert_http(201, &put);
        }
        cluster_send(cluster, "GET", path, NULL, &get);
        cluster_step(cluster, body, &step);
        assert_http(index == 0 ? 200 : 404, &get);
        assert_http(index == 0 ? 200 : 404, &step);
    }
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
        cmocka_unit_test(feeds_come_as_parts_of_a_form),
        cmocka_unit_test(json_and_parts_feed_one_step),
        cmocka_unit_test(a_large_feed_goes_through_a_form_and_back),
        cmocka_unit_test(what_is_wrong_with_a_form_is_said),
        cmocka_unit_test(a_feed_of_another_dtype_is_refused),
        cmocka_unit_test(parts_are_counted),
        cmocka_unit_test(an_idempotency_key_stands_for_the_parts_of_a_form),
        cmocka_unit_test(an_uploaded_tensor_feeds_by_reference),
        cmocka_unit_test(what_is_wrong_with_a_reference_is_said),
        cmocka_unit_test_setup_teardown(another_tenants_tensor_is_not_there, keys_setup, keys_teardown),
    };
    return cmocka_run_group_tests_name("results", tests, cluster_setup, cluster_teardown);
}
