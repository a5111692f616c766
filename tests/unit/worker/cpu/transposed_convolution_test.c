/* onnx::ConvTranspose beside the reference kernel: strides, dilations, groups, every kind of padding, one and
 * two dimensions, and three, which the fast kernel leaves to the reference. The fast kernel sums in float32.
 */
#include "tests/support/cmocka_all.h"

#include "shared/base/compiler.h"
#include "tests/support/near_reference.h"

#define IMAGES(n, a, b, c)                                                                                   \
    {                                                                                                        \
        .rank = 4, .dims = { n, a, b, c }                                                                    \
    }

/* The largest number of products in a sum is 54, of numbers up to 8 and 2. */
#define SUM_ERROR 0x1p-16F

#define FILTER(shape) "w = Const() dtype=float32 value=float32<" shape ">(0.5;-1.25;2;0.75;-0.5;1.5;-2)\n"
#define BIAS(size) "b = Const() dtype=float32 value=float32<" size ">(0.25;-3)\n"

static const NearCase CASES[] = {
    {FILTER("6,5,2,2") "y = onnx::ConvTranspose(x, w) T=float32 strides=[2,2]", IMAGES(2, 6, 9, 300),
        SUM_ERROR},
    {FILTER("6,5,3,3") BIAS("5") "y = onnx::ConvTranspose(x, w, b) T=float32 pads=[1,1,1,1]",
        IMAGES(1, 6, 7, 8), SUM_ERROR},
    {FILTER("6,2,3,2")
            BIAS("6") "y = onnx::ConvTranspose(x, w, b) T=float32 group=3 strides=[3,2] dilations=[2,3] "
                      "pads=[0,2,1,0] output_padding=[1,1]",
        IMAGES(2, 6, 5, 4), SUM_ERROR},
    {FILTER("2,3,3,3") "y = onnx::ConvTranspose(x, w) T=float32 strides=[2,2] auto_pad='SAME_UPPER'",
        IMAGES(1, 2, 5, 6), SUM_ERROR},
    {FILTER("2,3,3,3") "y = onnx::ConvTranspose(x, w) T=float32 strides=[2,2] auto_pad='SAME_LOWER'",
        IMAGES(1, 2, 5, 6), SUM_ERROR},
    {FILTER("2,3,3,3") "y = onnx::ConvTranspose(x, w) T=float32 strides=[3,2] output_shape=[10,8]",
        IMAGES(1, 2, 3, 3), SUM_ERROR},
    {FILTER("4,2,5") "y = onnx::ConvTranspose(x, w) T=float32 strides=[2]", {.rank = 3, .dims = {2, 4, 40}},
        SUM_ERROR},
    /* Lines that are computed in several stretches, of remainders that have and that lack a last place. */
    {FILTER("4,2,5") BIAS("2") "y = onnx::ConvTranspose(x, w, b) T=float32 strides=[2] pads=[3,0]",
        {.rank = 3, .dims = {2, 4, 2500}}, SUM_ERROR},
    {FILTER("2,3,7") "y = onnx::ConvTranspose(x, w) T=float32 strides=[3] dilations=[2] pads=[1,1]",
        {.rank = 3, .dims = {1, 2, 1500}}, SUM_ERROR},
    {FILTER("2,3,2,4") "y = onnx::ConvTranspose(x, w) T=float32 strides=[1,1] pads=[0,1,0,1]",
        IMAGES(1, 2, 2, 2100), SUM_ERROR},
    {FILTER("2,3,1000") "y = onnx::ConvTranspose(x, w) T=float32 strides=[512] pads=[5,7]",
        {.rank = 3, .dims = {1, 2, 9}}, SUM_ERROR},
    {FILTER("2,3,1000") "y = onnx::ConvTranspose(x, w) T=float32 strides=[513] pads=[5,7]",
        {.rank = 3, .dims = {1, 2, 9}}, SUM_ERROR},
    {FILTER("2,3,2,2,2") "y = onnx::ConvTranspose(x, w) T=float32", {.rank = 5, .dims = {1, 2, 3, 4, 5}},
        SUM_ERROR},
    {FILTER("2,3,2,2") "y = onnx::ConvTranspose(x, w) T=float32", IMAGES(0, 2, 3, 3), SUM_ERROR},
    {FILTER("2,3,5") "y = onnx::ConvTranspose(x, w) T=float32 strides=[9223372036854775807] pads=[2,0]",
        {.rank = 3, .dims = {1, 2, 1}}, SUM_ERROR},
    {FILTER("2,3,2") "y = onnx::ConvTranspose(x, w) T=float32 strides=[6917529027641081856] "
                     "pads=[6917529027641081854,0]",
        {.rank = 3, .dims = {1, 2, 2}}, SUM_ERROR},
};

int
main(void)
{
    const struct CMUnitTest tests[] = {
        NEAR_TEST(results_are_near_the_reference_kernels, CASES),
        NEAR_TEST(bits_depend_neither_on_threads_nor_on_the_instruction_set, CASES),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
