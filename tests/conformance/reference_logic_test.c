/* Comparisons, logic and choice, against NumPy's and TensorFlow's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
comparisons_broadcast(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Equal", .inputs = {"float32[3] 1 nan 3", "float32[3] 1 nan 4"}, .outputs = {"bool[3] 1 0 0"}},
        {.op = "NotEqual", .inputs = {"int64[2] 1 2", "int64[] 1"}, .outputs = {"bool[2] 0 1"}},
        {.op = "Equal", /* shapes that do not broadcast */
            .attrs = "incompatible_shape_error=false",
            .inputs = {"float32[3] 1 2 3", "float32[2] 1 2"},
            .outputs = {"bool[] 0"}},
        {.op = "NotEqual",
            .attrs = "incompatible_shape_error=false",
            .inputs = {"float32[3] 1 2 3", "float32[2] 1 2"},
            .outputs = {"bool[] 1"}},
        {.op = "Equal",
            .attrs = "incompatible_shape_error=false",
            .inputs = {"float32[3] 1 2 3", "float32[2,1] 1 5"},
            .outputs = {"bool[2,3] 1 0 0 0 0 0"}},
        {.op = "Equal",
            .inputs = {"float32[3] 1 2 3", "float32[2] 1 2"},
            .error = "shapes [3] and [2] do not broadcast",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Less",
            .inputs = {"uint64[2] 18446744073709551615 0", "uint64[] 1"},
            .outputs = {"bool[2] 0 1"}},
        {.op = "LessEqual", .inputs = {"int8[2] -1 1", "int8[] -1"}, .outputs = {"bool[2] 1 0"}},
        {.op = "Greater", .inputs = {"float16[2,1] 1 3", "float16[2] 2 0"}, .outputs = {"bool[2,2] 0 1 1 1"}},
        {.op = "GreaterEqual", .inputs = {"float64[1] 2", "float64[1] 2"}, .outputs = {"bool[1] 1"}},
        {.op = "ApproximateEqual",
            .attrs = "tolerance=0.5",
            .inputs = {"float32[2] 1 1", "float32[2] 1.25 2"},
            .outputs = {"bool[2] 1 0"}},
        {.op = "Equal", .inputs = {"bool[2] 1 0", "bool[2] 1 1"}, .outputs = {"bool[2] 1 0"}},
        {.op = "onnx::Equal", .inputs = {"int32[1] 1", "int32[1] 1"}, .outputs = {"bool[1] 1"}},
        {.op = "onnx::Less", .inputs = {"float32[1] 1", "float32[1] 2"}, .outputs = {"bool[1] 1"}},
        {.op = "onnx::LessOrEqual", .inputs = {"float32[1] 3", "float32[1] 2"}, .outputs = {"bool[1] 0"}},
        {.op = "onnx::Greater", .inputs = {"float32[1] 3", "float32[1] 2"}, .outputs = {"bool[1] 1"}},
        {.op = "onnx::GreaterOrEqual", .inputs = {"float32[1] 2", "float32[1] 2"}, .outputs = {"bool[1] 1"}},
    };
    RUN(cases);
}

static void
logic_is_on_booleans(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "LogicalAnd",
            .inputs = {"bool[4] 0 0 1 1", "bool[4] 0 1 0 1"},
            .outputs = {"bool[4] 0 0 0 1"}},
        {.op = "LogicalOr", .inputs = {"bool[4] 0 0 1 1", "bool[4] 0 1 0 1"}, .outputs = {"bool[4] 0 1 1 1"}},
        {.op = "LogicalNot", .inputs = {"bool[2] 0 1"}, .outputs = {"bool[2] 1 0"}},
        {.op = "onnx::And", .inputs = {"bool[2,1] 0 1", "bool[2] 0 1"}, .outputs = {"bool[2,2] 0 0 0 1"}},
        {.op = "onnx::Or", .inputs = {"bool[2] 0 1", "bool[] 0"}, .outputs = {"bool[2] 0 1"}},
        {.op = "onnx::Xor", .inputs = {"bool[2] 0 1", "bool[] 1"}, .outputs = {"bool[2] 1 0"}},
        {.op = "onnx::Not", .inputs = {"bool[1] 0"}, .outputs = {"bool[1] 1"}},
    };
    RUN(cases);
}

