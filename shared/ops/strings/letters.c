#include "shared/ops/strings/letters.h"

#include "shared/base/utf8.h"

/* Capital letters from `first` to `last`, every `step`th, whose small ones are `distance` further on. */
typedef struct Letters {
    uint32_t first;
    uint32_t last;
    uint32_t step;
    int32_t distance;
} Letters;

static const Letters letters[] = {
    {'A', 'Z', 1, 32}, {0xc0, 0xd6, 1, 32},    /* Latin-1 */
    {0xd8, 0xde, 1, 32}, {0x100, 0x12e, 2, 1}, /* Latin Extended-A */
    {0x132, 0x136, 2, 1}, {0x139, 0x147, 2, 1}, {0x14a, 0x176, 2, 1}, {0x178, 0x178, 1, -121},
    {0x179, 0x17d, 2, 1}, {0x386, 0x386, 1, 38}, /* Greek */
    {0x388, 0x38a, 1, 37}, {0x38c, 0x38c, 1, 64}, {0x38e, 0x38f, 1, 63}, {0x391, 0x3a1, 1, 32},
    {0x3a3, 0x3ab, 1, 32}, {0x400, 0x40f, 1, 80}, /* Cyrillic */
    {0x410, 0x42f, 1, 32}, {0x460, 0x480, 2, 1}, {0x48a, 0x4be, 2, 1}, {0x4c1, 0x4cd, 2, 1},
    {0x4d0, 0x52e, 2, 1}, {0x531, 0x556, 1, 48},     /* Armenian */
    {0x1e00, 0x1e94, 2, 1},                          /* Latin Extended Additional */
    {0x1ea0, 0x1efe, 2, 1}, {0xff21, 0xff3a, 1, 32}, /* full width */
};

/* Returns the letter as `letter_case` wants it; any other character as it is. */
static uint32_t
convert(uint32_t character, LetterCase letter_case)
{
    for (size_t index = 0; index < COUNT_OF(letters); index++) {
        const Letters *row = &letters[index];
        uint32_t shift = letter_case == LETTERS_UPPER ? (uint32_t)row->distance : 0;
        uint32_t capital = character - shift;
        if (capital >= row->first && capital <= row->last && (capital - row->first) % row->step == 0) {
            return letter_case == LETTERS_UPPER ? capital : capital + (uint32_t)row->distance;
        }
    }
    return character;
}

void
letters_append(Buffer *buffer, Slice text, LetterCase letter_case)
{
    const char *end = text.data + text.size;
    if (letter_case == LETTERS_AS_THEY_ARE || text.size == 0) {
        buffer_append_slice(buffer, text);
        return;
    }
    for (const char *next = text.data; next < end;) {
        char bytes[4];
        size_t size = utf8_character_size(next, end);
        if (size == 0) {
            buffer_append_byte(buffer, *next++);
            continue;
        }
        size_t written = utf8_encode(convert(utf8_decode(next, size), letter_case), bytes);
        buffer_append(buffer, bytes, written);
        next += size;
    }
}
