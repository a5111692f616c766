/* The forms in which a step's tensors leave: JSON, .npy, multipart, frames. */
#include "shared/wire/frame.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/step_forms.h"

/* libcurl's code for a chunked body without its last chunk is CURLE_PARTIAL_FILE or CURLE_RECV_ERROR. */
static bool
is_cut(const RestResponse *response)
{
    return response->curl_code == 18 || response->curl_code == 56;
}

typedef struct Part {
    Slice headers;
    Slice body;
} Part;

enum { PARTS_MAX = 8 };

static Slice
find(Slice bytes, Slice wanted)
{
    const char *found = bytes.size == 0 ? NULL : memmem(bytes.data, bytes.size, wanted.data, wanted.size);
    return found == NULL ? (Slice){0} : slice_part(bytes, (size_t)(found - bytes.data), bytes.size);
}

/* Splits a multipart body by its boundary alone, as a reader does that knows no sizes; returns the count. */
static size_t
split_parts(RestResponse *response, Part parts[PARTS_MAX])
{
    char delimiter[128] = "\r\n--";
    const char *boundary = strstr(rest_header(response, "Content-Type"), "boundary=");
    assert_non_null(boundary);
    (void)snprintf(delimiter + 4, sizeof delimiter - 4, "%s", boundary + strlen("boundary="));
    Slice line = slice_from_string(delimiter);
    Slice rest = buffer_slice(&response->body);
    size_t count = 0;
    assert_true(slice_starts_with(rest, slice_part(line, 2, line.size)));
    rest = slice_part(rest, line.size - 2, rest.size);
    while (slice_starts_with(rest, SLICE("\r\n"))) {
        Slice behind = find(rest, line);
        Slice whole = slice_part(rest, 0, rest.size - behind.size);
        Slice body = find(whole, SLICE("\r\n\r\n"));
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
every_form_gives_the_same_tensors(void **state)
{
    Cluster *cluster = *state;
    static const char both[] = "{" FORMS_FEEDS ",\"fetches\":[\"product\",\"sum\"]}";
    static const char one[] = "{" FORMS_FEEDS ",\"fetches\":[\"product\"]}";
    AUTO_REST json = {0};
    AUTO_REST npy = {0};
    AUTO_REST multipart = {0};
    Part parts[PARTS_MAX];
    forms_begin(cluster);

    forms_send(cluster, &(FormSend){.body = both}, &json);
    cluster_expect(&json, 200, NULL);
    assert_string_equal(rest_header(&json, "Content-Type"), "application/json");
    assert_string_equal(rest_header(&json, "Vary"), "Accept");
    assert_non_null(strstr(rest_text(&json),
        "\"outputs\":{\"product\":{\"dtype\":\"float32\",\"shape\":[3],\"data\":[17.25,-36,9.75]},"
        "\"sum\":{\"dtype\":\"float32\",\"shape\":[3],\"data\":[11.5,18,3.25]}}"));

    forms_send(cluster, &(FormSend){.body = one, .accept = "application/x-npy"}, &npy);
    cluster_expect(&npy, 200, NULL);
    assert_string_equal(rest_header(&npy, "Content-Type"), "application/x-npy");
    assert_string_equal(rest_header(&npy, "Content-Length"), "140");
    assert_npy(buffer_slice(&npy.body), forms_product, 3);

    forms_send(cluster, &(FormSend){.body = both, .accept = "multipart/mixed"}, &multipart);
    cluster_expect(&multipart, 200, NULL);
    assert_int_equal(multipart.curl_code, 0);
    assert_int_equal(strtoull(rest_header(&multipart, "Content-Length"), NULL, 10), multipart.body.size);
    assert_int_equal(split_parts(&multipart, parts), 3);
    size_t sum = part_has(&parts[0], "name=\"sum\"") ? 0 : 1;
    assert_true(part_has(&parts[sum], "Content-Type: application/x-npy\r\n"));
    assert_true(part_has(&parts[sum], "Content-Disposition: attachment; name=\"sum\"\r\n"));
    assert_true(part_has(&parts[1 - sum], "Content-Disposition: attachment; name=\"product\"\r\n"));
    assert_npy(parts[sum].body, forms_sum, 3);
    assert_true(slice_equal(parts[1 - sum].body, buffer_slice(&npy.body)));
    assert_true(part_has(&parts[2], "Content-Type: application/json"));
    assert_true(body_has(&parts[2], "\"state\":\"succeeded\""));
    assert_false(body_has(&parts[2], "outputs"));
}

static void
frames_carry_the_tensors_by_name_and_a_status(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST response = {0};
    AUTO_ARENA arena = arena_new(1 << 16);
    Call call = {.arena = arena};
    FrameLimits limits = {.tensor_size_max = 1 << 20};
    FrameReader *reader = frame_reader_new(&limits);
    Frame frame;
    bool is_complete = false;
    size_t tensor_count = 0;
    forms_begin(cluster);
    forms_send(cluster,
        &(FormSend){.body = "{" FORMS_FEEDS ",\"fetches\":[\"sum:0\",\"product\"]}",
            .accept = "application/vnd.sluice.frames"},
        &response);
    cluster_expect(&response, 200, NULL);
    Slice rest = buffer_slice(&response.body);
    while (frame_read(&call, reader, &rest, &frame, &is_complete) == STATUS_OK && is_complete &&
           frame.kind == FRAME_TENSOR) {
        bool is_sum = slice_equals_string(frame.name, "sum:0");
        assert_true(is_sum || slice_equals_string(frame.name, "product"));
        assert_memory_equal(frame.tensor.data, is_sum ? forms_sum : forms_product, 12);
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
    Cluster *cluster = *state;
    static const char *const accepts[] = {
        "application/json", "multipart/mixed", "application/x-npy", "application/vnd.sluice.frames"};
    char prefix[128];
    forms_begin(cluster);
    (void)snprintf(prefix, sizeof prefix, "/api/v1/sessions/%s/steps/stp_", cluster->session);
    for (size_t index = 0; index < COUNT_OF(accepts); index++) {
        AUTO_REST response = {0};
        forms_send(cluster,
            &(FormSend){.body = "{" FORMS_FEEDS ",\"fetches\":[\"sum\"]}", .accept = accepts[index]},
            &response);
        cluster_expect(&response, 200, NULL);
        Slice location = slice_from_string(rest_header(&response, "Location"));
        assert_true(slice_starts_with(location, slice_from_string(prefix)));
    }
}

static void
strings_come_as_json_parts(void **state)
{
    Cluster *cluster = *state;
    static const char body[] = "{\"feeds\":{\"s\":[\"one\",\"zwei\"]},\"fetches\":[\"words\"]}";
    AUTO_REST multipart = {0};
    AUTO_REST npy = {0};
    Part parts[PARTS_MAX];
    forms_begin(cluster);
    forms_send(cluster, &(FormSend){.body = body, .accept = "multipart/mixed"}, &multipart);
    cluster_expect(&multipart, 200, NULL);
    assert_int_equal(split_parts(&multipart, parts), 2);
    assert_true(part_has(&parts[0], "Content-Type: application/json\r\n"));
    assert_true(part_has(&parts[0], "name=\"words\""));
    assert_true(slice_equal(
        parts[0].body, SLICE("{\"dtype\":\"string\",\"shape\":[2],\"data\":[\"one\",\"zwei\"]}")));
    forms_send(cluster, &(FormSend){.body = body, .accept = "application/x-npy"}, &npy);
    cluster_expect(&npy, 406, "a .npy file cannot hold string elements");
}

static void
a_form_nobody_can_give_is_refused_before_the_run(void **state)
{
    Cluster *cluster = *state;
    static const struct {
        const char *accept;
        const char *fetches;
    } cases[] = {
        {"text/html", "[\"sum\"]"},
        {"application/x-npy", "[\"sum\",\"product\"]"},
        {"application/json;q=0, multipart/*;q=0, application/vnd.sluice.frames;q=0", "[\"sum\",\"product\"]"},
    };
    forms_begin(cluster);
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        char body[256];
        AUTO_REST response = {0};
        (void)snprintf(body, sizeof body, "{" FORMS_FEEDS ",\"fetches\":%s}", cases[index].fetches);
        forms_send(cluster, &(FormSend){.body = body, .accept = cases[index].accept}, &response);
        cluster_expect(&response, 406, NULL);
        assert_string_equal(rest_header(&response, "Content-Type"), "application/problem+json");
    }
}

static const char failing[] = "{\"feeds\":{\"i\":[7],\"j\":[0]},\"fetches\":[\"quotient\",\"first\"]}";

static void
a_step_that_fails_behind_its_first_output_says_so_and_is_cut(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST response = {0};
    Part parts[PARTS_MAX];
    forms_begin(cluster);
    forms_send(cluster, &(FormSend){.body = failing, .accept = "multipart/mixed"}, &response);
    cluster_expect(&response, 200, NULL);
    assert_true(is_cut(&response));
    assert_int_equal(split_parts(&response, parts), 2);
    assert_true(part_has(&parts[0], "name=\"first\""));
    assert_true(body_has(&parts[1], "\"state\":\"failed\""));
    assert_true(body_has(&parts[1], "\"error\":{\"code\":\"INVALID_ARGUMENT\""));
    assert_true(body_has(&parts[1], "\"node\":\"quotient\""));
}

/* The last output waits for 16 million random numbers; the first one is held for a millisecond. */
static void
small_outputs_of_a_long_step_do_not_wait_for_its_end(void **state)
{
    Cluster *cluster = *state;
    static const char body[] = "{\"feeds\":{\"i\":[4096,4096],\"j\":[1,1]},"
                               "\"fetches\":[\"extent\",\"first\",\"first:0\"]}";
    AUTO_REST response = {0};
    Part parts[PARTS_MAX];
    forms_begin(cluster);
    forms_send(cluster, &(FormSend){.body = body, .accept = "multipart/mixed"}, &response);
    cluster_expect(&response, 200, NULL);
    assert_string_equal(rest_header(&response, "Transfer-Encoding"), "chunked");
    assert_int_equal(split_parts(&response, parts), 4);
    assert_true(part_has(&parts[0], "name=\"first\"") && part_has(&parts[1], "name=\"first:0\""));
    assert_true(part_has(&parts[2], "name=\"extent\""));
    assert_true(body_has(&parts[3], "\"state\":\"succeeded\""));
}

static void
a_step_that_fails_before_any_output_is_a_problem_in_every_form(void **state)
{
    Cluster *cluster = *state;
    static const char *const accepts[] = {
        "multipart/mixed", "application/vnd.sluice.frames", "application/x-npy", "application/json"};
    forms_begin(cluster);
    for (size_t index = 0; index < COUNT_OF(accepts); index++) {
        AUTO_REST response = {0};
        forms_send(cluster,
            &(FormSend){.body = "{\"feeds\":{\"i\":[7],\"j\":[0]},\"fetches\":[\"quotient\"]}",
                .accept = accepts[index]},
            &response);
        cluster_expect(&response, 400, NULL);
        assert_string_equal(rest_header(&response, "Content-Type"), "application/problem+json");
        assert_non_null(strstr(rest_text(&response), "quotient"));
    }
}

static void
a_step_without_fetches_is_its_last_part(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST response = {0};
    Part parts[PARTS_MAX];
    forms_begin(cluster);
    forms_send(cluster,
        &(FormSend){.body = "{" FORMS_FEEDS ",\"targets\":[\"sum\"]}", .accept = "multipart/mixed"},
        &response);
    cluster_expect(&response, 200, NULL);
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
        cmocka_unit_test(small_outputs_of_a_long_step_do_not_wait_for_its_end),
        cmocka_unit_test(a_step_that_fails_before_any_output_is_a_problem_in_every_form),
        cmocka_unit_test(a_step_without_fetches_is_its_last_part),
    };
    return cmocka_run_group_tests_name("results", tests, cluster_setup, cluster_teardown);
}
