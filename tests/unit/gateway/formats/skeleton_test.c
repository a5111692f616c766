/* Models without their weights: which tensors stay, where the others lie, and that a skeleton reads as its
 * model. */
#include "gateway/formats/skeleton.h"

#include "gateway/formats/graphdef_protobuf.h"
#include "gateway/formats/onnx.h"
#include "gateway/formats/saved_model.h"
#include "gateway/formats/tar.h"
#include "shared/base/text.h"
#include "tests/support/call_fixture.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/files.h"
#include "tests/support/protobuf_writer.h"

enum { SIZE_MAX_USUAL = 16 << 20, FILES_MAX = 4, FLOAT = 1, INPUT = 11, OUTPUT = 12 };

/* A file that is read in pieces, as from a store. */
typedef struct StoredFile {
    Slice bytes;
    size_t largest_read;
} StoredFile;

static Status
read_stored(Call *call, const ByteSource *source, uint64_t offset, size_t size, Buffer *ret_bytes)
{
    (void)call;
    StoredFile *file = source->context;
    assert_true(offset + size <= file->bytes.size);
    buffer_append_slice(ret_bytes, slice_part(file->bytes, (size_t)offset, size));
    file->largest_read = size > file->largest_read ? size : file->largest_read;
    return STATUS_OK;
}

typedef Status (*MakeSkeleton)(Call *call, const SkeletonRequest *request, Skeleton *ret_skeleton);

/* A model and the files beside it. */
typedef struct Model {
    MakeSkeleton make;
    StoredFile files[FILES_MAX];
    const char *names[FILES_MAX];
    size_t count;
    size_t weight_size_min;
    size_t size_max;
} Model;

static Status
try_make(Call *call, Model *model, Skeleton *ret_skeleton)
{
    ByteSource sources[FILES_MAX];
    SkeletonFile files[FILES_MAX];
    for (size_t index = 0; index < model->count; index++) {
        StoredFile *file = &model->files[index];
        sources[index] = (ByteSource){.size = file->bytes.size, .read = read_stored, .context = file};
        files[index] =
            (SkeletonFile){.name = slice_from_string(model->names[index] == NULL ? "" : model->names[index]),
                .span = {&sources[index], 0, file->bytes.size},
                .blob = index};
    }
    SkeletonRequest request = {.files = files,
        .file_count = model->count,
        .weight_size_min = model->weight_size_min,
        .size_max = model->size_max == 0 ? SIZE_MAX_USUAL : model->size_max};
    return model->make(call, &request, ret_skeleton);
}

static Skeleton
make(Call *call, Model *model)
{
    Skeleton skeleton = {.bytes = {0}};
    assert_status(call, STATUS_OK, try_make(call, model, &skeleton));
    return skeleton;
}

static void
expect_refused(Call *call, Model *model, Status code, const char *message)
{
    AUTO_SKELETON skeleton = {.bytes = {0}};
    assert_int_equal(try_make(call, model, &skeleton), code);
    assert_string_equal(call->error.message, message);
}

typedef Status (*ReadFormat)(Call *call, TensorBuffer *source, GraphDef **ret_def);

static GraphDef *
read_bytes(Call *call, ReadFormat read, Slice bytes)
{
    GraphDef *def = NULL;
    TensorBuffer *source = tensor_buffer_new(bytes.size);
    assert_non_null(source);
    memcpy(source->data, bytes.data, bytes.size);
    assert_status(call, STATUS_OK, read(call, source, &def));
    tensor_buffer_unref(source);
    return def;
}

static const Tensor *
value_of(const GraphDef *def, const char *name)
{
    for (size_t index = 0; index < def->node_count; index++) {
        if (slice_equals_string(def->nodes[index].name, name)) {
            const AttrValue *value = node_def_attr(&def->nodes[index], SLICE("value"));
            assert_non_null(value);
            return &value->value.tensor;
        }
    }
    fail_msg("no node '%s'", name);
    return NULL;
}

