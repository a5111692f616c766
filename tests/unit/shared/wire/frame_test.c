#include "shared/wire/frame.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/fail_alloc.h"

static Call call;
static const FrameLimits small_limits = {.tensor_size_max = 1 << 16};

static FrameReader *
reader_new(const FrameLimits *limits)
{
    FrameReader *reader = frame_reader_new(limits);
    assert_non_null(reader);
    return reader;
}

static void
tensor_append(Buffer *buffer, Slice name, const Tensor *tensor)
{
    size_t before = buffer->size;
    frame_write_tensor_head(buffer, name, tensor);
    Slice payload = frame_tensor_payload(tensor);
    buffer_append_slice(buffer, payload);
    buffer_append(buffer, "\0\0\0\0\0\0\0", frame_padding(payload.size));
    assert_int_equal(buffer->size - before, frame_tensor_size(name, tensor));
    assert_int_equal(buffer->size % 8, 0);
}

static Tensor
bytes_tensor(Dtype dtype, const Shape *shape)
{
    Tensor tensor = {0};
    assert_true(tensor_new(dtype, shape, &tensor));
    size_t size = tensor_byte_size(&tensor);
    for (size_t index = 0; index < size; index++) {
        ((unsigned char *)tensor.data)[index] = (unsigned char)(dtype == DTYPE_BOOL ? index % 2 : index);
    }
    return tensor;
}

static Tensor
strings_tensor(void)
{
    const Slice elements[] = {SLICE("one"), SLICE(""), SLICE("a\0b and more"), SLICE("x")};
    Shape shape = {.rank = 2, .dims = {2, 2}};
    Tensor tensor = {0};
    assert_true(tensor_new_strings(&shape, elements, &tensor));
    return tensor;
}

enum { STREAM_TENSORS = 5 };

/* Writes one frame of each kind and tensors of several dtypes. */
static void
stream_write(Buffer *buffer, Tensor tensors[STREAM_TENSORS])
{
    Shape matrix = {.rank = 2, .dims = {3, 5}};
    Shape empty = {.rank = 3, .dims = {0, 2, 2}};
    Shape scalar = {.rank = 0};
    tensors[0] = bytes_tensor(DTYPE_INT8, &matrix);
    tensors[1] = bytes_tensor(DTYPE_FLOAT64, &empty);
    tensors[2] = bytes_tensor(DTYPE_BOOL, &scalar);
    tensors[3] = strings_tensor();
    assert_true(tensor_new_strings(&empty, NULL, &tensors[4]));
    frame_write_json(buffer, FRAME_HEADER, SLICE("{\"feeds\":5}"));
    for (int index = 0; index < STREAM_TENSORS; index++) {
        tensor_append(buffer, SLICE("x:0"), &tensors[index]);
    }
    frame_write_heartbeat(buffer);
    frame_write_dead(buffer, SLICE("y:1"));
    frame_write_announce(buffer, SLICE("z:2"), UINT64_C(1) << 40);
    frame_write_json(buffer, FRAME_STATUS, SLICE("{\"code\":\"OK\"}"));
    frame_write_json(buffer, FRAME_STATS, SLICE(""));
    assert_true(buffer_is_ok(buffer));
}

/* Compares a frame with the one that was written at this index. */
static void
frame_check(Frame *frame, int index, const Tensor tensors[STREAM_TENSORS])
{
    static const FrameKind kinds[] = {FRAME_HEADER, FRAME_TENSOR, FRAME_TENSOR, FRAME_TENSOR, FRAME_TENSOR,
        FRAME_TENSOR, FRAME_HEARTBEAT, FRAME_DEAD, FRAME_ANNOUNCE, FRAME_STATUS, FRAME_STATS};
    static const char *const names[] = {"", "x:0", "x:0", "x:0", "x:0", "x:0", "", "y:1", "z:2", "", ""};
    static const char *const jsons[] = {
        "{\"feeds\":5}", "", "", "", "", "", "", "", "", "{\"code\":\"OK\"}", ""};
    assert_true(index < (int)COUNT_OF(kinds));
    assert_int_equal(frame->kind, kinds[index]);
    assert_true(slice_equals_string(frame->name, names[index]));
    assert_true(slice_equals_string(frame->json, jsons[index]));
    assert_true(frame->announced_size == (frame->kind == FRAME_ANNOUNCE ? UINT64_C(1) << 40 : 0));
    if (frame->kind == FRAME_TENSOR) {
        assert_true(tensor_equal(&frame->tensor, &tensors[index - 1]));
        assert_int_equal((uintptr_t)frame->tensor.data % 64, 0);
    } else {
        assert_int_equal(frame->tensor.dtype, DTYPE_INVALID);
    }
    tensor_unref(&frame->tensor);
}

