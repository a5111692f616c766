#include "gateway/formats/safetensors.h"

#include "shared/formats/graphdef_json.h"
#include "tests/support/call_fixture.h"
#include "tests/support/fail_alloc.h"

enum { FILE_SIZE_MAX = 4096, WEIGHT_SIZE = 16 };

static const char model[] =
    "{\"node\":[{\"name\":\"w\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"},"
    "\"shape\":{\"shape\":{\"dim\":[{\"size\":\"-1\"},{\"size\":\"2\"}]}}}},"
    "{\"name\":\"d\",\"op\":\"Const\",\"attr\":{\"dtype\":{\"type\":\"DT_INT32\"},\"value\":{\"tensor\":"
    "{\"dtype\":\"DT_INT32\",\"tensorShape\":{},\"intVal\":[3]}}}},"
    "{\"name\":\"b\",\"op\":\"PlaceholderWithDefault\",\"input\":[\"d\"],\"attr\":{\"dtype\":{\"type\":"
    "\"DT_INT32\"},\"shape\":{\"shape\":{}}}}]}";

static const char head[] = "{\"w\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
                           "\"b\":{\"dtype\":\"I32\",\"shape\":[],\"data_offsets\":[16,20]}}";

/* A model, and a .safetensors file of `head` and 20 bytes. */
typedef struct Files {
    char file[FILE_SIZE_MAX];
    ByteSource sources[2];
    SkeletonFile files[2];
    SkeletonRequest request;
} Files;

static void
make_files(Files *files)
{
    uint64_t length = sizeof head - 1;
    size_t size = sizeof length + length + 20;
    memcpy(files->file, &length, sizeof length); /* of a little-endian machine, as all of ours */
    memcpy(files->file + sizeof length, head, length);
    for (size_t index = 0; index < 20; index++) {
        files->file[size - 20 + index] = (char)index;
    }
    files->sources[0] = byte_source_of(slice_of(model, sizeof model - 1));
    files->sources[1] = byte_source_of(slice_of(files->file, size));
    files->files[0] =
        (SkeletonFile){.name = SLICE(""), .span = {&files->sources[0], 0, files->sources[0].size}};
    files->files[1] =
        (SkeletonFile){.name = SLICE("m.safetensors"), .span = {&files->sources[1], 0, size}, .blob = 7};
    files->request = (SkeletonRequest){
        .files = files->files, .file_count = 2, .weight_size_min = WEIGHT_SIZE, .size_max = 1 << 20};
}

static Status
name_weights(Call *call, Files *files, Skeleton *skeleton)
{
    bool has_tensors = false;
    TRY(safetensors_open(call, files->files, 2, &has_tensors));
    assert_true(has_tensors);
    return named_weights_of_json(call, &files->request, skeleton);
}

static const Tensor *
value_of(const GraphDef *def, size_t index)
{
    assert_true(slice_equals_string(def->nodes[index].op, "Const"));
    assert_int_equal(def->nodes[index].input_count, 0);
    return &node_def_attr(&def->nodes[index], SLICE("value"))->value.tensor;
}

static void
a_large_tensor_is_a_range_of_its_file_and_a_small_one_is_read(void **state)
{
    Call *call = *state;
    Files files;
    AUTO_SKELETON skeleton = {.bytes = {0}};
    AUTO_GRAPH_DEF def = NULL;
    Sha256 digest;
    int32_t small = 0;
    make_files(&files);
    assert_status(call, STATUS_OK, name_weights(call, &files, &skeleton));
    assert_status(call, STATUS_OK, graphdef_json_read(call, buffer_slice(&skeleton.bytes), &def));
    const Tensor *weight = value_of(def, 0);
    const char *data = files.file + sizeof(uint64_t) + sizeof head - 1;
    sha256(slice_of(data, WEIGHT_SIZE), &digest);
    assert_true(tensor_is_absent(weight) && sha256_equal(tensor_digest(weight), &digest));
    assert_int_equal(skeleton_weight_count(&skeleton), 1);
    assert_int_equal(skeleton_weights(&skeleton)->blob, 7);
    assert_int_equal(skeleton_weights(&skeleton)->offset, data - files.file);
    assert_int_equal(skeleton_weights(&skeleton)->size, WEIGHT_SIZE);
    memcpy(&small, data + WEIGHT_SIZE, sizeof small);
    assert_int_equal(*(const int32_t *)value_of(def, 2)->data, small);
}

static bool
name_without_memory(void)
{
    AUTO_ARENA arena = arena_new(1 << 20);
    Call call = {.arena = arena};
    Files files;
    AUTO_SKELETON skeleton = {.bytes = {0}};
    make_files(&files);
    return arena != NULL && name_weights(&call, &files, &skeleton) == STATUS_OK;
}

static void
every_failed_allocation_is_survived(void **state)
{
    (void)state;
    assert_each_allocation_may_fail(name_without_memory, 6);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(a_large_tensor_is_a_range_of_its_file_and_a_small_one_is_read),
        CALL_TEST(every_failed_allocation_is_survived),
    };
    return cmocka_run_group_tests_name("gateway/formats/safetensors", tests, NULL, NULL);
}
