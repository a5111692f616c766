/* Borders of tensors, against NumPy's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
borders_are_padded(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Pad", .inputs = {"int32[2] 1 2", "int32[1,2] 1 2"}, .outputs = {"int32[5] 0 1 2 0 0"}},
        {.op = "Pad", .inputs = {"int32[1,1] 5", "int32[2,2] 1 0 0 1"}, .outputs = {"int32[2,2] 0 0 5 0"}},
        {.op = "PadV2",
            .inputs = {"float32[1] 1", "int32[1,2] 1 1", "float32[] 9"},
            .outputs = {"float32[3] 9 1 9"}},
        {.op = "MirrorPad",
            .attrs = "mode=REFLECT",
            .inputs = {"int32[3] 1 2 3", "int32[1,2] 2 2"},
            .outputs = {"int32[7] 3 2 1 2 3 2 1"}},
        {.op = "MirrorPad",
            .attrs = "mode=SYMMETRIC",
            .inputs = {"int32[3] 1 2 3", "int32[1,2] 2 3"},
            .outputs = {"int32[8] 2 1 1 2 3 3 2 1"}},
        {.op = "MirrorPad",
            .attrs = "mode=REFLECT",
            .inputs = {"int32[2] 1 2", "int32[1,2] 2 0"},
            .error = "dimension 0 of 2 cannot be padded by 2 and 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Pad",
            .inputs = {"int32[2] 1 2", "int32[1,2] -1 0"},
            .error = "dimension 0 is padded by -1 and 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Pad",
            .inputs = {"int32[2] 1 2", "int32[2,2] 0 0 0 0"},
            .error = "paddings of shape [2,2] do not fit rank 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Pad",
            .inputs = {"int32[2] 1 2", "int64[1,2] 9223372036854775807 9223372036854775807"},
            .error = "are too many",
            .error_code = STATUS_RESOURCE_EXHAUSTED},
        {.op = "onnx::Pad",
            .inputs = {"float32[1,2] 1 2", "int64[4] 0 1 1 0"},
            .outputs = {"float32[2,3] 0 1 2 0 0 0"}},
        {.op = "onnx::Pad",
            .inputs = {"float32[1,2] 1 2", "int64[2] 1 0", "float32[] 7", "int64[1] -1"},
            .outputs = {"float32[1,3] 7 1 2"}},
        {.op = "onnx::Pad", .inputs = {"float32[3] 1 2 3", "int64[2] -1 1"}, .outputs = {"float32[3] 2 3 0"}},
        {.op = "onnx::Pad",
            .attrs = "mode=edge",
            .inputs = {"float32[2] 1 2", "int64[2] 2 1"},
            .outputs = {"float32[5] 1 1 1 2 2"}},
        {.op = "onnx::Pad",
            .attrs = "mode=wrap",
            .inputs = {"float32[3] 1 2 3", "int64[2] 4 1"},
            .outputs = {"float32[8] 3 1 2 3 1 2 3 1"}},
        {.op = "onnx::Pad",
            .attrs = "mode=reflect",
            .inputs = {"float32[3] 1 2 3", "int64[2] 1 1"},
            .outputs = {"float32[5] 2 1 2 3 2"}},
        {.op = "onnx::Pad",
            .inputs = {"float32[3] 1 2 3", "int64[2] -2 -2"},
            .error = "dimension 0 of 3 cannot be padded by -2 and -2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::Pad",
            .attrs = "mode=glue",
            .inputs = {"float32[3] 1 2 3", "int64[2] 1 1"},
            .error = "there is no padding mode 'glue'",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
the_middle_is_cropped_or_padded(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::CenterCropPad",
            .inputs = {"float32[3,2] 1 2 3 4 5 6", "int64[2] 2 5"},
            .outputs = {"float32[2,5] 0 1 2 0 0 0 3 4 0 0"}},
        {.op = "onnx::CenterCropPad",
            .attrs = "axes=[-1]",
            .inputs = {"uint8[2,4] 1 2 3 4 5 6 7 8", "int32[1] 1"},
            .outputs = {"uint8[2,1] 2 6"}},
        {.op = "onnx::CenterCropPad", .inputs = {"bool[0]", "int32[1] 2"}, .outputs = {"bool[2] 0 0"}},
        {.op = "onnx::CenterCropPad",
            .inputs = {"float32[2] 1 2", "int64[2] 2 5"},
            .error = "2 sizes for 1 dimensions",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::CenterCropPad",
            .inputs = {"float32[2] 1 2", "int64[1] -2"},
            .error = "dimension 0 is -2, not at least 0",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_middle_is_cropped_or_padded),
        cmocka_unit_test(borders_are_padded),
    };
    return cmocka_run_group_tests_name("reference/pad", tests, NULL, NULL);
}