/* Returns the bytes that the skeleton says a tensor has. */
static Slice
weight_bytes(const Model *model, const Skeleton *skeleton, const Tensor *tensor)
{
    const SkeletonWeight *weights = skeleton_weights(skeleton);
    for (size_t index = 0; index < skeleton_weight_count(skeleton); index++) {
        if (sha256_equal(&weights[index].digest, tensor_digest(tensor))) {
            Slice bytes = slice_part(model->files[weights[index].blob].bytes, (size_t)weights[index].offset,
                (size_t)weights[index].size);
            Sha256 digest;
            sha256(bytes, &digest);
            assert_true(sha256_equal(&digest, &weights[index].digest));
            return bytes;
        }
    }
    fail_msg("a tensor is absent whose bytes lie nowhere");
    return SLICE("");
}

static void
expect_same_tensor(const Model *model, const Skeleton *skeleton, const Tensor *whole, const Tensor *tensor)
{
    assert_int_equal(whole->dtype, tensor->dtype);
    assert_true(shape_equal(&whole->shape, &tensor->shape));
    if (tensor_is_absent(tensor)) {
        Slice bytes = weight_bytes(model, skeleton, tensor);
        assert_int_equal(bytes.size, tensor_byte_size(whole));
        assert_memory_equal(bytes.data, whole->data, bytes.size);
    } else {
        assert_true(tensor_equal(whole, tensor));
    }
}

static void
expect_same_nodes(
    const Model *model, const Skeleton *skeleton, const NodeDef *whole, const NodeDef *nodes, size_t count)
{
    for (size_t index = 0; index < count; index++) {
        assert_true(slice_equal(whole[index].name, nodes[index].name));
        assert_true(slice_equal(whole[index].op, nodes[index].op));
        assert_int_equal(whole[index].attr_count, nodes[index].attr_count);
        for (size_t attr = 0; attr < whole[index].attr_count; attr++) {
            const AttrValue *value = &nodes[index].attrs[attr].value;
            if (value->kind == ATTR_TENSOR && !value->is_list) {
                expect_same_tensor(
                    model, skeleton, &whole[index].attrs[attr].value.value.tensor, &value->value.tensor);
            } else {
                assert_true(attr_value_equal(&whole[index].attrs[attr].value, value));
            }
        }
    }
}

/* Fails unless the skeleton reads as the graph of the whole model, but for weights that are absent. */
static void
expect_same_graph(const Model *model, const Skeleton *skeleton, const GraphDef *whole, const GraphDef *def)
{
    assert_int_equal(whole->node_count, def->node_count);
    assert_int_equal(whole->function_count, def->function_count);
    assert_int_equal(whole->checkpoint_count, def->checkpoint_count);
    expect_same_nodes(model, skeleton, whole->nodes, def->nodes, def->node_count);
    for (size_t index = 0; index < def->function_count; index++) {
        assert_int_equal(whole->functions[index].node_count, def->functions[index].node_count);
        expect_same_nodes(model, skeleton, whole->functions[index].nodes, def->functions[index].nodes,
            def->functions[index].node_count);
    }
    for (size_t index = 0; index < def->checkpoint_count; index++) {
        assert_true(slice_equal(whole->checkpoint[index].name, def->checkpoint[index].name));
        expect_same_tensor(model, skeleton, &whole->checkpoint[index].tensor, &def->checkpoint[index].tensor);
    }
}

static Model
model_of(MakeSkeleton format, const TensorBuffer *source)
{
    return (Model){.make = format,
        .files = {{.bytes = slice_of(source->data, source->size)}},
        .count = 1,
        .weight_size_min = 1024};
}

static float *
many_floats(Call *call, size_t count)
{
    float *values = arena_alloc(call->arena, count * sizeof *values);
    assert_non_null(values);
    for (size_t index = 0; index < count; index++) {
        values[index] = (float)index / 3;
    }
    return values;
}

static void
put_tensor_head(Buffer *tensor, const char *name, int64_t count)
{
    protobuf_put_varint(tensor, 1, (uint64_t)count);
    protobuf_put_varint(tensor, 2, FLOAT);
    protobuf_put_text(tensor, 8, name);
}

