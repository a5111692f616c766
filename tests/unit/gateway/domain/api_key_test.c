#include "gateway/domain/api_key.h"
#include "tests/support/cmocka_all.h"

static void
a_key_survives_its_text(void **state)
{
    (void)state;
    ApiKey key = api_key_new();
    ApiKey read;
    char text[API_KEY_TEXT_SIZE];
    api_key_to_text(&key, text);
    assert_int_equal(strlen(text), API_KEY_TEXT_SIZE - 1);
    assert_true(api_key_from_text(slice_from_string(text), &read));
    assert_string_equal(read.id, key.id);
    assert_string_equal(read.secret, key.secret);
}

/* The check was computed with another program: python3 -c 'import zlib; …'. */
static void
the_check_is_a_crc32_in_base62(void **state)
{
    (void)state;
    ApiKey key;
    char text[API_KEY_TEXT_SIZE];
    assert_true(api_key_from_parts(
        SLICE("0123456789AB"), SLICE("abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG"), &key));
    api_key_to_text(&key, text);
    assert_string_equal(text, "slk_0123456789AB_abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG_00GeLF");
}

static void
every_changed_character_is_noticed(void **state)
{
    (void)state;
    ApiKey key = api_key_new();
    ApiKey read;
    char text[API_KEY_TEXT_SIZE];
    for (size_t index = 0; index < API_KEY_TEXT_SIZE - 1; index++) {
        api_key_to_text(&key, text);
        text[index] = text[index] == 'x' ? 'y' : 'x';
        assert_false(api_key_from_text(slice_from_string(text), &read));
    }
}

static void
other_forms_are_refused(void **state)
{
    (void)state;
    ApiKey key;
    char text[API_KEY_TEXT_SIZE];
    ApiKey good = api_key_new();
    api_key_to_text(&good, text);
    assert_false(api_key_from_text(SLICE(""), &key));
    assert_false(api_key_from_text(slice_of(text, API_KEY_TEXT_SIZE - 2), &key));
    assert_false(api_key_from_text(slice_of(text, API_KEY_TEXT_SIZE), &key));
    assert_false(api_key_from_parts(SLICE("short"), slice_from_string(good.secret), &key));
    assert_false(api_key_from_parts(slice_from_string(good.id), SLICE("short"), &key));
    assert_false(api_key_from_parts(slice_of("0123456789A", 12), slice_from_string(good.secret), &key));
    assert_false(api_key_from_parts(SLICE("0123456789A-"), slice_from_string(good.secret), &key));
}

static void
two_keys_differ(void **state)
{
    (void)state;
    ApiKey first = api_key_new();
    ApiKey second = api_key_new();
    assert_string_not_equal(first.id, second.id);
    assert_string_not_equal(first.secret, second.secret);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_survives_its_text),
        cmocka_unit_test(the_check_is_a_crc32_in_base62),
        cmocka_unit_test(every_changed_character_is_noticed),
        cmocka_unit_test(other_forms_are_refused),
        cmocka_unit_test(two_keys_differ),
    };
    return cmocka_run_group_tests_name("gateway/domain/api_key", tests, NULL, NULL);
}
