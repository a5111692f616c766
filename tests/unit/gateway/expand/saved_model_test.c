/* A SavedModel that TensorFlow wrote (data/make_saved_model.py), from its archive to its results. */
#include "gateway/formats/tar.h"
#include "gateway/graphs/graph_import.h"
#include "tests/support/call_fixture.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/planned_run.h"
#include "tests/support/tensor_literals.h"

static const char *const affine = "tests/unit/gateway/expand/data/affine.tar";
static const char *const words = "tests/unit/gateway/expand/data/words.tar";
static const char *const training = "tests/unit/gateway/expand/data/training.tar";
static const char *const tables = "tests/unit/gateway/expand/data/tables.tar";
static const char *const copies = "tests/unit/gateway/expand/data/copies.tar";

static TensorBuffer *
read_archive(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    TensorBuffer *buffer = tensor_buffer_new(1 << 17);
    assert_non_null(buffer);
    buffer->size = fread(buffer->data, 1, buffer->size, file);
    (void)fclose(file);
    return buffer;
}

static Graph *
import_model(Call *call, const char *path)
{
    TensorBuffer *source = read_archive(path);
    Graph *graph = NULL;
    Status status = graph_import(call, GRAPH_FORMAT_SAVED_MODEL, source, 10000, &graph);
    tensor_buffer_unref(source);
    assert_status(call, STATUS_OK, status);
    return graph;
}

static void
expect_output(Call *call, const Graph *graph, const char *const names[], const char *const values[],
    const char *output, const char *expected)
{
    PlannedRun run = {.device = NULL};
    ReferenceFeed feeds[2] = {0};
    Endpoint fetch;
    Tensor result = {0};
    size_t count = 0;
    for (; count < 2 && names[count] != NULL; count++) {
        feeds[count].tensor = tensor_literal(values[count]);
        assert_status(call, STATUS_OK,
            graph_endpoint(call, graph, slice_from_string(names[count]), &feeds[count].endpoint));
    }
    assert_status(call, STATUS_OK, graph_fetch(call, graph, slice_from_string(output), &fetch));
    planned_run_begin(&run);
    assert_status(call, STATUS_OK, planned_run(call, &run, graph, feeds, count, &fetch, 1, &result));
    AUTO_TENSOR wanted = tensor_literal(expected);
    assert_true(tensor_is_near(&result, &wanted, 1e-6));
    tensor_unref(&result);
    for (size_t index = 0; index < count; index++) {
        tensor_unref(&feeds[index].tensor);
    }
    planned_run_end(&run);
}

static void
the_main_signature_runs_with_the_checkpoints_values(void **state)
{
    AUTO_GRAPH graph = import_model(*state, affine);
    const char *const names[] = {"x", "times"};
    const char *const values[] = {"float32[1,2] 1 1", "int32[] 2"};
    expect_output(*state, graph, names, values, "y", "float32[1,2] 21.5 30.5");
}

static void
other_signatures_are_named_behind_an_at_sign(void **state)
{
    AUTO_GRAPH graph = import_model(*state, affine);
    const char *const names[] = {"x@scale", NULL};
    const char *const above[] = {"float32[1,2] 1 1"};
    const char *const below[] = {"float32[1,2] -1 -1"};
    expect_output(*state, graph, names, above, "z@scale", "float32[1,2] 2 2");
    expect_output(*state, graph, names, below, "z@scale", "float32[1,2] -4 -6");
}

static void
tables_are_filled_from_assets_and_constants_before_they_are_asked(void **state)
{
    AUTO_GRAPH graph = import_model(*state, words);
    const char *const names[] = {"word", NULL};
    const char *const values[] = {"string[3] 'two' 'zero' 'none'"};
    expect_output(*state, graph, names, values, "number", "int64[3] 2 0 -1");
    expect_output(*state, graph, names, values, "mark", "string[3] 'II' '?' '?'");
}

static void
variables_are_constants_and_a_good_model_is_taken_without_a_warning(void **state)
{
    AUTO_GRAPH graph = import_model(*state, affine);
    AUTO_BUFFER summary = {0};
    graph_write_summary(&summary, graph);
    assert_non_null(strstr(buffer_string(&summary), "\"warnings\":[]"));
    assert_non_null(strstr(buffer_string(&summary), "\"unsupported_ops\":[]"));
    const char *const none[] = {NULL};
    expect_output(*state, graph, none, none, "unused/Read/ReadVariableOp", "int32[] 7");
    /* Nothing that is kept needs the nodes that save and restore. */
    assert_null(graph_find(graph, SLICE("StatefulPartitionedCall_3")));
}

