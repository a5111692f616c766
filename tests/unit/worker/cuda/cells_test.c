/* TensorFlow's recurrent cells on the card. */
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"

#define STATE(batch, cell) "T[" batch "," cell "]", "T[" batch "," cell "]"
#define PEEPHOLES(cell) "T[" cell "]", "T[" cell "]", "T[" cell "]"

static void
cells_make_one_step(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"LSTMBlockCell", NULL, {"T[2,3]", STATE("2", "5"), "T[8,20]", PEEPHOLES("5"), "T[20]"}},
        {"LSTMBlockCell", "use_peephole=true; cell_clip=0.5; forget_bias=0.25",
            {"T[3,7]", STATE("3", "100"), "T[107,400]", PEEPHOLES("100"), "T[400]"}},
        {"LSTMBlockCell", "cell_clip=0", {"T[1,1] nan", STATE("1", "1"), "T[2,4]", PEEPHOLES("1"), "T[4]"}},
        {"LSTMBlockCell", NULL, {"T[2,0]", STATE("2", "5"), "T[5,20]", PEEPHOLES("5"), "T[20]"}},
        {"LSTMBlockCell", NULL, {"T[0,3]", STATE("0", "5"), "T[8,20]", PEEPHOLES("5"), "T[20]"}},
        {"GRUBlockCell", NULL, {"T[2,3]", "T[2,5]", "T[8,10]", "T[8,5]", "T[10]", "T[5]"}},
        {"GRUBlockCell", NULL, {"T[3,7]", "T[3,100]", "T[107,200]", "T[107,100]", "T[200]", "T[100]"}},
        {"GRUBlockCell", NULL, {"T[1,1] inf", "T[1,1]", "T[2,2] 1 0 1 1", "T[2,1] 0 1", "T[2]", "T[1]"}},
        {"GRUBlockCell", NULL, {"T[0,3]", "T[0,5]", "T[8,10]", "T[8,5]", "T[10]", "T[5]"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

/* Sequences that end before the last point in time are followed by zeros. */
static void
sequences_go_through_a_cell(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"BlockLSTM", NULL, {"int64[] 4", "T[4,2,3]", STATE("2", "5"), "T[8,20]", PEEPHOLES("5"), "T[20]"}},
        {"BlockLSTM", "use_peephole=true; cell_clip=0.5",
            {"int64[] 2", "T[4,3,7]", STATE("3", "30"), "T[37,120]", PEEPHOLES("30"), "T[120]"}},
        {"BlockLSTM", NULL, {"int64[] 0", "T[2,2,3]", STATE("2", "5"), "T[8,20]", PEEPHOLES("5"), "T[20]"}},
        {"BlockLSTM", NULL, {"int64[] 3", "T[2,2,3]", STATE("2", "5"), "T[8,20]", PEEPHOLES("5"), "T[20]"}},
        {"BlockLSTM", NULL, {"int64[] 2", "T[2,0,3]", STATE("0", "5"), "T[8,20]", PEEPHOLES("5"), "T[20]"}},
        {"BlockLSTMV2", NULL,
            {"int64[] 3", "T[4,3,7]", STATE("3", "30"), "T[37,120]", PEEPHOLES("30"), "T[120]"}},
        {"BlockLSTMV2", "use_peephole=true; cell_clip=0.5",
            {"int64[] 4", "T[4,2,3]", STATE("2", "5"), "T[8,20]", PEEPHOLES("5"), "T[20]"}},
        {"BlockLSTMV2", NULL, {"int64[] 0", "T[0,2,3]", STATE("2", "5"), "T[8,20]", PEEPHOLES("5"), "T[20]"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_cases("cells");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_make_one_step),
        cmocka_unit_test(sequences_go_through_a_cell),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/cells", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
