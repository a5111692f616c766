/* Attention on the card beside the reference kernel: sizes that no tile and no block divides, operands in all
 * broadcast forms, and rows in which nothing may be looked at. */
#include "tests/support/attention_cases.h"
#include "tests/support/attention_forms.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_fixture.h"
#include "tests/support/cuda_kernels.h"

static void
values_are_weighed(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS,
            .inputs = {"T[1,1,1] numbers 1", "T[1,1,1] numbers 2", "T[1,1,1] numbers 3"}},
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS,
            .inputs = {"T[2,13,17] numbers 1", "T[2,19,17] numbers 2", "T[2,19,7] numbers 3"}},
        {.op = "_FusedAttention",
            .inputs = {"T[2,3,5,64] numbers 1", "T[2,3,64,11] numbers 2", "T[2,3,11,80] numbers 3"}},
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS,
            .inputs = {"T[1,1,80] numbers 1", "T[1,300,80] numbers 2", "T[1,300,1] numbers 3"}},
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS,
            .inputs = {"T[2,1,3,4] numbers 1", "T[3,5,4] numbers 2", "T[2,3,5,2] numbers 3"}},
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS,
            .inputs = {"T[3,4] numbers 1", "T[5,4] numbers 2", "T[5,2] numbers 3"}},
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS,
            .inputs = {"T[1,2,3] nan 1 2 3 4 5", "T[1,2,3] numbers 2", "T[1,2,3] numbers 3"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

#define HEADS "T[2,3,5,4] numbers 1", "T[2,3,7,4] numbers 2", "T[2,3,7,4] numbers 3"

static void
scales_and_masks_broadcast(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS "num_args=2; num_masks=0; fused_ops=[Mul,Add]",
            .inputs = {HEADS, "T[] 0.5", "T[2,1,1,7] numbers 5"}},
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS "num_args=2; num_masks=0; fused_ops=[Div,Add]",
            .inputs = {HEADS, "T[1] 1.5", "T[5,7] numbers 5"}},
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS "num_args=3; num_masks=0; fused_ops=[Sub,Mul,Add]",
            .inputs = {HEADS, "T[3,1,1] numbers 4", "T[7] numbers 5", "T[2,3,5,7] numbers 6"}},
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS "num_args=1; num_masks=0; fused_ops=[Add]",
            .inputs = {HEADS, "T[5,1] numbers 4"}},
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS "num_args=1; num_masks=0; fused_ops=[Add]",
            .inputs = {"T[1,1,4] numbers 1", "T[1,3,4] numbers 2", "T[1,3,4] numbers 3",
                "T[2,9,3] numbers 4"}},
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS "num_args=1; num_masks=0; fused_ops=[Add]",
            .inputs = {"T[1,3,4] numbers 1", "T[1,1,4] numbers 2", "T[1,6,4] numbers 3", "T[6] numbers 4"}},
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS "num_args=1; num_masks=0; fused_ops=[Add]",
            .inputs = {"T[1,2,1] 1 2", "T[1,2,1] 1 2", "T[1,2,1] 3 4", "T[2,2] -inf -inf 0 -inf"}},
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS "num_args=1; num_masks=0; fused_ops=[Add]",
            .inputs = {HEADS, "T[3] numbers 4"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
masks_choose(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS "num_args=2; num_masks=1; fused_ops=[Mul,Keep]",
            .inputs = {HEADS, "T[] 0.5", "T[] -1000", "bool[2,1,5,7]"}},
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS "num_args=3; num_masks=2; fused_ops=[Replace,Add,Keep]",
            .inputs = {HEADS, "T[3,1,1] numbers 4", "T[7] numbers 5", "T[5,1] numbers 6", "bool[7]",
                "bool[3,5,1]"}},
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS "num_args=1; num_masks=1; fused_ops=[Keep]",
            .inputs = {"T[1,1,4] numbers 1", "T[1,300,4] numbers 2", "T[1,300,2] numbers 3", "T[] -inf",
                "bool[2,3,300]"}},
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS "num_args=1; num_masks=1; fused_ops=[Keep]",
            .inputs = {HEADS, "T[] 1", "bool[3]"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

/* Those of 16 bits are computed by the library where it is there. */
static void
forms_that_the_library_knows_are_computed(void **state)
{
    (void)state;
    cuda_kernels_compare(attentions, COUNT_OF(attentions));
}

static void
nothing_is_made_of_no_elements(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {.op = "_FusedAttention", .attrs = KEY_ROWS, .inputs = {"T[0,2,3]", "T[0,2,3]", "T[0,2,3]"}},
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS,
            .inputs = {"T[1,2,3] numbers 1", "T[1,0,3]", "T[1,0,4]"}},
        {.op = "_FusedAttention",
            .attrs = KEY_ROWS,
            .inputs = {"T[1,2,0]", "T[1,3,0]", "T[1,3,4] numbers 3"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
the_family_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_cases("attention");
}

static Tensor
output_on_card(const AttentionCase *one, Dtype dtype, bool is_fused)
{
    CudaFixture fixture;
    cuda_fixture_begin(&fixture);
    Tensor output = attention_case_output(&fixture.run, one, dtype, is_fused);
    cuda_fixture_end(&fixture);
    return output;
}

static void
one_node_has_the_bits_of_those_that_it_stands_for(void **state)
{
    (void)state;
    static const Dtype dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT16};
    for (size_t index = 0; index < 2 * attention_case_count; index++) {
        const AttentionCase *one = &attention_cases[index / 2];
        if (one->is_large) {
            continue;
        }
        AUTO_TENSOR apart = output_on_card(one, dtypes[index % 2], false);
        AUTO_TENSOR fused = output_on_card(one, dtypes[index % 2], true);
        if (!tensor_equal(&apart, &fused)) {
            fail_msg("case %zu has other bits in %s", index / 2, dtype_name(dtypes[index % 2]));
        }
    }
}

int
main(void)
{
    const struct CMUnitTest alone[] = {
        cmocka_unit_test(one_node_has_the_bits_of_those_that_it_stands_for),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_weighed),
        cmocka_unit_test(scales_and_masks_broadcast),
        cmocka_unit_test(masks_choose),
        cmocka_unit_test(forms_that_the_library_knows_are_computed),
        cmocka_unit_test(nothing_is_made_of_no_elements),
        cmocka_unit_test(the_family_has_a_case_in_each_of_its_dtypes),
    };
    int failed = cmocka_run_group_tests_name(
        "worker/cuda/kernels/attention", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
    return failed + cmocka_run_group_tests_name("worker/cuda/kernels/attention/bits", alone, NULL, NULL);
}