static void
tables_begin_with_their_rows_in_the_checkpoint(void **state)
{
    AUTO_GRAPH graph = import_model(*state, tables);
    const char *const names[] = {"word", NULL};
    const char *const values[] = {"string[4] 'one' 'two' 'six' 'none'"};
    expect_output(*state, graph, names, values, "number", "int64[4] 1 2 -1 -1");
    expect_output(*state, graph, names, values, "name", "string[4] 'I' 'II' '?' '?'");
    expect_output(*state, graph, names, values, "point", "float32[4,2] 1 1.5 2 2.5 0 -1 0 -1");
    expect_output(*state, graph, names, values, "square", "int64[4] -1 4 -1 -1");
    expect_output(*state, graph, names, values, "count", "int64[] 2");
    expect_output(*state, graph, names, values, "squares", "int64[] 2");
    const char *const none[] = {NULL};
    expect_output(*state, graph, none, none, "keys@rows", "int64[2] 1 2");
    expect_output(*state, graph, none, none, "values@rows", "string[2] 'I' 'II'");
}

static void
expect_table(const Graph *graph, Slice name, bool is_constant)
{
    const Node *table = graph_find(graph, name);
    assert_non_null(table);
    assert_true(slice_starts_with(table->def->op, SLICE("_Restored")));
    assert_int_equal(node_attr_bool(table, "is_constant"), is_constant);
}

static void
a_table_that_a_signature_changes_does_not_begin_anew_when_it_is_lost(void **state)
{
    AUTO_GRAPH graph = import_model(*state, tables);
    const char *const names[] = {"key@put", "value@put"};
    const char *const values[] = {"string[2] 'six' 'two'", "int64[2] 6 3"};
    expect_output(*state, graph, names, values, "size@put", "int64[] 3");
    expect_output(*state, graph, names, values, "found@put", "int64[2] 36 9");
    expect_table(graph, SLICE("MutableHashTable"), true);
    expect_table(graph, SLICE("MutableHashTable_1"), true);
    expect_table(graph, SLICE("MutableHashTable_2"), false);
    expect_table(graph, SLICE("MutableDenseHashTable"), false);
}

/* The model is taken out of its archive, as someone pushes it who has no checkpoint. */
static void
a_table_whose_rows_did_not_come_is_refused_and_not_empty(void **state)
{
    Call *call = *state;
    AUTO_BUFFER summary = {0};
    TensorBuffer *archive = read_archive(tables);
    ByteSource source = byte_source_of(slice_of(archive->data, archive->size));
    TarReader reader = {.rest = {&source, 0, source.size}};
    TarFile file;
    bool is_found = false;
    assert_status(call, STATUS_OK, tar_next(call, &reader, &file, &is_found));
    assert_true(slice_equals_string(file.name, "saved_model.pb"));
    Slice model = tar_content(&file);
    memmove(archive->data, model.data, model.size);
    archive->size = model.size;
    AUTO_GRAPH graph = NULL;
    assert_status(call, STATUS_OK, graph_import(call, GRAPH_FORMAT_GRAPHDEF, archive, 10000, &graph));
    tensor_buffer_unref(archive);
    graph_write_summary(&summary, graph);
    assert_non_null(strstr(buffer_string(&summary),
        "the rows of table 'MutableHashTable' are in a checkpoint that did not come with the model"));
    assert_int_equal(node_attr_int(graph_find(graph, SLICE("MutableHashTable")), "N"), 0);
}

static void
a_variable_that_is_only_gathered_from_is_a_constant(void **state)
{
    AUTO_GRAPH graph = import_model(*state, training);
    const char *const names[] = {"at@pick", NULL};
    const char *const values[] = {"int32[2] 2 0"};
    expect_output(*state, graph, names, values, "rows@pick", "int32[2,2] 5 6 1 2");
    expect_output(*state, graph, names, values, "cells@pick", "int32[2] 6 2");
    expect_output(*state, graph, names, values, "shape@pick", "int32[2] 3 2");
    assert_true(slice_equals_string(graph_find(graph, SLICE("rows"))->def->op, "Const"));
}

/* The variable belongs to the session; the model's own restore sets it back. */
static void
a_variable_that_is_changed_has_its_value_as_an_input(void **state)
{
    AUTO_GRAPH graph = import_model(*state, training);
    const char *const names[] = {"by@add", NULL};
    const char *const values[] = {"int64[] 2"};
    const Node *count = graph_find(graph, SLICE("count"));
    assert_non_null(count);
    assert_true(slice_equals_string(count->def->op, "_RestoredVarHandleOp"));
    assert_true(slice_equals_string(count->def->inputs[0], "count/restored"));
    expect_output(*state, graph, names, values, "after@add", "int64[] 42");
    expect_output(*state, graph, names, values, "before@add", "int64[] 40");
    const Node *restore = graph_find(graph, SLICE("StatefulPartitionedCall_5/RestoreV2"));
    assert_non_null(restore);
    assert_true(slice_equals_string(restore->def->op, "IdentityN"));
    const Node *nothing = graph_find(graph, SLICE("StatefulPartitionedCall_5/AssignVariableOp_3"));
    assert_non_null(nothing);
    assert_true(slice_equals_string(nothing->def->op, "NoOp"));
}

