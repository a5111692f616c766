/* Strings and bits, against TensorFlow's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
strings_are_joined_changed_and_read(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "StringJoin",
            .inputs = {"string[2] 'a' 'b'", "string[2] 'c' 'd'"},
            .outputs = {"string[2] 'ac' 'bd'"}},
        {.op = "StringJoin",
            .attrs = "separator=-",
            .inputs = {"string[] 'x'", "string[3] 'p' '' 'q'", "string[] 'y'"},
            .outputs = {"string[3] 'x-p-y' 'x--y' 'x-q-y'"}},
        {.op = "StringJoin",
            .inputs = {"string[1] 'a'", "string[2] 'b' 'c'"},
            .error = "strings of shape [2] are joined with some of shape [1]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "StringLength", .inputs = {"string[3] '' 'abc' 'hé'"}, .outputs = {"int32[3] 0 3 3"}},
        {.op = "StringLower", .inputs = {"string[1] 'AbC1_Z'"}, .outputs = {"string[1] 'abc1_z'"}},
        {.op = "StringUpper", .inputs = {"string[2] 'abz{' 'Q'"}, .outputs = {"string[2] 'ABZ{' 'Q'"}},
        {.op = "StringStrip", .inputs = {"string[3] '  a b ' 'c' ''"}, .outputs = {"string[3] 'a b' 'c' ''"}},
        {.op = "StringToNumber",
            .inputs = {"string[3] '1.5' ' -2e3 ' 'inf'"},
            .outputs = {"float32[3] 1.5 -2e+03 inf"}},
        {.op = "StringToNumber",
            .attrs = "out_type=float64",
            .inputs = {"string[1] '0.1'"},
            .outputs = {"float64[1] 0.1"}},
        {.op = "StringToNumber",
            .attrs = "out_type=int32",
            .inputs = {"string[2] '12' '-7'"},
            .outputs = {"int32[2] 12 -7"}},
        {.op = "StringToNumber",
            .attrs = "out_type=int64",
            .inputs = {"string[1] '9007199254740993'"},
            .outputs = {"int64[1] 9007199254740993"}},
        {.op = "StringToNumber",
            .inputs = {"string[1] '1x'"},
            .error = "'1x' is no number that float32 holds",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "StringToNumber",
            .attrs = "out_type=int32",
            .inputs = {"string[1] '3000000000'"},
            .error = "'3000000000' is no number that int32 holds",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "AsString", .inputs = {"int32[2] 1 -20"}, .outputs = {"string[2] '1' '-20'"}},
        {.op = "AsString",
            .attrs = "width=5; fill=0",
            .inputs = {"int64[2] 1 -20"},
            .outputs = {"string[2] '00001' '-0020'"}},
        {.op = "AsString",
            .attrs = "width=-9223372036854775808",
            .inputs = {"int32[1] 7"},
            .outputs = {"string[1] '7'"}},
        {.op = "AsString",
            .inputs = {"float32[2] 1.5 -0.1"},
            .outputs = {"string[2] '1.500000' '-0.100000'"}},
        {.op = "AsString",
            .attrs = "precision=2",
            .inputs = {"float64[1] 3.14159"},
            .outputs = {"string[1] '3.14'"}},
        {.op = "AsString",
            .attrs = "scientific=true; precision=3",
            .inputs = {"float32[1] 12345.678"},
            .outputs = {"string[1] '1.235e+04'"}},
        {.op = "AsString",
            .attrs = "shortest=true",
            .inputs = {"float32[2] 12345.678 1e-09"},
            .outputs = {"string[2] '12345.7' '1e-09'"}},
        {.op = "AsString", .inputs = {"bool[2] 1 0"}, .outputs = {"string[2] 'true' 'false'"}},
        {.op = "AsString",
            .attrs = "width=9",
            .inputs = {"bool[2] 1 0"},
            .outputs = {"string[2] 'true' 'false'"}},
        {.op = "AsString",
            .attrs = "width=9; fill=-",
            .inputs = {"float32[1] 1.5"},
            .outputs = {"string[1] '1.500000 '"}},
        {.op = "AsString", .attrs = "width=6", .inputs = {"int8[1] 7"}, .outputs = {"string[1] '     7'"}},
    };
    RUN(cases);
}

static void
bits_are_read_as_another_type(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Bitcast",
            .attrs = "type=int32",
            .inputs = {"float32[2] 1 -2"},
            .outputs = {"int32[2] 1065353216 -1073741824"}},
        {.op = "Bitcast",
            .attrs = "type=uint8",
            .inputs = {"int32[1] 258"},
            .outputs = {"uint8[1,4] 2 1 0 0"}},
        {.op = "Bitcast",
            .attrs = "type=int32",
            .inputs = {"uint8[2,4] 1 0 0 0 0 1 0 0"},
            .outputs = {"int32[2] 1 256"}},
        {.op = "Bitcast", .attrs = "type=float64", .inputs = {"int64[1,1] 0"}, .outputs = {"float64[1,1] 0"}},
        {.op = "Bitcast",
            .attrs = "type=int32",
            .inputs = {"uint8[2] 1 2"},
            .error = "the last dimension is 2 on one side and 4 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
bits_are_read_as_another_dtype_of_the_same_size(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::BitCast",
            .attrs = "to=int32",
            .inputs = {"float32[2] 1 -2"},
            .outputs = {"int32[2] 1065353216 -1073741824"}},
        {.op = "onnx::BitCast", .attrs = "to=uint8", .inputs = {"bool[2] 1 0"}, .outputs = {"uint8[2] 1 0"}},
        {.op = "onnx::BitCast",
            .attrs = "to=int64",
            .inputs = {"float32[2] 1 -2"},
            .error = "an element of float32 has 4 bytes, one of int64 8",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

#define FOUR "string[2,2] 'a' '' 'ccc' 'dd'"

static void
strings_are_moved_as_numbers_are(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Pack",
            .inputs = {"string[2] 'a' 'b'", "string[2] '' 'dd'"},
            .outputs = {"string[2,2] 'a' 'b' '' 'dd'"}},
        {.op = "Unpack",
            .attrs = "num=2; axis=1",
            .inputs = {FOUR},
            .outputs = {"string[2] 'a' 'ccc'", "string[2] '' 'dd'"}},
        {.op = "ConcatV2",
            .inputs = {FOUR, "string[1,2] 'e' 'f'", "int32[] 0"},
            .outputs = {"string[3,2] 'a' '' 'ccc' 'dd' 'e' 'f'"}},
        {.op = "Split",
            .attrs = "num_split=2",
            .inputs = {"int32[] 0", FOUR},
            .outputs = {"string[1,2] 'a' ''", "string[1,2] 'ccc' 'dd'"}},
        {.op = "Tile",
            .inputs = {"string[2] 'x' 'yy'", "int32[1] 2"},
            .outputs = {"string[4] 'x' 'yy' 'x' 'yy'"}},
        {.op = "Fill",
            .inputs = {"int32[1] 3", "string[] 'pad'"},
            .outputs = {"string[3] 'pad' 'pad' 'pad'"}},
        {.op = "BroadcastTo",
            .inputs = {"string[2,1] 'x' 'y'", "int32[2] 2 2"},
            .outputs = {"string[2,2] 'x' 'x' 'y' 'y'"}},
        {.op = "Slice", .inputs = {FOUR, "int32[2] 0 1", "int32[2] 2 1"}, .outputs = {"string[2,1] '' 'dd'"}},
        {.op = "StridedSlice",
            .attrs = "shrink_axis_mask=1",
            .inputs = {FOUR, "int32[1] 1", "int32[1] 2", "int32[1] 1"},
            .outputs = {"string[2] 'ccc' 'dd'"}},
        {.op = "GatherV2",
            .inputs = {"string[3] 'a' 'b' 'c'", "int32[2] 2 0", "int32[] 0"},
            .outputs = {"string[2] 'c' 'a'"}},
        {.op = "GatherNd", .inputs = {FOUR, "int32[1,2] 1 0"}, .outputs = {"string[1] 'ccc'"}},
        {.op = "Transpose", .inputs = {FOUR, "int32[2] 1 0"}, .outputs = {"string[2,2] 'a' 'ccc' '' 'dd'"}},
        {.op = "ReverseV2",
            .inputs = {"string[3] 'a' 'b' 'c'", "int32[1] 0"},
            .outputs = {"string[3] 'c' 'b' 'a'"}},
        {.op = "SelectV2",
            .inputs = {"bool[2] 1 0", "string[2] 'a' 'b'", "string[] 'none'"},
            .outputs = {"string[2] 'a' 'none'"}},
        {.op = "OneHot",
            .inputs = {"int32[2] 1 0", "int32[] 2", "string[] 'on'", "string[] ''"},
            .outputs = {"string[2,2] '' 'on' 'on' ''"}},
        {.op = "Equal", .inputs = {FOUR, "string[2] 'a' 'dd'"}, .outputs = {"bool[2,2] 1 0 0 1"}},
        {.op = "NotEqual", .inputs = {"string[2] 'a' ''", "string[] ''"}, .outputs = {"bool[2] 1 0"}},
        {.op = "NotEqual",
            .attrs = "incompatible_shape_error=false",
            .inputs = {"string[2] 'a' 'b'", "string[3] 'a' 'b' 'c'"},
            .outputs = {"bool[] 1"}},
        {.op = "onnx::Concat",
            .attrs = "axis=0",
            .inputs = {"string[0]", "string[1] 'z'"},
            .outputs = {"string[1] 'z'"}},
        {.op = "onnx::Where",
            .inputs = {"bool[1] 0", "string[1] 'a'", "string[2] 'b' 'c'"},
            .outputs = {"string[2] 'b' 'c'"}},
        {.op = "GatherV2",
            .inputs = {"string[1] 'a'", "int32[1] 1", "int32[] 0"},
            .error = "index 1 at 0 is not within 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "GatherV2",
            .inputs = {"string[1] 'a'", "float32[1] 0", "int32[] 0"},
            .error = "no reference kernel for 'GatherV2' of string",
            .error_code = STATUS_UNIMPLEMENTED},
    };
    op_cases_run(cases, COUNT_OF(cases));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_moved_as_numbers_are),
        cmocka_unit_test(bits_are_read_as_another_dtype_of_the_same_size),
        cmocka_unit_test(strings_are_joined_changed_and_read),
        cmocka_unit_test(bits_are_read_as_another_type),
    };
    return cmocka_run_group_tests_name("reference/strings", tests, NULL, NULL);
}
