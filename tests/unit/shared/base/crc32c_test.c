#include "shared/base/crc32c.h"

#include "tests/support/cmocka_all.h"

/* The examples of RFC 3720 B.4, and the check value of the CRC catalogues. */
static void
known_bytes_have_their_known_checksums(void **state)
{
    (void)state;
    char zeros[32] = {0};
    char ones[32];
    char rising[32];
    memset(ones, 0xff, sizeof ones);
    for (int index = 0; index < 32; index++) {
        rising[index] = (char)index;
    }
    assert_int_equal(crc32c(SLICE("")), 0);
    assert_int_equal(crc32c(SLICE("123456789")), 0xe3069283);
    assert_int_equal(crc32c(slice_of(zeros, sizeof zeros)), 0x8a9136aa);
    assert_int_equal(crc32c(slice_of(ones, sizeof ones)), 0x62a8ab43);
    assert_int_equal(crc32c(slice_of(rising, sizeof rising)), 0x46dd794e);
}

/* Computes the checksum bit by bit, as the polynomial is defined. */
static uint32_t
slow_checksum(Slice bytes)
{
    uint32_t crc = UINT32_MAX;
    for (size_t index = 0; index < bytes.size; index++) {
        crc ^= (unsigned char)bytes.data[index];
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0);
        }
    }
    return ~crc;
}

static void
every_length_and_alignment_agrees_with_the_definition(void **state)
{
    (void)state;
    char bytes[64];
    for (size_t index = 0; index < sizeof bytes; index++) {
        bytes[index] = (char)(index * 37 + 11);
    }
    for (size_t start = 0; start < 8; start++) {
        for (size_t size = 0; size <= sizeof bytes - start; size++) {
            Slice part = slice_of(bytes + start, size);
            assert_int_equal(crc32c(part), slow_checksum(part));
        }
    }
}

static void
a_checksum_goes_on_where_another_ended(void **state)
{
    (void)state;
    Slice digits = SLICE("123456789");
    for (size_t size = 0; size <= digits.size; size++) {
        uint32_t before = crc32c(slice_part(digits, 0, size));
        assert_int_equal(crc32c_extend(before, slice_part(digits, size, SIZE_MAX)), 0xe3069283);
    }
}

/* The last block of an index that TensorFlow wrote is empty: four zeros, one restart, no compression. */
static void
a_stored_checksum_is_masked(void **state)
{
    (void)state;
    static const char block[] = "\0\0\0\0\1\0\0\0";
    assert_int_equal(crc32c_mask(crc32c(slice_of(block, sizeof block))), 0xb0a1f2c0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_bytes_have_their_known_checksums),
        cmocka_unit_test(every_length_and_alignment_agrees_with_the_definition),
        cmocka_unit_test(a_checksum_goes_on_where_another_ended),
        cmocka_unit_test(a_stored_checksum_is_masked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