/* Feeds exact copies of pieces, so that a sanitizer sees a read past the end; returns how many frames were
 * read. */
static int
piece_read(FrameReader *reader, Slice piece, int index, const Tensor tensors[STREAM_TENSORS])
{
    char *copy = malloc(piece.size + 1);
    memcpy(copy, piece.data, piece.size);
    Slice data = slice_of(copy, piece.size);
    bool is_complete = true;
    while (data.size > 0 || is_complete) {
        Frame frame;
        assert_status(&call, STATUS_OK, frame_read(&call, reader, &data, &frame, &is_complete));
        if (is_complete) {
            frame_check(&frame, index++, tensors);
        }
    }
    free(copy);
    return index;
}

static void
every_kind_comes_back_however_it_is_cut(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    Tensor tensors[STREAM_TENSORS];
    stream_write(&buffer, tensors);
    for (size_t cut = 0; cut <= buffer.size; cut++) {
        FrameReader *reader = reader_new(&small_limits);
        Slice all = buffer_slice(&buffer);
        int count = piece_read(reader, slice_part(all, 0, cut), 0, tensors);
        count = piece_read(reader, slice_part(all, cut, all.size), count, tensors);
        assert_int_equal(count, 11);
        assert_true(frame_reader_is_between(reader));
        frame_reader_free(reader);
    }
    FrameReader *reader = reader_new(&small_limits);
    int count = 0;
    for (size_t index = 0; index < buffer.size; index++) {
        count = piece_read(reader, slice_of(buffer.data + index, 1), count, tensors);
    }
    assert_int_equal(count, 11);
    frame_reader_free(reader);
    for (int index = 0; index < STREAM_TENSORS; index++) {
        tensor_unref(&tensors[index]);
    }
}

static void
only_between_frames_may_a_body_end(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    frame_write_announce(&buffer, SLICE("x"), 7);
    for (size_t size = 0; size <= buffer.size; size++) {
        FrameReader *reader = reader_new(&small_limits);
        Slice data = slice_of(buffer.data, size);
        Frame frame;
        bool is_complete = false;
        assert_status(&call, STATUS_OK, frame_read(&call, reader, &data, &frame, &is_complete));
        assert_int_equal(is_complete, size == buffer.size);
        assert_int_equal(frame_reader_is_between(reader), size == 0 || size == buffer.size);
        frame_reader_free(reader);
    }
}

static void
the_layout_is_the_documented_one(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    Shape shape = {.rank = 1, .dims = {3}};
    AUTO_TENSOR tensor = bytes_tensor(DTYPE_UINT16, &shape);
    tensor_append(&buffer, SLICE("ab"), &tensor);
    unsigned char expected[72] = {'S', 'L', 'F', '1', FRAME_TENSOR, DTYPE_UINT16, 2, 0, 1};
    expected[16] = 6;
    expected[24] = 3;
    expected[32] = 'a';
    expected[33] = 'b';
    for (unsigned char index = 0; index < 6; index++) {
        expected[64 + index] = index;
    }
    assert_int_equal(buffer.size, sizeof expected);
    assert_memory_equal(buffer.data, expected, sizeof expected);
}

