#include "gateway/domain/api_key.h"

#include <stdint.h>
#include <stdio.h>

#include "shared/base/random.h"

enum { BASE = 62, CHECK_SIZE = 6, RANDOM_LIMIT = 256 - 256 % BASE };

static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
static const char prefix[] = "slk_";

/* Draws digits that are all equally likely: bytes that would favour the first digits are drawn again. */
static void
draw_digits(char *ret_text, size_t size)
{
    for (size_t index = 0; index + 1 < size;) {
        unsigned char byte = 0;
        random_bytes(&byte, 1);
        if (byte < RANDOM_LIMIT) {
            ret_text[index++] = digits[byte % BASE];
        }
    }
    ret_text[size - 1] = '\0';
}

static bool
is_base62(Slice text)
{
    for (size_t index = 0; index < text.size; index++) {
        if (text.data[index] == '\0' || strchr(digits, text.data[index]) == NULL) {
            return false;
        }
    }
    return true;
}

/* Computes CRC-32 as gzip and PNG do (reflected, polynomial 0xEDB88320). */
static uint32_t
crc32_of(Slice bytes)
{
    uint32_t crc = UINT32_MAX;
    for (size_t index = 0; index < bytes.size; index++) {
        crc ^= (unsigned char)bytes.data[index];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (UINT32_C(0xEDB88320) & (0U - (crc & 1U)));
        }
    }
    return ~crc;
}

ApiKey
api_key_new(void)
{
    ApiKey key = {0};
    draw_digits(key.id, sizeof key.id);
    draw_digits(key.secret, sizeof key.secret);
    return key;
}

void
api_key_to_text(const ApiKey *key, char ret_text[API_KEY_TEXT_SIZE])
{
    int size = snprintf(ret_text, API_KEY_TEXT_SIZE, "%s%s_%s", prefix, key->id, key->secret);
    uint32_t check = crc32_of(slice_of(ret_text, (size_t)size));
    char *text = ret_text + size;
    text[0] = '_';
    for (int index = CHECK_SIZE; index > 0; index--) {
        text[index] = digits[check % BASE];
        check /= BASE;
    }
    text[CHECK_SIZE + 1] = '\0';
}

bool
api_key_from_parts(Slice id, Slice secret, ApiKey *ret_key)
{
    if (id.size + 1 != API_KEY_ID_SIZE || secret.size + 1 != API_KEY_SECRET_SIZE || !is_base62(id) ||
        !is_base62(secret)) {
        return false;
    }
    ApiKey key = {{0}, {0}};
    memcpy(key.id, id.data, id.size);
    memcpy(key.secret, secret.data, secret.size);
    *ret_key = key;
    return true;
}

bool
api_key_from_text(Slice text, ApiKey *ret_key)
{
    ApiKey key;
    char expected[API_KEY_TEXT_SIZE];
    Slice rest = text;
    Slice id;
    Slice secret;
    if (text.size + 1 != API_KEY_TEXT_SIZE || !slice_starts_with(text, slice_from_string(prefix))) {
        return false;
    }
    rest = slice_part(text, sizeof prefix - 1, text.size);
    if (!slice_split(&rest, '_', &id) || !slice_split(&rest, '_', &secret) ||
        !api_key_from_parts(id, secret, &key)) {
        return false;
    }
    api_key_to_text(&key, expected);
    if (!slice_equals_string(text, expected)) {
        return false;
    }
    *ret_key = key;
    return true;
}
