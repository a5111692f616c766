/* The forms in which a step's feeds come: parts of a multipart form, and references to tensors that were
 * uploaded. */
#include "shared/crypto/digest.h"
#include "shared/tensor/npy.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/process_memory.h"
#include "tests/support/step_forms.h"

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

/* Ends the form and sends it; the answer is the one fetch as .npy where `accept` says so. */
static void
form_send(Cluster *cluster, Buffer *form, const char *accept, RestResponse *ret_response)
{
    form_end(form);
    forms_send(cluster, &(FormSend){.bytes = buffer_slice(form), .content_type = FORM, .accept = accept},
        ret_response);
}

static void
feeds_come_as_parts_of_a_form(void **state)
{
    Cluster *cluster = *state;
    Slice request = SLICE("{\"fetches\":[\"product\"]}");
    AUTO_BUFFER form = {0};
    AUTO_BUFFER x = {0};
    AUTO_BUFFER y = {0};
    npy_of(forms_x, 3, &x);
    npy_of(forms_y, 3, &y);
    forms_begin(cluster);
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
        form_send(cluster, &form, "application/x-npy", &response);
        cluster_expect(&response, 200, NULL);
        assert_npy(buffer_slice(&response.body), forms_product, 3);
    }
}

static void
json_and_parts_feed_one_step(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST response = {0};
    AUTO_BUFFER form = {0};
    AUTO_BUFFER x = {0};
    npy_of(forms_x, 3, &x);
    forms_begin(cluster);
    form_part(&form, "x", NULL, buffer_slice(&x));
    form_part(&form, "request", NULL, SLICE("{\"feeds\":{\"y\":[10,20,0.25]},\"fetches\":[\"sum\"]}"));
    form_send(cluster, &form, "application/x-npy", &response);
    cluster_expect(&response, 200, NULL);
    assert_npy(buffer_slice(&response.body), forms_sum, 3);
}

static void
a_large_feed_goes_through_a_form_and_back(void **state)
{
    Cluster *cluster = *state;
    enum { COUNT = 3 << 20 };
    float *values = test_malloc(COUNT * sizeof *values);
    AUTO_REST response = {0};
    AUTO_BUFFER form = {0};
    AUTO_BUFFER x = {0};
    for (size_t index = 0; index < COUNT; index++) {
        values[index] = (float)index;
    }
    npy_of(values, COUNT, &x);
    forms_begin(cluster);
    form_part(&form, "request", NULL, SLICE("{\"feeds\":{\"y\":0},\"fetches\":[\"sum\"]}"));
    form_part(&form, "x", NULL, buffer_slice(&x));
    form_send(cluster, &form, "application/x-npy", &response);
    cluster_expect(&response, 200, NULL);
    assert_true(slice_equal(buffer_slice(&response.body), buffer_slice(&x)));
    test_free(values);
}

static void
what_is_wrong_with_a_form_is_said(void **state)
{
    Cluster *cluster = *state;
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
            "feed 'x': its Content-Type is 'image/png', not 'application/x-npy'; "
            "the JSON of the step is the part 'request'"},
        {FORM, PART(NAMED("request"), "{\"fetches\":[}") END, "line 1"},
    };
    forms_begin(cluster);
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        AUTO_REST response = {0};
        forms_send(
            cluster, &(FormSend){.body = cases[index].body, .content_type = cases[index].type}, &response);
        if (response.status != 400 || strstr(rest_text(&response), cases[index].message) == NULL) {
            fail_msg("%s: %d %s", cases[index].message, response.status, rest_text(&response));
        }
    }
}

static void
a_feed_of_another_dtype_is_refused(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST response = {0};
    AUTO_BUFFER form = {0};
    AUTO_BUFFER x = {0};
    npy_of(forms_x, 3, &x);
    forms_begin(cluster);
    form_part(&form, "request", NULL, SLICE("{\"feeds\":{\"j\":[1]},\"fetches\":[\"first\"]}"));
    form_part(&form, "i", NULL, buffer_slice(&x));
    form_send(cluster, &form, NULL, &response);
    cluster_expect(&response, 400, "feed 'i': the graph takes int32 here, not float32");
}

