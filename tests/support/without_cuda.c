/* Stands for each test of the CUDA device where the toolkit's headers are not installed (tools/mk/cuda.mk).
 */
#include "tests/support/cmocka_all.h"

static void
needs_the_cuda_toolkit(void **state)
{
    (void)state;
    print_message("skipped: no CUDA toolkit\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(needs_the_cuda_toolkit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
