/* The tests of the kernels' numbers, which are programs of their own where a CPU plays the card, as one: the
 * kernels that nvcc compiles are large.
 *
 *     kernels         prints their names
 *     kernels TEST    as the program of this name; ONE_TEST chooses one of its functions */
#include "tests/support/cmocka_all.h"

/* tools/mk/bundle.mk names them in CARD_TESTS: X(matmul_test) … */
#define X(name) int name(void);
CARD_TESTS
#undef X

typedef struct CardTest {
    const char *name;
    int (*run)(void);
} CardTest;

#define X(test) {.name = #test, .run = (test)},
static const CardTest tests[] = {CARD_TESTS};
#undef X

int
main(int argc, char **argv)
{
    for (size_t index = 0; index < COUNT_OF(tests); index++) {
        if (argc < 2) {
            (void)puts(tests[index].name);
        } else if (strcmp(tests[index].name, argv[1]) == 0) {
            cmocka_set_test_filter(getenv("ONE_TEST"));
            return tests[index].run();
        }
    }
    return argc < 2 ? 0 : 2;
}