/* Reads all of `bytes` and expects a failure. */
static void
expect_failure(Slice bytes, const FrameLimits *limits, Status status, const char *message)
{
    FrameReader *reader = reader_new(limits);
    bool is_complete = true;
    Frame frame = {0};
    Status actual = STATUS_OK;
    while (actual == STATUS_OK && is_complete) {
        actual = frame_read(&call, reader, &bytes, &frame, &is_complete);
        if (actual == STATUS_OK && is_complete) {
            tensor_unref(&frame.tensor);
        }
    }
    assert_int_equal(actual, status);
    assert_string_equal(call.error.message, message);
    assert_false(frame_reader_is_between(reader));
    assert_status(&call, STATUS_INVALID_ARGUMENT, frame_read(&call, reader, &bytes, &frame, &is_complete));
    frame_reader_free(reader);
}

typedef struct Damage {
    size_t offset;
    unsigned char byte;
    Status status;
    const char *message;
} Damage;

static void
damages_are_found(const Damage *damages, size_t count, Slice frame)
{
    for (size_t index = 0; index < count; index++) {
        AUTO_BUFFER broken = {0};
        buffer_append_slice(&broken, frame);
        broken.data[damages[index].offset] = (char)damages[index].byte;
        expect_failure(buffer_slice(&broken), &small_limits, damages[index].status, damages[index].message);
    }
}

static void
damaged_tensor_frames_are_refused(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    Shape shape = {.rank = 1, .dims = {3}};
    AUTO_TENSOR tensor = bytes_tensor(DTYPE_BOOL, &shape);
    tensor_append(&buffer, SLICE("ab"), &tensor);
    const Damage damages[] = {
        {0, 'X', STATUS_INVALID_ARGUMENT, "the bytes are no frame: the magic is missing"},
        {4, 0, STATUS_INVALID_ARGUMENT, "there is no kind 0 of frames"},
        {4, 8, STATUS_INVALID_ARGUMENT, "there is no kind 8 of frames"},
        {4, 255, STATUS_INVALID_ARGUMENT, "there is no kind 255 of frames"},
        {4, FRAME_DEAD, STATUS_INVALID_ARGUMENT, "a dead frame has a dtype or a shape"},
        {4, FRAME_STATUS, STATUS_INVALID_ARGUMENT, "a status frame has a name"},
        {5, DTYPE_INVALID, STATUS_INVALID_ARGUMENT, "a tensor frame cannot hold the dtype 0"},
        {5, DTYPE_RESOURCE, STATUS_INVALID_ARGUMENT, "a tensor frame cannot hold the dtype 17"},
        {5, 255, STATUS_INVALID_ARGUMENT, "a tensor frame cannot hold the dtype 255"},
        {5, DTYPE_INT32, STATUS_INVALID_ARGUMENT, "a tensor frame of shape [3] and int32 has 3 bytes"},
        {5, DTYPE_STRING, STATUS_INVALID_ARGUMENT, "a tensor frame of shape [3] and string has 3 bytes"},
        {7, 17, STATUS_RESOURCE_EXHAUSTED,
            "a frame's name of 4354 bytes or its rank of 1 is over the limits of 4096 and 16"},
        {8, 17, STATUS_RESOURCE_EXHAUSTED,
            "a frame's name of 2 bytes or its rank of 17 is over the limits of 4096 and 16"},
        {9, 1, STATUS_INVALID_ARGUMENT, "the reserved bytes of a tensor frame are not 0"},
        {15, 1, STATUS_INVALID_ARGUMENT, "the reserved bytes of a tensor frame are not 0"},
        {16, 4, STATUS_INVALID_ARGUMENT, "a tensor frame of shape [3] and bool has 4 bytes"},
        {18, 1, STATUS_RESOURCE_EXHAUSTED, "a tensor frame has 65539 bytes, more than 65536"},
        {23, 0x80, STATUS_RESOURCE_EXHAUSTED,
            "a tensor frame has 9223372036854775811 bytes, more than 65536"},
        {31, 0x80, STATUS_INVALID_ARGUMENT, "a tensor frame's shape is negative or too large"},
        {40, 1, STATUS_INVALID_ARGUMENT, "the padding of a tensor frame's head is not 0"},
        {64, 2, STATUS_INVALID_ARGUMENT, "a bool of a tensor frame is neither 0 nor 1"},
        {67, 1, STATUS_INVALID_ARGUMENT, "the padding of a frame's payload is not 0"},
    };
    damages_are_found(damages, COUNT_OF(damages), buffer_slice(&buffer));
}

