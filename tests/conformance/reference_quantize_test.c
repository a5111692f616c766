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

/* Two rows of 20 numbers, and as many of weights in two blocks of 16, the second of which is cut short. */
#define TWO_ROWS                                                                                             \
    "float32[2,20] -0.81 -0.03 0.88 -0.58 -0.11 0.11 0.06 -1.23 0.08 1.36 -1.55 0.86 0.12 -0.64 2 "          \
    "0.76 -1.2 0.07 0.58 -0.19 0.68 -0.07 0.67 1.44 -0.68 0.2 -0.46 0.13 -1.19 -0.58 -0.2 0.9 1.15 "         \
    "-1.32 -0.79 0.65 -1.99 -0.46 -0.1 1.26"
#define PACKED_WEIGHTS                                                                                       \
    "uint8[2,2,8] 175 234 201 61 64 212 14 215 194 113 77 69 75 127 135 137 248 204 155 245 55 45 "          \
    "157 1 7 130 127 236 173 135 116 54"
#define BLOCK_SCALES "float32[2,2] 0.01 0.03 0.08 0.03"

static void
weights_in_blocks_are_unpacked(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "com.microsoft::MatMulNBits",
            .attrs = "K=20; N=2; bits=4; block_size=16",
            .inputs = {TWO_ROWS, PACKED_WEIGHTS, BLOCK_SCALES},
            .outputs = {"float32[2,2] 0.2222 -3.919599 0.7903001 1.0561"},
            .tolerance = 1e-4},
        {.op = "com.microsoft::MatMulNBits",
            .attrs = "K=20; N=2; bits=4; block_size=16",
            .inputs = {TWO_ROWS, PACKED_WEIGHTS, BLOCK_SCALES, "uint8[2,1] 63 114", "",
                "float32[2] 0.69 -0.33"},
            .outputs = {"float32[2,2] 0.7116 -3.6574 1.2497 0.9418001"},
            .tolerance = 1e-4},
        {.op = "com.microsoft::MatMulNBits",
            .attrs = "K=20; N=2; bits=4; block_size=16",
            .inputs = {TWO_ROWS, PACKED_WEIGHTS, BLOCK_SCALES, "",
                "int32[20] 1 1 0 0 1 0 1 1 0 1 0 0 0 1 1 1 1 1 0 0"},
            .outputs = {"float32[2,2] 0.3414 -2.2511 1.1597 1.0026"},
            .tolerance = 1e-4},
        {.op = "com.microsoft::MatMulNBits",
            .attrs = "K=20; N=2; bits=4; block_size=16",
            .inputs = {TWO_ROWS, PACKED_WEIGHTS, BLOCK_SCALES, "float32[2,2] 1.5 2 7 3.25"},
            .outputs = {"float32[2,2] 0.1722 -3.92265 0.59255 0.9146751"},
            .tolerance = 1e-4},
        {.op = "com.microsoft::MatMulNBits",
            .attrs = "K=16; N=1; bits=8; block_size=16",
            .inputs = {"float32[1,16] 0.58 -1.29 0.35 -1.69 -2.04 -0.3 -0.9 0.16 2.24 -0.83 -0.62 0.21 0.49 "
                       "-0.18 -0.21 0.7",
                "uint8[1,1,16] 251 105 54 61 182 9 248 224 145 119 194 140 122 82 114 192",
                "float32[1,1] 0.03", "uint8[1,1] 100"},
            .outputs = {"float32[1,1] -0.3531008"},
            .tolerance = 1e-4},
        {.op = "com.microsoft::_UnpackBlocks",
            .attrs = "bits=4; block_size=16",
            .inputs = {"uint8[2,8] 47 230 4 201 203 42 109 221 15 173 199 143 177 51 51 94",
                "float32[2,1] 0.5 0.25", "uint8[2,1] 3 9"},
            .outputs = {"float32[2,16] 6 -0.5 1.5 5.5 0.5 -1.5 3 4.5 4 4.5 3.5 -0.5 5 1.5 5 5 1.5 -2.25 1 "
                        "0.25 -0.5 0.75 1.5 -0.25 -2 0.5 -1.5 -1.5 -1.5 -1.5 1.25 -1"},
            .tolerance = 1e-4},
        {.op = "com.microsoft::MatMulNBits",
            .attrs = "K=16; N=1; bits=8; block_size=16",
            .inputs = {"float32[0,16]", "uint8[1,1,16] 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "float32[1] 1"},
            .outputs = {"float32[0,1]"}},
        {.op = "com.microsoft::MatMulNBits",
            .attrs = "K=16; N=1; bits=3; block_size=16",
            .inputs = {"float32[0,16]", "uint8[0]", "float32[1] 1"},
            .error = "bits is 3, not 2, 4 or 8",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "com.microsoft::MatMulNBits",
            .attrs = "K=16; N=1; bits=4; block_size=8",
            .inputs = {"float32[0,16]", "uint8[0]", "float32[1] 1"},
            .error = "block_size is 8, not a power of two of at least 16",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "com.microsoft::MatMulNBits",
            .attrs = "K=16; N=1; bits=4; block_size=16",
            .inputs = {"float32[0,16]", "uint8[7] 1 1 1 1 1 1 1", "float32[1] 1"},
            .error = "weights of shape [7] have not 8 elements",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "com.microsoft::MatMulNBits",
            .attrs = "K=0; N=1; bits=4; block_size=16",
            .inputs = {"float32[0,16]", "uint8[7] 1 1 1 1 1 1 1", "float32[1] 1"},
            .error = "K is 0 and N is 1, not 1 to 1099511627776",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "com.microsoft::MatMulNBits",
            .attrs = "K=16; N=1; bits=4; block_size=16",
            .inputs = {"float32[2,3] 1 1 1 1 1 1", "uint8[8] 1 1 1 1 1 1 1 1", "float32[1] 1"},
            .error = "the inner dimension is 3 on one side and 16 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "com.microsoft::_UnpackBlocks",
            .attrs = "bits=8; block_size=16",
            .inputs = {"uint8[1,17] 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "float32[1,1] 1"},
            .error = "the scales have shape [1,1], not [1,2]",
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
        cmocka_unit_test(weights_in_blocks_are_unpacked),
    };
    return cmocka_run_group_tests_name("reference/quantize", tests, NULL, NULL);
}
