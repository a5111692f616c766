/* Lines that are sorted on the card: equal elements in the order of the line, NaN as the largest number. */
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"

static void
the_first_of_sorted_lines(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"TopK", "k=3", {"T[4,7]"}},
        {"TopK", "k=333", {"T[2,333]"}},
        {"TopK", "k=0", {"T[2,3]"}},
        {"TopK", "k=2", {"T[0,3]"}},
        {"TopK", "k=1", {"T[1]"}},
        {"TopKV2", NULL, {"T[4,7]", "int32[] 7"}},
        {"TopKV2", NULL, {"T[3,333]", "int32[] 5"}},
        {"TopKV2", NULL, {"T[2,5] 1 nan inf nan -inf -0 0 0 -0 nan", "int32[] 5"}},
        {"TopKV2", NULL, {"int64[5] 9223372036854775807 -9223372036854775808 0 -1 1", "int32[] 5"}},
        {"TopKV2", NULL, {"uint64[4] 18446744073709551615 0 18446744073709551615 1", "int32[] 4"}},
        {"TopKV2", NULL, {"T[0,3]", "int32[] 2"}},
        {"TopKV2", NULL, {"T[2,3]", "int32[] 4"}},
        {"onnx::TopK", "axis=1", {"T[2,5,3]", "int64[1] 3"}},
        {"onnx::TopK", "axis=0; largest=0", {"T[300,2]", "int64[1] 300"}},
        {"onnx::TopK", "largest=0", {"T[6] nan 1 inf -inf nan 0", "int64[1] 6"}},
        {"onnx::TopK", "largest=0",
            {"uint64[4] 18446744073709551615 0 18446744073709551615 1", "int64[1] 4"}},
        {"onnx::TopK", NULL, {"T[0,3]", "int64[1] 2"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

/* Without an order the elements stand as in the reference kernel's heap, unless all of a line are wanted. */
static void
heaps(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"TopK", "k=3; sorted=false", {"T[4,7]"}},
        {"TopK", "k=7; sorted=false", {"T[4,7]"}},
        {"TopK", "k=1; sorted=false", {"T[4,7]"}},
        {"TopK", "k=0; sorted=false", {"T[2,3]"}},
        {"TopK", "k=2; sorted=false", {"T[0,3]"}},
        {"TopK", "k=4; sorted=false", {"T[2,3]"}},
        {"TopKV2", "sorted=false", {"T[3,333]", "int32[] 5"}},
        {"TopKV2", "sorted=false", {"T[2,1111]", "int32[] 300"}},
        {"TopKV2", "sorted=false", {"T[2,700]", "int32[] 699"}},
        {"TopKV2", "sorted=false", {"T[2,5,30]", "int32[] 12"}},
        {"TopKV2", "sorted=false", {"T[11] 1 nan inf nan -inf -0 0 0 -0 nan 7", "int32[] 6"}},
        {"TopKV2", "sorted=false",
            {"uint64[6] 18446744073709551615 0 18446744073709551615 1 9 8", "int32[] 4"}},
        {"TopKV2", "sorted=false", {"float32[2500,3]", "int32[] 2"}},
        {"TopKV2", "sorted=false; index_type=int64", {"float32[2,600]", "int32[] 9"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

/* More lines than are sorted at once. */
static void
many_lines(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {{"TopKV2", NULL, {"float32[2500,3]", "int32[] 2"}}};
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
elements_at_a_place(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"NthElement", NULL, {"T[4,7]", "int32[] 3"}},
        {"NthElement", "reverse=true", {"T[2,333]", "int32[] 7"}},
        {"NthElement", NULL, {"T[1]", "int32[] 0"}},
        {"NthElement", NULL, {"T[0,3]", "int32[] 2"}},
        {"NthElement", NULL, {"T[2,3]", "int32[] 3"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_cases("order");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_of_sorted_lines),
        cmocka_unit_test(heaps),
        cmocka_unit_test(many_lines),
        cmocka_unit_test(elements_at_a_place),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/order", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
