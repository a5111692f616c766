/* What is declared of CUPTI beside NVIDIA's headers and library, where these are. CUDA_LIBRARIES names
 * folders of the vendor's libraries, with ':' between. */
#include "worker/cuda/cupti.h"

#include <stdlib.h>

#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_on_cpu/cupti_numbers.h"
#include "worker/cuda/libraries.h"

static void
our_numbers_are_those_of_the_vendor(void **state)
{
    (void)state;
#define NUMBER(name) {#name, (long)(name)},
#define KERNEL(member) {"kernel " #member, (long)offsetof(CuptiKernel, member)},
#define COPY(member) {"copy " #member, (long)offsetof(CuptiMemcpy, member)},
#define FILL(member) {"fill " #member, (long)offsetof(CuptiMemset, member)},
#define EXTERNAL(member) {"external " #member, (long)offsetof(CUpti_ActivityExternalCorrelation, member)},
    static const struct {
        const char *name;
        long number;
    } ours[] = {CUPTI_NUMBERS(NUMBER) CUPTI_PLACES(KERNEL, COPY, FILL, EXTERNAL)};
    if (cupti_number_count == 0) {
        print_message("skipped: no cupti_activity.h\n");
        return;
    }
    assert_int_equal(cupti_number_count, COUNT_OF(ours));
    for (size_t index = 0; index < COUNT_OF(ours); index++) {
        if (ours[index].number != cupti_numbers[index]) {
            fail_msg("%s is %ld, not %ld", ours[index].name, cupti_numbers[index], ours[index].number);
        }
    }
}

static void
the_library_has_every_function_or_is_not_there(void **state)
{
    (void)state;
    const char *folders = getenv("CUDA_LIBRARIES");
    const char *reason = NULL;
    cuda_libraries_open(folders == NULL ? "" : folders);
    const CudaCupti *cupti = cuda_cupti(&reason);
    uint32_t version = 0;
    if (cupti == NULL) {
        assert_non_null(strstr(reason, "there is no libcupti.so.13"));
        print_message("skipped: no CUPTI: %s\n", reason);
        return;
    }
    assert_null(reason);
    assert_int_equal(cupti->cuptiGetVersion(&version), CUPTI_SUCCESS);
    assert_true(version >= 130000);
    assert_ptr_equal(cuda_cupti(NULL), cupti);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_numbers_are_those_of_the_vendor),
        cmocka_unit_test(the_library_has_every_function_or_is_not_there),
    };
    return cmocka_run_group_tests_name("worker/cuda/cupti", tests, NULL, NULL);
}
