#include "shared/tensor/npy.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/fail_alloc.h"

static Call call;

enum { BYTES_MAX = 1 << 16 };

/* Makes a version 1 file of a dictionary and elements. */
static Slice
file_of(const char *dictionary, Slice elements, Buffer *buffer)
{
    buffer_clear(buffer);
    size_t size = strlen(dictionary);
    buffer_append(buffer, "\x93NUMPY\x01\x00", 8);
    buffer_append_byte(buffer, (char)(size & 0xff));
    buffer_append_byte(buffer, (char)(size >> 8));
    buffer_append_string(buffer, dictionary);
    buffer_append_slice(buffer, elements);
    return buffer_slice(buffer);
}

static void
a_header_is_written_as_numpy_does(void **state)
{
    (void)state;
    const struct {
        Shape shape;
        const char *text;
    } rows[] = {
        {{.rank = 0}, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }"},
        {{.rank = 1, .dims = {3}}, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }"},
        {{.rank = 3, .dims = {2, 0, 4}}, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 0, 4), }"},
    };
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        AUTO_BUFFER buffer = {0};
        AUTO_TENSOR tensor = {0};
        assert_true(tensor_new(DTYPE_FLOAT32, &rows[index].shape, &tensor));
        assert_status(&call, STATUS_OK, npy_write_header(&call, &tensor, &buffer));
        assert_int_equal(buffer.size % 64, 0);
        assert_memory_equal(buffer.data, "\x93NUMPY\x01\x00", 8);
        assert_int_equal((unsigned char)buffer.data[8] | buffer.data[9] << 8, buffer.size - 10);
        assert_memory_equal(buffer.data + 10, rows[index].text, strlen(rows[index].text));
        assert_int_equal(buffer.data[buffer.size - 1], '\n');
    }
}

static void
every_dtype_comes_back(void **state)
{
    (void)state;
    Shape shape = {.rank = 2, .dims = {3, 2}};
    for (Dtype dtype = DTYPE_INVALID + 1; dtype < DTYPE_COUNT; dtype++) {
        if (!dtype_is_copyable(dtype)) {
            continue;
        }
        AUTO_BUFFER buffer = {0};
        AUTO_TENSOR tensor = {0};
        AUTO_TENSOR back = {0};
        assert_true(tensor_new(dtype, &shape, &tensor));
        memset(tensor.data, 1, tensor_byte_size(&tensor));
        bool is_known = *dtype_npy(dtype) != '\0';
        assert_status(
            &call, is_known ? STATUS_OK : STATUS_UNIMPLEMENTED, npy_write_header(&call, &tensor, &buffer));
        if (is_known) {
            buffer_append(&buffer, tensor.data, tensor_byte_size(&tensor));
            assert_status(&call, STATUS_OK, npy_read(&call, buffer_slice(&buffer), BYTES_MAX, &back));
            assert_true(tensor_equal(&tensor, &back));
        }
    }
}

static void
fortran_order_is_turned(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    AUTO_TENSOR tensor = {0};
    /* The elements of numpy.asfortranarray(numpy.arange(24).reshape(2, 3, 4)). */
    unsigned char elements[24];
    for (int first = 0; first < 2; first++) {
        for (int second = 0; second < 3; second++) {
            for (int third = 0; third < 4; third++) {
                elements[first + 2 * second + 6 * third] = (unsigned char)(first * 12 + second * 4 + third);
            }
        }
    }
    Slice file = file_of("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4)}",
        slice_of(elements, sizeof elements), &buffer);
    assert_status(&call, STATUS_OK, npy_read(&call, file, BYTES_MAX, &tensor));
    for (int index = 0; index < 24; index++) {
        assert_int_equal(((unsigned char *)tensor.data)[index], index);
    }
}

