#include "shared/tensor/tensor_json.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/fail_alloc.h"

enum { BYTES_MAX = 1 << 12 };

typedef struct Fixture {
    Arena *arena;
    Call call;
    Tensor tensor;
    Slice reference;
} Fixture;

static void
fixture_begin(Fixture *fixture)
{
    *fixture = (Fixture){.arena = arena_new(1 << 16)};
    fixture->call.arena = fixture->arena;
}

static void
fixture_end(Fixture *fixture)
{
    tensor_unref(&fixture->tensor);
    arena_free(fixture->arena);
}
#define AUTO_FIXTURE CLEANUP(fixture_end) Fixture

static Status
read_with(Fixture *fixture, Slice text, Dtype expected, size_t byte_size_max)
{
    tensor_unref(&fixture->tensor);
    JsonScanner scanner;
    json_scan_begin(&scanner, text, JSON_DEPTH_MAX);
    TensorJsonOptions options = {.expected = expected, .byte_size_max = byte_size_max};
    TRY(tensor_json_read(&fixture->call, &scanner, options, &fixture->tensor, &fixture->reference));
    return json_scan_end(&fixture->call, &scanner);
}

static Status
read_text(Fixture *fixture, const char *text, Dtype expected)
{
    return read_with(fixture, slice_from_string(text), expected, BYTES_MAX);
}

static const char *
write_text(const Tensor *tensor, Buffer *buffer)
{
    buffer_clear(buffer);
    JsonWriter writer = json_writer(buffer);
    tensor_json_write(&writer, tensor);
    return buffer_string(buffer);
}

