/* Eight bytes a turn ("slicing by 8"): row r of the table is the effect of a byte on the checksum after r
 * more bytes. */
#include "shared/base/crc32c.h"

#include <pthread.h>
#include <string.h>

enum { ROW_COUNT = 8, BYTE_COUNT = 256 };

static uint32_t rows[ROW_COUNT][BYTE_COUNT];
static pthread_once_t rows_once = PTHREAD_ONCE_INIT;

static uint32_t
byte_checksum(uint32_t crc)
{
    static const uint32_t polynomial = 0x82f63b78;
    for (int bit = 0; bit < 8; bit++) {
        crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
    }
    return crc;
}

static void
fill_rows(void)
{
    for (uint32_t byte = 0; byte < BYTE_COUNT; byte++) {
        rows[0][byte] = byte_checksum(byte);
    }
    for (int row = 1; row < ROW_COUNT; row++) {
        for (int byte = 0; byte < BYTE_COUNT; byte++) {
            uint32_t before = rows[row - 1][byte];
            rows[row][byte] = (before >> 8) ^ rows[0][before & 0xff];
        }
    }
}

static uint32_t
add_word(uint32_t crc, const char *bytes)
{
    uint64_t word = 0;
    memcpy(&word, bytes, sizeof word);
    word ^= crc;
    crc = 0;
    for (int row = 0; row < ROW_COUNT; row++) {
        crc ^= rows[ROW_COUNT - 1 - row][(word >> (8 * row)) & 0xff];
    }
    return crc;
}

uint32_t
crc32c_extend(uint32_t crc, Slice bytes)
{
    size_t index = 0;
    (void)pthread_once(&rows_once, fill_rows);
    crc = ~crc;
    for (; bytes.size - index >= sizeof(uint64_t); index += sizeof(uint64_t)) {
        crc = add_word(crc, bytes.data + index);
    }
    for (; index < bytes.size; index++) {
        crc = (crc >> 8) ^ rows[0][(crc ^ (unsigned char)bytes.data[index]) & 0xff];
    }
    return ~crc;
}

uint32_t
crc32c(Slice bytes)
{
    return crc32c_extend(0, bytes);
}

uint32_t
crc32c_mask(uint32_t crc)
{
    static const uint32_t shift = 0xa282ead8;
    return ((crc >> 15) | (crc << 17)) + shift;
}
