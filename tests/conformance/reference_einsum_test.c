/* Sums of products told by an equation, against TensorFlow's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
products_are_summed_as_the_equation_says(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Einsum",
            .attrs = "equation=ij,jk->ik",
            .inputs = {"float32[2,3] 0.13 -0.13 0.64 0.1 -0.54 0.36",
                "float32[3,4] 0.35 0.82 0.33 -1.3 0.91 0.45 -0.54 0.58 0.36 0.29 0.03 0.55"},
            .outputs = {"float32[2,4] 0.1576 0.23369999 0.1323 0.10760002 -0.32680002 -0.056599997 "
                        "0.33540004 -0.24519998"}},
        {.op = "Einsum",
            .attrs = "equation=bij,bjk->bik",
            .inputs = {"float32[2,2,3] 0.13 -0.13 0.64 0.1 -0.54 0.36 1.3 0.95 -0.7 -1.27 -0.62 0.04",
                "float32[2,3,2] 0.35 0.82 0.33 -1.3 0.91 0.45 -0.54 0.58 0.36 0.29 0.03 0.55"},
            .outputs =
                {"float32[2,2,2] 0.585 0.56359994 0.1844 0.946 -0.381 0.6444999 0.46379998 -0.89439994"}},
        {.op = "Einsum",
            .attrs = "equation=abc,cde->abde",
            .inputs = {"float32[2,3,2] 0.13 -0.13 0.64 0.1 -0.54 0.36 1.3 0.95 -0.7 -1.27 -0.62 0.04",
                "float32[2,2,2] 0.35 0.82 0.33 -1.3 0.91 0.45 -0.54 0.58"},
            .outputs = {"float32[2,3,2,2] -0.0728 0.0481 0.1131 -0.24439998 0.315 0.5698 0.1572 -0.7739999 "
                        "0.1386 -0.2808 -0.37260005 0.91080004 1.3195 1.4935 -0.08400002 -1.1389998 -1.4007 "
                        "-1.1455 0.4548 0.1734 -0.18059999 -0.49040002 -0.2262 0.82919997"}},
        {.op = "Einsum",
            .attrs = "equation=ii->i",
            .inputs = {"float32[3,3] 0.13 -0.13 0.64 0.1 -0.54 0.36 1.3 0.95 -0.7"},
            .outputs = {"float32[3] 0.13 -0.54 -0.7"}},
        {.op = "Einsum",
            .attrs = "equation=ii->",
            .inputs = {"float32[3,3] 0.13 -0.13 0.64 0.1 -0.54 0.36 1.3 0.95 -0.7"},
            .outputs = {"float32[] -1.11"}},
        {.op = "Einsum",
            .attrs = "equation=ij->ji",
            .inputs = {"float32[2,3] 0.13 -0.13 0.64 0.1 -0.54 0.36"},
            .outputs = {"float32[3,2] 0.13 0.1 -0.13 -0.54 0.64 0.36"}},
        {.op = "Einsum",
            .attrs = "equation=i->ii",
            .inputs = {"float32[2] 0.13 -0.13"},
            .outputs = {"float32[2,2] 0.13 0 0 -0.13"}},
        {.op = "Einsum",
            .attrs = "equation=...ij,...jk->...ik",
            .inputs = {"float32[2,1,3] 0.13 -0.13 0.64 0.1 -0.54 0.36",
                "float32[2,3,2] 0.35 0.82 0.33 -1.3 0.91 0.45 -0.54 0.58 0.36 0.29 0.03 0.55"},
            .outputs = {"float32[2,1,2] 0.585 0.56359994 -0.23760001 0.09940001"}},
        {.op = "Einsum",
            .attrs = "equation=...j,j->...",
            .inputs = {"float32[1,2,3] 0.13 -0.13 0.64 0.1 -0.54 0.36", "float32[3] 0.35 0.82 0.33"},
            .outputs = {"float32[1,2] 0.15010001 -0.289"}},
        {.op = "Einsum",
            .attrs = "equation=i,j->ij",
            .inputs = {"int32[2] 1 2", "int32[2] 3 4"},
            .outputs = {"int32[2,2] 3 4 6 8"}},
        {.op = "Einsum",
            .attrs = "equation=i,i->",
            .inputs = {"complex64[2] 1 2 2 -1", "complex64[2] 0 3 4 0"},
            .outputs = {"complex64[] 2 -1"}},
        {.op = "Einsum",
            .attrs = "equation=ij,jk->k",
            .inputs = {"float32[0,2]", "float32[2,3] 0.13 -0.13 0.64 0.1 -0.54 0.36"},
            .outputs = {"float32[3] 0 0 0"}},
    };
    RUN(cases);
}

static void
equations_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Einsum",
            .attrs = "equation=ij,jk->ik",
            .inputs = {"float32[2,3] 0.13 -0.13 0.64 0.1 -0.54 0.36",
                "float32[4,2] 0.13 -0.13 0.64 0.1 -0.54 0.36 1.3 0.95"},
            .error = "one index of equation 'ij,jk->ik' is 3 in one place and 4 in another",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Einsum",
            .attrs = "equation=ij,jk->ik",
            .inputs = {"float32[2,3] 0.13 -0.13 0.64 0.1 -0.54 0.36"},
            .error = "equation 'ij,jk->ik' has more terms than operands",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Einsum",
            .attrs = "equation=i->i",
            .inputs = {"float32[2,3] 0.13 -0.13 0.64 0.1 -0.54 0.36"},
            .error = "term 'i' of the equation does not fit shape [2,3]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Einsum",
            .attrs = "equation=ij->ik",
            .inputs = {"float32[2,3] 0.13 -0.13 0.64 0.1 -0.54 0.36"},
            .error = "equation 'ij->ik' has an output index that no operand has",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Einsum",
            .attrs = "equation=i1->i",
            .inputs = {"float32[2] 0.13 -0.13"},
            .error = "equation 'i1->i' has a term that is not made of letters and one '...'",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::Einsum",
            .attrs = "equation=ab,bA",
            .inputs = {"float32[2,3] 0.13 -0.13 0.64 0.1 -0.54 0.36",
                "float32[3,2] 0.35 0.82 0.33 -1.3 0.91 0.45"},
            .outputs = {"float32[2,2] 0.58500004 0.1844 0.56359994 0.94600004"}},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_summed_as_the_equation_says),
        cmocka_unit_test(equations_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests_name("reference/einsum", tests, NULL, NULL);
}
