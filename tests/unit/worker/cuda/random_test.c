/* Random numbers on the card are those of the reference kernels: the same words, from the same counters. */
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"

#define SEEDS "seed=7; seed2=12345678901; "

/* Counts that are no multiple of a group, and none. */
static void
numbers_of_distributions(void **state)
{
    (void)state;
    static const char *const ops[] = {"RandomUniform", "RandomStandardNormal", "TruncatedNormal"};
    static const char *const shapes[] = {
        "int32[1] 1", "int64[1] 7", "int32[2] 3 333", "int32[2] 0 3", "int32[0]"};
    for (size_t op = 0; op < COUNT_OF(ops); op++) {
        for (size_t shape = 0; shape < COUNT_OF(shapes); shape++) {
            CudaKernelCase kernel_case = {ops[op], SEEDS "dtype=T", {shapes[shape]}};
            cuda_kernels_compare(&kernel_case, 1);
        }
    }
}

static void
numbers_without_state(void **state)
{
    (void)state;
    static const char *const ops[] = {
        "StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"};
    static const char *const shapes[] = {"int32[1] 1", "int32[2] 3 333", "int32[1] 0"};
    for (size_t op = 0; op < COUNT_OF(ops); op++) {
        for (size_t shape = 0; shape < COUNT_OF(shapes); shape++) {
            CudaKernelCase kernel_case = {ops[op], "dtype=T", {shapes[shape], "int64[2] 5 -3"}};
            cuda_kernels_compare(&kernel_case, 1);
        }
    }
}

/* Counters whose low half is about to overflow, and generators by name: 1 and 3 are known, 2 is not. */
static void
numbers_of_a_key_and_a_counter(void **state)
{
    (void)state;
    static const char *const ops[] = {
        "StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2"};
    static const char *const shapes[] = {"int32[1] 1", "int32[2] 3 333", "int32[1] 0"};
    static const char *const generators[] = {"int32[] 1", "int32[] 3", "int32[] 2"};
    for (size_t op = 0; op < COUNT_OF(ops); op++) {
        for (size_t shape = 0; shape < COUNT_OF(shapes); shape++) {
            CudaKernelCase kernel_case = {ops[op], "dtype=T",
                {shapes[shape], "uint64[1] 81985529216486895", "uint64[2] 18446744073709551615 7",
                    generators[shape % 2]}};
            cuda_kernels_compare(&kernel_case, 1);
        }
        CudaKernelCase refused = {
            ops[op], "dtype=T", {shapes[0], "uint64[1] 1", "uint64[2] 0 0", generators[2]}};
        cuda_kernels_compare(&refused, 1);
    }
}

static void
integers_of_a_range(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"RandomUniformInt", SEEDS "Tout=T", {"int32[1] 333", "T[] -3", "T[] 100"}},
        {"RandomUniformInt", SEEDS, {"int32[1] 7", "int32[] -2147483648", "int32[] 2147483647"}},
        {"RandomUniformInt", SEEDS,
            {"int32[1] 5", "int64[] -9223372036854775808", "int64[] 9223372036854775807"}},
        {"RandomUniformInt", SEEDS, {"int32[1] 5", "int64[] 3", "int64[] 3"}},
        {"RandomUniformInt", SEEDS, {"int32[1] 0", "int64[] 3", "int64[] 3"}},
        {"StatelessRandomUniformInt", NULL, {"int32[1] 333", "int64[2] 1 2", "T[] 0", "T[] 7"}},
        {"StatelessRandomUniformInt", NULL, {"int32[1] 0", "int64[2] 1 2", "T[] 0", "T[] 7"}},
        {"StatelessRandomUniformIntV2", NULL,
            {"int32[1] 333", "uint64[1] 5", "uint64[2] 18446744073709551615 7", "int32[] 1", "T[] 0",
                "T[] 7"}},
        {"StatelessRandomUniformIntV2", NULL,
            {"int32[1] 0", "uint64[1] 5", "uint64[2] 1 2", "int32[] 1", "T[] 0", "T[] 7"}},
        {"StatelessRandomUniformIntV2", NULL,
            {"int32[1] 5", "uint64[1] 5", "uint64[2] 1 2", "int32[] 3", "T[] 7", "T[] 7"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
classes_by_their_shares(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"Multinomial", SEEDS, {"T[3,5]", "int32[] 111"}},
        {"Multinomial", SEEDS "output_dtype=int32", {"T[2,333]", "int32[] 7"}},
        {"Multinomial", SEEDS, {"T[2,3] 0 nan inf -inf nan nan", "int32[] 5"}},
        {"Multinomial", SEEDS, {"T[0,3]", "int32[] 5"}},
        {"Multinomial", SEEDS, {"T[2,3]", "int32[] 0"}},
        {"Multinomial", SEEDS, {"T[2,0]", "int32[] 1"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_cases("random");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_distributions),
        cmocka_unit_test(numbers_without_state),
        cmocka_unit_test(numbers_of_a_key_and_a_counter),
        cmocka_unit_test(integers_of_a_range),
        cmocka_unit_test(classes_by_their_shares),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/random", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
