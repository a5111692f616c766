#include "gateway/dispatch/assignments.h"

#include "tests/support/call_fixture.h"

#define ANSWER                                                                                               \
    "{\"copy_count\":3,\"copies\":[\"x:0/_copy_to_GPU\"],\"nodes\":[{\"device\":\"/device:GPU:0\","          \
    "\"count\":7,\"names\":[\"a\"]}]}"

static void
the_last_answer_for_a_partition_is_found(void **state)
{
    Call *call = *state;
    Assignments *assignments = assignments_new();
    Assignment found;
    assignments_note(assignments, SLICE("d0"), "w1", SLICE("{}"));
    assignments_note(assignments, SLICE("d0"), "w2", SLICE(ANSWER));
    assert_status(call, STATUS_OK, assignments_find(call, assignments, SLICE("d0"), &found));
    assert_string_equal(found.worker, "w2");
    assert_int_equal(found.told.copy_count, 3);
    assert_int_equal(found.told.group_count, 1);
    assert_int_equal(found.told.groups[0].count, 7);
    assert_status(call, STATUS_OK, assignments_find(call, assignments, SLICE("d1"), &found));
    assert_null(found.worker);
    assert_int_equal(found.told.group_count, 0);
    assignments_free(assignments);
}

/* Notes many answers that are large; the memory that they take together stays below a limit. */
static void
old_answers_are_forgotten_when_there_are_too_many(void **state)
{
    enum { ANSWERS = 40 };
    static char large[1 << 20];
    Call *call = *state;
    Assignments *assignments = assignments_new();
    Assignment found;
    memset(large, ' ', sizeof large);
    memcpy(large, ANSWER, sizeof ANSWER - 1);
    for (int index = 0; index < ANSWERS; index++) {
        char digest[16];
        (void)snprintf(digest, sizeof digest, "d%d", index);
        assignments_note(assignments, slice_from_string(digest), "w1", slice_of(large, sizeof large));
        assert_status(
            call, STATUS_OK, assignments_find(call, assignments, slice_from_string(digest), &found));
        assert_string_equal(found.worker, "w1");
        arena_clear(call->arena);
    }
    assert_status(call, STATUS_OK, assignments_find(call, assignments, SLICE("d0"), &found));
    assert_null(found.worker);
    assignments_free(assignments);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(the_last_answer_for_a_partition_is_found),
        CALL_TEST(old_answers_are_forgotten_when_there_are_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
