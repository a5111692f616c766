#include "shared/base/utf8.h"
#include "tests/support/cmocka_all.h"

static void
every_character_is_encoded_well_formed(void **state)
{
    (void)state;
    for (uint32_t character = 0; character <= 0x10ffff; character++) {
        if (character >= 0xd800 && character <= 0xdfff) {
            continue;
        }
        char bytes[4];
        size_t size = utf8_encode(character, bytes);
        if (utf8_character_size(bytes, bytes + size) != size) {
            fail_msg("U+%04X is encoded wrongly", character);
        }
        if (size > 1 && utf8_character_size(bytes, bytes + size - 1) != 0) {
            fail_msg("U+%04X is taken when it is cut", character);
        }
    }
}

static void
what_is_malformed_is_refused(void **state)
{
    (void)state;
    const char *const texts[] = {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
        "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "\xc3", "\xc3(",
        "\xe2\x82", "\xe2\x82(", "\xf0\x9f\x98", "\xf0\x9f\x98(", "abc\xfe"};
    for (size_t index = 0; index < COUNT_OF(texts); index++) {
        assert_false(utf8_is_valid(slice_from_string(texts[index])));
    }
    assert_true(utf8_is_valid(slice_of(NULL, 0)));
    assert_true(utf8_is_valid(SLICE("a\0b")));
    assert_true(utf8_is_valid(SLICE("z\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80")));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_character_is_encoded_well_formed),
        cmocka_unit_test(what_is_malformed_is_refused),
    };
    return cmocka_run_group_tests_name("shared/base/utf8", tests, NULL, NULL);
}
