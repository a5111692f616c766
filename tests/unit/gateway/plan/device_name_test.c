#include "gateway/plan/device_name.h"
#include "tests/support/cmocka_all.h"

static void
assert_name(const char *text, const char *job, int32_t task, const char *type, int32_t id)
{
    DeviceName name;
    assert_true(device_name_parse(slice_from_string(text), &name));
    assert_true(slice_equals_string(name.job, job));
    assert_int_equal(name.task, task);
    assert_true(slice_equals_string(name.type, type));
    assert_int_equal(name.id, id);
}

static void
every_form_of_tensorflows_grammar_is_read(void **state)
{
    (void)state;
    assert_name("", "", DEVICE_PART_NONE, "", DEVICE_PART_NONE);
    assert_name("/", "", DEVICE_PART_NONE, "", DEVICE_PART_NONE);
    assert_name("/job:worker/replica:0/task:3/device:GPU:1", "worker", 3, "GPU", 1);
    assert_name("/task:3/job:worker", "worker", 3, "", DEVICE_PART_NONE);
    assert_name("/task:3/task:4", "", 4, "", DEVICE_PART_NONE);
    assert_name("/cpu:0", "", DEVICE_PART_NONE, "CPU", 0);
    assert_name("/GPU:2", "", DEVICE_PART_NONE, "GPU", 2);
    assert_name("/device:TPU", "", DEVICE_PART_NONE, "TPU", DEVICE_PART_NONE);
    assert_name("/device:TPU:*", "", DEVICE_PART_NONE, "TPU", DEVICE_PART_NONE);
    assert_name("/job:*/task:*/device:*:0", "", DEVICE_PART_NONE, "", 0);
}

static void
anything_else_is_no_device(void **state)
{
    (void)state;
    static const char *const wrong[] = {"gpu", "cpu:0", "/job", "/job:", "/job:1a", "/task:-1", "/task:x",
        "/task:99999999999", "/cpu", "/device:", "/device:CPU:", "//cpu:0", "/tpu:0", "/job:a b"};
    DeviceName name;
    for (size_t index = 0; index < COUNT_OF(wrong); index++) {
        assert_false(device_name_parse(slice_from_string(wrong[index]), &name));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_of_tensorflows_grammar_is_read),
        cmocka_unit_test(anything_else_is_no_device),
    };
    return cmocka_run_group_tests_name("gateway/plan/device_name", tests, NULL, NULL);
}