/* Sends a form with the request and `count` feeds. The limit step_feeds is 1,024. */
static void
send_feeds(Cluster *cluster, size_t count, RestResponse *ret_response)
{
    AUTO_BUFFER form = {0};
    AUTO_BUFFER x = {0};
    npy_of(forms_x, 3, &x);
    form_part(&form, "request", NULL, SLICE("{\"fetches\":[\"sum\"]}"));
    for (size_t index = 0; index < count; index++) {
        char name[16];
        (void)snprintf(name, sizeof name, "n%zu", index);
        form_part(&form, name, NULL, buffer_slice(&x));
    }
    form_send(cluster, &form, NULL, ret_response);
}

static void
parts_are_counted(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST most = {0};
    AUTO_REST more = {0};
    forms_begin(cluster);
    send_feeds(cluster, 1024, &most);
    cluster_expect(&most, 404, NULL); /* all feeds are taken; there is no node of that name */
    assert_non_null(strstr(rest_text(&most), "'n0'"));
    send_feeds(cluster, 1025, &more);
    cluster_expect(&more, 400, "more than 1025 parts: the limit step_feeds");
}

/* Sends a form with one feed under a boundary of its own and the key "once"; returns the status. */
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
    RestRequest request = {
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
    Cluster *cluster = *state;
    forms_begin(cluster);
    assert_int_equal(send_once(cluster, "first", 1), 200);
    assert_int_equal(send_once(cluster, "second", 1), 200);
    assert_int_equal(send_once(cluster, "first", 2), 422);
}

