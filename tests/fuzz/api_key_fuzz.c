/* Fuzzes API keys: a text that is accepted must be the same when it is written again. */
#include <assert.h>

#include "gateway/domain/api_key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ApiKey key;
    char text[API_KEY_TEXT_SIZE];
    Slice input = slice_of(data, size);
    if (api_key_from_text(input, &key)) {
        api_key_to_text(&key, text);
        assert(slice_equals_string(input, text));
    }
    size_t cut = slice_find(input, ':');
    if (api_key_from_parts(slice_part(input, 0, cut), slice_part(input, cut + 1, size), &key)) {
        assert(strlen(key.id) + 1 == API_KEY_ID_SIZE && strlen(key.secret) + 1 == API_KEY_SECRET_SIZE);
    }
    return 0;
}