/* Each first text is written back as the second, which reads as the same tensor. */
static void
every_form_is_read(void **state)
{
    (void)state;
    const struct {
        const char *text;
        Dtype expected;
        const char *written;
    } rows[] = {
        {"{\"dtype\":\"float32\",\"shape\":[1,3],\"data\":[1,2.5,-3e-7]}", DTYPE_INVALID,
            "{\"dtype\":\"float32\",\"shape\":[1,3],\"data\":[1,2.5,-3e-7]}"},
        {"{\"data\":[[1,2],[3,4],[5,6]],\"dtype\":\"int32\"}", DTYPE_INVALID,
            "{\"dtype\":\"int32\",\"shape\":[3,2],\"data\":[1,2,3,4,5,6]}"},
        {"{\"shape\":[3,2],\"data\":[[1,2],[3,4],[5,6]],\"dtype\":\"uint8\"}", DTYPE_UINT8,
            "{\"dtype\":\"uint8\",\"shape\":[3,2],\"data\":[1,2,3,4,5,6]}"},
        {"{\"data\":[1,2,3,4],\"shape\":[2,1,2]}", DTYPE_INT16,
            "{\"dtype\":\"int16\",\"shape\":[2,1,2],\"data\":[1,2,3,4]}"},
        {"{\"dtype\":\"bool\",\"data\":[true,false]}", DTYPE_INVALID,
            "{\"dtype\":\"bool\",\"shape\":[2],\"data\":[true,false]}"},
        {"{\"dtype\":\"int64\",\"data\":[9007199254740993,\"-9223372036854775808\"]}", DTYPE_INVALID,
            "{\"dtype\":\"int64\",\"shape\":[2],\"data\":[9007199254740993,-9223372036854775808]}"},
        {"{\"dtype\":\"uint64\",\"data\":18446744073709551615}", DTYPE_INVALID,
            "{\"dtype\":\"uint64\",\"shape\":[],\"data\":[18446744073709551615]}"},
        {"{\"dtype\":\"int8\",\"data\":[-128,127]}", DTYPE_INVALID,
            "{\"dtype\":\"int8\",\"shape\":[2],\"data\":[-128,127]}"},
        {"{\"dtype\":\"uint32\",\"data\":[4294967295,0]}", DTYPE_INVALID,
            "{\"dtype\":\"uint32\",\"shape\":[2],\"data\":[4294967295,0]}"},
        {"[\"NaN\",\"-Infinity\",0.1]", DTYPE_FLOAT64,
            "{\"dtype\":\"float64\",\"shape\":[3],\"data\":[\"NaN\",\"-Infinity\",0.1]}"},
        {"{\"dtype\":\"float16\",\"data\":[1.00048828126,65504,\"Infinity\"]}", DTYPE_INVALID,
            "{\"dtype\":\"float16\",\"shape\":[3],\"data\":[1.0009766,65504,\"Infinity\"]}"},
        {"{\"dtype\":\"bfloat16\",\"data\":[1,0.5]}", DTYPE_INVALID,
            "{\"dtype\":\"bfloat16\",\"shape\":[2],\"data\":[1,0.5]}"},
        {"{\"dtype\":\"complex64\",\"data\":[[1,-2],[0.5,\"NaN\"]]}", DTYPE_INVALID,
            "{\"dtype\":\"complex64\",\"shape\":[2],\"data\":[[1,-2],[0.5,\"NaN\"]]}"},
        {"{\"dtype\":\"complex128\",\"shape\":[],\"data\":[3,4]}", DTYPE_INVALID,
            "{\"dtype\":\"complex128\",\"shape\":[],\"data\":[[3,4]]}"},
        {"{\"dtype\":\"complex128\",\"shape\":[0],\"data\":[]}", DTYPE_INVALID,
            "{\"dtype\":\"complex128\",\"shape\":[0],\"data\":[]}"},
        {"{\"dtype\":\"string\",\"data\":[\"\\u00e9\",\"\",{\"b64\":\"_w\"}]}", DTYPE_INVALID,
            "{\"dtype\":\"string\",\"shape\":[3],\"data\":[\"\xc3\xa9\",\"\",{\"b64\":\"/w==\"}]}"},
        {"{\"b64\":\"YWI=\"}", DTYPE_STRING, "{\"dtype\":\"string\",\"shape\":[],\"data\":[\"ab\"]}"},
        {"[[],[]]", DTYPE_FLOAT32, "{\"dtype\":\"float32\",\"shape\":[2,0],\"data\":[]}"},
        {"{\"shape\":[0,3],\"data\":[]}", DTYPE_FLOAT32,
            "{\"dtype\":\"float32\",\"shape\":[0,3],\"data\":[]}"},
        {"\"text\"", DTYPE_STRING, "{\"dtype\":\"string\",\"shape\":[],\"data\":[\"text\"]}"},
        {"7", DTYPE_FLOAT32, "{\"dtype\":\"float32\",\"shape\":[],\"data\":[7]}"},
        {"[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]", DTYPE_INT32,
            "{\"dtype\":\"int32\",\"shape\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],\"data\":[1]}"},
        {"{\"dtype\":\"int16\",\"shape\":[2],\"b64\":\"AQD\\/\\/w==\"}", DTYPE_INVALID,
            "{\"dtype\":\"int16\",\"shape\":[2],\"data\":[1,-1]}"},
        {"{\"shape\":[0],\"b64\":\"\"}", DTYPE_FLOAT32, "{\"dtype\":\"float32\",\"shape\":[0],\"data\":[]}"},
        {"{\"npy\":"
         "\"k05VTVBZAQA3AHsnZGVzY3InOiAnfHUxJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsKX0BAg\"}",
            DTYPE_UINT8, "{\"dtype\":\"uint8\",\"shape\":[2],\"data\":[1,2]}"},
    };
    AUTO_BUFFER buffer = {0};
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        AUTO_FIXTURE fixture;
        fixture_begin(&fixture);
        assert_status(&fixture.call, STATUS_OK, read_text(&fixture, rows[index].text, rows[index].expected));
        assert_null(fixture.reference.data);
        assert_string_equal(write_text(&fixture.tensor, &buffer), rows[index].written);
        AUTO_TENSOR first = tensor_ref(&fixture.tensor);
        assert_status(&fixture.call, STATUS_OK, read_text(&fixture, rows[index].written, DTYPE_INVALID));
        assert_true(tensor_equal(&first, &fixture.tensor));
        assert_true((uintptr_t)fixture.tensor.data % 64 == 0);
    }
}

