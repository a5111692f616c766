/* onnx::Resize beside the examples of ONNX's documentation; a corpus's node suite has its other forms. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
tensors_are_resized(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::Resize",
            .inputs = {"float32[1,1,2,2] 1 2 3 4", "", "float32[4] 1 1 2 3"},
            .outputs = {"float32[1,1,4,6] 1 1 1 2 2 2 1 1 1 2 2 2 3 3 3 4 4 4 3 3 3 4 4 4"}},
        {.op = "onnx::Resize",
            .inputs = {"int64[2,2] 9007199254740993 2 3 4", "", "", "int64[2] 2 4"},
            .outputs = {"int64[2,4] 9007199254740993 9007199254740993 2 2 3 3 4 4"}},
        {.op = "onnx::Resize",
            .inputs = {"uint8[2,2] 1 2 3 4", "", "", "int64[2] 2 4"},
            .outputs = {"uint8[2,4] 1 1 2 2 3 3 4 4"}},
        {.op = "onnx::Resize",
            .inputs = {"int16[3,2] 1 2 3 4 5 6", "", "", "int64[2] 2 4"},
            .outputs = {"int16[2,4] 1 1 2 2 5 5 6 6"}},
        {.op = "onnx::Resize",
            .inputs = {"complex128[3] 1 2 3 4 5 6", "", "", "int64[1] 6"},
            .outputs = {"complex128[6] 1 2 1 2 3 4 3 4 5 6 5 6"}},
        {.op = "onnx::Resize",
            .attrs = "mode=linear",
            .inputs = {"float32[1,1,2,4] 1 2 3 4 5 6 7 8", "", "float32[4] 1 1 0.6 0.6"},
            .outputs = {"float32[1,1,1,2] 2.6666665 4.3333331"}},
        {.op = "onnx::Resize",
            .attrs = "mode=linear",
            .inputs = {"float32[2,2] 1 2 3 4", "", "", "int64[2] 4 4"},
            .outputs = {"float32[4,4] 1 1.25 1.75 2 1.5 1.75 2.25 2.5 2.5 2.75 3.25 3.5 3 3.25 3.75 4"}},
        {.op = "onnx::Resize",
            .attrs = "mode=linear; coordinate_transformation_mode=align_corners; axes=[1]",
            .inputs = {"float32[2,2] 1 2 3 4", "", "", "int64[1] 3"},
            .outputs = {"float32[2,3] 1 1.5 2 3 3.5 4"}},
        {.op = "onnx::Resize",
            .attrs = "mode=cubic; coordinate_transformation_mode=asymmetric",
            .inputs = {"float32[4] 1 2 3 4", "", "float32[1] 2"},
            .outputs = {"float32[8] 1 1.40625 2 2.5 3 3.59375 4 4.09375"}},
        {.op = "onnx::Resize",
            .attrs = "mode=linear; antialias=1",
            .inputs = {"float32[4] 1 2 3 4", "", "float32[1] 0.5"},
            .outputs = {"float32[2] 1.625 3.375"}},
        {.op = "onnx::Resize",
            .attrs = "mode=linear; coordinate_transformation_mode=tf_crop_and_resize; extrapolation_value=10",
            .inputs = {"float32[3] 1 2 3", "float32[2] 0 1.5", "", "int64[1] 4"},
            .outputs = {"float32[4] 1 2 3 10"}},
        {.op = "onnx::Resize",
            .attrs = "keep_aspect_ratio_policy=not_larger",
            .inputs = {"float32[2,4] 1 2 3 4 5 6 7 8", "", "", "int64[2] 4 4"},
            .outputs = {"float32[2,4] 1 2 3 4 5 6 7 8"}},
        {.op = "onnx::Resize", .inputs = {"float32[0,2]", "", "float32[2] 2 1"}, .outputs = {"float32[0,2]"}},
        {.op = "onnx::Resize",
            .attrs = "mode=linear; antialias=1",
            .inputs = {"float32[2] 1 2", "", "float32[1] 1e-38"},
            .outputs = {"float32[0]"}},
    };
    RUN(cases);
}

static void
what_does_not_fit_is_refused(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::Resize",
            .inputs = {"float32[2] 1 2", "", "float32[1] 2", "int64[1] 4"},
            .error = "one of 'scales' and 'sizes' must be given, not both",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::Resize",
            .inputs = {"float32[2] 1 2", "", "float32[1] 0"},
            .error = "dimension 0 is scaled by 0, which is not above 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::Resize",
            .inputs = {"float32[2] 1 2", "", "float32[2] 1 2"},
            .error = "input 2 is float32[2], not 1 floats",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::Resize",
            .inputs = {"float32[2] 1 2", "", "float32[1] 1e18"},
            .error = "dimension 0 is scaled by 1e+18",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::Resize",
            .attrs = "axes=[0,-2]",
            .inputs = {"float32[1,2] 1 2", "", "", "int64[2] 4 4"},
            .error = "axis 0 is named twice",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::Resize",
            .attrs = "mode=linear; coordinate_transformation_mode=tf_crop_and_resize",
            .inputs = {"float32[2] 1 2", "", "", "int64[1] 4"},
            .error = "tf_crop_and_resize needs the input 'roi'",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::Resize",
            .attrs = "nearest_mode=up",
            .inputs = {"float32[2] 1 2", "", "float32[1] 2"},
            .error = "there is no nearest_mode 'up'",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::Resize",
            .attrs = "keep_aspect_ratio_policy=larger",
            .inputs = {"float32[2] 1 2", "", "", "int64[1] 4"},
            .error = "there is no keep_aspect_ratio_policy 'larger'",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::Resize",
            .attrs = "mode=spline",
            .inputs = {"float32[2] 1 2", "", "float32[1] 2"},
            .error = "there is no mode 'spline'",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::Resize",
            .inputs = {"float32[0,2]", "", "", "int64[2] 1 2"},
            .error = "dimension 0 is scaled by inf, which is not above 0",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_resized),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests_name("reference/resize", tests, NULL, NULL);
}