static void
fortran_order_of_few_or_no_elements_is_nothing_special(void **state)
{
    (void)state;
    const struct {
        const char *dictionary;
        Slice elements;
    } rows[] = {
        {"{'descr': '|u1', 'fortran_order': True, 'shape': ()}", SLICE("a")},
        {"{'descr': '|u1', 'fortran_order': True, 'shape': (3,)}", SLICE("abc")},
        {"{'descr': '|u1', 'fortran_order': True, 'shape': (3, 0, 2)}", SLICE("")},
        {"{'descr': '|u1', 'fortran_order': True, 'shape': (1, 3, 1)}", SLICE("abc")},
    };
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        AUTO_BUFFER buffer = {0};
        AUTO_TENSOR tensor = {0};
        Slice file = file_of(rows[index].dictionary, rows[index].elements, &buffer);
        assert_status(&call, STATUS_OK, npy_read(&call, file, BYTES_MAX, &tensor));
        assert_true(slice_equal(slice_of(tensor.data, tensor_byte_size(&tensor)), rows[index].elements));
    }
}

static void
headers_of_other_writers_are_read(void **state)
{
    (void)state;
    const char *const dictionaries[] = {
        "{'shape':(2,),'fortran_order':False,'descr':'<u2'}",
        "  {\"descr\" : \"<u2\" , \"shape\" : ( 2 , ) , \"fortran_order\" : False , }  \n",
        "{'descr': '<u2', 'fortran_order': False, 'shape': (2L,), }",
        "{'descr': '<u2', 'fortran_order': False, 'shape': (1L, 2L), }",
    };
    for (size_t index = 0; index < COUNT_OF(dictionaries); index++) {
        AUTO_BUFFER buffer = {0};
        AUTO_TENSOR tensor = {0};
        Slice file = file_of(dictionaries[index], SLICE("\1\0\2\0"), &buffer);
        assert_status(&call, STATUS_OK, npy_read(&call, file, BYTES_MAX, &tensor));
        assert_int_equal(tensor.dtype, DTYPE_UINT16);
        assert_int_equal(tensor_element_count(&tensor), 2);
    }
    AUTO_TENSOR tensor = {0};
    Slice second_version =
        SLICE("\x93NUMPY\x02\x00\x35\0\0\0{'descr': '|u1', 'fortran_order': False, 'shape': ()}x");
    assert_status(&call, STATUS_OK, npy_read(&call, second_version, BYTES_MAX, &tensor));
}

static void
broken_files_are_refused_with_the_reason(void **state)
{
    (void)state;
    const struct {
        const char *dictionary;
        Status status;
        const char *message;
    } rows[] = {
        {"", STATUS_INVALID_ARGUMENT, "the .npy header is no dictionary"},
        {"{", STATUS_INVALID_ARGUMENT, "the .npy header is no dictionary"},
        {"{}", STATUS_INVALID_ARGUMENT, "the .npy header lacks one of 'descr', 'fortran_order', 'shape'"},
        {"{'descr': '|u1' 'shape': ()}", STATUS_INVALID_ARGUMENT, "the .npy header is no dictionary"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (2,)} x", STATUS_INVALID_ARGUMENT,
            "the .npy header is no dictionary"},
        {"{'descr': '|u1', 'descr': '|u1'}", STATUS_INVALID_ARGUMENT,
            "the .npy header's 'descr' is not one string"},
        {"{'descr': 1}", STATUS_INVALID_ARGUMENT, "the .npy header's 'descr' is not one string"},
        {"{'fortran_order': 1}", STATUS_INVALID_ARGUMENT,
            "the .npy header's 'fortran_order' is not one True or False"},
        {"{'shape': (2)}", STATUS_INVALID_ARGUMENT,
            "the .npy header's 'shape' is not one tuple of at most 16 sizes"},
        {"{'shape': (-1,)}", STATUS_INVALID_ARGUMENT,
            "the .npy header's 'shape' is not one tuple of at most 16 sizes"},
        {"{'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}", STATUS_INVALID_ARGUMENT,
            "the .npy header's 'shape' is not one tuple of at most 16 sizes"},
        {"{'shape': (9223372036854775808,)}", STATUS_INVALID_ARGUMENT,
            "the .npy header's 'shape' is not one tuple of at most 16 sizes"},
        {"{'extra': 1}", STATUS_INVALID_ARGUMENT, "the .npy header has an unknown entry 'extra'"},
        {"{'descr': [('a', '<f4')]}", STATUS_UNIMPLEMENTED, "a .npy file of records is not supported"},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': ()}", STATUS_UNIMPLEMENTED,
            "the .npy type '>f4' is not supported"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': ()}", STATUS_UNIMPLEMENTED,
            "the .npy type '|O' is not supported"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (3,)}", STATUS_INVALID_ARGUMENT,
            "the .npy file has 2 bytes of elements, but shape [3] of uint8 has 3"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (1,)}", STATUS_INVALID_ARGUMENT,
            "the .npy file has 2 bytes of elements, but shape [1] of uint8 has 1"},
        {"{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}", STATUS_INVALID_ARGUMENT,
            "a bool of the .npy file is neither 0 nor 1"},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (65537,)}", STATUS_RESOURCE_EXHAUSTED,
            "the .npy file's shape [65537] of uint8 has more than 65536 bytes"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 0)}",
            STATUS_RESOURCE_EXHAUSTED,
            "the .npy file's shape [4294967296,4294967296,0] of float64 has more than 65536 bytes"},
    };
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        AUTO_BUFFER buffer = {0};
        AUTO_TENSOR tensor = {0};
        Slice file = file_of(rows[index].dictionary, SLICE("\2\3"), &buffer);
        assert_status(&call, rows[index].status, npy_read(&call, file, BYTES_MAX, &tensor));
        assert_string_equal(call.error.message, rows[index].message);
    }
}

