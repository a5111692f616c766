/* The labels of workers, and those that are asked for. */
#include "shared/wire/labels.h"

#include "tests/support/call_fixture.h"

static bool
have(const char *labels, const char *wanted)
{
    return labels_have(slice_from_string(labels), slice_from_string(wanted));
}

static void
a_worker_has_what_is_wanted_in_any_order(void **state)
{
    (void)state;
    assert_true(have("zone=a,gpu=h100", "gpu=h100,zone=a"));
    assert_true(have("zone=a,gpu=h100", "gpu=h100"));
    assert_true(have("zone=a", ""));
    assert_true(have("", ""));
}

static void
a_worker_lacks_another_value_a_longer_one_and_a_key_that_it_does_not_have(void **state)
{
    (void)state;
    assert_false(have("zone=a", "zone=b"));
    assert_false(have("zone=ab", "zone=a"));
    assert_false(have("zone=a", "zone=ab"));
    assert_false(have("zone=a", "gpu=h100"));
    assert_false(have("", "zone=a"));
    assert_false(have("zone=a,gpu=h100", "zone=a,gpu=l4"));
}

static void
words_are_taken(void **state)
{
    Call *call = *state;
    static const char *const texts[] = {"", "zone=a", "zone=eu-1.a,gpu=NVIDIA/H100,n=7"};
    for (size_t index = 0; index < COUNT_OF(texts); index++) {
        assert_status(call, STATUS_OK, labels_check(call, slice_from_string(texts[index])));
    }
}

static void
what_is_no_label_is_refused_by_its_name(void **state)
{
    Call *call = *state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"zone", "'zone=' is no label: key=value is, of letters, digits and '._/-'"},
        {"=a", "'=a' is no label: key=value is, of letters, digits and '._/-'"},
        {"zone=", "'zone=' is no label: key=value is, of letters, digits and '._/-'"},
        {"zone=a b", "'zone=a b' is no label: key=value is, of letters, digits and '._/-'"},
        {"zone=a=b", "'zone=a=b' is no label: key=value is, of letters, digits and '._/-'"},
        {"zone=a,,gpu=b", "'=' is no label: key=value is, of letters, digits and '._/-'"},
        {"zone=a,gpu=b,zone=a", "the label 'zone' stands twice"},
    };
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        assert_int_equal(labels_check(call, slice_from_string(cases[index].text)), STATUS_INVALID_ARGUMENT);
        assert_string_equal(call->error.message, cases[index].message);
    }
}

static void
a_text_that_is_too_long_is_refused(void **state)
{
    Call *call = *state;
    char text[LABELS_TEXT_SIZE + 1];
    memset(text, 'a', sizeof text);
    text[1] = '=';
    assert_status(call, STATUS_OK, labels_check(call, slice_of(text, LABELS_TEXT_SIZE - 1)));
    assert_int_equal(labels_check(call, slice_of(text, LABELS_TEXT_SIZE)), STATUS_INVALID_ARGUMENT);
    assert_string_equal(call->error.message, "labels have 192 bytes, at most 191 are possible");
}

static void
what_has_no_value_says_nothing(void **state)
{
    Call *call = *state;
    static const struct {
        const char *text;
        const char *kept;
    } cases[] = {
        {"", ""}, {"zone=a,gpu=h100", "zone=a,gpu=h100"}, {"zone=,pool=cpu,gpu=", "pool=cpu"}, {"zone=", ""},
        {"zone=a,gpu=", "zone=a"}, {"zone,=,=a", "zone,=,=a"}, /* what is no label stays, to be refused */
    };
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        Slice kept;
        assert_status(call, STATUS_OK, labels_drop_empty(call, slice_from_string(cases[index].text), &kept));
        assert_true(slice_equals_string(kept, cases[index].kept));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(a_worker_has_what_is_wanted_in_any_order),
        CALL_TEST(a_worker_lacks_another_value_a_longer_one_and_a_key_that_it_does_not_have),
        CALL_TEST(words_are_taken),
        CALL_TEST(what_is_no_label_is_refused_by_its_name),
        CALL_TEST(a_text_that_is_too_long_is_refused),
        CALL_TEST(what_has_no_value_says_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