/* The checkpoint has copies of Keras' variables, which signatures do not name. */
static void
a_variable_has_the_value_of_its_copy_in_the_checkpoint(void **state)
{
    AUTO_GRAPH graph = import_model(*state, copies);
    const char *const names[] = {"x", NULL};
    const char *const at[] = {"x@grow", NULL};
    const char *const values[] = {"float32[1,2] 1 10"};
    expect_output(*state, graph, names, values, "sum", "float32[1,1] 32.5");
    expect_output(*state, graph, at, values, "bias@grow", "float32[1] 1.5");
    assert_true(slice_equals_string(graph_find(graph, SLICE("dense/kernel"))->def->op, "Const"));
    assert_true(slice_equals_string(graph_find(graph, SLICE("dense/bias"))->def->op, "_RestoredVarHandleOp"));
}

static void
of_an_input_and_an_output_of_one_name_the_first_is_fed_and_the_second_fetched(void **state)
{
    AUTO_GRAPH graph = import_model(*state, copies);
    const char *const names[] = {"x", NULL};
    const char *const values[] = {"float32[1,2] 1 10"};
    expect_output(*state, graph, names, values, "x", "float32[1,2] 2 20");
}

static void
an_import_without_memory_is_refused_and_leaks_nothing(void **state)
{
    TensorBuffer *source = read_archive(training);
    Status status = STATUS_RESOURCE_EXHAUSTED;
    for (size_t at = 1; status != STATUS_OK; at++) {
        AUTO_GRAPH graph = NULL;
        fail_alloc_count = 0;
        fail_alloc_at = at;
        status = graph_import(*state, GRAPH_FORMAT_SAVED_MODEL, source, 10000, &graph);
        fail_alloc_at = 0;
        assert_true(status == STATUS_OK || status == STATUS_RESOURCE_EXHAUSTED);
    }
    tensor_buffer_unref(source);
}

/* Outputs, constants and functions of the model are still there for the nodes that are added. */
static void
a_model_is_extended_by_nodes_that_read_its_outputs(void **state)
{
    Call *call = *state;
    AUTO_GRAPH model = import_model(call, affine);
    const GraphDef *author = graph_def_author(model->def);
    AUTO_BUFFER json = {0};
    AUTO_GRAPH extended = NULL;
    const char *const names[] = {"x", "times"};
    const char *const values[] = {"float32[1,2] 1 1", "int32[] 2"};
    buffer_append_format(&json,
        "{\"versions\":{\"producer\":%lld},\"node\":[{\"name\":\"minus\",\"op\":\"Neg\",\"input\":[\"%.*s\"],"
        "\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}}]}",
        (long long)author->producer, SLICE_PRINT(author->outputs[0].tensor));
    TensorBuffer *source = tensor_buffer_new(json.size);
    assert_non_null(source);
    memcpy(source->data, json.data, json.size);
    GraphSource added = {GRAPH_FORMAT_JSON, source};
    assert_status(call, STATUS_OK, graph_extend(call, model, &added, 10000, &extended));
    tensor_buffer_unref(source);
    expect_output(call, extended, names, values, "minus", "float32[1,2] -21.5 -30.5");
    expect_output(call, extended, names, values, "y", "float32[1,2] 21.5 30.5");
    expect_output(call, model, names, values, "y", "float32[1,2] 21.5 30.5");
}

static void
expect_refused(Call *call, size_t place, const char *message)
{
    TensorBuffer *source = read_archive(affine);
    Graph *graph = NULL;
    ((char *)source->data)[place] ^= 1;
    assert_int_equal(
        graph_import(call, GRAPH_FORMAT_SAVED_MODEL, source, 10000, &graph), STATUS_INVALID_ARGUMENT);
    assert_string_equal(call->error.message, message);
    tensor_buffer_unref(source);
}

