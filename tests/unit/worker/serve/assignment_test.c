#include "worker/serve/assignment.h"

#include "shared/wire/messages.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/partition_runs.h"

#define GRAPH                                                                                                \
    "x = _Arg() T=float32 index=0\n"                                                                         \
    "a = Neg(x) T=float32\n"                                                                                 \
    "b = Square(x) T=float32\n"                                                                              \
    "c = Add(a, b) T=float32\n"                                                                              \
    "d = Neg(c) T=float32 @/device:CPU:0\n"                                                                  \
    "out = _Retval(d) T=float32 index=0\n"

/* Returns the group of this device whose nodes have a reason, or have none; NULL: there is none. */
static const WireNodes *
find_group(const WireAssignment *assignment, const char *device, bool has_reason)
{
    for (size_t index = 0; index < assignment->group_count; index++) {
        const WireNodes *group = &assignment->groups[index];
        if (slice_equals_string(group->device, device) && (group->reason.size > 0) == has_reason) {
            return group;
        }
    }
    return NULL;
}

static bool
has_name(const WireNodes *group, const char *name)
{
    for (size_t index = 0; index < group->name_count; index++) {
        if (slice_equals_string(group->names[index], name)) {
            return true;
        }
    }
    return false;
}

static void
an_answer_tells_devices_reasons_and_copies(void **state)
{
    (void)state;
    RunFixture fixture;
    AUTO_ARENA arena = arena_new(1 << 20);
    AUTO_BUFFER json = {0};
    Call call = {.arena = arena};
    WireAssignment told;
    fixture_begin_accelerated(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, GRAPH);
    assert_status(&call, STATUS_OK, assignment_write(&call, &json, partition));
    assert_status(&call, STATUS_OK, wire_assignment_read(&call, buffer_slice(&json), &told));
    const WireNodes *accelerated = find_group(&told, "/device:GPU:0", false);
    assert_non_null(accelerated);
    assert_int_equal(accelerated->count, 3);
    assert_true(has_name(accelerated, "a") && has_name(accelerated, "b") && has_name(accelerated, "c"));
    const WireNodes *kept = find_group(&told, "/device:CPU:0", true);
    assert_non_null(kept);
    assert_int_equal(kept->count, 1);
    assert_true(has_name(kept, "d"));
    assert_true(slice_equals_string(kept->reason, "the graph asks for the CPU"));
    assert_int_equal(told.copy_count, 2); /* x there, c back */
    assert_int_equal(told.copy_name_count, 2);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
a_worker_without_an_accelerator_has_nothing_to_tell(void **state)
{
    (void)state;
    RunFixture fixture;
    AUTO_ARENA arena = arena_new(1 << 20);
    AUTO_BUFFER json = {0};
    Call call = {.arena = arena};
    fixture_begin(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, GRAPH);
    assert_status(&call, STATUS_OK, assignment_write(&call, &json, partition));
    assert_string_equal(buffer_string(&json), "{}");
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

static void
why_no_node_is_accelerated_is_told_too(void **state)
{
    (void)state;
    RunFixture fixture;
    AUTO_ARENA arena = arena_new(1 << 20);
    AUTO_BUFFER json = {0};
    Call call = {.arena = arena};
    WireAssignment told;
    fixture_begin_accelerated(&fixture, 2);
    AUTO_PARTITION partition = fixture_compile(&fixture, "x = _Arg() T=float32 index=0\n"
                                                         "a = Neg(x) T=float32 @/device:CPU:0\n"
                                                         "out = _Retval(a) T=float32 index=0\n");
    assert_status(&call, STATUS_OK, assignment_write(&call, &json, partition));
    assert_status(&call, STATUS_OK, wire_assignment_read(&call, buffer_slice(&json), &told));
    assert_non_null(find_group(&told, "/device:CPU:0", true));
    assert_null(find_group(&told, "/device:GPU:0", false));
    assert_int_equal(told.copy_count, 0);
    partition_unref(TAKE(partition));
    fixture_end(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_tells_devices_reasons_and_copies),
        cmocka_unit_test(a_worker_without_an_accelerator_has_nothing_to_tell),
        cmocka_unit_test(why_no_node_is_accelerated_is_told_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
