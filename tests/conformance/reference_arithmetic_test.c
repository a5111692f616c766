/* Element-wise functions of two tensors, against NumPy's and TensorFlow's results. */
#include "shared/base/buffer.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
shapes_broadcast_as_in_numpy(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Add", .inputs = {"float32[] 1", "float32[] 2"}, .outputs = {"float32[] 3"}},
        {.op = "AddV2",
            .inputs = {"float32[2,1] 1 2", "float32[3] 10 20 30"},
            .outputs = {"float32[2,3] 11 21 31 12 22 32"}},
        {.op = "Sub",
            .inputs = {"float32[2,2,1] 1 2 3 4", "float32[1,3] 1 2 3"},
            .outputs = {"float32[2,2,3] 0 -1 -2 1 0 -1 2 1 0 3 2 1"}},
        {.op = "Mul", .inputs = {"float32[3] 1 2 3", "float32[] 2"}, .outputs = {"float32[3] 2 4 6"}},
        {.op = "Mul", .inputs = {"float32[0,3]", "float32[1,3] 1 2 3"}, .outputs = {"float32[0,3]"}},
        {.op = "Mul", .inputs = {"float32[0]", "float32[1] 5"}, .outputs = {"float32[0]"}},
        {.op = "Sub",
            .inputs = {"int32[2,1,2] 1 2 3 4", "int32[2,1] 1 10"},
            .outputs = {"int32[2,2,2] 0 1 -9 -8 2 3 -7 -6"}},
        {.op = "Add",
            .inputs = {"float32[2] 1 2", "float32[3] 1 2 3"},
            .error = "shapes [2] and [3] do not broadcast",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::Add",
            .inputs = {"float32[2,1] 1 2", "float32[2] 10 20"},
            .outputs = {"float32[2,2] 11 21 12 22"}},
    };
    RUN(cases);
}

static void
every_number_type_adds(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "AddV2",
            .inputs = {"float16[2] 1.5 65504", "float16[2] 2 65504"},
            .outputs = {"float16[2] 3.5 inf"}},
        {.op = "AddV2", .inputs = {"bfloat16[1] 1.5", "bfloat16[1] 2"}, .outputs = {"bfloat16[1] 3.5"}},
        {.op = "AddV2", .inputs = {"float64[1] 1e300", "float64[1] 1"}, .outputs = {"float64[1] 1e300"}},
        {.op = "AddV2", .inputs = {"int8[2] 127 -1", "int8[2] 1 -1"}, .outputs = {"int8[2] -128 -2"}},
        {.op = "AddV2", .inputs = {"int16[1] 32767", "int16[1] 1"}, .outputs = {"int16[1] -32768"}},
        {.op = "AddV2", .inputs = {"int32[1] 2147483647", "int32[1] 1"}, .outputs = {"int32[1] -2147483648"}},
        {.op = "AddV2",
            .inputs = {"int64[1] 9223372036854775807", "int64[1] 1"},
            .outputs = {"int64[1] -9223372036854775808"}},
        {.op = "AddV2", .inputs = {"uint8[1] 255", "uint8[1] 1"}, .outputs = {"uint8[1] 0"}},
        {.op = "AddV2", .inputs = {"uint16[1] 65535", "uint16[1] 2"}, .outputs = {"uint16[1] 1"}},
        {.op = "AddV2", .inputs = {"uint32[1] 4294967295", "uint32[1] 1"}, .outputs = {"uint32[1] 0"}},
        {.op = "AddV2",
            .inputs = {"uint64[1] 18446744073709551615", "uint64[1] 1"},
            .outputs = {"uint64[1] 0"}},
    };
    RUN(cases);
}

