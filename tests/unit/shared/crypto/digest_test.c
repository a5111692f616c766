#include "shared/crypto/digest.h"
#include "shared/crypto/hex.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/fail_alloc.h"

static void
assert_digest(const Sha256 *digest, const char *expected)
{
    char hex[SHA256_HEX_SIZE];
    sha256_to_hex(digest, hex);
    assert_string_equal(hex, expected);
}

/* The examples of FIPS 180-4. */
static void
digests_are_those_of_the_standard(void **state)
{
    (void)state;
    Sha256 digest;
    sha256(SLICE(""), &digest);
    assert_digest(&digest, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    sha256(slice_of(NULL, 0), &digest);
    assert_digest(&digest, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    sha256(SLICE("abc"), &digest);
    assert_digest(&digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

/* RFC 4231, test case 2. */
static void
signatures_are_those_of_the_standard(void **state)
{
    (void)state;
    Sha256 digest;
    hmac_sha256(SLICE("Jefe"), SLICE("what do ya want for nothing?"), &digest);
    assert_digest(&digest, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    hmac_sha256(SLICE(""), slice_of(NULL, 0), &digest);
    assert_digest(&digest, "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

static void
parts_give_the_digest_of_the_whole(void **state)
{
    (void)state;
    Sha256 whole;
    Sha256 parts;
    Sha256State *digest = sha256_begin();
    assert_non_null(digest);
    sha256_update(digest, SLICE("a"));
    sha256_update(digest, slice_of(NULL, 0));
    sha256_update(digest, SLICE("bc"));
    sha256_end(digest, &parts);
    sha256(SLICE("abc"), &whole);
    assert_true(sha256_equal(&whole, &parts));
}

static void
an_abandoned_digest_leaks_nothing(void **state)
{
    (void)state;
    Sha256State *digest = sha256_begin();
    sha256_update(digest, SLICE("abc"));
    sha256_abandon(digest);
    sha256_abandon(NULL);
}

static void
no_memory_gives_no_state(void **state)
{
    (void)state;
    fail_alloc_at = fail_alloc_count + 1;
    Sha256State *digest = sha256_begin();
    fail_alloc_at = 0;
    assert_null(digest);
}

static void
hex_survives_both_ways_and_refuses_the_rest(void **state)
{
    (void)state;
    Sha256 digest;
    Sha256 read = {{7}};
    char hex[SHA256_HEX_SIZE];
    sha256(SLICE("abc"), &digest);
    sha256_to_hex(&digest, hex);
    assert_true(sha256_from_hex(slice_from_string(hex), &read) && sha256_equal(&digest, &read));
    read.bytes[0] = 7;
    hex[63] = 'A';
    assert_false(sha256_from_hex(slice_from_string(hex), &read));
    hex[63] = 'g';
    assert_false(sha256_from_hex(slice_from_string(hex), &read));
    assert_false(sha256_from_hex(slice_of(hex, 62), &read));
    assert_false(sha256_from_hex(SLICE(""), &read));
    assert_int_equal(read.bytes[0], 7);
}

/* Every size of the chain's own part and of the rest, so that all paddings come; the chain goes through
 * bytes. */
static void
a_chain_is_put_down_and_taken_up(void **state)
{
    (void)state;
    enum { SIZE = 5 * SHA256_BLOCK_SIZE };
    char bytes[SIZE];
    for (size_t index = 0; index < SIZE; index++) {
        bytes[index] = (char)(index * 37);
    }
    for (size_t size = 0; size <= SIZE; size++) {
        Sha256 expected;
        Sha256 found;
        unsigned char kept[SHA256_SIZE];
        size_t whole = size - size % SHA256_BLOCK_SIZE;
        size_t first = whole / 2 - whole / 2 % SHA256_BLOCK_SIZE;
        sha256(slice_of(bytes, size), &expected);
        Sha256Chain chain = sha256_chain_begin();
        sha256_chain_add(&chain, slice_of(bytes, first));
        sha256_chain_to_bytes(&chain, kept);
        chain = sha256_chain_from_bytes(kept, first);
        sha256_chain_add(&chain, slice_of(bytes + first, whole - first));
        sha256_chain_end(&chain, slice_of(bytes + whole, size - whole), &found);
        assert_true(sha256_equal(&expected, &found));
        sha256_chain_end(&chain, slice_of(bytes + whole, size - whole), &found);
        assert_true(sha256_equal(&expected, &found));
    }
}

/* The length in bits has a high word above 512 MiB; the digest was made with sha256sum from zeros. */
static void
a_chain_counts_past_four_gigabits(void **state)
{
    (void)state;
    enum { PIECE = 1 << 20, PIECES = 513 };
    static char zeros[PIECE];
    char hex[SHA256_HEX_SIZE];
    Sha256 found;
    Sha256Chain chain = sha256_chain_begin();
    for (int index = 0; index < PIECES; index++) {
        sha256_chain_add(&chain, slice_of(zeros, PIECE));
    }
    sha256_chain_end(&chain, SLICE("x"), &found);
    sha256_to_hex(&found, hex);
    assert_string_equal(hex, "991c88ba3248e5a8376b365a0ecaa38541105203122d6ac67b8b3f83ba644fab");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_is_put_down_and_taken_up),
        cmocka_unit_test(a_chain_counts_past_four_gigabits),
        cmocka_unit_test(digests_are_those_of_the_standard),
        cmocka_unit_test(signatures_are_those_of_the_standard),
        cmocka_unit_test(parts_give_the_digest_of_the_whole),
        cmocka_unit_test(an_abandoned_digest_leaks_nothing),
        cmocka_unit_test(no_memory_gives_no_state),
        cmocka_unit_test(hex_survives_both_ways_and_refuses_the_rest),
    };
    return cmocka_run_group_tests_name("shared/crypto/digest", tests, NULL, NULL);
}
