#include "gateway/http/preferences.h"

#include "gateway/http/characters.h"
#include "shared/base/text.h"

enum { IDEMPOTENCY_KEY_MAX = 255 };

/* --- Prefer --------------------------------------------------------------------------------------------- */

static void
preference_read(Slice item, Preferences *preferences)
{
    const Slice text = slice_trim(slice_part(item, 0, slice_find(item, ';')));
    const size_t equals = slice_find(text, '=');
    const Slice name = slice_trim(slice_part(text, 0, equals));
    const Slice value = slice_trim(slice_part(text, equals + 1, text.size));
    if (slice_equal_ignoring_case(name, SLICE("respond-async"))) {
        preferences->responds_async = true;
    } else if (slice_equal_ignoring_case(name, SLICE("return"))) {
        preferences->wants_minimal = slice_equal_ignoring_case(value, SLICE("minimal"));
    } else if (slice_equal_ignoring_case(name, SLICE("wait")) && !preferences->has_wait) {
        uint64_t seconds = 0;
        preferences->has_wait = slice_to_uint64(value, &seconds) && seconds <= UINT32_MAX;
        preferences->wait_s = preferences->has_wait ? (uint32_t)seconds : 0;
    }
}

Preferences
preferences_parse(Slice prefer)
{
    Preferences preferences = {0};
    Slice rest = prefer;
    Slice item;
    while (slice_split(&rest, ',', &item)) {
        preference_read(item, &preferences);
    }
    return preferences;
}

/* --- Idempotency-Key ------------------------------------------------------------------------------------ */

/* The inside of a structured field's string (RFC 8941 3.3.3), its two escapes undone. */
static bool
string_unquote(Slice quoted, char *ret_text, size_t *ret_size)
{
    size_t size = 0;
    for (size_t index = 1; index + 1 < quoted.size; index++) {
        if (quoted.data[index] == '"') {
            return false;
        }
        if (quoted.data[index] == '\\') {
            index++;
            if (index + 1 >= quoted.size || (quoted.data[index] != '"' && quoted.data[index] != '\\')) {
                return false;
            }
        }
        ret_text[size++] = quoted.data[index];
    }
    *ret_size = size;
    return true;
}

static bool
is_visible(Slice text)
{
    for (size_t index = 0; index < text.size; index++) {
        if (text.data[index] <= ' ' || text.data[index] >= 0x7f) {
            return false;
        }
    }
    return text.size > 0 && text.size <= IDEMPOTENCY_KEY_MAX;
}

Status
idempotency_key_parse(Call *call, Slice header, Slice *ret_key)
{
    if (header.data == NULL) {
        *ret_key = (Slice){0};
        return STATUS_OK;
    }
    Slice key = slice_trim(header);
    bool is_valid = true;
    if (key.size >= 2 && key.data[0] == '"' && key.data[key.size - 1] == '"') {
        char *const text = text_copy(call->arena, key);
        if (text == NULL) {
            return call_fail_memory(call, "the idempotency key");
        }
        size_t size = 0;
        is_valid = string_unquote(key, text, &size);
        key = slice_of(text, size);
    }
    if (!is_valid || !is_visible(key)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "Idempotency-Key cannot be read: expected 1 to %d visible characters, in quotes or without",
            IDEMPOTENCY_KEY_MAX);
    }
    *ret_key = key;
    return STATUS_OK;
}

/* --- Request ids ---------------------------------------------------------------------------------------- */

bool
request_id_is_valid(Slice header)
{
    return header.size > 0 && header.size < REQUEST_ID_SIZE && character_all(header, CHARACTER_ID);
}
