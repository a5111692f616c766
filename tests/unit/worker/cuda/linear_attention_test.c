/* ONNX's LinearAttention on the card. */
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"

#define HEADS "q_num_heads=4; kv_num_heads=2"
#define QUERY "T[2,5,12] numbers 1" /* 4 heads of 3 */
#define KEY "T[2,5,6] numbers 2"
#define VALUE "T[2,5,14] numbers 3" /* 2 heads of 7 */
#define STATE "T[2,2,3,7] numbers 4"

/* Each with a decay and a beta of every form that its rule has. */
static void
every_rule_changes_the_state(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"onnx::LinearAttention", HEADS "; update_rule=linear", {QUERY, KEY, VALUE, STATE}},
        {"onnx::LinearAttention", HEADS "; update_rule=linear; scale=0.25; S=T", {QUERY, KEY, VALUE, ""}},
        {"onnx::LinearAttention", HEADS "; update_rule=gated",
            {QUERY, KEY, VALUE, STATE, "T[2,5,2] numbers 5"}},
        {"onnx::LinearAttention", HEADS "; update_rule=gated",
            {QUERY, KEY, VALUE, STATE, "T[2,5,6] numbers 5"}},
        {"onnx::LinearAttention", HEADS "; update_rule=delta",
            {QUERY, KEY, VALUE, STATE, "", "T[2,5,2] numbers 6"}},
        {"onnx::LinearAttention", HEADS "; update_rule=delta",
            {QUERY, KEY, VALUE, STATE, "", "T[2,5,1] numbers 6"}},
        {"onnx::LinearAttention", HEADS,
            {QUERY, KEY, VALUE, STATE, "T[2,5,6] numbers 5", "T[2,5,2] numbers 6"}},
        {"onnx::LinearAttention", HEADS "; S=T",
            {QUERY, KEY, VALUE, "", "T[2,5,2] numbers 5", "T[2,5,1] numbers 6"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

/* More columns than a block has, more rows than its parts, and neither. */
static void
states_of_any_size(void **state)
{
    (void)state;
#define ONE "q_num_heads=1; kv_num_heads=1; update_rule="
    static const CudaKernelCase cases[] = {
        {"onnx::LinearAttention", ONE "delta",
            {"T[1,3,19] numbers 1", "T[1,3,19] numbers 2", "T[1,3,65] numbers 3", "T[1,1,19,65] numbers 4",
                "", "T[1,3,1] numbers 5"}},
        {"onnx::LinearAttention", ONE "linear; S=T", {"T[1,1,1]", "T[1,1,1]", "T[1,1,1]"}},
        {"onnx::LinearAttention", ONE "linear", {"T[1,0,3]", "T[1,0,3]", "T[1,0,2]", "T[1,1,3,2]"}},
        {"onnx::LinearAttention", ONE "linear; S=T", {"T[0,4,3]", "T[0,4,3]", "T[0,4,2]"}},
        {"onnx::LinearAttention", ONE "linear; scale=2; S=T", {"T[1,4,0]", "T[1,4,0]", "T[1,4,2]"}},
        {"onnx::LinearAttention", ONE "linear; S=T", {"T[1,4,3]", "T[1,4,3]", "T[1,4,0]"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

/* The state of a model of 16 bits may be wider than its tokens. */
static void
states_of_another_type(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"onnx::LinearAttention", HEADS "; update_rule=gated",
            {"float16[2,5,12] numbers 1", "float16[2,5,6] numbers 2", "float16[2,5,14] numbers 3",
                "float32[2,2,3,7] numbers 4", "float16[2,5,2] numbers 5"}},
        {"onnx::LinearAttention", HEADS "; update_rule=linear",
            {"float32[2,5,12] numbers 1", "float32[2,5,6] numbers 2", "float32[2,5,14] numbers 3",
                "bfloat16[2,2,3,7] numbers 4"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_cases("linear_attention");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_changes_the_state),
        cmocka_unit_test(states_of_any_size),
        cmocka_unit_test(states_of_another_type),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/linear_attention", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
