/* Sources and ops that pass tensors on. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
tensors_pass_unchanged(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Identity", .inputs = {"float32[2] 1 2"}, .outputs = {"float32[2] 1 2"}},
        {.op = "onnx::Identity", .inputs = {"bool[0]"}, .outputs = {"bool[0]"}},
        {.op = "Snapshot", .inputs = {"int8[] 1"}, .outputs = {"int8[] 1"}},
        {.op = "StopGradient", .inputs = {"float32[1] 1"}, .outputs = {"float32[1] 1"}},
        {.op = "PreventGradient", .inputs = {"float32[1] 1"}, .outputs = {"float32[1] 1"}},
        {.op = "IdentityN",
            .attrs = "T=[DT_FLOAT,DT_INT32]",
            .inputs = {"float32[1] 1", "int32[2] 2 3"},
            .outputs = {"float32[1] 1", "int32[2] 2 3"}},
        {.op = "onnx::_Outputs2",
            .inputs = {"float32[1] 1", "int32[2] 2 3"},
            .outputs = {"float32[1] 1", "int32[2] 2 3"}},
        {.op = "onnx::_Outputs3",
            .inputs = {"float32[1] 1", "int32[2] 2 3", "bool[0]"},
            .outputs = {"float32[1] 1", "int32[2] 2 3", "bool[0]"}},
        {.op = "PlaceholderWithDefault",
            .attrs = "shape=[-1]",
            .inputs = {"float32[2] 1 2"},
            .outputs = {"float32[2] 1 2"}},
        {.op = "PlaceholderWithDefault",
            .attrs = "shape=[3]",
            .inputs = {"float32[2] 1 2"},
            .error = "the default has shape [2], not [3]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "CheckNumerics",
            .attrs = "message=loss",
            .inputs = {"float32[2] 1 2"},
            .outputs = {"float32[2] 1 2"}},
        {.op = "CheckNumerics",
            .attrs = "message=loss",
            .inputs = {"float32[2] 1 nan"},
            .error = "loss: the tensor has infinities or NaN",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ZerosLike", .inputs = {"int16[2] 1 2"}, .outputs = {"int16[2] 0 0"}},
        {.op = "OnesLike", .inputs = {"bfloat16[2] 0 5"}, .outputs = {"bfloat16[2] 1 1"}},
        {.op = "OnesLike", .inputs = {"bool[1] 0"}, .outputs = {"bool[1] 1"}},
    };
    RUN(cases);
}

static void
nothing_is_dropped_outside_of_training(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::Dropout", .inputs = {"float32[2] 1 2"}, .outputs = {"float32[2] 1 2", "bool[2] 1 1"}},
        {.op = "onnx::Dropout",
            .inputs = {"float32[2] 1 2", "float32[] 0.5", "bool[] 0"},
            .outputs = {"float32[2] 1 2", "bool[2] 1 1"}},
        {.op = "onnx::Dropout",
            .inputs = {"float32[2] 1 2", "float32[] 0.5", "bool[] 1"},
            .error = "dropping out in training is not implemented",
            .error_code = STATUS_UNIMPLEMENTED},
    };
    RUN(cases);
}

static void
sources_make_tensors(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Const", .attrs = "value=float32[2] 1 2; dtype=float32", .outputs = {"float32[2] 1 2"}},
        {.op = "Placeholder",
            .attrs = "dtype=float32",
            .error = "a value must be fed for the placeholder 'subject'",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "NoOp"},
        {.op = "Fill", .inputs = {"int32[2] 2 1", "float32[] 7"}, .outputs = {"float32[2,1] 7 7"}},
        {.op = "Fill", .inputs = {"int32[0]", "bool[] 1"}, .outputs = {"bool[] 1"}},
        {.op = "Fill", .inputs = {"int64[1] 0", "int8[] 1"}, .outputs = {"int8[0]"}},
        {.op = "Fill",
            .inputs = {"int32[1] -1", "float32[] 7"},
            .error = "dimension 0 is -1, not at least 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Fill",
            .inputs = {"int64[2] 4611686018427387904 4", "int8[] 7"},
            .error = "has too many elements",
            .error_code = STATUS_RESOURCE_EXHAUSTED},
        {.op = "Fill",
            .inputs = {"int64[1] 9223372036854775807", "int32[] 7"},
            .error = "larger than any memory",
            .error_code = STATUS_RESOURCE_EXHAUSTED},
        {.op = "Fill",
            .inputs = {"int32[1] 2", "float32[2] 7 7"},
            .error = "the value is float32[2], not one float32",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "BroadcastTo",
            .inputs = {"float32[2,1] 1 2", "int32[3] 1 2 2"},
            .outputs = {"float32[1,2,2] 1 1 2 2"}},
        {.op = "BroadcastTo",
            .inputs = {"float32[2] 1 2", "int32[1] 3"},
            .error = "shape [2] does not broadcast to [3]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "BroadcastTo",
            .inputs = {"float32[2] 1 2", "int32[1] 1"},
            .error = "shape [2] does not broadcast to [1]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Range", .inputs = {"int32[] 1", "int32[] 8", "int32[] 3"}, .outputs = {"int32[3] 1 4 7"}},
        {.op = "Range", .inputs = {"int32[] 3", "int32[] 0", "int32[] -1"}, .outputs = {"int32[3] 3 2 1"}},
        {.op = "Range", .inputs = {"int32[] 3", "int32[] 3", "int32[] 1"}, .outputs = {"int32[0]"}},
        {.op = "Range",
            .inputs = {"int32[] 2", "int32[] 5", "int32[] -3"},
            .error = "delta leads from start away from limit",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Range",
            .inputs = {"float32[] 5", "float32[] 4.9", "float32[] 3"},
            .error = "delta leads from start away from limit",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::Range", .inputs = {"int32[] 2", "int32[] 5", "int32[] -3"}, .outputs = {"int32[0]"}},
        {.op = "Range",
            .inputs = {"float32[] 0", "float32[] 1", "float32[] 0.25"},
            .outputs = {"float32[4] 0 0.25 0.5 0.75"}},
        {.op = "Range",
            .inputs = {"int32[] 3", "int32[] 5", "int32[] 0"},
            .error = "delta is 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Range",
            .inputs = {"int64[] -9223372036854775808", "int64[] 9223372036854775807", "int64[] 1"},
            .error = "elements are too many",
            .error_code = STATUS_RESOURCE_EXHAUSTED},
        {.op = "Range",
            .inputs = {"float32[] 0", "float32[] 1", "float32[] 0"},
            .error = "has no count",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::Range",
            .inputs = {"int64[] 10", "int64[] 4", "int64[] -2"},
            .outputs = {"int64[3] 10 8 6"}},
        {.op = "LinSpace",
            .inputs = {"float32[] 1", "float32[] 3", "int32[] 5"},
            .outputs = {"float32[5] 1 1.5 2 2.5 3"}},
        {.op = "LinSpace",
            .inputs = {"float32[] 1", "float32[] 3", "int32[] 1"},
            .outputs = {"float32[1] 1"}},
        {.op = "LinSpace",
            .inputs = {"float32[] 1", "float32[] 3", "int32[] 0"},
            .error = "num is 0, not at least 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::ConstantOfShape",
            .attrs = "value=int64[1] 4; dtype=int64",
            .inputs = {"int64[2] 1 2"},
            .outputs = {"int64[1,2] 4 4"}},
        {.op = "onnx::ConstantOfShape",
            .attrs = "value=float32[1] 0; dtype=float32",
            .inputs = {"int64[0]"},
            .outputs = {"float32[] 0"}},
    };
    RUN(cases);
}

static void
windows_of_signals(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::HannWindow", .inputs = {"int64[] 4"}, .outputs = {"float32[4] 0 0.5 1 0.5"}},
        {.op = "onnx::HannWindow",
            .attrs = "periodic=0; output_datatype=float64",
            .inputs = {"int32[] 3"},
            .outputs = {"float64[3] 0 1 0"}},
        {.op = "onnx::HammingWindow", .inputs = {"int64[] 2"}, .outputs = {"float32[2] 0.08695652 1"}},
        {.op = "onnx::BlackmanWindow",
            .attrs = "output_datatype=float16",
            .inputs = {"int64[] 2"},
            .outputs = {"float16[2] 0 1"}},
        {.op = "onnx::HannWindow", .inputs = {"int64[] 0"}, .outputs = {"float32[0]"}},
        {.op = "onnx::HannWindow",
            .inputs = {"int64[] -1"},
            .error = "the window has -1 elements, not at least 0",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
triangles_weigh_a_spectrum_by_the_mel_scale(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::MelWeightMatrix",
            .inputs = {"int64[] 4", "int64[] 16", "int64[] 8192", "float32[] 0", "float32[] 4096"},
            .outputs =
                {"float32[9,4] 1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1 0 0 0 0.5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"}},
        {.op = "onnx::MelWeightMatrix", /* all corners lie at half the sample rate, behind the last bin */
            .attrs = "output_datatype=int32",
            .inputs = {"int32[] 1", "int32[] 3", "int32[] 8", "float64[] 4", "float64[] 4"},
            .outputs = {"int32[2,1] 0 0"}},
        {.op = "onnx::MelWeightMatrix",
            .inputs = {"int64[] 0", "int64[] 16", "int64[] 8192", "float32[] 0", "float32[] 4096"},
            .error = "input 0 is 0, not at least 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::MelWeightMatrix",
            .inputs = {"int64[] 4", "int64[] 16", "int64[] 8000", "float32[] 0", "float32[] 4096"},
            .error = "edges of 0 and 4096 hertz are not in order within half the sample rate, 8000",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::MelWeightMatrix",
            .inputs = {"int64[] 4", "int64[] 16", "int64[] 8000", "float32[2] 0 1", "float32[] 400"},
            .error = "input 3 is not one number",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_of_signals),
        cmocka_unit_test(tensors_pass_unchanged),
        cmocka_unit_test(nothing_is_dropped_outside_of_training),
        cmocka_unit_test(sources_make_tensors),
        cmocka_unit_test(triangles_weigh_a_spectrum_by_the_mel_scale),
    };
    return cmocka_run_group_tests_name("reference/constant", tests, NULL, NULL);
}
