#include "shared/wire/versions.h"

#include "tests/support/call_fixture.h"

static void
two_programs_use_the_newest_version_that_both_speak(void **state)
{
    static const struct {
        WireVersions one, other;
        int64_t agreed;
    } cases[] = {
        {{1, 2}, {1, 2}, 2},
        {{1, 2}, {2, 3}, 2},
        {{1, 1}, {1, 2}, 1},
        {{3, 4}, {1, 2}, 0},
        {{2, 2}, {1, 1}, 0},
        {{1, 9}, {4, 5}, 5},
    };
    (void)state;
    for (size_t index = 0; index < sizeof cases / sizeof cases[0]; index++) {
        assert_int_equal(wire_versions_agree(cases[index].one, cases[index].other), cases[index].agreed);
        assert_int_equal(wire_versions_agree(cases[index].other, cases[index].one), cases[index].agreed);
    }
}

static void
versions_are_read_as_they_are_written(void **state)
{
    Call *call = *state;
    char text[WIRE_VERSIONS_TEXT_SIZE];
    WireVersions versions;
    assert_status(call, STATUS_OK, wire_versions_read(call, SLICE("3-4"), &versions));
    wire_versions_text(versions, text);
    assert_string_equal(text, "3-4");
    assert_status(call, STATUS_OK, wire_versions_read(call, SLICE("7"), &versions));
    assert_int_equal(versions.oldest, 7);
    assert_int_equal(versions.newest, 7);
}

static void
what_is_no_versions_is_refused(void **state)
{
    static const char *const texts[] = {
        "", "-", "1-", "-2", "2-1", "0", "0-1", "1-2-3", "x", "1 - 2", "99999999999"};
    Call *call = *state;
    for (size_t index = 0; index < sizeof texts / sizeof texts[0]; index++) {
        WireVersions versions;
        assert_status(call, STATUS_INVALID_ARGUMENT,
            wire_versions_read(call, slice_from_string(texts[index]), &versions));
    }
}

static void
a_program_is_told_only_versions_that_it_knows(void **state)
{
    Call *call = *state;
    WireVersions versions;
    assert_status(call, STATUS_OK, wire_versions_choose(call, SLICE("1"), &versions));
    assert_status(call, STATUS_INVALID_ARGUMENT, wire_versions_choose(call, SLICE("2-3"), &versions));
    assert_string_equal(call->error.message,
        "versions 2 to 3 of the worker protocol are not spoken by this program, only 1 to 2");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(two_programs_use_the_newest_version_that_both_speak),
        CALL_TEST(versions_are_read_as_they_are_written),
        CALL_TEST(what_is_no_versions_is_refused),
        CALL_TEST(a_program_is_told_only_versions_that_it_knows),
    };
    return cmocka_run_group_tests_name("versions", tests, NULL, NULL);
}