static void
no_cut_of_a_file_is_a_file(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    Slice file =
        file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", SLICE("abcdefgh"), &buffer);
    for (size_t size = 0; size < file.size; size++) {
        char *copy = malloc(size + 1);
        memcpy(copy, file.data, size);
        Tensor tensor = {0};
        assert_status(
            &call, STATUS_INVALID_ARGUMENT, npy_read(&call, slice_of(copy, size), BYTES_MAX, &tensor));
        free(copy);
    }
    buffer.data[6] = 4;
    Tensor tensor = {0};
    assert_status(&call, STATUS_UNIMPLEMENTED, npy_read(&call, file, BYTES_MAX, &tensor));
}

/* Takes the next piece of a file that is divided in two at `cut`, or into bytes; false at its end. */
static bool
take_piece(Slice file, size_t cut, size_t *start, Slice *ret_piece)
{
    size_t end = cut == 0 ? *start + 1 : *start < cut ? cut : file.size;
    *ret_piece = slice_part(file, *start, end - *start);
    *start += ret_piece->size;
    return ret_piece->size > 0;
}

/* Reads the file in such pieces. */
static Status
read_in_pieces(Slice file, size_t cut, Tensor *ret_tensor)
{
    NpyReader reader = {0};
    Status status = STATUS_OK;
    size_t start = 0;
    Slice piece;
    while (status == STATUS_OK && take_piece(file, cut, &start, &piece)) {
        status = npy_reader_write(&call, &reader, piece, BYTES_MAX);
    }
    status = status == STATUS_OK ? npy_reader_end(&call, &reader, ret_tensor) : status;
    npy_reader_done(&reader);
    return status;
}

/* Checks the file in the same pieces. */
static Status
check_in_pieces(Slice file, size_t cut, Tensor *ret_described)
{
    NpyCheck check = {0};
    Status status = STATUS_OK;
    size_t start = 0;
    Slice piece;
    while (status == STATUS_OK && take_piece(file, cut, &start, &piece)) {
        status = npy_check_write(&call, &check, piece, BYTES_MAX);
    }
    status = status == STATUS_OK ? npy_check_end(&call, &check) : status;
    *ret_described = check.head.described;
    npy_check_done(&check);
    return status;
}

