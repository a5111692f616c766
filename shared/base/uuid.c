#include "shared/base/uuid.h"

#include <assert.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/random.h"

Uuid
uuid_new(void)
{
    Uuid uuid;
    random_bytes(uuid.bytes, sizeof uuid.bytes);
    uint64_t milliseconds = clock_wall_us() / 1000;
    for (unsigned index = 0; index < 6; index++) {
        uuid.bytes[index] = (unsigned char)(milliseconds >> (40 - 8 * index));
    }
    uuid.bytes[6] = (unsigned char)(0x70 | (uuid.bytes[6] & 0x0f));
    uuid.bytes[8] = (unsigned char)(0x80 | (uuid.bytes[8] & 0x3f));
    return uuid;
}

uint64_t
uuid_time_ms(Uuid uuid)
{
    enum { TIME_BYTES = 6 };
    uint64_t time_ms = 0;
    for (size_t index = 0; index < TIME_BYTES; index++) {
        time_ms = time_ms << 8 | uuid.bytes[index];
    }
    return time_ms;
}

bool
uuid_equal(Uuid left, Uuid right)
{
    return memcmp(left.bytes, right.bytes, sizeof left.bytes) == 0;
}

bool
uuid_is_zero(Uuid uuid)
{
    return uuid_equal(uuid, (Uuid){0});
}

static char *
write_hex(const unsigned char *bytes, size_t count, char *text)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t index = 0; index < count; index++) {
        *text++ = digits[bytes[index] >> 4];
        *text++ = digits[bytes[index] & 0x0f];
    }
    return text;
}

static int
hex_value(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Reads exactly 32 lower-case digits and skips the character `skip` between them ('\0': none). */
static bool
read_hex(Slice text, char skip, Uuid *ret_uuid)
{
    Uuid uuid = {0};
    size_t count = 0;
    for (size_t index = 0; index < text.size; index++) {
        if (skip != '\0' && text.data[index] == skip) {
            continue;
        }
        int value = hex_value(text.data[index]);
        if (value < 0 || count == 32) {
            return false;
        }
        uuid.bytes[count / 2] = (unsigned char)(uuid.bytes[count / 2] << 4 | value);
        count++;
    }
    if (count != 32) {
        return false;
    }
    *ret_uuid = uuid;
    return true;
}

void
uuid_to_text(Uuid uuid, char ret_text[UUID_TEXT_SIZE])
{
    static const unsigned char group_sizes[] = {4, 2, 2, 2, 6};
    const unsigned char *bytes = uuid.bytes;
    char *text = ret_text;
    for (size_t group = 0; group < COUNT_OF(group_sizes); group++) {
        text = write_hex(bytes, group_sizes[group], text);
        bytes += group_sizes[group];
        *text++ = '-';
    }
    text[-1] = '\0';
}

bool
uuid_from_text(Slice text, Uuid *ret_uuid)
{
    return text.size == UUID_TEXT_SIZE - 1 && read_hex(text, '-', ret_uuid);
}

void
id_to_text(const char *prefix, Uuid uuid, char ret_text[ID_TEXT_SIZE])
{
    size_t length = strlen(prefix);
    assert(length <= ID_PREFIX_MAX);

    memcpy(ret_text, prefix, length);
    ret_text[length] = '_';
    *write_hex(uuid.bytes, sizeof uuid.bytes, ret_text + length + 1) = '\0';
}

bool
id_from_text(const char *prefix, Slice text, Uuid *ret_uuid)
{
    size_t length = strlen(prefix);
    Uuid uuid;
    bool is_id = slice_starts_with(text, slice_from_string(prefix)) && text.size > length &&
                 text.data[length] == '_' && read_hex(slice_part(text, length + 1, text.size), '\0', &uuid) &&
                 !uuid_is_zero(uuid);
    if (is_id) {
        *ret_uuid = uuid;
    }
    return is_id;
}
