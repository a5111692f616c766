/* One graph, y = -x, in every format: each is read, kept, planned and run. */
#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/protobuf_writer.h"

enum { DT_FLOAT = 1, ONNX_FLOAT = 1, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };

static void
put_type_attr(Buffer *node, const char *name)
{
    AUTO_BUFFER value = {0};
    AUTO_BUFFER entry = {0};
    protobuf_put_varint(&value, 6, DT_FLOAT);
    protobuf_put_text(&entry, 1, name);
    protobuf_put_message(&entry, 2, &value);
    protobuf_put_message(node, 5, &entry);
}

static void
put_node(Buffer *graph, const char *name, const char *op, const char *input, const char *type_attr)
{
    AUTO_BUFFER node = {0};
    protobuf_put_text(&node, 1, name);
    protobuf_put_text(&node, 2, op);
    if (input != NULL) {
        protobuf_put_text(&node, 3, input);
    }
    put_type_attr(&node, type_attr);
    protobuf_put_message(graph, 1, &node);
}

static void
push(Cluster *cluster, const char *content_type, const char *query, Slice bytes, int status)
{
    AUTO_REST response = {0};
    cluster_push_graph(cluster, content_type, query, bytes, &response);
    cluster_expect(&response, status, NULL);
}

static void
expect_minus(Cluster *cluster, const char *fetch)
{
    char body[128];
    AUTO_REST response = {0};
    (void)snprintf(body, sizeof body, "{\"feeds\":{\"x\":[2.5]},\"fetches\":[\"%s\"]}", fetch);
    cluster_step(cluster, body, &response);
    cluster_expect(&response, 200, "\"data\":[-2.5]");
}

static void
a_binary_graphdef_runs(void **state)
{
    Cluster *cluster = *state;
    AUTO_BUFFER graph = {0};
    put_node(&graph, "x", "Placeholder", NULL, "dtype");
    put_node(&graph, "y", "Neg", "x", "T");
    cluster_session(cluster, "{}");
    push(cluster, "application/x-protobuf", "", buffer_slice(&graph), 201);
    expect_minus(cluster, "y");
    push(cluster, "application/octet-stream", "?format=graphdef", buffer_slice(&graph), 200);
}

static void
an_onnx_model_runs_by_its_own_names(void **state)
{
    Cluster *cluster = *state;
    static const int64_t dims[] = {1};
    AUTO_BUFFER graph = {0};
    onnx_put_node(&graph, "Neg", "x", "minus", NULL);
    onnx_put_value(&graph, GRAPH_INPUT, "x", ONNX_FLOAT, dims, 1);
    onnx_put_value(&graph, GRAPH_OUTPUT, "minus", ONNX_FLOAT, dims, 1);
    TensorBuffer *model = onnx_model(&graph, 15);
    cluster_session(cluster, "{}");
    push(cluster, "application/onnx", "", slice_of(model->data, model->size), 201);
    expect_minus(cluster, "minus");
    tensor_buffer_unref(model);
}

/* Fails unless the graph was accepted with a list of its unknown ops and only a step that needs one is
 * refused. */
static void
expect_unsupported(Cluster *cluster, const char *listed, const char *explained)
{
    char path[CLUSTER_URL_SIZE / 2];
    AUTO_REST graphs = {0};
    AUTO_REST step = {0};
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/graphs", cluster->session);
    cluster_send(cluster, "GET", path, NULL, &graphs);
    if (strstr(rest_text(&graphs), listed) == NULL) {
        fail_msg("no %s in %s", listed, rest_text(&graphs));
    }
    expect_minus(cluster, "minus");
    cluster_step(cluster, "{\"feeds\":{\"x\":[2.5]},\"fetches\":[\"twisted\"]}", &step);
    cluster_expect(&step, 501, NULL);
    if (strstr(rest_text(&step), explained) == NULL) {
        fail_msg("no %s in %s", explained, rest_text(&step));
    }
}

static void
an_op_of_tensorflow_that_is_not_known_is_told_at_once_and_refused_when_needed(void **state)
{
    Cluster *cluster = *state;
    AUTO_BUFFER graph = {0};
    put_node(&graph, "x", "Placeholder", NULL, "dtype");
    put_node(&graph, "minus", "Neg", "x", "T");
    put_node(&graph, "twisted", "Twist", "x", "T");
    cluster_session(cluster, "{}");
    push(cluster, "application/x-protobuf", "", buffer_slice(&graph), 201);
    expect_unsupported(cluster, "\"unsupported_ops\": [\"Twist\"]",
        "node 'twisted' needs op 'Twist' of domain 'tensorflow', which is not known");
}

static void
an_op_of_onnx_that_is_not_known_is_told_at_once_and_refused_when_needed(void **state)
{
    static const int64_t dims[] = {1};
    Cluster *cluster = *state;
    AUTO_BUFFER graph = {0};
    onnx_put_node(&graph, "Neg", "x", "minus", NULL);
    onnx_put_node(&graph, "Twist", "x", "twisted", NULL);
    onnx_put_value(&graph, GRAPH_INPUT, "x", ONNX_FLOAT, dims, 1);
    onnx_put_value(&graph, GRAPH_OUTPUT, "minus", ONNX_FLOAT, dims, 1);
    onnx_put_value(&graph, GRAPH_OUTPUT, "twisted", ONNX_FLOAT, dims, 1);
    TensorBuffer *model = onnx_model(&graph, 15);
    cluster_session(cluster, "{}");
    push(cluster, "application/onnx", "", slice_of(model->data, model->size), 201);
    expect_unsupported(cluster, "\"unsupported_ops\": [\"onnx::Twist\"]",
        "needs op 'Twist' of domain 'onnx', which is not known");
    tensor_buffer_unref(model);
}

static void
bytes_that_are_no_graph_are_refused(void **state)
{
    Cluster *cluster = *state;
    cluster_session(cluster, "{}");
    push(cluster, "application/x-protobuf", "", SLICE("\x0a\xff\xff\xff\xff\x0f no graph"), 400);
    push(cluster, "application/onnx", "", SLICE("\x0a\xff\xff\xff\xff\x0f no model"), 400);
    push(cluster, "application/json", "", SLICE("{\"node\":[{\"name\":\"a\"}]}"), 400);
    push(cluster, "text/plain", "", SLICE("hello"), 415);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(a_binary_graphdef_runs),
        CLUSTER_TEST(an_onnx_model_runs_by_its_own_names),
        CLUSTER_TEST(an_op_of_tensorflow_that_is_not_known_is_told_at_once_and_refused_when_needed),
        CLUSTER_TEST(an_op_of_onnx_that_is_not_known_is_told_at_once_and_refused_when_needed),
        CLUSTER_TEST(bytes_that_are_no_graph_are_refused),
    };
    return cmocka_run_group_tests_name("graph format", tests, NULL, NULL);
}