static TensorBuffer *
large_onnx(Call *call, size_t count)
{
    const int64_t dims[] = {4};
    float *values = many_floats(call, count);
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER tensor = {0};
    AUTO_BUFFER attributes = {0};
    AUTO_BUFFER attribute = {0};
    onnx_put_value(&graph, INPUT, "x", FLOAT, dims, 1);
    onnx_put_floats_initializer(&graph, "small", values, 4);
    onnx_put_floats_initializer(&graph, "large", values, (int64_t)count);
    put_tensor_head(&tensor, "listed", (int64_t)count - 1);
    protobuf_put_bytes(&tensor, 4, slice_of(values + 1, (count - 1) * sizeof *values));
    protobuf_put_message(&graph, 5, &tensor);
    put_tensor_head(&tensor, "", (int64_t)count - 2);
    protobuf_put_bytes(&tensor, 9, slice_of(values + 2, (count - 2) * sizeof *values));
    protobuf_put_text(&attribute, 1, "value");
    protobuf_put_message(&attribute, 5, &tensor);
    protobuf_put_varint(&attribute, 20, 4);
    protobuf_put_message(&attributes, 5, &attribute);
    onnx_put_node(&graph, "Constant", "", "made", &attributes);
    onnx_put_node(&graph, "Add", "x,small", "y", NULL);
    onnx_put_value(&graph, OUTPUT, "y", FLOAT, dims, 1);
    return onnx_model(&graph, 21);
}

static void
an_onnx_model_is_read_in_windows(void **state)
{
    Call *call = *state;
    TensorBuffer *source = large_onnx(call, 1 << 20);
    Model model = model_of(onnx_skeleton, source);
    AUTO_SKELETON skeleton = make(call, &model);
    AUTO_GRAPH_DEF whole = read_bytes(call, onnx_read, model.files[0].bytes);
    AUTO_GRAPH_DEF def = read_bytes(call, onnx_read, buffer_slice(&skeleton.bytes));
    assert_int_equal(skeleton_weight_count(&skeleton), 3);
    assert_true(skeleton.bytes.size < 1024);
    assert_true(model.files[0].largest_read <= BYTE_WINDOW_SIZE);
    assert_false(tensor_is_absent(value_of(def, "small")));
    assert_true(tensor_is_absent(value_of(def, "large")));
    assert_true(tensor_is_absent(value_of(def, "listed")));
    assert_true(tensor_is_absent(value_of(def, "made")));
    expect_same_graph(&model, &skeleton, whole, def);
    tensor_buffer_unref(source);
}

static void
a_skeleton_of_a_skeleton_is_the_same(void **state)
{
    Call *call = *state;
    TensorBuffer *source = large_onnx(call, 1000);
    Model model = model_of(onnx_skeleton, source);
    AUTO_SKELETON skeleton = make(call, &model);
    Model again = model;
    again.files[0].bytes = buffer_slice(&skeleton.bytes);
    AUTO_SKELETON second = make(call, &again);
    assert_int_equal(skeleton_weight_count(&second), 0);
    assert_int_equal(second.bytes.size, skeleton.bytes.size);
    assert_memory_equal(second.bytes.data, skeleton.bytes.data, skeleton.bytes.size);
    tensor_buffer_unref(source);
}

static void
put_entry(Buffer *tensor, const char *key, const char *value)
{
    AUTO_BUFFER entry = {0};
    protobuf_put_text(&entry, 1, key);
    protobuf_put_text(&entry, 2, value);
    protobuf_put_message(tensor, 13, &entry);
}

/* Returns a model whose only initializer lies in another file; parts that are NULL are left out. */
static TensorBuffer *
external_onnx(int64_t count, const char *location, const char *offset, const char *length)
{
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER tensor = {0};
    put_tensor_head(&tensor, "w", count);
    put_entry(&tensor, "location", location);
    if (offset != NULL) {
        put_entry(&tensor, "offset", offset);
    }
    if (length != NULL) {
        put_entry(&tensor, "length", length);
    }
    protobuf_put_varint(&tensor, 14, 1);
    protobuf_put_message(&graph, 5, &tensor);
    return onnx_model(&graph, 21);
}

static Model
external_model(Call *call, const TensorBuffer *source, const char *name)
{
    Model model = model_of(onnx_skeleton, source);
    model.files[1].bytes = slice_of(many_floats(call, 1000), 4000);
    model.names[1] = name;
    model.count = 2;
    return model;
}

