/* com.microsoft::GroupQueryAttention on the card. */
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"

#define OP "com.microsoft::GroupQueryAttention"
#define HEADS "num_heads=4; kv_num_heads=2"

/* Two examples of 4 heads of 6 numbers, with 2 heads of the keys. */
#define NEW(length)                                                                                          \
    "T[2," length ",24] numbers 1", "T[2," length ",12] numbers 2", "T[2," length ",12] numbers 3"
#define PACKED(length) "T[2," length ",48] numbers 1", "", ""
#define PAST(room) "T[2,2," room ",6] numbers 4", "T[2,2," room ",6] numbers 5"
#define ANGLES "T[9,3] numbers 6", "T[9,3] numbers 7"

/* A prompt, of which one example is shorter; one token behind pasts of different lengths; a few. */
static void
tokens_see_those_before_them(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {OP, HEADS, {NEW("3"), "", "", "int32[2] 2 1", "int32[] 3"}},
        {OP, HEADS, {NEW("1"), PAST("5"), "int32[2] 4 1", "int32[] 5"}},
        {OP, HEADS, {NEW("2"), PAST("4"), "int32[2] 5 3", "int32[] 6"}},
        {OP, HEADS "; scale=0.5; softcap=2", {PACKED("2"), PAST("4"), "int32[2] 5 3", "int32[] 6"}},
        {OP, HEADS, {NEW("2"), PAST("7"), "int32[2] 1 1", "int32[] 2"}},
        {OP, HEADS "; local_window_size=2", {NEW("3"), PAST("4"), "int32[2] 6 2", "int32[] 7"}},
        {OP, "num_heads=1; kv_num_heads=1",
            {"T[1,70,4] numbers 1", "T[1,70,4] numbers 2", "T[1,70,4] numbers 3", "", "", "int32[1] 69",
                "int32[] 70"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
queries_and_keys_are_rotated(void **state)
{
    (void)state;
#define ROTARY HEADS "; do_rotary=1"
    static const CudaKernelCase cases[] = {
        {OP, ROTARY, {NEW("3"), "", "", "int32[2] 2 1", "int32[] 3", ANGLES}},
        {OP, ROTARY, {PACKED("1"), PAST("5"), "int32[2] 4 1", "int32[] 5", ANGLES}},
        {OP, ROTARY "; rotary_interleaved=1", {NEW("2"), PAST("4"), "int32[2] 5 3", "int32[] 6", ANGLES}},
        {OP, ROTARY, {NEW("2"), PAST("4"), "int32[2] 5 3", "int32[] 6", ANGLES, "int64[2,2] 8 0 3 3"}},
        {OP, ROTARY,
            {NEW("2"), PAST("4"), "int32[2] 5 3", "int32[] 6", "T[9,2] numbers 6", "T[9,2] numbers 7"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

/* Biases of every example and head, and of all; scores that no key has. */
static void
other_scores_count_too(void **state)
{
    (void)state;
#define STEP NEW("2"), PAST("4"), "int32[2] 5 3", "int32[] 6", "", "", ""
    static const CudaKernelCase cases[] = {
        {OP, HEADS, {STEP, "T[2,4,2,6] numbers 6"}},
        {OP, HEADS, {STEP, "T[1,1,2,8] numbers 6"}},
        {OP, HEADS, {STEP, "T[2,1,2,6] numbers 6", "T[4] numbers 7"}},
        {OP, HEADS "; smooth_softmax=1", {STEP}},
        {OP, HEADS, {STEP, "", "T[4] numbers 7"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
tensors_without_elements(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {OP, HEADS, {"T[0,2,24]", "T[0,2,12]", "T[0,2,12]", "", "", "int32[0]", "int32[] 2"}},
        {OP, HEADS, {"T[2,0,24]", "T[2,0,12]", "T[2,0,12]", PAST("3"), "int32[2] 2 1", "int32[] 3"}},
        {OP, HEADS, {NEW("1"), "T[2,2,0,6]", "T[2,2,0,6]", "int32[2] 0 0", "int32[] 1"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

/* The first of several lengths, positions or biases that do not fit is told, as on the host. */
static void
inputs_that_do_not_fit(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {OP, HEADS, {NEW("1"), PAST("5"), "int32[2] 4 5", "int32[] 5"}},
        {OP, HEADS, {NEW("2"), PAST("5"), "int32[2] -7 2147483647", "int32[] 6"}},
        {OP, HEADS, {NEW("3"), "", "", "int32[2] 2 -1", "int32[] 3"}},
        {OP, HEADS "; do_rotary=1",
            {NEW("2"), PAST("4"), "int32[2] 5 3", "int32[] 6", ANGLES, "int64[2,2] 8 0 9 -1"}},
        {OP, HEADS "; do_rotary=1", {NEW("1"), PAST("9"), "int32[2] 4 9", "int32[] 10", ANGLES}},
        {OP, HEADS "; do_rotary=1", {NEW("1"), "", "", "int32[2] 0 0", "int32[] 1", "T[0,3]", "T[0,3]"}},
        {OP, HEADS, {STEP, "T[1,1,2,5] numbers 6"}},
        {OP, HEADS, {NEW("1"), "", "", "int32[2] 0 0", "int32[] 1", "", "", "", "T[1,1,1,0]"}},
        {OP, HEADS "; do_rotary=1",
            {NEW("2"), PAST("4"), "int32[2] 5 0", "int32[] 6", ANGLES, "int64[2,2] 8 0 9 -1", "T[1,1,2,5]"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_cases("group_query");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_see_those_before_them),
        cmocka_unit_test(queries_and_keys_are_rotated),
        cmocka_unit_test(other_scores_count_too),
        cmocka_unit_test(tensors_without_elements),
        cmocka_unit_test(inputs_that_do_not_fit),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/group_query", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
