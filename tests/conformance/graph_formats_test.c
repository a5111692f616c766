/* Models made by others: every frozen TensorFlow graph and ONNX model is read, linked and inferred, and
 * survives a round trip through our JSON. A few are committed; all of them are read when $CORPUS names the
 * golden data. */
#include "gateway/formats/graphdef_protobuf.h"
#include "gateway/formats/onnx.h"
#include "shared/formats/graphdef_json.h"
#include "shared/graph/graph.h"
#include "shared/ops/registry.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/files.h"

typedef struct Tally {
    size_t read;
    size_t refused; /* answered with UNIMPLEMENTED, which is allowed */
} Tally;

/* The file under test, for messages: assert_status() does not know it. */
static const char *checked_path;

#define assert_model(call, expression)                                                                       \
    do {                                                                                                     \
        if ((expression) != STATUS_OK) {                                                                     \
            fail_msg("%s: %s", checked_path, (call)->error.message);                                         \
        }                                                                                                    \
    } while (0)

static GraphDef *
read_json(Call *call, Slice text)
{
    GraphDef *def = NULL;
    assert_model(call, graphdef_json_read(call, text, &def));
    return def;
}

/* Fails unless the graph, written as JSON and read again, writes the same JSON and links to the same order
 * and dtypes. */
static void
check_json(Call *call, const GraphDef *def, const Graph *graph)
{
    AUTO_BUFFER written = {0};
    AUTO_BUFFER again = {0};
    graphdef_json_write(&written, def);
    AUTO_GRAPH_DEF same = read_json(call, buffer_slice(&written));
    graphdef_json_write(&again, same);
    assert_true(buffer_is_ok(&again) && slice_equal(buffer_slice(&written), buffer_slice(&again)));
    AUTO_GRAPH linked = NULL;
    assert_model(call, graph_link(call, same, op_find, (GraphLimits){0}, &linked));
    assert_int_equal(linked->node_count, graph->node_count);
    assert_memory_equal(linked->order, graph->order, graph->node_count * sizeof *graph->order);
}

static void
check_graph(Call *call, GraphDef *def)
{
    AUTO_GRAPH graph = NULL;
    const Shape *const *shapes = NULL;
    assert_model(call, graph_link(call, def, op_find, (GraphLimits){0}, &graph));
    assert_model(call, graph_infer_shapes(call, graph, NULL, 0, &shapes));
    for (size_t index = 0; index < def->output_count; index++) {
        Endpoint endpoint;
        assert_model(call, graph_endpoint(call, graph, def->outputs[index].name, &endpoint));
    }
    check_json(call, def, graph);
}

typedef Status (*ReadModel)(Call *call, TensorBuffer *source, GraphDef **ret_def);

static void
check_file(const char *path, ReadModel read, Tally *tally)
{
    checked_path = path;
    Call call = {.arena = arena_new(1 << 30)};
    TensorBuffer *source = file_read(path);
    GraphDef *def = NULL;
    assert_non_null(call.arena);
    assert_non_null(source);
    Status status = read(&call, source, &def);
    if (status == STATUS_OK) {
        check_graph(&call, def);
        tally->read++;
    } else if (status == STATUS_UNIMPLEMENTED) {
        tally->refused++;
    } else {
        fail_msg("%s: %s", path, call.error.message);
    }
    graph_def_unref(def);
    tensor_buffer_unref(source);
    arena_free(call.arena);
}

static void
check_tensorflow(const char *path, void *tally)
{
    check_file(path, graphdef_protobuf_read, tally);
}

static void
check_onnx(const char *path, void *tally)
{
    check_file(path, onnx_read, tally);
}

static void
committed_models_are_read(void **state)
{
    (void)state;
    Tally tensorflow = {0};
    Tally onnx = {0};
    size_t frozen = files_each("tests/fuzz/corpus/graphdef_protobuf", ".pb", check_tensorflow, &tensorflow);
    size_t models = files_each("tests/fuzz/corpus/onnx", ".onnx", check_onnx, &onnx);
    assert_int_equal(tensorflow.read, frozen);
    assert_true(frozen >= 7);
    assert_int_equal(onnx.read + onnx.refused, models);
    assert_true(onnx.read >= 14);
}

static void
check_archive(
    const char *name, const char *suffix, void (*visit)(const char *path, void *context), Tally *tally)
{
    char path[FILE_PATH_SIZE];
    char folder[FILE_PATH_SIZE];
    if (corpus_path(name, path) == NULL) {
        print_message("skipped: CORPUS is not set, or has no %s\n", name);
        skip();
    }
    assert_true(archive_unpack(path, folder));
    (void)files_each(folder, suffix, visit, tally);
    folder_remove(folder);
    print_message("%s: %zu read, %zu not implemented\n", name, tally->read, tally->refused);
}

static void
every_frozen_tensorflow_graph_is_read(void **state)
{
    (void)state;
    Tally tally = {0};
    check_archive("tf1-frozen.tar.xz", "/frozen_model.pb", check_tensorflow, &tally);
    assert_int_equal(tally.read, 928);
}

static void
the_onnx_node_suite_is_read_or_refused(void **state)
{
    (void)state;
    Tally tally = {0};
    check_archive("onnx-node-1.22.tar.xz", "/model.onnx", check_onnx, &tally);
    assert_true(tally.read >= 1547);
    assert_int_equal(tally.read + tally.refused, 1905);
}

static void
trained_models_are_read(void **state)
{
    (void)state;
    char path[FILE_PATH_SIZE];
    Tally tally = {0};
    if (corpus_path("models", path) == NULL) {
        print_message("skipped: CORPUS is not set, or has no models\n");
        skip();
    }
    (void)files_each(path, ".onnx", check_onnx, &tally);
    assert_true(tally.read >= 12);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(committed_models_are_read),
        cmocka_unit_test(every_frozen_tensorflow_graph_is_read),
        cmocka_unit_test(the_onnx_node_suite_is_read_or_refused),
        cmocka_unit_test(trained_models_are_read),
    };
    return cmocka_run_group_tests_name("graph formats", tests, NULL, NULL);
}