static void
external_data_is_found_by_file_offset_and_length(void **state)
{
    Call *call = *state;
    TensorBuffer *source = external_onnx(500, "./parts/model.data", "2000", "2000");
    Model model = external_model(call, source, "parts/model.data");
    AUTO_SKELETON skeleton = make(call, &model);
    AUTO_GRAPH_DEF def = read_bytes(call, onnx_read, buffer_slice(&skeleton.bytes));
    const Tensor *tensor = value_of(def, "w");
    assert_true(tensor_is_absent(tensor));
    assert_true(
        slice_equal(weight_bytes(&model, &skeleton, tensor), slice_part(model.files[1].bytes, 2000, 2000)));
    assert_int_equal(skeleton_weights(&skeleton)[0].blob, 1);
    tensor_buffer_unref(source);
}

static void
small_external_data_moves_into_the_model(void **state)
{
    Call *call = *state;
    TensorBuffer *source = external_onnx(750, "model.data", "1000", NULL);
    Model model = external_model(call, source, "model.data");
    model.weight_size_min = SIZE_MAX;
    AUTO_SKELETON skeleton = make(call, &model);
    AUTO_GRAPH_DEF def = read_bytes(call, onnx_read, buffer_slice(&skeleton.bytes));
    assert_int_equal(skeleton_weight_count(&skeleton), 0);
    assert_memory_equal(value_of(def, "w")->data, model.files[1].bytes.data + 1000, 3000);
    tensor_buffer_unref(source);
}

typedef struct Refusal {
    const char *location;
    const char *offset;
    const char *length;
    const char *message;
} Refusal;

static void
external_data_stays_in_the_models_folder_and_files(void **state)
{
    static const Refusal refusals[] = {
        {"/etc/passwd", NULL, NULL,
            "tensor 'w' keeps its data in '/etc/passwd', which is not a file of the model's folder"},
        {"a/../../b", NULL, NULL,
            "tensor 'w' keeps its data in 'a/../../b', which is not a file of the model's folder"},
        {"..", NULL, NULL, "tensor 'w' keeps its data in '..', which is not a file of the model's folder"},
        {"", NULL, NULL, "tensor 'w' keeps its data in '', which is not a file of the model's folder"},
        {"a\\b", NULL, NULL,
            "tensor 'w' keeps its data in 'a\\b', which is not a file of the model's folder"},
        {"other.data", NULL, NULL,
            "tensor 'w' keeps its data in 'other.data', which was not given with the model"},
        {"model.data", "4001", NULL, "tensor 'w' keeps its data in 'model.data', past the end of that file"},
        {"model.data", "4000", "1", "tensor 'w' keeps its data in 'model.data', past the end of that file"},
        {"model.data", "1", "18446744073709551615",
            "tensor 'w' keeps its data in 'model.data', past the end of that file"},
        {"model.data", "-1", NULL, "a tensor's external data has offset '-1', which is no number"},
        {"model.data", NULL, "1e3", "a tensor's external data has length '1e3', which is no number"},
    };
    Call *call = *state;
    for (size_t index = 0; index < COUNT_OF(refusals); index++) {
        const Refusal *refusal = &refusals[index];
        TensorBuffer *source = external_onnx(10, refusal->location, refusal->offset, refusal->length);
        Model model = external_model(call, source, "model.data");
        expect_refused(call, &model, STATUS_INVALID_ARGUMENT, refusal->message);
        tensor_buffer_unref(source);
    }
}

static void
a_shape_and_its_data_must_agree(void **state)
{
    Call *call = *state;
    TensorBuffer *source = external_onnx(999, "model.data", NULL, NULL);
    Model model = external_model(call, source, "model.data");
    AUTO_SKELETON skeleton = make(call, &model);
    GraphDef *def = NULL;
    TensorBuffer *bytes = tensor_buffer_new(skeleton.bytes.size);
    memcpy(bytes->data, skeleton.bytes.data, skeleton.bytes.size);
    assert_int_equal(onnx_read(call, bytes, &def), STATUS_INVALID_ARGUMENT);
    assert_string_equal(call->error.message, "tensor 'w' has 4000 bytes, its shape asks for 3996");
    tensor_buffer_unref(bytes);
    tensor_buffer_unref(source);
}

