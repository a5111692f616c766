#include "worker/cuda/cublaslt.h"

#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_on_cpu/cublaslt_numbers.h"

static void
our_numbers_are_those_of_the_vendor(void **state)
{
    (void)state;
#define NUMBER(name) {#name, (long)(name)},
#define SIZE(name) {#name, (long)sizeof(name)},
    static const struct {
        const char *name;
        long number;
    } ours[] = {CUBLASLT_NUMBERS(NUMBER) CUBLASLT_SIZES(SIZE)};
    if (cublaslt_number_count == 0) {
        print_message("skipped: no cublasLt.h\n");
        return;
    }
    assert_int_equal(cublaslt_number_count, COUNT_OF(ours));
    for (size_t index = 0; index < COUNT_OF(ours); index++) {
        if (ours[index].number != cublaslt_numbers[index]) {
            fail_msg("%s is %ld, not %ld", ours[index].name, cublaslt_numbers[index], ours[index].number);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_numbers_are_those_of_the_vendor),
    };
    return cmocka_run_group_tests_name("worker/cuda/cublaslt", tests, NULL, NULL);
}
