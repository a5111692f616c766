#include "shared/crypto/digest.h"

#include <assert.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "shared/base/memory.h"
#include "shared/crypto/hex.h"

struct Sha256State {
    EVP_MD_CTX *context;
};

void
sha256(Slice bytes, Sha256 *ret_digest)
{
    int is_done = EVP_Digest(bytes.data, bytes.size, ret_digest->bytes, NULL, EVP_sha256(), NULL);
    assert(is_done == 1);
    (void)is_done;
}

void
hmac_sha256(Slice key, Slice bytes, Sha256 *ret_digest)
{
    static const unsigned char nothing[1] = {0};
    const unsigned char *data = bytes.size == 0 ? nothing : (const unsigned char *)bytes.data;
    assert(key.size <= INT32_MAX);
    const void *done = HMAC(EVP_sha256(), key.size == 0 ? (const char *)nothing : key.data, (int)key.size,
        data, bytes.size, ret_digest->bytes, NULL);
    assert(done != NULL);
    (void)done;
}

bool
sha256_equal(const Sha256 *left, const Sha256 *right)
{
    return CRYPTO_memcmp(left->bytes, right->bytes, SHA256_SIZE) == 0;
}

bool
constant_time_equal(Slice left, Slice right)
{
    return left.size == right.size &&
           (left.size == 0 || CRYPTO_memcmp(left.data, right.data, left.size) == 0);
}

void
sha256_to_hex(const Sha256 *digest, char ret_hex[SHA256_HEX_SIZE])
{
    hex_encode(slice_of(digest->bytes, SHA256_SIZE), ret_hex);
}

bool
sha256_from_hex(Slice hex, Sha256 *ret_digest)
{
    return hex_decode(hex, ret_digest->bytes, SHA256_SIZE);
}

static const Slice ref_prefix = {.data = "sha256:", .size = sizeof "sha256:" - 1};

void
sha256_to_ref(const Sha256 *digest, char ret_ref[SHA256_REF_SIZE])
{
    memcpy(ret_ref, ref_prefix.data, ref_prefix.size);
    sha256_to_hex(digest, ret_ref + ref_prefix.size);
}

bool
sha256_from_ref(Slice ref, Sha256 *ret_digest)
{
    return slice_starts_with(ref, ref_prefix) &&
           sha256_from_hex(slice_part(ref, ref_prefix.size, ref.size), ret_digest);
}

enum { QUOTED_SIZE = 80 };

Status
sha256_parse_hex(Call *call, Slice hex, Sha256 *ret_digest)
{
    return sha256_from_hex(hex, ret_digest)
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT, "'%.*s' is not 64 lower-case hex digits",
                     SLICE_PRINT(slice_part(hex, 0, QUOTED_SIZE)));
}

Status
sha256_parse_ref(Call *call, Slice ref, Sha256 *ret_digest)
{
    return sha256_from_ref(ref, ret_digest)
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT,
                     "the reference '%.*s' is not 'sha256:' and 64 lower-case hex digits",
                     SLICE_PRINT(slice_part(ref, 0, QUOTED_SIZE)));
}

Sha256State *
sha256_begin(void)
{
    Sha256State *state = memory_new(1, sizeof *state);
    if (state == NULL) {
        return NULL;
    }
    state->context = EVP_MD_CTX_new();
    if (state->context == NULL || EVP_DigestInit_ex(state->context, EVP_sha256(), NULL) != 1) {
        sha256_abandon(state);
        return NULL;
    }
    return state;
}

void
sha256_update(Sha256State *state, Slice bytes)
{
    assert(state != NULL);
    int is_done = EVP_DigestUpdate(state->context, bytes.data, bytes.size);
    assert(is_done == 1);
    (void)is_done;
}

void
sha256_end(Sha256State *state, Sha256 *ret_digest)
{
    assert(state != NULL);
    int is_done = EVP_DigestFinal_ex(state->context, ret_digest->bytes, NULL);
    assert(is_done == 1);
    (void)is_done;
    sha256_abandon(state);
}

void
sha256_abandon(Sha256State *state)
{
    if (state != NULL) {
        EVP_MD_CTX_free(state->context);
        memory_free(state);
    }
}