static void
what_is_left_has_a_limit(void **state)
{
    Call *call = *state;
    TensorBuffer *source = large_onnx(call, 10000);
    Model model = model_of(onnx_skeleton, source);
    model.weight_size_min = SIZE_MAX;
    model.size_max = 100000;
    expect_refused(call, &model, STATUS_OUT_OF_RANGE,
        "without the tensors that are raw bytes the model has more than 100000 bytes: large tensors must be "
        "saved as "
        "raw data");
    tensor_buffer_unref(source);
}

/* Every prefix of a model, and every model with one changed byte, is refused or read, but never past its
 * end. */
static void
damaged_models_are_refused(void **state)
{
    Call *call = *state;
    TensorBuffer *source = large_onnx(call, 300);
    for (size_t size = 0; size < source->size; size++) {
        Model model = model_of(onnx_skeleton, source);
        model.files[0].bytes.size = size;
        AUTO_SKELETON skeleton = {.bytes = {0}};
        AUTO_ARENA arena = arena_new(1 << 20);
        Call one = {.arena = arena};
        Status status = try_make(&one, &model, &skeleton);
        assert_true(status == STATUS_INVALID_ARGUMENT || status == STATUS_OK);
    }
    for (size_t at = 0; at < source->size; at++) {
        Model model = model_of(onnx_skeleton, source);
        ((char *)source->data)[at] ^= 0x55;
        AUTO_SKELETON skeleton = {.bytes = {0}};
        AUTO_ARENA arena = arena_new(1 << 20);
        Call one = {.arena = arena};
        Status status = try_make(&one, &model, &skeleton);
        assert_true(status == STATUS_INVALID_ARGUMENT || status == STATUS_OK);
        ((char *)source->data)[at] ^= 0x55;
    }
    tensor_buffer_unref(source);
}

static void
put_tensor_attr(Buffer *node, const char *name, const float *values, size_t count)
{
    AUTO_BUFFER dim = {0};
    AUTO_BUFFER shape = {0};
    AUTO_BUFFER tensor = {0};
    AUTO_BUFFER value = {0};
    protobuf_put_varint(&dim, 1, count);
    protobuf_put_message(&shape, 2, &dim);
    protobuf_put_varint(&tensor, 1, 1);
    protobuf_put_message(&tensor, 2, &shape);
    protobuf_put_bytes(&tensor, 4, slice_of(values, count * sizeof *values));
    protobuf_put_message(&value, 8, &tensor);
    graphdef_put_attr(node, name, &value);
}

static void
put_const(Buffer *node, const char *name, const float *values, size_t count)
{
    AUTO_BUFFER value = {0};
    protobuf_put_text(node, 1, name);
    protobuf_put_text(node, 2, "Const");
    protobuf_put_varint(&value, 6, 1);
    graphdef_put_attr(node, "dtype", &value);
    put_tensor_attr(node, "value", values, count);
}

static void
a_graphdef_leaves_constants_also_of_its_functions(void **state)
{
    Call *call = *state;
    const float *values = many_floats(call, 5000);
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER node = {0};
    AUTO_BUFFER function = {0};
    AUTO_BUFFER library = {0};
    AUTO_BUFFER signature = {0};
    put_const(&node, "large", values, 5000);
    protobuf_put_message(&graph, 1, &node);
    put_const(&node, "small", values, 200);
    protobuf_put_message(&graph, 1, &node);
    protobuf_put_text(&node, 1, "other");
    protobuf_put_text(&node, 2, "NoOp");
    put_tensor_attr(&node, "_note", values, 4000);
    protobuf_put_message(&graph, 1, &node);
    protobuf_put_text(&signature, 1, "f");
    protobuf_put_message(&function, 1, &signature);
    put_const(&node, "inner", values, 3000);
    protobuf_put_message(&function, 3, &node);
    protobuf_put_message(&library, 1, &function);
    protobuf_put_message(&graph, 2, &library);
    Model model = {.make = graphdef_skeleton,
        .files = {{.bytes = buffer_slice(&graph)}},
        .count = 1,
        .weight_size_min = 1024};
    AUTO_SKELETON skeleton = make(call, &model);
    AUTO_GRAPH_DEF whole = read_bytes(call, graphdef_protobuf_read, buffer_slice(&graph));
    AUTO_GRAPH_DEF def = read_bytes(call, graphdef_protobuf_read, buffer_slice(&skeleton.bytes));
    assert_int_equal(skeleton_weight_count(&skeleton), 2);
    assert_true(tensor_is_absent(value_of(def, "large")));
    assert_false(tensor_is_absent(value_of(def, "small")));
    assert_false(tensor_is_absent(&node_def_attr(&def->nodes[2], SLICE("_note"))->value.tensor));
    assert_true(tensor_is_absent(&def->functions[0].nodes[0].attrs[1].value.value.tensor));
    expect_same_graph(&model, &skeleton, whole, def);
}

