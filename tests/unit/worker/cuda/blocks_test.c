/* Weights that are packed in blocks, on the card. */
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"

#define PRODUCT "com.microsoft::MatMulNBits"
#define ROWS "com.microsoft::_UnpackBlocks"

/* Small elements are drawn where none stand. */
#define BYTES_64                                                                                             \
    "uint8[4,2,8] 130 183 14 238 127 26 80 57 190 240 126 194 52 127 6 110 208 143 93 199 81 36 71 227 64 "  \
    "67 0 2 107 110 84 85 148 160 101 104 93 100 196 152 11 184 212 84 74 135 33 169 154 1 173 33 158 181 "  \
    "156 246 161 94 246 241 90 29 131 11"

/* One vector, as many as a warp takes, more, and so many that the weights are unpacked first. */
static void
vectors_of_any_number(void **state)
{
    (void)state;
#define FOUR_BITS "K=20; N=4; bits=4; block_size=16"
#define WEIGHTS BYTES_64, "T[4,2] numbers 2"
    static const char *const vectors[] = {"T[1,20] numbers 1", "T[3,20] numbers 1", "T[4,20] numbers 1",
        "T[3,3,20] numbers 1", "T[17,20] numbers 1", "T[0,20]", "T[20] numbers 1"};
    for (size_t index = 0; index < COUNT_OF(vectors); index++) {
        CudaKernelCase cases[] = {
            {PRODUCT, FOUR_BITS, {vectors[index], WEIGHTS}},
            {PRODUCT, FOUR_BITS, {vectors[index], WEIGHTS, "uint8[4,1] 63 114 200 15", "", "T[4] numbers 3"}},
            {PRODUCT, FOUR_BITS, {vectors[index], WEIGHTS, "T[4,2] numbers 4", "", "T[4] numbers 3"}},
            {PRODUCT, FOUR_BITS,
                {vectors[index], WEIGHTS, "", "int32[20] 1 1 0 0 1 0 1 1 0 1 0 0 0 1 1 1 1 1 0 0"}},
        };
        cuda_kernels_compare(cases, COUNT_OF(cases));
    }
}

static void
weights_of_any_size(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {PRODUCT, "K=32; N=4; bits=2; block_size=32",
            {"T[2,32] numbers 1", "uint8[4,1,8]", "T[4,1] numbers 2", "uint8[4,1] 1 2 3 0"}},
        {PRODUCT, "K=16; N=2; bits=2; block_size=16",
            {"T[1,16] numbers 1", "uint8[2,1,4]", "T[2,1] numbers 2"}},
        {PRODUCT, "K=9; N=4; bits=8; block_size=16", {"T[1,9] numbers 1", "uint8[4,1,16]", "T[4] numbers 2"}},
        {PRODUCT, "K=600; N=9; bits=8; block_size=128",
            {"T[5,600] numbers 1", "uint8[9,5,128]", "T[9,5] numbers 2", "uint8[9,5]"}},
        {PRODUCT, "K=1000; N=3; bits=4; block_size=32",
            {"T[1,1000] numbers 1", "uint8[3,32,16]", "T[3,32] numbers 2"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

/* One that is not there is told as on the host, whichever kernel meets it. */
static void
groups_that_are_no_blocks(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {PRODUCT, FOUR_BITS, {"T[1,20]", WEIGHTS, "", "int32[20] 0 1 0 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"}},
        {PRODUCT, FOUR_BITS, {"T[17,20]", WEIGHTS, "", "int32[20] 0 1 0 -1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
rows_are_unpacked(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {ROWS, "block_size=16", {"uint8[2,3,9]", "T[2,3,2] numbers 1"}},
        {ROWS, "block_size=16; bits=8", {"uint8[2,17]", "T[2,2] numbers 1", "uint8[2,2] 128 7 200 0"}},
        {ROWS, "block_size=16", {"uint8[2,9]", "T[2,2] numbers 1", "uint8[2,1] 63 18"}},
        {ROWS, "block_size=128", {"uint8[4,300]", "T[4,5] numbers 1"}},
        {ROWS, "block_size=16", {"uint8[0,8]", "T[0,1]"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_cases("blocks");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_of_any_number),
        cmocka_unit_test(weights_of_any_size),
        cmocka_unit_test(groups_that_are_no_blocks),
        cmocka_unit_test(rows_are_unpacked),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/blocks", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