/* Returns the offset at which this file begins in the archive. */
static size_t
offset_of_file(Call *call, const char *name)
{
    TensorBuffer *source = read_archive(affine);
    ByteSource bytes = byte_source_of(slice_of(source->data, source->size));
    TarReader reader = {.rest = {&bytes, 0, bytes.size}};
    TarFile file = {.name = SLICE("")};
    bool is_found = true;
    while (is_found && !slice_equals_string(file.name, name)) {
        assert_status(call, STATUS_OK, tar_next(call, &reader, &file, &is_found));
    }
    size_t offset = (size_t)file.content.offset;
    tensor_buffer_unref(source);
    return offset;
}

static void
damaged_archives_are_refused(void **state)
{
    char text[80];
    size_t second = offset_of_file(*state, "variables/variables.index") - TAR_BLOCK_SIZE;
    (void)snprintf(text, sizeof text, "the archive is damaged: there is no header at byte %zu", second);
    expect_refused(*state, 0, "the bytes are no tar archive");
    expect_refused(*state, second, text);
    expect_refused(*state, offset_of_file(*state, "variables/variables.index"),
        "the checkpoint's index is damaged: a block's checksum does not fit");
}

static void
a_tar_header_reads_back(void **state)
{
    char archive[4 * TAR_BLOCK_SIZE] = {0};
    memcpy(archive + TAR_BLOCK_SIZE, "hello", sizeof "hello");
    assert_true(tar_header(SLICE("variables/variables.index"), 5, archive));
    ByteSource bytes = byte_source_of(slice_of(archive, sizeof archive));
    TarReader reader = {.rest = {&bytes, 0, bytes.size}};
    TarFile file;
    bool is_found = false;
    Call *call = *state;
    assert_true(tar_is(slice_of(archive, sizeof archive)));
    assert_status(call, STATUS_OK, tar_next(call, &reader, &file, &is_found));
    assert_true(is_found && slice_equals_string(file.name, "variables/variables.index"));
    assert_true(slice_equals_string(tar_content(&file), "hello"));
    assert_status(call, STATUS_OK, tar_next(call, &reader, &file, &is_found));
    assert_false(is_found);
}

static void
a_long_name_reads_back_and_its_size_may_come_later(void **state)
{
    enum { NAME_SIZE = 2000 };
    static const char zeros[2 * TAR_BLOCK_SIZE];
    Call *call = *state;
    for (size_t size = 99; size <= NAME_SIZE; size += size < 515 ? 1 : 1485) {
        AUTO_BUFFER archive = {0};
        char name[NAME_SIZE];
        memset(name, 'n', sizeof name);
        tar_append_header(&archive, slice_of(name, size), 0);
        assert_true(buffer_is_ok(&archive) && archive.size % TAR_BLOCK_SIZE == 0);
        tar_set_size(archive.data + archive.size - TAR_BLOCK_SIZE, 5);
        buffer_append(&archive, "hello", 5);
        buffer_append(&archive, zeros, sizeof zeros - 5);
        ByteSource bytes = byte_source_of(buffer_slice(&archive));
        TarReader reader = {.rest = {&bytes, 0, bytes.size}};
        TarFile file;
        bool is_found = false;
        assert_status(call, STATUS_OK, tar_next(call, &reader, &file, &is_found));
        assert_true(is_found && slice_equal(file.name, slice_of(name, size)));
        assert_true(slice_equals_string(tar_content(&file), "hello"));
        assert_status(call, STATUS_OK, tar_next(call, &reader, &file, &is_found));
        assert_false(is_found);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(the_main_signature_runs_with_the_checkpoints_values),
        CALL_TEST(other_signatures_are_named_behind_an_at_sign),
        CALL_TEST(tables_are_filled_from_assets_and_constants_before_they_are_asked),
        CALL_TEST(variables_are_constants_and_a_good_model_is_taken_without_a_warning),
        CALL_TEST(tables_begin_with_their_rows_in_the_checkpoint),
        CALL_TEST(a_table_that_a_signature_changes_does_not_begin_anew_when_it_is_lost),
        CALL_TEST(a_table_whose_rows_did_not_come_is_refused_and_not_empty),
        CALL_TEST(a_variable_that_is_only_gathered_from_is_a_constant),
        CALL_TEST(a_variable_that_is_changed_has_its_value_as_an_input),
        CALL_TEST(a_variable_has_the_value_of_its_copy_in_the_checkpoint),
        CALL_TEST(of_an_input_and_an_output_of_one_name_the_first_is_fed_and_the_second_fetched),
        CALL_TEST(an_import_without_memory_is_refused_and_leaks_nothing),
        CALL_TEST(a_model_is_extended_by_nodes_that_read_its_outputs),
        CALL_TEST(damaged_archives_are_refused),
        CALL_TEST(a_tar_header_reads_back),
        CALL_TEST(a_long_name_reads_back_and_its_size_may_come_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
