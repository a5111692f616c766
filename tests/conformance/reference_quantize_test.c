/* ONNX's quantised numbers, against ONNX Runtime's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
numbers_are_quantised_and_back(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::QuantizeLinear",
            .inputs = {"float32[2,4] 0 2 3 1000 -254 -1000 2.5 0.5", "float32[] 2", "uint8[] 128"},
            .outputs = {"uint8[2,4] 128 129 130 255 1 0 129 128"}},
        {.op = "onnx::QuantizeLinear",
            .attrs = "axis=0",
            .inputs = {"float32[2,4] 0 2 3 1000 -254 -1000 2.5 0.5", "float32[2] 2 4", "int8[2] 1 -3"},
            .outputs = {"int8[2,4] 1 2 3 127 -67 -128 -2 -3"}},
        {.op = "onnx::DequantizeLinear",
            .attrs = "axis=-1",
            .inputs = {"uint8[2,2] 0 3 128 255", "float32[2] 2 0.5", "uint8[2] 128 1"},
            .outputs = {"float32[2,2] -256 1 0 127"}},
        {.op = "onnx::DequantizeLinear",
            .inputs = {"int32[2] 1 -7", "float32[] 0.5", ""},
            .outputs = {"float32[2] 0.5 -3.5"}},
        {.op = "onnx::DynamicQuantizeLinear",
            .inputs = {"float32[6] 0 2 -3 -2.5 1.34 0.5"},
            .outputs = {"uint8[6] 153 255 0 26 221 179", "float32[] 0.019607844", "uint8[] 153"}},
        {.op = "onnx::DynamicQuantizeLinear",
            .inputs = {"float32[6] 1 2.1 1.3 2.5 3.34 4"},
            .outputs = {"uint8[6] 64 134 83 159 213 255", "float32[] 0.015686275", "uint8[] 0"}},
        {.op = "onnx::DynamicQuantizeLinear",
            .inputs = {"float32[2] 0 0"},
            .outputs = {"uint8[2] 0 0", "float32[] 1", "uint8[] 0"}},
        {.op = "onnx::MatMulInteger",
            .inputs = {"uint8[4,3] 11 7 3 10 6 2 9 5 1 8 4 0", "uint8[3,2] 1 4 2 5 3 6", "uint8[] 12",
                "uint8[] 0"},
            .outputs = {"int32[4,2] -38 -83 -44 -98 -50 -113 -56 -128"}},
        {.op = "onnx::MatMulInteger",
            .inputs = {"uint8[2,3] 11 7 3 10 6 2", "int8[3,2] 1 -4 2 5 3 6", "uint8[] 3", "int8[2] 1 2"},
            .outputs = {"int32[2,2] 4 -36 1 -37"}},
        {.op = "onnx::MatMulInteger",
            .inputs = {"uint8[1,2,2] 1 2 3 4", "uint8[2,1] 5 6", "", ""},
            .outputs = {"int32[1,2,1] 17 39"}},
        {.op = "onnx::QLinearMatMul",
            .inputs = {"int8[2,1] 10 20", "float32[2] 0.5 1", "int8[2] 0 10", "uint8[1,2] 130 120",
                "float32[2] 1 0.5", "uint8[2] 128 128", "float32[] 2", "int8[] 1"},
            .outputs = {"int8[2,2] 6 -9 11 -19"}},
        {.op = "onnx::QLinearMatMul",
            .inputs = {"uint8[2,4] 208 236 0 238 3 214 255 29", "float32[] 0.0066", "uint8[] 113",
                "uint8[4,3] 152 51 244 60 26 255 0 127 246 127 254 247", "float32[] 0.00705", "uint8[] 114",
                "float32[] 0.0107", "uint8[] 118"},
            .outputs = {"uint8[2,3] 168 115 255 1 66 151"}},
    };
    RUN(cases);
}

static void
what_does_not_fit_is_refused(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::QuantizeLinear",
            .inputs = {"float32[1,2] 1 2", "float32[3] 1 2 3", "uint8[3] 0 0 0"},
            .error = "scales of shape [3] for an axis of 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::QuantizeLinear",
            .inputs = {"float32[1,2] 1 2", "float32[2] 1 2", "uint8[1] 0"},
            .error = "1 zero points for 2 scales",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::MatMulInteger",
            .inputs = {"uint8[1,2] 1 2", "uint8[2,1] 1 2", "uint8[3] 0 0 0", ""},
            .error = "3 zero points for 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::MatMulInteger",
            .inputs = {"uint8[2] 1 2", "uint8[2,1] 1 2", "", ""},
            .error = "ranks 1 and 2 are not both of matrices",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_quantised_and_back),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests_name("reference/quantize", tests, NULL, NULL);
}
