/* Checkpoints that TensorFlow wrote, whole, damaged and in parts, as SavedModels bring them
 * (tests/unit/gateway/expand/data/make_saved_model.py). */
#include "gateway/formats/checkpoint.h"

#include "gateway/formats/saved_model.h"
#include "gateway/formats/tar.h"
#include "tests/support/call_fixture.h"
#include "tests/support/fail_alloc.h"
#include "tests/support/files.h"
#include "tests/support/tensor_literals.h"

static const char slices[] = "tests/unit/gateway/expand/data/slices.tar";
static const char training[] = "tests/unit/gateway/expand/data/training.tar";

/* A change to the archive's files of this name. */
typedef struct Change {
    const char *name; /* NULL: no file is changed */
    bool is_left_out;
    size_t size_less;
    size_t offset; /* of the byte whose bits are flipped */
    char bits;
} Change;

static void
append_file(Buffer *archive, const TarFile *file, const Change *change)
{
    static const char zeros[TAR_BLOCK_SIZE] = {0};
    char header[TAR_BLOCK_SIZE];
    bool is_changed = change->name != NULL && slice_equals_string(file->name, change->name);
    size_t size = (size_t)file->content.size - (is_changed ? change->size_less : 0);
    if (is_changed && change->is_left_out) {
        return;
    }
    assert_true(tar_header(file->name, size, header));
    buffer_append(archive, header, sizeof header);
    size_t start = archive->size;
    buffer_append(archive, tar_content(file).data, size);
    if (is_changed) {
        archive->data[start + change->offset] ^= change->bits;
    }
    buffer_append(archive, zeros, (TAR_BLOCK_SIZE - size % TAR_BLOCK_SIZE) % TAR_BLOCK_SIZE);
}

static TensorBuffer *
changed_archive(Call *call, const char *path, const Change *change)
{
    static const char end[2 * TAR_BLOCK_SIZE] = {0};
    TensorBuffer *source = file_read(path);
    AUTO_BUFFER archive = {0};
    assert_non_null(source);
    ByteSource bytes = byte_source_of(slice_of(source->data, source->size));
    TarReader reader = {.rest = {&bytes, 0, bytes.size}};
    TarFile file;
    bool is_found = true;
    assert_status(call, STATUS_OK, tar_next(call, &reader, &file, &is_found));
    while (is_found) {
        append_file(&archive, &file, change);
        assert_status(call, STATUS_OK, tar_next(call, &reader, &file, &is_found));
    }
    buffer_append(&archive, end, sizeof end);
    tensor_buffer_unref(source);
    TensorBuffer *changed = tensor_buffer_new(archive.size);
    assert_true(buffer_is_ok(&archive) && changed != NULL);
    memcpy(changed->data, archive.data, archive.size);
    return changed;
}

static Status
read_changed(Call *call, const char *path, Change change, GraphDef **ret_def)
{
    TensorBuffer *archive = changed_archive(call, path, &change);
    Status status = saved_model_read(call, archive, ret_def);
    tensor_buffer_unref(archive);
    return status;
}

static void
expect_refused(Call *call, const char *path, Change change, const char *message)
{
    AUTO_GRAPH_DEF def = NULL;
    assert_status(call, STATUS_INVALID_ARGUMENT, read_changed(call, path, change, &def));
    assert_string_equal(call->error.message, message);
}

static void
expect_tensor(const GraphDef *def, const char *name, const char *expected)
{
    AUTO_TENSOR wanted = tensor_literal(expected);
    for (size_t index = 0; index < def->checkpoint_count; index++) {
        if (slice_equals_string(def->checkpoint[index].name, name)) {
            assert_true(tensor_is_near(&def->checkpoint[index].tensor, &wanted, 0));
            return;
        }
    }
    fail_msg("no tensor '%s'", name);
}

static void
tensors_of_several_files_come_by_name_and_slices_by_theirs(void **state)
{
    Call *call = *state;
    AUTO_GRAPH_DEF def = NULL;
    assert_status(call, STATUS_OK, read_changed(call, slices, (Change){.name = NULL}, &def));
    assert_int_equal(def->checkpoint_count, 3);
    expect_tensor(def, "r/n", "float32[] 5");
    expect_tensor(def, "r/w 0,2:0,2", "float32[2,2] 0 1 2 3");
    expect_tensor(def, "r/w 2,2:0,2", "float32[2,2] 4 5 6 7");
}

typedef struct SliceKey {
    const char *key;
    size_t size;
    const char *name; /* NULL: the key is no slice's */
} SliceKey;

#define SLICE_KEY(bytes, slice_name)                                                                         \
    {                                                                                                        \
        .key = (bytes), .size = sizeof(bytes) - 1, .name = (slice_name)                                      \
    }