static void
a_file_in_pieces_is_read_or_refused_like_the_whole(void **state)
{
    (void)state;
    const struct {
        const char *dictionary;
        Slice elements;
    } rows[] = {
        {"{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }", SLICE("abcd")},
        {"{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", SLICE("abcdef")},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (0,), }", SLICE("")},
        {"{'descr': '|u1', 'fortran_order': False, 'shape': (0,), }", SLICE("a")},
        {"{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", SLICE("ab")},
        {"{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }", SLICE("abc")},
        {"{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }", SLICE("abcde")},
        {"{'descr': '<i2', 'fortran_order': False, 'shape': (99999999,), }", SLICE("abcde")},
        {"{'descr': '<i2'}", SLICE("abcde")},
    };
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        AUTO_BUFFER buffer = {0};
        AUTO_TENSOR whole = {0};
        Slice file = file_of(rows[index].dictionary, rows[index].elements, &buffer);
        Status expected = npy_read(&call, file, BYTES_MAX, &whole);
        for (size_t cut = 0; cut <= file.size; cut++) {
            AUTO_TENSOR tensor = {0};
            Tensor described;
            assert_int_equal(read_in_pieces(file, cut, &tensor), expected);
            assert_true(expected != STATUS_OK || tensor_equal(&tensor, &whole));
            assert_int_equal(check_in_pieces(file, cut, &described), expected);
            assert_true(expected != STATUS_OK ||
                        (described.dtype == whole.dtype && shape_equal(&described.shape, &whole.shape)));
        }
    }
}

static void
a_cut_file_in_pieces_is_refused(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    Slice file = file_of("{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }", SLICE("abcd"), &buffer);
    for (size_t size = 0; size < file.size; size++) {
        AUTO_TENSOR tensor = {0};
        Tensor described;
        Slice part = slice_part(file, 0, size);
        assert_int_equal(check_in_pieces(part, 0, &described), STATUS_INVALID_ARGUMENT);
        assert_int_equal(read_in_pieces(part, 0, &tensor), STATUS_INVALID_ARGUMENT);
    }
    assert_string_equal(
        call.error.message, "the .npy file has 3 bytes of elements, but shape [2] of int16 has 4");
}

static void
no_memory_is_reported(void **state)
{
    (void)state;
    AUTO_BUFFER buffer = {0};
    Tensor tensor = {0};
    Slice file = file_of("{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}", SLICE("ab"), &buffer);
    fail_alloc_count = 0;
    fail_alloc_at = 1;
    assert_status(&call, STATUS_RESOURCE_EXHAUSTED, npy_read(&call, file, BYTES_MAX, &tensor));
    fail_alloc_at = 0;
    AUTO_TENSOR made = {0};
    assert_status(&call, STATUS_OK, npy_read(&call, file, 2, &made));
    fail_alloc_count = 0;
    fail_alloc_at = 1;
    AUTO_BUFFER header = {0};
    assert_status(&call, STATUS_RESOURCE_EXHAUSTED, npy_write_header(&call, &made, &header));
    fail_alloc_at = 0;
    assert_status(&call, STATUS_RESOURCE_EXHAUSTED, npy_read(&call, file, 1, &tensor));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_header_is_written_as_numpy_does),
        cmocka_unit_test(every_dtype_comes_back),
        cmocka_unit_test(fortran_order_is_turned),
        cmocka_unit_test(fortran_order_of_few_or_no_elements_is_nothing_special),
        cmocka_unit_test(headers_of_other_writers_are_read),
        cmocka_unit_test(broken_files_are_refused_with_the_reason),
        cmocka_unit_test(no_cut_of_a_file_is_a_file),
        cmocka_unit_test(a_file_in_pieces_is_read_or_refused_like_the_whole),
        cmocka_unit_test(a_cut_file_in_pieces_is_refused),
        cmocka_unit_test(no_memory_is_reported),
    };
    return cmocka_run_group_tests_name("shared/tensor/npy", tests, NULL, NULL);
}