static void
what_is_wrong_is_named(void **state)
{
    (void)state;
    const struct {
        const char *text;
        Dtype expected;
        const char *message;
    } rows[] = {
        {"[1,[2]]", DTYPE_FLOAT32, "line 1, column 4: expected a number, found an array"},
        {"[[1],2]", DTYPE_FLOAT32, "the arrays are ragged: elements at depth 2 and at 1"},
        {"[[1,2],[3]]", DTYPE_FLOAT32, "the arrays at depth 2 are ragged: 2 elements and 1"},
        {"[[[1]],[]]", DTYPE_FLOAT32, "the arrays are ragged: elements at depth 3 and at 2"},
        {"[[],[[]]]", DTYPE_FLOAT32, "the arrays are ragged: elements at depth 2 and at 3"},
        {"[[],[1]]", DTYPE_FLOAT32, "the arrays at depth 2 are ragged: 0 elements and 1"},
        {"[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", DTYPE_INT32, "the arrays are nested more than 16 deep"},
        {"[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]", DTYPE_INT32, "the arrays are nested more than 16 deep"},
        {"[1,-1,300]", DTYPE_UINT8, "element 1 is -1, but uint8 goes from 0 to 255"},
        {"[0,256]", DTYPE_UINT8, "element 1 is 256, but uint8 goes from 0 to 255"},
        {"[-129]", DTYPE_INT8, "element 0 is -129, but int8 goes from -128 to 127"},
        {"[2147483648]", DTYPE_INT32,
            "element 0 is 2147483648, but int32 goes from -2147483648 to 2147483647"},
        {"[9223372036854775808]", DTYPE_INT64,
            "line 1, column 2: expected an integer of int64, found a number"},
        {"[-1]", DTYPE_UINT64, "line 1, column 2: expected an integer of uint64, found a number"},
        {"[1.0]", DTYPE_INT32,
            "line 1, column 2: expected an integer, without fraction and exponent, found a number"},
        {"[1e39]", DTYPE_FLOAT32, "line 1, column 2: a number is too large for float32"},
        {"[1,65520]", DTYPE_FLOAT16, "element 1 is 65520, too large for float16"},
        {"[1e39]", DTYPE_BFLOAT16, "element 0 is 1e+39, too large for bfloat16"},
        {"[1]", DTYPE_BOOL, "line 1, column 2: expected true or false, found a number"},
        {"[1,2,3]", DTYPE_COMPLEX64, "elements of complex64 are arrays of two numbers"},
        {"[\"a\",1]", DTYPE_STRING, "line 1, column 6: expected a string, found a number"},
        {"[{\"b64\":\"?\"}]", DTYPE_STRING, "line 1, column 12: 'b64' is no base64, or too large"},
        {"[{\"b64\":\"\",\"c\":1}]", DTYPE_STRING,
            "line 1, column 16: an object in place of a string has only the member 'b64'"},
        {"[1]", DTYPE_RESOURCE, "JSON cannot hold resource elements"},
        {"[1]", DTYPE_INVALID,
            "a bare value needs a graph that says its dtype; send an object with 'dtype' and 'data'"},
        {"{\"shape\":[2],\"b64\":[\"YQ==\",\"Yg==\"]}", DTYPE_STRING,
            "'b64' holds one string; several are 'data' with an object {\"b64\": …} for each"},
        {"{\"b64\":7}", DTYPE_STRING, "line 1, column 8: expected a string, found a number"},
        {"{}", DTYPE_FLOAT32, "a tensor has one of 'data', 'b64', 'npy' and 'ref', not 0"},
        {"{\"data\":1,\"ref\":\"x\"}", DTYPE_FLOAT32,
            "a tensor has one of 'data', 'b64', 'npy' and 'ref', not 2"},
        {"{\"data\":1}", DTYPE_INVALID, "a tensor with 'data' needs 'dtype'"},
        {"{\"dtype\":\"float\",\"data\":1}", DTYPE_INVALID, "there is no dtype 'float'"},
        {"{\"type\":\"float\"}", DTYPE_INVALID, "a tensor has no member 'type'"},
        {"{\"dtype\":\"int32\",\"data\":1}", DTYPE_FLOAT32, "the tensor is int32, but float32 is expected"},
        {"{\"data\":1,\"dtype\":\"int32\"}", DTYPE_FLOAT32, "the tensor is int32, but float32 is expected"},
        {"{\"dtype\":\"int32\",\"shape\":[2],\"data\":[1,2,3]}", DTYPE_INVALID,
            "the elements have shape [3], but 'shape' is [2]"},
        {"{\"dtype\":\"int32\",\"shape\":[2,2],\"data\":[[1,2,3,4]]}", DTYPE_INVALID,
            "the elements have shape [1,4], but 'shape' is [2,2]"},
        {"{\"dtype\":\"int32\",\"shape\":[1],\"data\":1}", DTYPE_INVALID,
            "the elements have shape [], but 'shape' is [1]"},
        {"{\"shape\":[-1]}", DTYPE_INT32, "dimension 0 of 'shape' is -1"},
        {"{\"shape\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]}", DTYPE_INT32,
            "'shape' has more than 16 dimensions"},
        {"{\"shape\":[4294967296,4294967296,0]}", DTYPE_INT32,
            "the number of elements of 'shape' is too large"},
        {"{\"b64\":\"AAAA\",\"shape\":[1]}", DTYPE_INT32, "'b64' has 3 bytes, but shape [1] of int32 has 4"},
        {"{\"b64\":\"AAAAAA\"}", DTYPE_INT32, "a tensor with 'b64' needs 'dtype' and 'shape'"},
        {"{\"b64\":\"AAAA*A\",\"shape\":[1]}", DTYPE_INT32, "'b64' is no base64"},
        {"{\"b64\":\"A\",\"shape\":[1]}", DTYPE_INT8, "'b64' is no base64"},
        {"{\"b64\":\"Ag\",\"shape\":[1]}", DTYPE_BOOL, "a bool in 'b64' is neither 0 nor 1"},
        {"{\"b64\":\"Ag\",\"shape\":[1]}", DTYPE_RESOURCE, "'b64' cannot hold resource elements"},
        {"{\"npy\":\"A\"}", DTYPE_INVALID, "'npy' is no base64"},
        {"{\"npy\":\"AAAA\"}", DTYPE_INVALID, "the bytes are no .npy file: the magic is missing"},
        {"{\"npy\":"
         "\"k05VTVBZAQA3AHsnZGVzY3InOiAnfHUxJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsKX0BAg\"}",
            DTYPE_INT8, "the tensor is uint8, but int8 is expected"},
        {"{\"shape\":[3],"
         "\"npy\":"
         "\"k05VTVBZAQA3AHsnZGVzY3InOiAnfHUxJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsKX0BAg\"}",
            DTYPE_INVALID, "the elements have shape [2], but 'shape' is [3]"},
        {"{\"data\":[1,\n x],\"dtype\":\"int32\"}", DTYPE_INVALID,
            "line 2, column 2: expected a value, found 'x'"},
        {"{\"data\":[1,\n \"x\"],\"dtype\":\"int32\"}", DTYPE_INVALID,
            "line 2, column 3: expected an integer of int64, found 'x'"},
        {"{\"data\":[1", DTYPE_INT32, "line 1, column 11: expected ',' or ']', found the end of the text"},
        {"", DTYPE_INT32, "line 1, column 1: expected a value, found the end of the text"},
    };
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        AUTO_FIXTURE fixture;
        fixture_begin(&fixture);
        assert_status(&fixture.call, STATUS_INVALID_ARGUMENT,
            read_text(&fixture, rows[index].text, rows[index].expected));
        assert_string_equal(fixture.call.error.message, rows[index].message);
        assert_null(fixture.tensor.buffer);
    }
}