static void
damaged_strings_are_refused(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    AUTO_TENSOR tensor = strings_tensor();
    tensor_append(&buffer, SLICE("ab"), &tensor);
    const Damage damages[] = {
        {64, 2, STATUS_INVALID_ARGUMENT, "a tensor frame has 1 bytes behind its last string"},
        {64, 4, STATUS_INVALID_ARGUMENT, "string 3 of a tensor frame has 1 bytes, but 0 are left"},
        {71, 0x80, STATUS_INVALID_ARGUMENT,
            "string 0 of a tensor frame has 9223372036854775811 bytes, but 16 are left"},
        {24, 9, STATUS_INVALID_ARGUMENT, "a tensor frame of shape [9,2] and string has 48 bytes"},
        {24, 0, STATUS_INVALID_ARGUMENT, "a tensor frame of shape [0,2] and string has 48 bytes"},
    };
    damages_are_found(damages, COUNT_OF(damages), buffer_slice(&buffer));
}

static void
an_empty_document_is_a_frame_too(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    frame_write_json(&buffer, FRAME_STATS, SLICE(""));
    FrameReader *reader = reader_new(&small_limits);
    Slice data = buffer_slice(&buffer);
    Frame frame;
    bool is_complete = false;
    assert_status(&call, STATUS_OK, frame_read(&call, reader, &data, &frame, &is_complete));
    assert_true(is_complete && frame.json.size == 0);
    frame_reader_free(reader);
}

static void
sizes_are_limited(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    Shape shape = shape_vector(16);
    AUTO_TENSOR tensor = bytes_tensor(DTYPE_UINT8, &shape);
    tensor_append(&buffer, SLICE("x"), &tensor);
    tensor_append(&buffer, SLICE("x"), &tensor);
    FrameLimits tensor_short = {.tensor_size_max = 15};
    expect_failure(buffer_slice(&buffer), &tensor_short, STATUS_RESOURCE_EXHAUSTED,
        "a tensor frame has 16 bytes, more than 15");
    FrameLimits total_short = {.tensor_size_max = 16, .total_size_max = 31};
    expect_failure(
        buffer_slice(&buffer), &total_short, STATUS_RESOURCE_EXHAUSTED, "the frames have more than 31 bytes");
    FrameLimits enough = {.tensor_size_max = 16, .total_size_max = 32};
    FrameReader *reader = reader_new(&enough);
    Slice data = buffer_slice(&buffer);
    for (int index = 0; index < 2; index++) {
        Frame frame;
        bool is_complete = false;
        assert_status(&call, STATUS_OK, frame_read(&call, reader, &data, &frame, &is_complete));
        assert_true(is_complete);
        tensor_unref(&frame.tensor);
    }
    frame_reader_free(reader);
}

static void
json_and_names_are_limited(void **state)
{
    (void)state;
    static char text[FRAME_JSON_SIZE_MAX + 1];
    for (int over = 0; over <= 1; over++) {
        AUTO_BUFFER buffer = {0};
        frame_write_json(&buffer, FRAME_STATS, slice_of(text, FRAME_JSON_SIZE_MAX + (size_t)over));
        FrameReader *reader = reader_new(&small_limits);
        Slice data = buffer_slice(&buffer);
        Frame frame;
        bool is_complete = false;
        assert_status(&call, over ? STATUS_RESOURCE_EXHAUSTED : STATUS_OK,
            frame_read(&call, reader, &data, &frame, &is_complete));
        frame_reader_free(reader);

        AUTO_BUFFER named = {0};
        frame_write_dead(&named, slice_of(text, FRAME_NAME_SIZE_MAX + (size_t)over));
        assert_int_equal(buffer_is_ok(&named), !over);
    }
}

