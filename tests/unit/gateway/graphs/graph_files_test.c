/* Requests that name a graph's files, and models in memory that are taken apart. What needs the store is
 * tested in tests/integration/weights_test.py. */
#include "gateway/graphs/graph_files.h"

#include "gateway/formats/tar.h"
#include "tests/support/call_fixture.h"
#include "tests/support/protobuf_writer.h"

#define ABC "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define EMPTY "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static void
a_body_names_files_or_holds_a_graph(void **state)
{
    (void)state;
    assert_true(graph_files_named(SLICE("{\"source\":{}}")));
    assert_true(graph_files_named(SLICE(" \n{ \"format\" : \"onnx\"")));
    assert_true(graph_files_named(SLICE("{\"files\":")));
    assert_false(graph_files_named(SLICE("{\"node\":[]}")));
    assert_false(graph_files_named(SLICE("{\"sourc\":[]}")));
    assert_false(graph_files_named(SLICE("{\"sources\":[]}")));
    assert_false(graph_files_named(SLICE("{\"source")));
    assert_false(graph_files_named(SLICE("{}")));
    assert_false(graph_files_named(SLICE("")));
}

static void
files_come_with_the_names_that_the_model_gives_them(void **state)
{
    Call *call = *state;
    GraphFiles files;
    Sha256 digest;
    assert_status(call, STATUS_OK,
        graph_files_read(call,
            SLICE("{\"files\":{\"a/b.data\":{\"ref\":\"" EMPTY "\"}},\"source\":{\"ref\":\"" ABC
                  "\"},\"format\":\"onnx\"}"),
            &files));
    assert_int_equal(files.format, GRAPH_FORMAT_ONNX);
    assert_int_equal(files.count, 2);
    sha256(SLICE("abc"), &digest);
    assert_true(sha256_equal(&files.items[0].digest, &digest));
    assert_true(slice_equals_string(files.items[1].name, "a/b.data"));
    sha256(SLICE(""), &digest);
    assert_true(sha256_equal(&files.items[1].digest, &digest));
}

static void
what_names_no_files_is_refused(void **state)
{
    static const char *const refusals[][2] = {
        {"{\"source\":{\"ref\":\"sha256:ab\"},\"format\":\"onnx\"}",
            "the reference 'sha256:ab' is not 'sha256:' and 64 lower-case hex digits"},
        {"{\"format\":\"onnx\"}", "the reference '' is not 'sha256:' and 64 lower-case hex digits"},
        {"{\"source\":{\"ref\":\"" ABC "\"}}",
            "the member 'format' is '', it can be 'json', 'graphdef', 'onnx' or 'saved_model'"},
    };
    Call *call = *state;
    for (size_t index = 0; index < COUNT_OF(refusals); index++) {
        GraphFiles files;
        assert_int_equal(
            graph_files_read(call, slice_from_string(refusals[index][0]), &files), STATUS_INVALID_ARGUMENT);
        assert_string_equal(call->error.message, refusals[index][1]);
    }
}

typedef struct Member {
    const char *name;
    Slice content;
} Member;

static TensorBuffer *
archive_of(const Member *members, size_t count)
{
    static const char zeros[2 * TAR_BLOCK_SIZE];
    AUTO_BUFFER bytes = {0};
    for (size_t index = 0; index < count; index++) {
        char header[TAR_BLOCK_SIZE];
        size_t size = members[index].content.size;
        assert_true(tar_header(slice_from_string(members[index].name), size, header));
        buffer_append(&bytes, header, sizeof header);
        buffer_append_slice(&bytes, members[index].content);
        buffer_append(&bytes, zeros, (TAR_BLOCK_SIZE - size % TAR_BLOCK_SIZE) % TAR_BLOCK_SIZE);
    }
    buffer_append(&bytes, zeros, sizeof zeros);
    TensorBuffer *archive = tensor_buffer_new(bytes.size);
    assert_true(buffer_is_ok(&bytes) && archive != NULL);
    memcpy(archive->data, bytes.data, bytes.size);
    return archive;
}

static void
expect_archive_refused(Call *call, const Member *members, size_t count, const char *message)
{
    TensorBuffer *archive = archive_of(members, count);
    GraphSource source = {GRAPH_FORMAT_ONNX, archive};
    GraphWeights weights = {.count = 0};
    GraphBody body = {.bytes = SLICE("")};
    assert_int_equal(
        graph_body_source(call, &(GraphFileParts){.count = 0}, 1 << 20, &source, &weights, &body),
        STATUS_INVALID_ARGUMENT);
    assert_string_equal(call->error.message, message);
    tensor_buffer_unref(archive);
}

static void
an_archive_has_one_model(void **state)
{
    const Member members[] = {{"a/one.onnx", SLICE("")}, {"b", SLICE("x")}, {"two.onnx", SLICE("")}};
    expect_archive_refused(*state, members, 3, "there are two models, 'a/one.onnx' and 'two.onnx'");
    expect_archive_refused(*state, members + 1, 1, "there is no file whose name ends in '.onnx'");
}

static void
a_small_body_is_its_own_source(void **state)
{
    Call *call = *state;
    TensorBuffer *bytes = tensor_buffer_new(100);
    memset(bytes->data, 0, 100);
    GraphSource source = {GRAPH_FORMAT_ONNX, bytes};
    GraphWeights weights = {.count = 0};
    GraphBody body = {.bytes = SLICE("")};
    assert_status(call, STATUS_OK,
        graph_body_source(call, &(GraphFileParts){.count = 0}, 100, &source, &weights, &body));
    assert_ptr_equal(source.bytes, bytes);
    source.format = GRAPH_FORMAT_JSON;
    assert_status(
        call, STATUS_OK, graph_body_source(call, &(GraphFileParts){.count = 0}, 1, &source, &weights, &body));
    assert_ptr_equal(source.bytes, bytes);
    tensor_buffer_unref(bytes);
}

static void
weights_of_a_large_body_lie_in_it(void **state)
{
    Call *call = *state;
    float values[1000] = {0};
    AUTO_BUFFER graph = {0};
    onnx_put_floats_initializer(&graph, "w", values, 1000);
    TensorBuffer *bytes = onnx_model(&graph, 21);
    Slice model = slice_of(bytes->data, bytes->size);
    GraphSource source = {GRAPH_FORMAT_ONNX, bytes};
    GraphWeights weights = {.count = 0};
    GraphBody body = {.bytes = SLICE("")};
    Sha256 digest;
    assert_status(call, STATUS_OK,
        graph_body_source(call, &(GraphFileParts){.count = 0}, 1024, &source, &weights, &body));
    sha256(model, &digest);
    assert_int_equal(weights.count, 1);
    assert_true(sha256_equal(&weights.ranges[0].file, &digest));
    assert_true(sha256_equal(&body.digest, &digest));
    assert_true(slice_equal(body.bytes, model));
    sha256(slice_part(model, (size_t)weights.ranges[0].offset, sizeof values), &digest);
    assert_true(sha256_equal(&weights.ranges[0].digest, &digest));
    assert_true(source.bytes->size < 300);
    tensor_buffer_unref(bytes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(a_body_names_files_or_holds_a_graph),
        CALL_TEST(files_come_with_the_names_that_the_model_gives_them),
        CALL_TEST(what_names_no_files_is_refused),
        CALL_TEST(an_archive_has_one_model),
        CALL_TEST(a_small_body_is_its_own_source),
        CALL_TEST(weights_of_a_large_body_lie_in_it),
    };
    return cmocka_run_group_tests_name("gateway/graphs/graph_files", tests, NULL, NULL);
}