static void
put_tensor(Cluster *cluster, Slice file, const char *hex, RestResponse *ret_response)
{
    char url[CLUSTER_URL_SIZE];
    const char *const headers[] = {cluster->key, NULL};
    (void)snprintf(url, sizeof url, "http://%s/api/v1/tensors/%s", cluster->gateway.address, hex);
    RestRequest request = {
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
    Cluster *cluster = *state;
    char hex[SHA256_HEX_SIZE];
    char path[128];
    char body[256];
    AUTO_BUFFER x = {0};
    AUTO_REST first = {0};
    AUTO_REST again = {0};
    AUTO_REST back = {0};
    npy_of(forms_x, 3, &x);
    hex_of(buffer_slice(&x), hex);
    forms_begin(cluster);
    put_tensor(cluster, buffer_slice(&x), hex, &first);
    cluster_expect(&first, 201, "\"dtype\":\"float32\",\"shape\":[3],\"size\":140");
    assert_non_null(strstr(rest_text(&first), hex));
    put_tensor(cluster, buffer_slice(&x), hex, &again);
    cluster_expect(&again, 200, NULL);
    (void)snprintf(path, sizeof path, "/api/v1/tensors/%s", hex);
    cluster_send(cluster, "GET", path, NULL, &back);
    cluster_expect(&back, 200, NULL);
    assert_string_equal(rest_header(&back, "Content-Type"), "application/x-npy");
    assert_true(slice_equal(buffer_slice(&back.body), buffer_slice(&x)));
    (void)snprintf(body, sizeof body,
        "{\"feeds\":{\"y\":[10,20,0.25],\"x\":{\"ref\":\"sha256:%s\"}},\"fetches\":[\"product\"]}", hex);
    for (int round = 0; round < 2; round++) {
        AUTO_REST response = {0};
        forms_send(cluster, &(FormSend){.body = body, .accept = "application/x-npy"}, &response);
        cluster_expect(&response, 200, NULL);
        assert_npy(buffer_slice(&response.body), forms_product, 3);
    }
}

/* A tensor that was uploaded once may be named many times: each use counts. */
static void
feeds_by_reference_have_a_bound_together(void **state)
{
    static const char *const arguments[] = {"--limit", "step_body_bytes=1500", NULL};
    static const float numbers[200];
    Cluster cluster;
    char hex[SHA256_HEX_SIZE];
    char body[512];
    AUTO_BUFFER file = {0};
    AUTO_REST put = {0};
    AUTO_REST one = {0};
    AUTO_REST two = {0};
    (void)state;
    assert_true(
        cluster_start(&cluster, &(ClusterOptions){.worker_count = 1, .gateway_arguments = arguments}));
    forms_begin(&cluster);
    npy_of(numbers, COUNT_OF(numbers), &file);
    hex_of(buffer_slice(&file), hex);
    put_tensor(&cluster, buffer_slice(&file), hex, &put);
    cluster_expect(&put, 201, NULL);
    (void)snprintf(body, sizeof body,
        "{\"feeds\":{\"y\":2,\"x\":{\"ref\":\"sha256:%s\"}},\"fetches\":[\"product\"]}", hex);
    cluster_step(&cluster, body, &one);
    cluster_expect(&one, 200, NULL);
    (void)snprintf(body, sizeof body,
        "{\"feeds\":{\"y\":{\"ref\":\"sha256:%s\"},\"x\":{\"ref\":\"sha256:%s\"}},\"fetches\":[\"product\"]}",
        hex, hex);
    cluster_step(&cluster, body, &two);
    cluster_expect(&two, 400, "the limit step_body_bytes is 1500 bytes: the step's feeds have more");
    cluster_stop(&cluster);
}

/* Makes a file of `count` zeros; large ones cost this process what they have bytes. */
static void
zeros_of(int64_t count, Buffer *ret_file)
{
    AUTO_ARENA arena = arena_new(1 << 20);
    Call call = {.arena = arena};
    Tensor zeros = {.dtype = DTYPE_FLOAT32, .shape = shape_vector(count)};
    assert_int_equal(npy_write_header(&call, &zeros, ret_file), STATUS_OK);
    size_t size = ret_file->size + (size_t)count * sizeof(float);
    char *all = buffer_reserve(ret_file, size - ret_file->size);
    assert_non_null(all);
    memset(all, 0, size - ret_file->size);
    ret_file->size = size;
}

static void
a_large_tensor_goes_through_the_gateway_and_is_never_whole_there(void **state)
{
    enum { COUNT = 48 << 20, GROWTH_MAX = 64 << 20 }; /* 192 MiB */
    Cluster *cluster = *state;
    char hex[SHA256_HEX_SIZE];
    char path[128];
    AUTO_BUFFER file = {0};
    AUTO_REST put = {0};
    AUTO_REST again = {0};
    AUTO_REST back = {0};
    zeros_of(COUNT, &file);
    hex_of(buffer_slice(&file), hex);
    process_forget_peak(cluster->gateway.pid);
    size_t before = process_resident(cluster->gateway.pid);
    put_tensor(cluster, buffer_slice(&file), hex, &put);
    cluster_expect(&put, 201, "\"dtype\":\"float32\",\"shape\":[50331648],\"size\":201326720");
    put_tensor(cluster, buffer_slice(&file), hex, &again);
    cluster_expect(&again, 200, NULL);
    (void)snprintf(path, sizeof path, "/api/v1/tensors/%s", hex);
    cluster_send(cluster, "GET", path, NULL, &back);
    cluster_expect(&back, 200, NULL);
    assert_int_equal(back.curl_code, 0);
    assert_true(slice_equal(buffer_slice(&back.body), buffer_slice(&file)));
    size_t grown = process_peak(cluster->gateway.pid) - before;
    if (grown > GROWTH_MAX) {
        fail_msg("the gateway grew by %zu MiB", grown >> 20);
    }
}

static void
what_is_wrong_with_a_large_tensor_is_said(void **state)
{
    enum { COUNT = 2 << 20 }; /* 8 MiB */
    Cluster *cluster = *state;
    char hex[SHA256_HEX_SIZE];
    char path[128];
    AUTO_BUFFER file = {0};
    AUTO_REST digest = {0};
    AUTO_REST magic = {0};
    AUTO_REST cut = {0};
    AUTO_REST missing = {0};
    zeros_of(COUNT, &file);
    hex_of(SLICE("another file"), hex);
    put_tensor(cluster, buffer_slice(&file), hex, &digest);
    cluster_expect(&digest, 400, "have the digest");
    (void)snprintf(path, sizeof path, "/api/v1/tensors/%s", hex);
    cluster_send(cluster, "GET", path, NULL, &missing);
    cluster_expect(&missing, 404, NULL);
    Slice without_last = slice_part(buffer_slice(&file), 0, file.size - 4);
    hex_of(without_last, hex);
    put_tensor(cluster, without_last, hex, &cut);
    cluster_expect(&cut, 400, "the .npy file has 8388604 bytes of elements");
    file.data[0] = 'X';
    hex_of(buffer_slice(&file), hex);
    put_tensor(cluster, buffer_slice(&file), hex, &magic);
    cluster_expect(&magic, 400, "the magic is missing");
}

static void
what_is_wrong_with_a_reference_is_said(void **state)
{
    Cluster *cluster = *state;
    char hex[SHA256_HEX_SIZE];
    char other[SHA256_HEX_SIZE];
    char body[256];
    AUTO_BUFFER x = {0};
    AUTO_REST mismatch = {0};
    AUTO_REST name = {0};
    AUTO_REST bytes = {0};
    AUTO_REST missing = {0};
    AUTO_REST form = {0};
    npy_of(forms_y, 2, &x);
    hex_of(buffer_slice(&x), hex);
    hex_of(SLICE("no npy"), other);
    forms_begin(cluster);
    put_tensor(cluster, buffer_slice(&x), other, &mismatch);
    cluster_expect(&mismatch, 400, hex);
    put_tensor(cluster, buffer_slice(&x), "ABC", &name);
    cluster_expect(&name, 400, NULL);
    put_tensor(cluster, SLICE("no npy"), other, &bytes);
    cluster_expect(&bytes, 400, "no .npy file");
    (void)snprintf(
        body, sizeof body, "{\"feeds\":{\"x\":{\"ref\":\"sha256:%s\"},\"y\":1},\"fetches\":[\"sum\"]}", hex);
    forms_send(cluster, &(FormSend){.body = body}, &missing);
    cluster_expect(&missing, 404, "feed 'x': ");
    forms_send(cluster,
        &(FormSend){.body = "{\"feeds\":{\"x\":{\"ref\":\"md5:1\"},\"y\":1},\"fetches\":[\"sum\"]}"}, &form);
    cluster_expect(&form, 400, "feed 'x': the reference 'md5:1' is not 'sha256:'");
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
    Cluster *cluster = *state;
    static const char *const tenants[] = {"one", "two"};
    char hex[SHA256_HEX_SIZE];
    char path[128];
    char body[256];
    AUTO_BUFFER x = {0};
    npy_of(forms_x, 3, &x);
    hex_of(buffer_slice(&x), hex);
    (void)snprintf(path, sizeof path, "/api/v1/tensors/%s", hex);
    (void)snprintf(
        body, sizeof body, "{\"feeds\":{\"x\":{\"ref\":\"sha256:%s\"},\"y\":1},\"fetches\":[\"sum\"]}", hex);
    for (size_t index = 0; index < COUNT_OF(tenants); index++) {
        AUTO_REST get = {0};
        AUTO_REST step = {0};
        cluster_make_key(cluster, tenants[index], NULL, cluster->key);
        forms_begin(cluster);
        if (index == 0) {
            AUTO_REST put = {0};
            put_tensor(cluster, buffer_slice(&x), hex, &put);
            cluster_expect(&put, 201, NULL);
        }
        cluster_send(cluster, "GET", path, NULL, &get);
        cluster_step(cluster, body, &step);
        cluster_expect(&get, index == 0 ? 200 : 404, NULL);
        cluster_expect(&step, index == 0 ? 200 : 404, NULL);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(feeds_come_as_parts_of_a_form),
        cmocka_unit_test(a_large_tensor_goes_through_the_gateway_and_is_never_whole_there),
        cmocka_unit_test(what_is_wrong_with_a_large_tensor_is_said),
        cmocka_unit_test(json_and_parts_feed_one_step),
        cmocka_unit_test(a_large_feed_goes_through_a_form_and_back),
        cmocka_unit_test(what_is_wrong_with_a_form_is_said),
        cmocka_unit_test(a_feed_of_another_dtype_is_refused),
        cmocka_unit_test(parts_are_counted),
        cmocka_unit_test(an_idempotency_key_stands_for_the_parts_of_a_form),
        cmocka_unit_test(an_uploaded_tensor_feeds_by_reference),
        cmocka_unit_test(feeds_by_reference_have_a_bound_together),
        cmocka_unit_test(what_is_wrong_with_a_reference_is_said),
        cmocka_unit_test_setup_teardown(another_tenants_tensor_is_not_there, keys_setup, keys_teardown),
    };
    return cmocka_run_group_tests_name("feeds", tests, cluster_setup, cluster_teardown);
}
