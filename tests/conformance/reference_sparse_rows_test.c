/* Sparse tensors reordered, cut and put together, against TensorFlow's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
sparse_tensors_become_others(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "SparseReorder",
            .inputs = {"int64[3,2] 2 0 0 1 0 0", "float32[3] 1.5 2 3", "int64[2] 3 2"},
            .outputs = {"int64[3,2] 0 0 0 1 2 0", "float32[3] 3 2 1.5"}},
        {.op = "SparseReorder",
            .inputs = {"int64[2,2] 1 1 0 1", "string[2] 'b' 'a'", "int64[2] 2 2"},
            .outputs = {"int64[2,2] 0 1 1 1", "string[2] 'a' 'b'"}},
        {.op = "SparseReorder",
            .inputs = {"int64[0,2]", "int32[0]", "int64[2] 2 2"},
            .outputs = {"int64[0,2]", "int32[0]"}},
        {.op = "SparseReshape",
            .inputs = {"int64[2,2] 0 1 1 2", "int64[2] 2 3", "int64[2] 3 -1"},
            .outputs = {"int64[2,2] 0 1 2 1", "int64[2] 3 2"}},
        {.op = "SparseReshape",
            .inputs = {"int64[2,2] 0 1 1 2", "int64[2] 2 3", "int64[1] 6"},
            .outputs = {"int64[2,1] 1 5", "int64[1] 6"}},
        {.op = "SparseReshape",
            .inputs = {"int64[0,2]", "int64[2] 0 3", "int64[2] 3 0"},
            .outputs = {"int64[0,2]", "int64[2] 3 0"}},
        {.op = "SparseSlice",
            .inputs = {"int64[4,2] 0 1 1 0 1 2 2 2", "int32[4] 1 2 3 4", "int64[2] 3 3", "int64[2] 1 1",
                "int64[2] 5 2"},
            .outputs = {"int64[2,2] 0 1 1 1", "int32[2] 3 4", "int64[2] 2 2"}},
        {.op = "SparseSlice",
            .inputs = {"int64[1,2] 0 1", "int32[1] 1", "int64[2] 3 3", "int64[2] 1 1", "int64[2] 1 1"},
            .outputs = {"int64[0,2]", "int32[0]", "int64[2] 1 1"}},
        {.op = "SparseConcat",
            .attrs = "concat_dim=1",
            .inputs = {"int64[2,2] 0 2 1 0", "int64[2,2] 0 0 1 1", "string[2] 'a' 'b'", "string[2] 'c' 'd'",
                "int64[2] 2 3", "int64[2] 2 2"},
            .outputs = {"int64[4,2] 0 2 0 3 1 0 1 4", "string[4] 'a' 'c' 'b' 'd'", "int64[2] 2 5"}},
        {.op = "SparseConcat",
            .attrs = "concat_dim=-2",
            .inputs = {"int64[2,2] 0 2 1 0", "int64[1,2] 0 0", "float64[2] 1 2", "float64[1] 3",
                "int64[2] 2 3", "int64[2] 1 3"},
            .outputs = {"int64[3,2] 0 2 1 0 2 0", "float64[3] 1 2 3", "int64[2] 3 3"}},
        {.op = "SparseFillEmptyRows",
            .inputs = {"int64[4,2] 0 1 0 3 2 0 3 1", "string[4] 'a' 'b' 'd' 'c'", "int64[2] 5 6",
                "string[] '-'"},
            .outputs = {"int64[6,2] 0 1 0 3 1 0 2 0 3 1 4 0", "string[6] 'a' 'b' '-' 'd' 'c' '-'",
                "bool[5] 0 1 0 0 1", "int64[4] 0 1 3 4"}},
        {.op = "SparseFillEmptyRows",
            .inputs = {"int64[4,2] 2 0 0 3 2 5 0 1", "int32[4] 1 2 3 4", "int64[2] 3 6", "int32[] 9"},
            .outputs = {"int64[5,2] 0 3 0 1 1 0 2 0 2 5", "int32[5] 2 4 9 1 3", "bool[3] 0 1 0",
                "int64[4] 3 0 4 1"}},
        {.op = "SparseFillEmptyRowsGrad",
            .inputs = {"int64[2] 2 1", "float32[4] 0.5 1 2 4"},
            .outputs = {"float32[2] 2 1", "float32[] 4.5"}},
    };
    RUN(cases);
}

static void
what_does_not_fit_is_refused(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "SparseReorder",
            .inputs = {"int64[1,2] 2 0", "float64[1] 1", "int64[2] 2 2"},
            .error = "coordinate 0 of sparse element 0 is 2, not within 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "SparseReshape",
            .inputs = {"int64[1,2] 0 1", "int64[2] 2 3", "int64[2] 4 -1"},
            .error = "a sparse tensor of shape [2,3] cannot take shape [4,1]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "SparseReshape",
            .inputs = {"int64[1,2] 0 1", "int64[2] 2 3", "int64[2] -1 -1"},
            .error = "dimension 1 of the new shape is -1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "SparseConcat",
            .attrs = "concat_dim=1",
            .inputs = {"int64[1,2] 0 1", "int64[1,2] 0 1", "float64[1] 1", "float64[1] 1", "int64[2] 2 3",
                "int64[2] 3 3"},
            .error = "sparse tensors of shapes [2,3] and [3,3] are joined along dimension 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "SparseConcat",
            .attrs = "concat_dim=2",
            .inputs = {"int64[1,2] 0 1", "float64[1] 1", "int64[2] 2 3"},
            .error = "dimension 2 joins no sparse tensors of rank 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "SparseFillEmptyRowsGrad",
            .inputs = {"int64[1] 4", "float64[1] 1"},
            .error = "element 0 of the reverse map is 4, not within 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "SparseSlice",
            .inputs = {"int64[1,2] 0 1", "float64[1] 1", "int64[2] 2 3", "int64[1] 0", "int64[1] 1"},
            .error = "1 starts and 1 sizes for a sparse tensor of rank 2",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sparse_tensors_become_others),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests_name("reference/sparse_rows", tests, NULL, NULL);
}