static int allocation_count;
static size_t allocation_size;

static TensorBuffer *
counting_allocate(void *context, size_t size)
{
    assert_int_equal(*(const char *)context, 'c');
    allocation_count++;
    allocation_size = size;
    return tensor_buffer_new(size);
}

static void
payloads_live_where_the_reader_is_told(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    Tensor tensors[STREAM_TENSORS];
    stream_write(&buffer, tensors);
    char context = 'c';
    FrameLimits limits = {
        .tensor_size_max = 1 << 16, .allocate = counting_allocate, .allocate_context = &context};
    FrameReader *reader = reader_new(&limits);
    allocation_count = 0;
    assert_int_equal(piece_read(reader, buffer_slice(&buffer), 0, tensors), 11);
    assert_int_equal(allocation_count, 2);
    assert_int_equal(allocation_size, 1);
    frame_reader_free(reader);
    for (int index = 0; index < STREAM_TENSORS; index++) {
        tensor_unref(&tensors[index]);
    }
}

/* Reads bytes that arrive in two pieces and writes again what was read, tensors of 2 bytes and more by
 * their parts; returns how many parts came. */
static int
parts_read(FrameReader *reader, Slice all, size_t cut, Buffer *written)
{
    Slice halves[] = {slice_part(all, 0, cut), slice_part(all, cut, all.size)};
    int count = 0;
    for (size_t half = 0; half < COUNT_OF(halves); half++) {
        Frame frame = {0};
        bool is_complete = true;
        while (is_complete) {
            assert_status(&call, STATUS_OK, frame_read(&call, reader, &halves[half], &frame, &is_complete));
            if (is_complete && frame.part == FRAME_HEAD) {
                assert_null(frame.tensor.buffer);
                frame_reader_pass(reader);
                frame_write_head(written, frame.name, &frame.tensor, frame.payload_size);
            } else if (is_complete && frame.part == FRAME_PIECE) {
                buffer_append_slice(written, frame.piece);
            } else if (is_complete && frame.part == FRAME_END) {
                buffer_append(written, "\0\0\0\0\0\0\0", frame_padding(frame.payload_size));
            }
            count += is_complete && frame.part != FRAME_WHOLE;
        }
        assert_int_equal(halves[half].size, 0);
    }
    return count;
}

static void
a_large_tensor_is_handed_on_in_pieces_however_it_is_cut(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    Shape vector = shape_vector(5);
    AUTO_TENSOR shorts = bytes_tensor(DTYPE_INT16, &vector);
    AUTO_TENSOR flags = bytes_tensor(DTYPE_BOOL, &vector);
    AUTO_TENSOR strings = strings_tensor();
    tensor_append(&buffer, SLICE("x:0"), &shorts);
    tensor_append(&buffer, SLICE("s"), &strings);
    tensor_append(&buffer, SLICE("y"), &flags);
    FrameLimits limits = {.tensor_size_max = 1 << 16, .head_size_min = 2};
    for (size_t cut = 0; cut <= buffer.size; cut++) {
        AUTO_BUFFER written = {0};
        FrameReader *reader = reader_new(&limits);
        int count = parts_read(reader, buffer_slice(&buffer), cut, &written);
        assert_true(count == 9 || count == 10); /* a payload that is cut comes as two pieces */
        assert_true(frame_reader_is_between(reader));
        assert_true(slice_equal(buffer_slice(&written), buffer_slice(&buffer)));
        frame_reader_free(reader);
    }
}