/* The keys are written as TensorFlow's EncodeTensorNameSlice() writes them. */
static void
keys_of_slices_are_decoded(void **state)
{
    (void)state;
    static const SliceKey keys[] = {
        SLICE_KEY("\0w\0\1\1\1\x80\x82", "w 0,2"),
        SLICE_KEY("\0w\0\1\1\2\x80\x7f\xbf\x81", "w -:63,1"),
        SLICE_KEY("\0w\0\1\1\1\xc0\x40\xdf\xff", "w 64,8191"),
        SLICE_KEY("\0w\0\1\1\1\xe0\x20\x00\xef\x42\x40", "w 8192,1000000"),
        SLICE_KEY("\0w\0\1\0", "w "),
        SLICE_KEY("\1w\0\1\1\1\x80\x82", NULL),
        SLICE_KEY("\0w\0\1\1\1\x80", NULL),
        SLICE_KEY("\0w\0\1\1\1\x80\x82\x80", NULL),
        SLICE_KEY("\0w\0\1\1\1\x7f\x82", NULL),
        SLICE_KEY("\0w\0\1\1\1\x80\x70", NULL),
        SLICE_KEY("\0w\0\1\1\x11", NULL),
        SLICE_KEY("\0w\0\2\1\1\x80\x82", NULL),
        SLICE_KEY("\0w", NULL),
        SLICE_KEY("\0w\0\1\1\1\xff\xff\0\0\0\0\0\0\x80", NULL),
    };
    for (size_t index = 0; index < COUNT_OF(keys); index++) {
        AUTO_BUFFER name = {0};
        bool is_slice = checkpoint_slice_name(slice_of(keys[index].key, keys[index].size), &name);
        assert_int_equal(is_slice, keys[index].name != NULL);
        if (is_slice) {
            assert_string_equal(buffer_string(&name), keys[index].name);
        }
    }
}

static void
a_tensor_whose_bytes_changed_is_named(void **state)
{
    static const char shard[] = "variables/variables.data-00000-of-00002";
    expect_refused(*state, slices, (Change){.name = shard, .offset = 3, .bits = 1},
        "tensor 'r/w 0,2:0,2' of the checkpoint is damaged: its checksum does not fit");
    expect_refused(*state, slices, (Change){.name = shard, .offset = 16, .bits = 64},
        "tensor 'r/w 2,2:0,2' of the checkpoint is damaged: its checksum does not fit");
}

/* The first tensor of every SavedModel's shard, by name, is a string. */
static void
strings_have_checksums_too(void **state)
{
    static const char shard[] = "variables/variables.data-00000-of-00001";
    for (size_t offset = 0; offset < 40; offset++) {
        AUTO_GRAPH_DEF def = NULL;
        Call *call = *state;
        Change change = {.name = shard, .offset = offset, .bits = 1};
        assert_status(call, STATUS_INVALID_ARGUMENT, read_changed(call, training, change, &def));
        assert_non_null(strstr(call->error.message, "' of the checkpoint is damaged: "));
    }
}

static void
a_tensor_of_a_file_that_is_cut_or_missing_is_named(void **state)
{
    static const char shard[] = "variables/variables.data-00001-of-00002";
    expect_refused(*state, slices, (Change){.name = shard, .is_left_out = true},
        "tensor 'r/n' of the checkpoint lies in a file that is not there");
    expect_refused(*state, slices, (Change){.name = shard, .size_less = 1},
        "tensor 'r/n' of the checkpoint reaches past the end of its file");
}

static void
every_byte_of_the_index_counts(void **state)
{
    enum { INDEX_SIZE = 222, FOOTER_SIZE = 48 };
    for (size_t offset = 0; offset < INDEX_SIZE - FOOTER_SIZE; offset++) {
        AUTO_GRAPH_DEF def = NULL;
        Change change = {.name = "variables/variables.index", .offset = offset, .bits = 1};
        Status status = read_changed(*state, slices, change, &def);
        assert_true(
            status == STATUS_INVALID_ARGUMENT || status == STATUS_UNIMPLEMENTED || status == STATUS_OK);
        if (status == STATUS_OK) {
            /* Nobody reads the block of metadata, which is empty. */
            assert_in_range(offset, 0x8d, 0x99);
        }
    }
}

static void
without_memory_nothing_leaks(void **state)
{
    TensorBuffer *archive = file_read(slices);
    Status status = STATUS_RESOURCE_EXHAUSTED;
    assert_non_null(archive);
    for (size_t at = 1; status != STATUS_OK; at++) {
        AUTO_GRAPH_DEF def = NULL;
        fail_alloc_count = 0;
        fail_alloc_at = at;
        status = saved_model_read(*state, archive, &def);
        fail_alloc_at = 0;
        assert_true(status == STATUS_OK || status == STATUS_RESOURCE_EXHAUSTED);
    }
    tensor_buffer_unref(archive);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(tensors_of_several_files_come_by_name_and_slices_by_theirs),
        CALL_TEST(keys_of_slices_are_decoded),
        CALL_TEST(a_tensor_whose_bytes_changed_is_named),
        CALL_TEST(strings_have_checksums_too),
        CALL_TEST(a_tensor_of_a_file_that_is_cut_or_missing_is_named),
        CALL_TEST(every_byte_of_the_index_counts),
        CALL_TEST(without_memory_nothing_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
