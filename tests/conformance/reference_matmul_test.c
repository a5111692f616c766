/* Matrix products, against NumPy's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
matrices_multiply_also_transposed(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "MatMul",
            .inputs = {"float32[2,3] 1 2 3 4 5 6", "float32[3,2] 7 8 9 10 11 12"},
            .outputs = {"float32[2,2] 58 64 139 154"}},
        {.op = "MatMul",
            .attrs = "transpose_a=true",
            .inputs = {"float32[3,2] 1 4 2 5 3 6", "float32[3,2] 7 8 9 10 11 12"},
            .outputs = {"float32[2,2] 58 64 139 154"}},
        {.op = "MatMul",
            .attrs = "transpose_b=true",
            .inputs = {"float32[2,3] 1 2 3 4 5 6", "float32[2,3] 7 9 11 8 10 12"},
            .outputs = {"float32[2,2] 58 64 139 154"}},
        {.op = "MatMul",
            .attrs = "transpose_a=true; transpose_b=true",
            .inputs = {"float64[3,2] 1 4 2 5 3 6", "float64[2,3] 7 9 11 8 10 12"},
            .outputs = {"float64[2,2] 58 64 139 154"}},
        {.op = "MatMul", .inputs = {"int32[1,2] 65536 1", "int32[2,1] 65536 5"}, .outputs = {"int32[1,1] 5"}},
        {.op = "MatMul",
            .inputs = {"float16[1,2] 1.5 2", "float16[2,1] 2 4"},
            .outputs = {"float16[1,1] 11"}},
        {.op = "MatMul", .inputs = {"float32[0,3]", "float32[3,2] 1 ..."}, .outputs = {"float32[0,2]"}},
        {.op = "MatMul", .inputs = {"float32[2,0]", "float32[0,2]"}, .outputs = {"float32[2,2] 0 ..."}},
        {.op = "MatMul",
            .inputs = {"float32[2,70] 1 ...", "float32[70,70] 2 ..."},
            .outputs = {"float32[2,70] 140 ..."}},
        {.op = "MatMul",
            .inputs = {"float32[2,3] 1 ...", "float32[2,3] 1 ..."},
            .error = "the inner dimension is 3 on one side and 2 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "MatMul",
            .inputs = {"float32[3] 1 ...", "float32[3,1] 1 ..."},
            .error = "input 0 has shape [3], not rank 2",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
batches_multiply_and_broadcast(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "BatchMatMulV2",
            .inputs = {"float32[2,1,2] 1 2 3 4", "float32[2,2,1] 1 2 3 4"},
            .outputs = {"float32[2,1,1] 5 25"}},
        {.op = "BatchMatMulV2",
            .inputs = {"float32[2,1,2] 1 2 3 4", "float32[2,1] 1 2"},
            .outputs = {"float32[2,1,1] 5 11"}},
        {.op = "BatchMatMulV2",
            .inputs = {"float32[2,1,1,2] 1 2 3 4", "float32[3,2,1] 1 0 0 1 1 1"},
            .outputs = {"float32[2,3,1,1] 1 2 3 3 4 7"}},
        {.op = "BatchMatMul",
            .attrs = "adj_x=true; adj_y=true",
            .inputs = {"float32[1,2,1] 1 2", "float32[1,3,2] 1 2 3 4 5 6"},
            .outputs = {"float32[1,1,3] 5 11 17"}},
        {.op = "BatchMatMulV2",
            .inputs = {"float32[2,1,2] 1 ...", "float32[3,2,1] 1 ..."},
            .error = "the batches of [2,1,2] and [3,2,1] do not broadcast",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "BatchMatMulV2",
            .inputs = {"float32[2] 1 ...", "float32[2,1] 1 ..."},
            .error = "shapes [2] and [2,1] are not both of matrices",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
onnx_takes_vectors_too(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::MatMul",
            .inputs = {"float32[2,3] 1 2 3 4 5 6", "float32[3] 1 0 1"},
            .outputs = {"float32[2] 4 10"}},
        {.op = "onnx::MatMul",
            .inputs = {"float32[3] 1 0 1", "float32[3,2] 1 2 3 4 5 6"},
            .outputs = {"float32[2] 6 8"}},
        {.op = "onnx::MatMul", .inputs = {"float32[2] 1 2", "float32[2] 3 4"}, .outputs = {"float32[] 11"}},
        {.op = "onnx::MatMul",
            .inputs = {"float32[2] 1 2", "float32[2,2,1] 3 4 5 6"},
            .outputs = {"float32[2,1] 11 17"}},
        {.op = "onnx::MatMul",
            .inputs = {"float32[2,1,2] 1 2 3 4", "float32[2] 3 4"},
            .outputs = {"float32[2,1] 11 25"}},
        {.op = "onnx::MatMul", .inputs = {"int64[1,2] 1 2", "int64[2,1] 3 4"}, .outputs = {"int64[1,1] 11"}},
        {.op = "onnx::MatMul",
            .inputs = {"float32[] 1", "float32[2] 3 4"},
            .error = "scalars have no matrix product",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
gemm_scales_and_adds(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::Gemm",
            .inputs = {"float32[1,2] 1 2", "float32[2,2] 1 2 3 4", "float32[2] 10 20"},
            .outputs = {"float32[1,2] 17 30"}},
        {.op = "onnx::Gemm",
            .attrs = "alpha=0.5; beta=2; transB=1",
            .inputs = {"float32[1,2] 1 2", "float32[2,2] 1 3 2 4", "float32[1] 1"},
            .outputs = {"float32[1,2] 5.5 7"}},
        {.op = "onnx::Gemm",
            .attrs = "transA=1",
            .inputs = {"float32[2,1] 1 2", "float32[2,2] 1 2 3 4"},
            .outputs = {"float32[1,2] 7 10"}},
        {.op = "onnx::Gemm",
            .inputs = {"float32[1,2] 1 2", "float32[2,2] 1 2 3 4", "float32[3,1] 1 2 3"},
            .error = "C of shape [3,1] does not broadcast to [1,2]",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_multiply_also_transposed),
        cmocka_unit_test(batches_multiply_and_broadcast),
        cmocka_unit_test(onnx_takes_vectors_too),
        cmocka_unit_test(gemm_scales_and_adds),
    };
    return cmocka_run_group_tests_name("reference/matmul", tests, NULL, NULL);
}