static void
a_reference_is_left_to_the_caller(void **state)
{
    (void)state;
    AUTO_FIXTURE fixture;
    fixture_begin(&fixture);
    assert_status(&fixture.call, STATUS_OK, read_text(&fixture, "{\"ref\":\"sha256:ab\"}", DTYPE_FLOAT32));
    assert_true(slice_equals_string(fixture.reference, "sha256:ab"));
    assert_int_equal(fixture.tensor.dtype, DTYPE_INVALID);
}

static void
sizes_are_limited_before_memory_is_taken(void **state)
{
    (void)state;
    AUTO_FIXTURE fixture;
    fixture_begin(&fixture);
    const struct {
        Slice text;
        Dtype expected;
        size_t size;
        const char *message;
    } rows[] = {
        {SLICE("[1,2,3]"), DTYPE_FLOAT32, 12, "a tensor has more than 11 bytes"},
        {SLICE("{\"shape\":[3],\"data\":[1,2,3]}"), DTYPE_FLOAT32, 12, "a tensor has more than 11 bytes"},
        {SLICE("[[1,2],[3,4]]"), DTYPE_COMPLEX64, 16, "a tensor has more than 15 bytes"},
        {SLICE("[\"a\",\"bc\"]"), DTYPE_STRING, 19, "a tensor has 19 bytes, more than 18"},
        {SLICE("{\"b64\":\"AAAA\",\"shape\":[3]}"), DTYPE_INT8, 3, "shape [3] of int8 has more than 2 bytes"},
        {SLICE("{\"b64\":\"AAAA\"}"), DTYPE_STRING, 11, "a tensor has 11 bytes, more than 10"},
        {SLICE("{\"npy\":"
               "\"k05VTVBZAQA3AHsnZGVzY3InOiAnfHUxJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsKX0BAg"
               "\"}"),
            DTYPE_UINT8, 2, "the .npy file's shape [2] of uint8 has more than 1 bytes"},
    };
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        assert_status(&fixture.call, STATUS_OK,
            read_with(&fixture, rows[index].text, rows[index].expected, rows[index].size));
        assert_status(&fixture.call, STATUS_RESOURCE_EXHAUSTED,
            read_with(&fixture, rows[index].text, rows[index].expected, rows[index].size - 1));
        assert_string_equal(fixture.call.error.message, rows[index].message);
    }
    /* A shape that claims more than the text can hold takes no memory. */
    fail_alloc_count = 0;
    assert_status(&fixture.call, STATUS_INVALID_ARGUMENT,
        read_with(&fixture, SLICE("{\"shape\":[1000000000000],\"data\":[]}"), DTYPE_INT8, SIZE_MAX));
    assert_int_equal(fail_alloc_count, 0);
}

