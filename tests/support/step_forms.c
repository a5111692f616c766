#include "tests/support/step_forms.h"

#include "shared/tensor/npy.h"
#include "tests/support/cmocka_all.h"

#define PLACEHOLDER(name, type)                                                                              \
    "{\"name\":\"" name "\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"" type "\"}}}"
#define NODE(name, op, inputs, type)                                                                         \
    "{\"name\":\"" name "\",\"op\":\"" op "\",\"input\":[" inputs "],\"attr\":{\"T\":{\"type\":\"" type      \
    "\"}}}"

static const char graph[] = "{\"node\":[" PLACEHOLDER("x", "DT_FLOAT") "," PLACEHOLDER(
    "y", "DT_FLOAT") "," PLACEHOLDER("i", "DT_INT32") "," PLACEHOLDER("j", "DT_INT32") "," PLACEHOLDER("s",
    "DT_STRING") "," NODE("sum", "Add", "\"x\",\"y\"", "DT_FLOAT") "," NODE("product", "Mul", "\"x\",\"sum\"",
    "DT_FLOAT") "," NODE("words", "Identity", "\"s\"", "DT_STRING") "," NODE("i2", "Identity", "\"i\"",
    "DT_INT32") "," NODE("first", "Add", "\"i\",\"j\"", "DT_INT32") "," NODE("late", "Identity",
    "\"j\",\"^first\"", "DT_INT32") "," NODE("later", "Identity", "\"late\"", "DT_INT32") "," NODE("quotient",
    "FloorDiv", "\"i2\",\"later\"", "DT_INT32") "," NODE("size", "Identity", "\"i2\",\"^later\"",
    "DT_INT32") ",{\"name\":\"noise\",\"op\":\"RandomUniform\",\"input\":[\"size\"],\"attr\":{\"T\":{"
                "\"type\":\"DT_INT32\"},"
                "\"dtype\":{\"type\":\"DT_FLOAT\"}}}," NODE("extent", "Shape", "\"noise\"", "DT_FLOAT") "]}";

const float forms_x[] = {1.5F, -2.0F, 3.0F};
const float forms_y[] = {10.0F, 20.0F, 0.25F};
const float forms_sum[] = {11.5F, 18.0F, 3.25F};
const float forms_product[] = {17.25F, -36.0F, 9.75F};

void
forms_begin(Cluster *cluster)
{
    cluster_session(cluster, "{}");
    cluster_graph(cluster, graph);
}

void
forms_send(Cluster *cluster, const FormSend *send, RestResponse *ret_response)
{
    char url[CLUSTER_URL_SIZE];
    char accept[128];
    const char *const headers[] = {accept, NULL};
    (void)snprintf(
        url, sizeof url, "http://%s/api/v1/sessions/%s/steps", cluster->gateway.address, cluster->session);
    (void)snprintf(accept, sizeof accept, "Accept: %s", send->accept == NULL ? "*/*" : send->accept);
    RestRequest request = {
        .method = "POST",
        .url = url,
        .content_type = send->content_type,
        .body = send->body == NULL ? send->bytes : slice_from_string(send->body),
        .headers = headers,
    };
    rest_send(&request, ret_response);
}

void
npy_of(const float *values, size_t count, Buffer *ret_file)
{
    Call call = {0};
    AUTO_TENSOR tensor = {0};
    Shape shape = {.rank = 1, .dims = {(int64_t)count}};
    assert_true(tensor_new(DTYPE_FLOAT32, &shape, &tensor));
    memcpy(tensor.data, values, count * sizeof *values);
    buffer_clear(ret_file);
    assert_int_equal(npy_write_header(&call, &tensor, ret_file), STATUS_OK);
    buffer_append(ret_file, tensor.data, count * sizeof *values);
}

void
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
