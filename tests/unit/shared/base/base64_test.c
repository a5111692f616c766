#include "shared/base/base64.h"
#include "tests/support/cmocka_all.h"

static void
the_vectors_of_rfc_4648_hold_both_ways(void **state)
{
    (void)state;
    const char *const rows[][2] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"},
        {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        Slice bytes = slice_from_string(rows[index][0]);
        Slice text = slice_from_string(rows[index][1]);
        char encoded[16];
        char decoded[16];
        size_t size = 99;
        assert_int_equal(base64_encoded_size(bytes.size), text.size);
        base64_encode(bytes, encoded);
        assert_true(slice_equal(slice_of(encoded, text.size), text));
        assert_true(base64_decoded_size(text, &size) && base64_decode(text, decoded));
        assert_true(slice_equal(slice_of(decoded, size), bytes));
        Slice unpadded = slice_part(text, 0, slice_find(text, '='));
        assert_true(base64_decoded_size(unpadded, &size) && base64_decode(unpadded, decoded));
        assert_true(slice_equal(slice_of(decoded, size), bytes));
    }
}

static void
every_byte_comes_back_and_both_alphabets_are_read(void **state)
{
    (void)state;
    unsigned char bytes[256];
    for (size_t index = 0; index < sizeof bytes; index++) {
        bytes[index] = (unsigned char)(255 - index);
    }
    char text[344];
    unsigned char decoded[256];
    assert_int_equal(base64_encoded_size(sizeof bytes), sizeof text);
    base64_encode(slice_of(bytes, sizeof bytes), text);
    assert_true(base64_decode(slice_of(text, sizeof text), decoded));
    assert_memory_equal(decoded, bytes, sizeof bytes);
    for (size_t index = 0; index < sizeof text; index++) {
        text[index] = (char)(text[index] == '+' ? '-' : text[index] == '/' ? '_' : text[index]);
    }
    memset(decoded, 0, sizeof decoded);
    assert_true(base64_decode(slice_of(text, sizeof text), decoded));
    assert_memory_equal(decoded, bytes, sizeof bytes);
}

static void
what_is_not_base64_is_refused(void **state)
{
    (void)state;
    const char *const lengths[] = {"A", "AAAAA", "AA=", "AAA==", "=", "AAAA=", "AAAA=="};
    char decoded[16];
    for (size_t index = 0; index < COUNT_OF(lengths); index++) {
        size_t size = 99;
        assert_false(base64_decoded_size(slice_from_string(lengths[index]), &size));
        assert_false(base64_decode(slice_from_string(lengths[index]), decoded));
        assert_int_equal(size, 99);
    }
    /* Blanks, foreign letters, padding inside, and bits that would be lost. */
    const char *const texts[] = {
        "AA A", "AAA\n", "A*AA", "AA==AAAA", "AAAAA*==", "AAAAAA*=", "AB==", "AAB=", "AAAAAB", "\xc3\xa9=="};
    for (size_t index = 0; index < COUNT_OF(texts); index++) {
        assert_false(base64_decode(slice_from_string(texts[index]), decoded));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vectors_of_rfc_4648_hold_both_ways),
        cmocka_unit_test(every_byte_comes_back_and_both_alphabets_are_read),
        cmocka_unit_test(what_is_not_base64_is_refused),
    };
    return cmocka_run_group_tests_name("shared/base/base64", tests, NULL, NULL);
}
