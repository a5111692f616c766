/* Support vector machines, against ONNX Runtime's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"
#include "tests/support/partition_runs.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
rows_are_compared_with_support_vectors(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "ai.onnx.ml::SVMRegressor",
            .attrs = "kernel_type=LINEAR; kernel_params=[0,0,0]; n_supports=3; coefficients=[0.9,1.7,0.1]; "
                     "rho=[0.5]; support_vectors=[-0.1,-0.6,-0,-0.5,-1.3,0.9]",
            .inputs = {"float32[3,2] 1.8 0.4 0.1 -1.9 -0.3 -0.4"},
            .outputs = {"float32[3,1] -0.416 2.948 1.086"},
            .tolerance = 1e-5},
        {.op = "ai.onnx.ml::SVMRegressor",
            .attrs = "kernel_type=POLY; kernel_params=[0.5,1,2]; n_supports=3; coefficients=[-0.2,1.5,0.2]; "
                     "rho=[0.5]; support_vectors=[-0.4,-0.5,-1.5,1,-1.1,-1.2]",
            .inputs = {"float32[3,2] 1.8 0.4 0.1 -1.9 -0.3 -0.4"},
            .outputs = {"float32[3,1] 0.4860099 0.9469776 2.201622"},
            .tolerance = 1e-5},
        {.op = "ai.onnx.ml::SVMRegressor",
            .attrs = "kernel_type=RBF; kernel_params=[0.5,0,0]; n_supports=3; coefficients=[0.7,2,-1.2]; "
                     "rho=[0.5]; support_vectors=[-1,-0.7,0.6,-0.2,-0.8,-0.2]",
            .inputs = {"float32[3,2] 1.8 0.4 0.1 -1.9 -0.3 -0.4"},
            .outputs = {"float32[3,1] 1.286597 0.9134678 1.293297"},
            .tolerance = 1e-5},
        {.op = "ai.onnx.ml::SVMRegressor",
            .attrs =
                "kernel_type=SIGMOID; kernel_params=[0.5,0.1,0]; n_supports=3; coefficients=[-0.1,-1.6,0.6]; "
                "rho=[0.5]; support_vectors=[-0.6,-0.8,-2.4,-0.9,-1,1.1]; one_class=1",
            .inputs = {"float32[3,2] 1.8 0.4 0.1 -1.9 -0.3 -0.4"},
            .outputs = {"float32[3,1] 1 -1 -1"},
            .tolerance = 1e-5},
        {.op = "ai.onnx.ml::SVMRegressor",
            .attrs = "kernel_type=LINEAR; kernel_params=[0,0,0]; n_supports=0; coefficients=[-0.4,-1.7]; "
                     "rho=[0.5]",
            .inputs = {"float32[3,2] 1.8 0.4 0.1 -1.9 -0.3 -0.4"},
            .outputs = {"float32[3,1] -0.9 3.69 1.3"},
            .tolerance = 1e-5},
    };
    RUN(cases);
}

static void
classes_are_told_apart_in_pairs(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "ai.onnx.ml::_SvmScores",
            .attrs = "kernel_type=LINEAR; kernel_params=[0,0,0]; vectors_per_class=[1,2]; "
                     "coefficients=[1,0.9,1.1]; rho=[1.1]; support_vectors=[-0.6,-0.6,-0.9,0,-2.2,-0.3]",
            .inputs = {"float32[3,2] 1.8 0.4 0.1 -1.9 -0.3 -0.4"},
            .outputs = {"int64[3] 1 0 0", "float32[3,2] 6.166 -6.166 -2.484 2.484 -2.621 2.621"},
            .tolerance = 1e-5},
        {.op = "ai.onnx.ml::_SvmScores",
            .attrs = "kernel_type=RBF; kernel_params=[0.5,0,0]; vectors_per_class=[2,1,2]; "
                     "coefficients=[-0.7,0.2,0.2,-1.1,0.4,1.9,-1,0.9,-0.2,1.8]; rho=[0.5,0.7,0.6]; "
                     "support_vectors=[1.5,-1.1,0.8,-1.9,-0.6,-1.9,1,1.3,-0.2,1.8]",
            .inputs = {"float32[3,2] 1.8 0.4 0.1 -1.9 -0.3 -0.4"},
            .outputs = {"int64[3] 0 0 0", "float32[3,3] 0.2921537 0.7341903 0.5981495 0.6223096 0.4311286 "
                                          "1.305469 0.4891029 0.7410165 1.018338"},
            .tolerance = 1e-5},
        {.op = "ai.onnx.ml::_SvmScores",
            .attrs = "kernel_type=POLY; kernel_params=[0.5,1,2]; vectors_per_class=[2,1,2]; "
                     "coefficients=[-0.9,-2.9,-1,-0.6,-0.5,-1,0.4,-0.6,-0.1,0.7]; rho=[-0.9,-0.3,2.2]; "
                     "support_vectors=[0.2,-1.4,1.4,-1.4,0.2,0.6,-0.8,0.1,1.2,-0]; prob_a=[-0.1,-2.3,-1.1]; "
                     "prob_b=[0.6,1.2,0.1]",
            .inputs = {"float32[3,2] 1.8 0.4 0.1 -1.9 -0.3 -0.4"},
            .outputs = {"int64[3] 1 1 1", "float32[3,3] 0.05605111 0.9273705 0.01657846 0.02508499 0.9262019 "
                                          "0.04871319 0.09955014 0.789898 0.110552"},
            .tolerance = 1e-5},
        {.op = "ai.onnx.ml::_SvmScores",
            .attrs = "kernel_type=RBF; kernel_params=[0.5,0,0]; vectors_per_class=[2,1]; "
                     "coefficients=[-0.4,0.7,-0.7]; rho=[0.5]; "
                     "support_vectors=[-0.5,-0.7,0.6,0.3,-0.5,-0.2]; prob_a=[-0.1]; prob_b=[0.5]",
            .inputs = {"float32[3,2] 1.8 0.4 0.1 -1.9 -0.3 -0.4"},
            .outputs = {"int64[3] 0 0 1",
                "float32[3,2] 0.3950462 0.6049539 0.3818976 0.6181024 0.3709771 0.6290229"},
            .tolerance = 1e-5},
    };
    RUN(cases);
}

static void
there_may_be_one_row_or_none(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "ai.onnx.ml::SVMRegressor", /* a vector is one row */
            .attrs = "coefficients=[1,2]; rho=[0.5]",
            .inputs = {"int64[2] 3 4"},
            .outputs = {"float32[1,1] 11.5"}},
        {.op = "ai.onnx.ml::SVMRegressor",
            .attrs = "coefficients=[1,2]; rho=[0.5]",
            .inputs = {"float64[0,2]"},
            .outputs = {"float32[0,1]"}},
        {.op = "ai.onnx.ml::_SvmScores",
            .attrs = "vectors_per_class=[1,1]; coefficients=[1,2]; rho=[1]; support_vectors=[1,2,3,4]",
            .inputs = {"float32[0,2]"},
            .outputs = {"int64[0]", "float32[0,2]"}},
    };
    RUN(cases);
}

