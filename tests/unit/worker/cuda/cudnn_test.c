#include "worker/cuda/cudnn.h"

#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_on_cpu/cudnn_numbers.h"

static void
our_numbers_are_those_of_the_vendor(void **state)
{
    (void)state;
#define NUMBER(name) {#name, (long)(name)},
#define SIZE(name) {#name, (long)sizeof(name)},
    static const struct {
        const char *name;
        long number;
    } ours[] = {CUDNN_NUMBERS(NUMBER) CUDNN_SIZES(SIZE)};
    if (cudnn_number_count == 0) {
        print_message("skipped: no cudnn_graph.h\n");
        return;
    }
    assert_int_equal(cudnn_number_count, COUNT_OF(ours));
    for (size_t index = 0; index < COUNT_OF(ours); index++) {
        if (ours[index].number != cudnn_numbers[index]) {
            fail_msg("%s is %ld, not %ld", ours[index].name, cudnn_numbers[index], ours[index].number);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_numbers_are_those_of_the_vendor),
    };
    return cmocka_run_group_tests_name("worker/cuda/cudnn", tests, NULL, NULL);
}
