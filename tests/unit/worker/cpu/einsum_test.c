/* Einsums on the CPU beside the reference kernel: every order of the dimensions of both operands and of the
 * output, broadcast and constant operands, and those that are no products of matrices, which are left to the
 * reference. The fast kernel sums in float32. */
#include "tests/support/cmocka_all.h"

#include "shared/base/compiler.h"
#include "tests/support/near_reference.h"

#define SHAPE(...)                                                                                           \
    {                                                                                                        \
        .rank = (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), .dims = { __VA_ARGS__ }                   \
    }

/* At most 1,000 products of numbers up to 8 and 2. */
#define SUM_ERROR 0x1p-12F

#define WEIGHTS(shape) "w = Const() dtype=float32 value=float32<" shape ">(0.5;-1.25;2;0.75;-0.5;1.5;-2)\n"
#define OF(operands, text) "y = onnx::Einsum(" operands ") T=float32 N=2 equation='" text "'"

static const NearCase CASES[] = {
    {OF("x, x", "bij,bkj->bik"), SHAPE(3, 20, 31), SUM_ERROR},
    {OF("x, x", "bij,bik->bjk"), SHAPE(3, 20, 31), SUM_ERROR},
    {OF("x, x", "bij,bkj->bki"), SHAPE(3, 20, 31), SUM_ERROR},
    {OF("x, x", "bshk,bthk->bhst"), SHAPE(2, 17, 3, 8), SUM_ERROR},
    {OF("x, x", "bshk,bthk->hbts"), SHAPE(2, 17, 3, 8), SUM_ERROR},
    {OF("x, x", "ij,kj->kji"), SHAPE(9, 5), SUM_ERROR},
    {OF("x, x", "i,j->ij"), SHAPE(300), SUM_ERROR},
    {OF("x, x", "i,i->"), SHAPE(1000), SUM_ERROR},
    {OF("x, x", "i,i->i"), SHAPE(1000), SUM_ERROR},
    {OF("x, x", "ijk,ijk->"), SHAPE(3, 4, 5), SUM_ERROR},
    {WEIGHTS("40,4,8") OF("x, w", "bsd,dhk->bshk"), SHAPE(2, 9, 40), SUM_ERROR},
    {WEIGHTS("40,4,8") OF("x, w", "bsd,dhk->bhsk"), SHAPE(2, 9, 40), SUM_ERROR},
    {WEIGHTS("8,40") OF("x, w", "bd,kd"), SHAPE(9, 40), SUM_ERROR},
    {WEIGHTS("40,8") OF("w, x", "dk,bd->bk"), SHAPE(9, 40), SUM_ERROR},
    {WEIGHTS("1,6,7") OF("x, w", "...ij,...jk->...ik"), SHAPE(3, 5, 6), SUM_ERROR},
    {WEIGHTS("3,2,6,7") OF("x, w", "...ij,...jk->...ik"), SHAPE(3, 1, 5, 6), SUM_ERROR},
    {WEIGHTS("6,7") OF("x, w", "...ij,jk->ik..."), SHAPE(3, 5, 6), SUM_ERROR},
    {WEIGHTS("1,1") OF("x, w", "ij,jk->ik"), SHAPE(5, 1), SUM_ERROR},
    {OF("x, x", "ij,kj->ik"), SHAPE(5, 0), 0},
    {OF("x, x", "ij,kj->ik"), SHAPE(0, 5), 0},
    {OF("x, x", "ii,ij->j"), SHAPE(30, 30), SUM_ERROR},
    {OF("x, x", "ij,ik->ij"), SHAPE(5, 6), SUM_ERROR},
    {"y = Einsum(x, x) T=float32 N=2 equation='bij,bkj->bik'", SHAPE(3, 20, 31), SUM_ERROR},
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