static void
machines_whose_lists_do_not_fit_are_refused(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "ai.onnx.ml::SVMRegressor",
            .attrs = "kernel_type=CUBE; coefficients=[1]; rho=[0]",
            .inputs = {"float32[1,2] 1 2"},
            .error = "kernel_type is 'CUBE', not 'LINEAR', 'POLY', 'RBF' or 'SIGMOID'",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ai.onnx.ml::SVMRegressor",
            .attrs = "kernel_type=RBF; coefficients=[1]; rho=[0]",
            .inputs = {"float32[1,2] 1 2"},
            .error = "'kernel_params' has 0 items, not 3",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ai.onnx.ml::SVMRegressor",
            .attrs = "coefficients=[1,2]; rho=[0]",
            .inputs = {"float32[1,3] 1 2 3"},
            .error = "an input of shape [1,3] is no rows of 2 features",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ai.onnx.ml::SVMRegressor",
            .attrs = "n_supports=2; coefficients=[1,2]; rho=[0]; support_vectors=[1,2,3]",
            .inputs = {"float32[1,2] 1 2"},
            .error = "3 numbers are no 2 support vectors",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ai.onnx.ml::SVMRegressor",
            .attrs = "n_supports=-1; coefficients=[1,2]; rho=[0]",
            .inputs = {"float32[1,2] 1 2"},
            .error = "n_supports is -1, not at least 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ai.onnx.ml::_SvmScores",
            .attrs = "vectors_per_class=[1]; coefficients=[]; rho=[]; support_vectors=[1,2]",
            .inputs = {"float32[1,2] 1 2"},
            .error = "support vectors of 1 classes tell none apart",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ai.onnx.ml::_SvmScores",
            .attrs = "vectors_per_class=[1,-1]; coefficients=[1]; rho=[1]; support_vectors=[1,2]",
            .inputs = {"float32[1,2] 1 2"},
            .error = "class 1 cannot have -1 support vectors",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ai.onnx.ml::_SvmScores",
            .attrs = "vectors_per_class=[0,0]; coefficients=[]; rho=[1]; support_vectors=[1,2]",
            .inputs = {"float32[1,2] 1 2"},
            .error = "there are no support vectors",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ai.onnx.ml::_SvmScores",
            .attrs =
                "vectors_per_class=[1,1]; coefficients=[1,2]; rho=[1]; prob_a=[1]; support_vectors=[1,2,3,4]",
            .inputs = {"float32[1,2] 1 2"},
            .error = "'prob_b' has 0 items, not 1",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

/* A machine of 256 support vectors takes 2 KiB for a row: 64 MiB for these rows if each had a room. */
static void
a_large_batch_takes_no_room_for_each_row(void **state)
{
    (void)state;
    RunFixture fixture;
    DeviceMemory memory;
    RunOutcome outcome = {0};
    char text[4096] =
        "x = _Arg() T=float32 index=0\n"
        "y = ai.onnx.ml::SVMRegressor(x) T=float32 n_supports=256 rho=[0.5] support_vectors=[1.0";
    for (int n = 1; n < 256; n++) {
        (void)strcat(text, ",1.0");
    }
    (void)strcat(text, "] coefficients=[1.0");
    for (int n = 1; n < 256; n++) {
        (void)strcat(text, ",1.0");
    }
    (void)strcat(text, "]\nout = _Retval(y) T=float32 index=0\n");
    fixture_begin(&fixture, 2);
    Partition *partition = fixture_compile(&fixture, text);
    Tensor rows = fixture_numbers(&fixture, &(Shape){.rank = 2, .dims = {32768, 1}}, 1);
    Tensor given = tensor_ref(&rows);
    fixture_run(&fixture, partition, NULL, &rows, 1, &outcome);
    assert_int_equal(outcome.code, STATUS_OK);
    for (int64_t row = 0; row < 32768; row++) {
        assert_true(tensor_float(&outcome.outputs[0], row) == 256 * tensor_float(&given, row) + 0.5F);
    }
    fixture.device->memory(fixture.device, &memory);
    assert_true(memory.peak < 8 << 20);
    outcome_clear(&outcome);
    tensor_unref(&given);
    partition_unref(partition);
    fixture_end(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_compared_with_support_vectors),
        cmocka_unit_test(classes_are_told_apart_in_pairs),
        cmocka_unit_test(there_may_be_one_row_or_none),
        cmocka_unit_test(a_large_batch_takes_no_room_for_each_row),
        cmocka_unit_test(machines_whose_lists_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests_name("reference/support_vectors", tests, NULL, NULL);
}
