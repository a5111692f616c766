/* com.microsoft::MatMulNBits with weights of four bits beside the reference kernel: one row and several,
 * whole blocks and one that is cut short, with and without zero points and bias. Both sum in float32. */
#include "tests/support/cmocka_all.h"

#include "shared/base/compiler.h"
#include "tests/support/near_reference.h"

#define ROWS(n, depth)                                                                                       \
    {                                                                                                        \
        .rank = 2, .dims = { n, depth }                                                                      \
    }

/* At most 200 products of numbers up to 8 and 8. */
#define SUM_ERROR 0x1p-13F

#define WEIGHTS(shape) "b = Const() dtype=uint8 value=uint8<" shape ">(18;250;7;133;64;95;201;0;255)\n"
#define SCALES(shape) "s = Const() dtype=float32 value=float32<" shape ">(0.25;0.5;-0.125;0.375;0.0625)\n"
#define ZEROS(shape) "z = Const() dtype=uint8 value=uint8<" shape ">(33;200;127;15)\n"
#define BIAS(shape) "c = Const() dtype=float32 value=float32<" shape ">(0.25;-3)\n"
#define PRODUCT(inputs) "y = com.microsoft::MatMulNBits(" inputs ") T=float32 T1=float32 "

static const NearCase CASES[] = {
    {WEIGHTS("21,4,16") SCALES("21,4") PRODUCT("x, b, s") "K=128 N=21 block_size=32", ROWS(1, 128),
        SUM_ERROR},
    {WEIGHTS("21,4,16") SCALES("21,4") PRODUCT("x, b, s") "K=128 N=21 block_size=32", ROWS(15, 128),
        SUM_ERROR},
    {WEIGHTS("21,3,32") SCALES("21,3") ZEROS("21,2") PRODUCT("x, b, s, z") "Z=uint8 K=150 N=21 block_size=64",
        ROWS(5, 150), SUM_ERROR},
    {WEIGHTS("3,7,16") SCALES("3,7") ZEROS("12") PRODUCT("x, b, s, z") "Z=uint8 K=193 N=3 block_size=32",
        ROWS(2, 193), SUM_ERROR},
    {WEIGHTS("300,1,16") SCALES("300") BIAS("300") PRODUCT("x, b, s, , , c") "K=1 N=300 block_size=32",
        ROWS(3, 1), SUM_ERROR},
    {WEIGHTS("5,1,16") SCALES("5") PRODUCT("x, b, s") "K=32 N=5 block_size=32", ROWS(0, 32), 0},
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