static void
long_arrays_grow(void **state)
{
    (void)state;
    AUTO_BUFFER text = {0};
    AUTO_FIXTURE fixture;
    fixture_begin(&fixture);
    buffer_append_byte(&text, '[');
    for (int index = 0; index < 20000; index++) {
        buffer_append_format(&text, index == 0 ? "%d" : ",%d", index);
    }
    buffer_append_byte(&text, ']');
    assert_status(&fixture.call, STATUS_OK, read_with(&fixture, buffer_slice(&text), DTYPE_INT32, 80000));
    for (int index = 0; index < 20000; index++) {
        assert_int_equal(((const int32_t *)fixture.tensor.data)[index], index);
    }
    assert_status(&fixture.call, STATUS_RESOURCE_EXHAUSTED,
        read_with(&fixture, buffer_slice(&text), DTYPE_INT32, 79999));
}

static Status
run(const char *text, Dtype expected)
{
    AUTO_FIXTURE fixture;
    fixture_begin(&fixture);
    return fixture.arena == NULL ? STATUS_RESOURCE_EXHAUSTED : read_text(&fixture, text, expected);
}

static void
every_allocation_that_fails_is_reported(void **state)
{
    (void)state;
    const char *const texts[] = {"{\"dtype\":\"string\",\"data\":[\"a\\n\",{\"b64\":\"AAAA\"}]}",
        "{\"shape\":[3],\"b64\":\"AA\\u0041A\",\"dtype\":\"int8\"}",
        "{\"dtype\":\"string\",\"b64\":\"AAAA\"}",
        "{\"npy\":"
        "\"k05VTVBZAQA3AHsnZGVzY3InOiAnfHUxJywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDIsKX0BAg\"}"};
    for (size_t index = 0; index < COUNT_OF(texts); index++) {
        fail_alloc_at = 0;
        fail_alloc_count = 0;
        assert_true(run(texts[index], DTYPE_INVALID) == STATUS_OK);
        size_t total = fail_alloc_count;
        assert_true(total >= 2);
        for (size_t failing = 1; failing <= total; failing++) {
            fail_alloc_count = 0;
            fail_alloc_at = failing;
            assert_true(run(texts[index], DTYPE_INVALID) != STATUS_OK);
        }
    }
    fail_alloc_at = 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_is_read),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(a_reference_is_left_to_the_caller),
        cmocka_unit_test(sizes_are_limited_before_memory_is_taken),
        cmocka_unit_test(long_arrays_grow),
        cmocka_unit_test(every_allocation_that_fails_is_reported),
    };
    return cmocka_run_group_tests_name("shared/tensor/tensor_json", tests, NULL, NULL);
}