static void
a_tensor_whose_head_was_told_comes_whole_unless_pieces_are_wanted(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    Shape vector = shape_vector(5);
    AUTO_TENSOR tensor = bytes_tensor(DTYPE_INT16, &vector);
    FrameLimits limits = {.tensor_size_max = 1 << 16, .head_size_min = 10};
    FrameReader *reader = reader_new(&limits);
    Frame frame;
    bool is_complete = false;
    tensor_append(&buffer, SLICE("x"), &tensor);
    Slice data = buffer_slice(&buffer);
    assert_status(&call, STATUS_OK, frame_read(&call, reader, &data, &frame, &is_complete));
    assert_true(is_complete && frame.part == FRAME_HEAD && frame.kind == FRAME_TENSOR);
    assert_true(frame.tensor.dtype == DTYPE_INT16 && frame.tensor.shape.dims[0] == 5);
    assert_status(&call, STATUS_OK, frame_read(&call, reader, &data, &frame, &is_complete));
    assert_true(is_complete && frame.part == FRAME_WHOLE);
    assert_true(tensor_equal(&frame.tensor, &tensor));
    tensor_unref(&frame.tensor);
    frame_reader_free(reader);
}

static void
a_piece_with_a_wrong_bool_is_refused(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    Shape vector = shape_vector(5);
    AUTO_TENSOR tensor = bytes_tensor(DTYPE_BOOL, &vector);
    FrameLimits limits = {.tensor_size_max = 1 << 16, .head_size_min = 1};
    FrameReader *reader = reader_new(&limits);
    Frame frame;
    bool is_complete = false;
    tensor_append(&buffer, SLICE("x"), &tensor);
    buffer.data[buffer.size - 6] = 2;
    Slice data = buffer_slice(&buffer);
    assert_status(&call, STATUS_OK, frame_read(&call, reader, &data, &frame, &is_complete));
    frame_reader_pass(reader);
    assert_status(&call, STATUS_INVALID_ARGUMENT, frame_read(&call, reader, &data, &frame, &is_complete));
    assert_string_equal(call.error.message, "a bool of a tensor frame is neither 0 nor 1");
    frame_reader_free(reader);
}

static Status
run(Slice bytes)
{
    FrameReader *reader = frame_reader_new(&small_limits);
    if (reader == NULL) {
        return STATUS_RESOURCE_EXHAUSTED;
    }
    Status status = STATUS_OK;
    bool is_complete = true;
    while (status == STATUS_OK && is_complete) {
        Frame frame = {0};
        status = frame_read(&call, reader, &bytes, &frame, &is_complete);
        tensor_unref(&frame.tensor);
    }
    frame_reader_free(reader);
    return status;
}

static void
every_allocation_that_fails_is_reported(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    Tensor tensors[STREAM_TENSORS];
    stream_write(&buffer, tensors);
    fail_alloc_at = 0;
    fail_alloc_count = 0;
    assert_true(run(buffer_slice(&buffer)) == STATUS_OK);
    size_t total = fail_alloc_count;
    assert_true(total >= 5);
    for (size_t index = 1; index <= total; index++) {
        fail_alloc_count = 0;
        fail_alloc_at = index;
        assert_true(run(buffer_slice(&buffer)) == STATUS_RESOURCE_EXHAUSTED);
    }
    fail_alloc_at = 0;
    for (int index = 0; index < STREAM_TENSORS; index++) {
        tensor_unref(&tensors[index]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_comes_back_however_it_is_cut),
        cmocka_unit_test(only_between_frames_may_a_body_end),
        cmocka_unit_test(the_layout_is_the_documented_one),
        cmocka_unit_test(damaged_tensor_frames_are_refused),
        cmocka_unit_test(damaged_strings_are_refused),
        cmocka_unit_test(an_empty_document_is_a_frame_too),
        cmocka_unit_test(sizes_are_limited),
        cmocka_unit_test(json_and_names_are_limited),
        cmocka_unit_test(payloads_live_where_the_reader_is_told),
        cmocka_unit_test(a_large_tensor_is_handed_on_in_pieces_however_it_is_cut),
        cmocka_unit_test(a_tensor_whose_head_was_told_comes_whole_unless_pieces_are_wanted),
        cmocka_unit_test(a_piece_with_a_wrong_bool_is_refused),
        cmocka_unit_test(every_allocation_that_fails_is_reported),
    };
    return cmocka_run_group_tests_name("shared/wire/frame", tests, NULL, NULL);
}