static void
divisions_round_as_their_names_say(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Div",
            .inputs = {"int32[4] 7 -7 7 -7", "int32[4] 2 2 -2 -2"},
            .outputs = {"int32[4] 3 -3 -3 3"}},
        {.op = "FloorDiv",
            .inputs = {"int32[4] 7 -7 7 -7", "int32[4] 2 2 -2 -2"},
            .outputs = {"int32[4] 3 -4 -4 3"}},
        {.op = "FloorMod",
            .inputs = {"int32[4] 7 -7 7 -7", "int32[4] 2 2 -2 -2"},
            .outputs = {"int32[4] 1 1 -1 -1"}},
        {.op = "TruncateMod",
            .inputs = {"int32[4] 7 -7 7 -7", "int32[4] 2 2 -2 -2"},
            .outputs = {"int32[4] 1 -1 1 -1"}},
        {.op = "FloorMod",
            .inputs = {"float32[4] 7 -7 7 -7", "float32[4] 2.5 2.5 -2.5 -2.5"},
            .outputs = {"float32[4] 2 0.5 -0.5 -2"}},
        {.op = "FloorDiv", .inputs = {"float32[2] 7 -7", "float32[] 2"}, .outputs = {"float32[2] 3 -4"}},
        {.op = "RealDiv",
            .inputs = {"float32[3] 1 -1 0", "float32[] 0"},
            .outputs = {"float32[3] inf -inf nan"}},
        {.op = "DivNoNan", .inputs = {"float32[2] 1 6", "float32[2] 0 3"}, .outputs = {"float32[2] 0 2"}},
        {.op = "Div",
            .inputs = {"int64[1] -9223372036854775808", "int64[1] -1"},
            .outputs = {"int64[1] -9223372036854775808"}},
        {.op = "FloorMod",
            .inputs = {"int64[1] -9223372036854775808", "int64[1] -1"},
            .outputs = {"int64[1] 0"}},
        {.op = "onnx::Div", .inputs = {"int8[2] -128 7", "int8[2] -1 -2"}, .outputs = {"int8[2] -128 -3"}},
        {.op = "FloorDiv",
            .inputs = {"int32[2] 1 2", "int32[2] 1 0"},
            .error = "element 1 of the second input is 0, which is not allowed for int32 integers",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::Mod",
            .inputs = {"int32[4] 7 -7 7 -7", "int32[4] 2 2 -2 -2"},
            .outputs = {"int32[4] 1 1 -1 -1"}},
        {.op = "onnx::Mod",
            .attrs = "fmod=1",
            .inputs = {"float32[2] -7 7", "float32[] 2.5"},
            .outputs = {"float32[2] -2 2"}},
        {.op = "onnx::Mod",
            .inputs = {"uint8[1] 7", "uint8[1] 0"},
            .error = "element 0 of the second input is 0",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
other_pairs(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Maximum",
            .inputs = {"float32[3] 1 nan 3", "float32[3] 2 2 nan"},
            .outputs = {"float32[3] 2 nan nan"}},
        {.op = "Minimum", .inputs = {"int8[2] -128 5", "int8[2] 127 -5"}, .outputs = {"int8[2] -128 -5"}},
        {.op = "Pow",
            .inputs = {"float32[3] 2 4 -2", "float32[3] 3 0.5 3"},
            .outputs = {"float32[3] 8 2 -8"}},
        {.op = "Pow", .inputs = {"int32[3] 2 -3 5", "int32[3] 10 3 0"}, .outputs = {"int32[3] 1024 -27 1"}},
        {.op = "Pow",
            .inputs = {"int32[1] 2", "int32[1] -1"},
            .error = "element 0 of the second input is -1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::Pow", .inputs = {"float32[2] 2 3", "int64[] 2"}, .outputs = {"float32[2] 4 9"}},
        {.op = "onnx::Pow", .inputs = {"int32[2] 4 9", "float32[] 0.5"}, .outputs = {"int32[2] 2 3"}},
        {.op = "onnx::Pow", .inputs = {"float32[2] 2 -4", "int32[] -1"}, .outputs = {"float32[2] 0.5 -0.25"}},
        {.op = "onnx::Pow",
            .inputs = {"int64[1] 2", "int32[1] -1"},
            .error = "element 0 of the second input is -1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "SquaredDifference",
            .inputs = {"float32[2] 1 5", "float32[] 3"},
            .outputs = {"float32[2] 4 4"}},
        {.op = "BitwiseAnd", .inputs = {"uint8[2] 12 255", "uint8[] 10"}, .outputs = {"uint8[2] 8 10"}},
        {.op = "BitwiseOr", .inputs = {"int16[2] 12 -1", "int16[] 10"}, .outputs = {"int16[2] 14 -1"}},
        {.op = "onnx::BitwiseAnd", .inputs = {"int32[2] 12 -1", "int32[] 10"}, .outputs = {"int32[2] 8 10"}},
        {.op = "onnx::BitwiseOr", .inputs = {"uint8[2] 12 1", "uint8[] 10"}, .outputs = {"uint8[2] 14 11"}},
        {.op = "onnx::BitwiseXor", .inputs = {"uint8[2] 12 1", "uint8[] 10"}, .outputs = {"uint8[2] 6 11"}},
        {.op = "onnx::Sub", .inputs = {"int8[2] -128 7", "int8[] 1"}, .outputs = {"int8[2] 127 6"}},
        {.op = "onnx::Mul", .inputs = {"uint8[2] 16 7", "uint8[] 16"}, .outputs = {"uint8[2] 0 112"}},
        {.op = "Mod", .inputs = {"int32[2] 7 -7", "int32[2] -2 2"}, .outputs = {"int32[2] 1 -1"}},
        {.op = "Mod", .inputs = {"float32[2] 7 -7", "float32[2] -2 2"}, .outputs = {"float32[2] 1 -1"}},
        {.op = "TruncateDiv", .inputs = {"int32[2] 7 -7", "int32[2] -2 2"}, .outputs = {"int32[2] -3 -3"}},
        {.op = "TruncateDiv",
            .inputs = {"float32[8] 7 -7 5.5 1 -1 0 nan inf", "float32[8] 2 2 -2 0 0 0 1 2"},
            .outputs = {"float32[8] 3 -3 -2 inf -inf nan nan inf"}},
        {.op = "TruncateDiv",
            .inputs = {"bfloat16[2] 7 -7", "bfloat16[] 2"},
            .outputs = {"bfloat16[2] 3 -3"}},
        {.op = "MulNoNan",
            .inputs = {"float32[3] inf nan 2", "float32[3] 0 0 3"},
            .outputs = {"float32[3] 0 0 6"}},
        {.op = "Xdivy",
            .inputs = {"float32[3] 0 0 6", "float32[3] 0 nan 3"},
            .outputs = {"float32[3] 0 0 2"}},
        {.op = "BitwiseXor", .inputs = {"uint8[2] 12 255", "uint8[] 10"}, .outputs = {"uint8[2] 6 245"}},
        {.op = "onnx::BitShift",
            .attrs = "direction=LEFT",
            .inputs = {"uint8[3] 16 4 1", "uint8[3] 1 2 70"},
            .outputs = {"uint8[3] 32 16 0"}},
        {.op = "onnx::BitShift",
            .attrs = "direction=RIGHT",
            .inputs = {"uint64[1] 256", "uint64[1] 4"},
            .outputs = {"uint64[1] 16"}},
        {.op = "Xlogy", .inputs = {"float32[2] 0 2", "float32[2] 0 1"}, .outputs = {"float32[2] 0 0"}},
        {.op = "Atan2", .inputs = {"float32[1] 1", "float32[1] -1"}, .outputs = {"float32[1] 2.35619449"}},
        {.op = "onnx::PRelu",
            .inputs = {"float32[2,2] -1 2 -3 4", "float32[2] 0.5 0.1"},
            .outputs = {"float32[2,2] -0.5 2 -1.5 4"}},
        {.op = "onnx::PRelu", .inputs = {"uint32[2] 0 7", "uint32[1] 9"}, .outputs = {"uint32[2] 0 7"}},
        {.op = "onnx::PRelu",
            .inputs = {"float32[2] -1 2", "float32[2,2] 1 1 1 1"},
            .error = "shape [2,2] does not broadcast to [2]",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static const char *
literal_of_equal(Buffer *text, int count, const char *element)
{
    buffer_append_format(text, "float32[%d]", count);
    for (int i = 0; i < count; i++) {
        buffer_append_format(text, " %s", element);
    }
    return buffer_string(text);
}

static void
many_inputs_fold_from_the_left(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "AddN",
            .inputs = {"float32[2] 1 2", "float32[2] 3 4", "float32[2] 5 6"},
            .outputs = {"float32[2] 9 12"}},
        {.op = "AddN", .inputs = {"float32[2] 1 2"}, .outputs = {"float32[2] 1 2"}},
        {.op = "AddN",
            .inputs = {"float32[2] 1 2", "float32[1] 1"},
            .error = "input 1 has shape [1], not [2]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "AccumulateNV2",
            .attrs = "shape=[2]",
            .inputs = {"float32[2] 1 2", "float32[2] 3 4", "float32[2] 5 6"},
            .outputs = {"float32[2] 9 12"}},
        {.op = "onnx::Sum",
            .inputs = {"float32[2,1] 1 2", "float32[2] 3 4", "float32[] 1"},
            .outputs = {"float32[2,2] 5 6 6 7"}},
        {.op = "onnx::Max",
            .inputs = {"int64[2] 1 9", "int64[2] 3 4", "int64[] 2"},
            .outputs = {"int64[2] 3 9"}},
        {.op = "onnx::Min", .inputs = {"float32[1] 7"}, .outputs = {"float32[1] 7"}},
        {.op = "onnx::Mean",
            .inputs = {"float32[2] 1 9", "float32[2] 3 4", "float32[2] 2 2"},
            .outputs = {"float32[2] 2 5"}},
    };
    RUN(cases);
}

/* 1e8 + 1 is 1e8 in float32, so that another order gives another sum; a part that is folded at once holds
 * fewer elements. */
static void
large_inputs_fold_from_the_left_in_every_element(void **state)
{
    (void)state;
    enum { COUNT = 2600 };
    AUTO_BUFFER one = {0};
    AUTO_BUFFER large = {0};
    AUTO_BUFFER minus_large = {0};
    AUTO_BUFFER zero = {0};
    const OpCase cases[] = {{.op = "AddN",
        .inputs = {literal_of_equal(&one, COUNT, "1"), literal_of_equal(&large, COUNT, "1e8"),
            literal_of_equal(&minus_large, COUNT, "-1e8")},
        .outputs = {literal_of_equal(&zero, COUNT, "0")}}};
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_broadcast_as_in_numpy),
        cmocka_unit_test(every_number_type_adds),
        cmocka_unit_test(divisions_round_as_their_names_say),
        cmocka_unit_test(other_pairs),
        cmocka_unit_test(many_inputs_fold_from_the_left),
        cmocka_unit_test(large_inputs_fold_from_the_left_in_every_element),
    };
    return cmocka_run_group_tests_name("reference/arithmetic", tests, NULL, NULL);
}