static void
saved_models_leave_the_values_of_variables(void **state)
{
    static const char *const paths[] = {"tests/unit/gateway/expand/data/affine.tar",
        "tests/unit/gateway/expand/data/slices.tar", "tests/unit/gateway/expand/data/training.tar",
        "tests/unit/gateway/expand/data/words.tar"};
    static const size_t sizes[] = {1, 16, SIZE_MAX};
    Call *call = *state;
    for (size_t index = 0; index < COUNT_OF(paths) * COUNT_OF(sizes); index++) {
        TensorBuffer *source = file_read(paths[index / COUNT_OF(sizes)]);
        Model model = model_of(saved_model_skeleton, source);
        model.weight_size_min = sizes[index % COUNT_OF(sizes)];
        AUTO_SKELETON skeleton = make(call, &model);
        AUTO_GRAPH_DEF whole = read_bytes(call, saved_model_read, model.files[0].bytes);
        AUTO_GRAPH_DEF def = read_bytes(call, saved_model_read, buffer_slice(&skeleton.bytes));
        assert_true(skeleton_weight_count(&skeleton) == 0 || model.weight_size_min < SIZE_MAX);
        expect_same_graph(&model, &skeleton, whole, def);
        Model again = model;
        again.files[0].bytes = buffer_slice(&skeleton.bytes);
        AUTO_SKELETON second = make(call, &again);
        AUTO_GRAPH_DEF twice = read_bytes(call, saved_model_read, buffer_slice(&second.bytes));
        assert_int_equal(twice->checkpoint_count, def->checkpoint_count);
        tensor_buffer_unref(source);
    }
}

static bool
make_without_memory(void)
{
    AUTO_ARENA arena = arena_new(1 << 20);
    Call call = {.arena = arena};
    TensorBuffer *source = file_read("tests/unit/gateway/expand/data/affine.tar");
    bool is_ok = false;
    if (arena != NULL && source != NULL) {
        Model model = model_of(saved_model_skeleton, source);
        AUTO_SKELETON skeleton = {.bytes = {0}};
        model.weight_size_min = 1;
        is_ok = try_make(&call, &model, &skeleton) == STATUS_OK;
    }
    tensor_buffer_unref(source);
    return is_ok;
}

static void
every_failed_allocation_is_survived(void **state)
{
    (void)state;
    assert_each_allocation_may_fail(make_without_memory, 6);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(an_onnx_model_is_read_in_windows),
        CALL_TEST(a_skeleton_of_a_skeleton_is_the_same),
        CALL_TEST(external_data_is_found_by_file_offset_and_length),
        CALL_TEST(small_external_data_moves_into_the_model),
        CALL_TEST(external_data_stays_in_the_models_folder_and_files),
        CALL_TEST(a_shape_and_its_data_must_agree),
        CALL_TEST(what_is_left_has_a_limit),
        CALL_TEST(damaged_models_are_refused),
        CALL_TEST(a_graphdef_leaves_constants_also_of_its_functions),
        CALL_TEST(saved_models_leave_the_values_of_variables),
        CALL_TEST(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests_name("gateway/formats/skeleton", tests, NULL, NULL);
}