static void
conditions_of_any_type_are_true_or_not(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "ToBool", .inputs = {"float32[] -0"}, .outputs = {"bool[] 0"}},
        {.op = "ToBool", .inputs = {"float16[] 0.5"}, .outputs = {"bool[] 1"}},
        {.op = "ToBool", .inputs = {"int32[] 0"}, .outputs = {"bool[] 0"}},
        {.op = "ToBool", .inputs = {"int64[] -7"}, .outputs = {"bool[] 1"}},
        {.op = "ToBool", .inputs = {"bool[] 1"}, .outputs = {"bool[] 1"}},
        {.op = "ToBool", .inputs = {"float32[0]"}, .outputs = {"bool[] 0"}},
        {.op = "ToBool", .inputs = {"float32[2] 0 0"}, .outputs = {"bool[] 1"}},
    };
    RUN(cases);
}

static void
choices_take_one_branch(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Select",
            .inputs = {"bool[2] 1 0", "float32[2] 1 2", "float32[2] 3 4"},
            .outputs = {"float32[2] 1 4"}},
        {.op = "Select",
            .inputs = {"bool[2] 1 0", "float32[2,2] 1 2 3 4", "float32[2,2] 5 6 7 8"},
            .outputs = {"float32[2,2] 1 2 7 8"}},
        {.op = "Select", .inputs = {"bool[] 0", "int8[2] 1 2", "int8[2] 3 4"}, .outputs = {"int8[2] 3 4"}},
        {.op = "Select",
            .inputs = {"bool[3] 0 0 0", "float32[2,2] 1 ...", "float32[2,2] 5 ..."},
            .error = "a condition of shape [3] does not choose within [2,2]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Select",
            .inputs = {"bool[2] 0 0", "float32[2] 1 ...", "float32[1] 5"},
            .error = "the branches have shapes [2] and [1]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "SelectV2",
            .inputs = {"bool[2,1] 1 0", "float64[2] 1 2", "float64[] 9"},
            .outputs = {"float64[2,2] 1 2 9 9"}},
        {.op = "onnx::Where",
            .inputs = {"bool[2] 1 0", "complex64[0]", "complex64[1] 5 0"},
            .error = "do not broadcast",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::Where",
            .inputs = {"bool[2] 1 0", "int64[1] 1", "int64[2,1] 5 6"},
            .outputs = {"int64[2,2] 1 5 1 6"}},
        {.op = "onnx::Where",
            .inputs = {"bool[1] 1", "float16[1] 1", "float16[1] 2"},
            .outputs = {"float16[1] 1"}},
    };
    RUN(cases);
}

static void
limits_clip(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "ClipByValue",
            .inputs = {"float32[4] 0 2 5 nan", "float32[] 3", "float32[] 1"},
            .outputs = {"float32[4] 3 3 3 nan"}},
        {.op = "ClipByValue",
            .inputs = {"float32[3] -1 0.5 2", "float32[] 0", "float32[] 1"},
            .outputs = {"float32[3] 0 0.5 1"}},
        {.op = "onnx::Clip",
            .inputs = {"float32[3] -1 0.5 2", "float32[] 0", "float32[] 1"},
            .outputs = {"float32[3] 0 0.5 1"}},
        {.op = "onnx::Clip",
            .inputs = {"float32[2] -1 2", "", "float32[] 1"},
            .outputs = {"float32[2] -1 1"}},
        {.op = "onnx::Clip", .inputs = {"int8[2] -1 2", "int8[] 0"}, .outputs = {"int8[2] 0 2"}},
        {.op = "onnx::Clip", .inputs = {"float32[2] nan 2"}, .outputs = {"float32[2] nan 2"}},
        {.op = "onnx::Clip",
            .inputs = {"float32[1] 5", "float32[] 4", "float32[] 3"},
            .outputs = {"float32[1] 3"}},
        {.op = "onnx::Clip",
            .inputs = {"float32[2] 1 2", "float32[2] 0 0"},
            .error = "limit 1 has shape [2], not one value",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
places_of_true_elements_are_found(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Where", .inputs = {"bool[2,2] 1 0 0 1"}, .outputs = {"int64[2,2] 0 0 1 1"}},
        {.op = "Where", .inputs = {"float32[3] 0 nan -1"}, .outputs = {"int64[2,1] 1 2"}},
        {.op = "Where", .inputs = {"bool[2] 0 0"}, .outputs = {"int64[0,1]"}},
        {.op = "onnx::NonZero", .inputs = {"int32[2,2] 1 0 1 1"}, .outputs = {"int64[2,3] 0 1 1 0 0 1"}},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparisons_broadcast),
        cmocka_unit_test(logic_is_on_booleans),
        cmocka_unit_test(conditions_of_any_type_are_true_or_not),
        cmocka_unit_test(choices_take_one_branch),
        cmocka_unit_test(limits_clip),
        cmocka_unit_test(places_of_true_elements_are_found),
    };
    return cmocka_run_group_tests_name("reference/logic", tests, NULL, NULL);
}
