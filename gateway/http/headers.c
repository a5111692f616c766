#include "gateway/http/headers.h"

#include <assert.h>

#include "gateway/http/characters.h"
#include "shared/base/base64.h"
#include "shared/base/text.h"

enum { CREDENTIALS_SIZE_MAX = 8 * 1024, IDEMPOTENCY_KEY_MAX = 255 };

/* The precision with which a range of Accept names a media type. */
enum { SPECIFICITY_NONE = -1, SPECIFICITY_ANY, SPECIFICITY_TYPE, SPECIFICITY_EXACT };

/* Reads a qvalue, "0" [ "." 0*3DIGIT ] / "1" [ "." 0*3"0" ], in thousandths; -1 when it is something else. */
static int
quality_read(Slice text)
{
    if (text.size == 0 || text.size > 5 || (text.data[0] != '0' && text.data[0] != '1')) {
        return -1;
    }
    int quality = (text.data[0] - '0') * ACCEPT_QUALITY_MAX;
    int unit = ACCEPT_QUALITY_MAX / 10;
    for (size_t index = 1; index < text.size; index++) {
        char character = text.data[index];
        if (index == 1 ? character != '.' : character < '0' || character > '9') {
            return -1;
        }
        if (index > 1) {
            quality += (character - '0') * unit;
            unit /= 10;
        }
    }
    return quality <= ACCEPT_QUALITY_MAX ? quality : -1;
}

/* Splits "text/html;level=1;q=0.5" into its range and its quality, which is returned. */
static int
item_read(Slice item, Slice *ret_range)
{
    Slice rest = item;
    Slice part;
    int quality = ACCEPT_QUALITY_MAX;
    (void)slice_split(&rest, ';', ret_range);
    *ret_range = slice_trim(*ret_range);
    while (slice_split(&rest, ';', &part)) {
        part = slice_trim(part);
        if (part.size >= 2 && slice_equal_ignoring_case(slice_part(part, 0, 2), SLICE("q="))) {
            quality = quality_read(slice_part(part, 2, part.size));
        }
    }
    return quality;
}

static int
range_specificity(Slice range, Slice media_type)
{
    if (slice_equal_ignoring_case(range, media_type)) {
        return SPECIFICITY_EXACT;
    }
    if (slice_equals_string(range, "*/*")) {
        return SPECIFICITY_ANY;
    }
    size_t slash = slice_find(media_type, '/') + 1;
    bool has_type = range.size == slash + 1 && range.data[slash] == '*' &&
                    slice_equal_ignoring_case(slice_part(range, 0, slash), slice_part(media_type, 0, slash));
    return has_type ? SPECIFICITY_TYPE : SPECIFICITY_NONE;
}

int
accept_quality(Slice accept, const char *media_type)
{
    if (slice_trim(accept).size == 0) {
        return ACCEPT_QUALITY_MAX;
    }
    Slice wanted = slice_from_string(media_type);
    int best = SPECIFICITY_NONE;
    int best_quality = 0;
    Slice rest = accept;
    Slice item;
    while (slice_split(&rest, ',', &item)) {
        Slice range;
        int quality = item_read(item, &range);
        int specificity = quality < 0 ? SPECIFICITY_NONE : range_specificity(range, wanted);
        if (specificity > best) {
            best = specificity;
            best_quality = quality;
        }
    }
    return best_quality;
}

int
accept_choose(Slice accept, const char *const *offers, int offer_count)
{
    assert(offer_count > 0);

    int best = -1;
    int best_quality = 0;
    for (int index = 0; index < offer_count; index++) {
        int quality = accept_quality(accept, offers[index]);
        if (quality > best_quality) {
            best = index;
            best_quality = quality;
        }
    }
    return best;
}

bool
accept_encoding(Slice accept_encoding_header, const char *coding)
{
    Slice wanted = slice_from_string(coding);
    int named = -1;
    int any = -1;
    Slice rest = accept_encoding_header;
    Slice item;
    while (slice_split(&rest, ',', &item)) {
        Slice range;
        int quality = item_read(item, &range);
        if (slice_equal_ignoring_case(range, wanted)) {
            named = quality;
        } else if (slice_equals_string(range, "*")) {
            any = quality;
        }
    }
    return (named >= 0 ? named : any) > 0;
}

Slice
media_type_bare(Slice content_type)
{
    return slice_trim(slice_part(content_type, 0, slice_find(content_type, ';')));
}

bool
etag_list_has(Slice list, Slice tag)
{
    Slice rest = list;
    Slice item;
    while (slice_split(&rest, ',', &item)) {
        item = slice_trim(item);
        if (slice_equals_string(item, "*")) {
            return true;
        }
        if (slice_starts_with(item, SLICE("W/"))) {
            item = slice_part(item, 2, item.size);
        }
        if (item.size == tag.size + 2 && item.data[0] == '"' && item.data[item.size - 1] == '"' &&
            slice_equal(slice_part(item, 1, tag.size), tag)) {
            return true;
        }
    }
    return false;
}

Status
request_match(Call *call, const Request *request, Response *response, const char *tag, bool is_required)
{
    Slice list = request_header(request, "If-Match");
    if (list.data == NULL) {
        return is_required
                   ? response_fail(call, response, 428, "If-Match with the resource's ETag is required here")
                   : STATUS_OK;
    }
    if (!etag_list_has(list, slice_from_string(tag))) {
        return response_fail(call, response, 412, "If-Match is '%.*s', but the resource is at '\"%s\"'",
            SLICE_PRINT(slice_part(list, 0, 128)), tag);
    }
    return STATUS_OK;
}

static void
preference_read(Slice item, Preferences *preferences)
{
    Slice text = slice_trim(slice_part(item, 0, slice_find(item, ';')));
    size_t equals = slice_find(text, '=');
    Slice name = slice_trim(slice_part(text, 0, equals));
    Slice value = slice_trim(slice_part(text, equals + 1, text.size));
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

/* Copies the inside of a structured field's string (RFC 8941 3.3.3) and undoes its two escapes. */
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

/* Copies the inside of a key in quotes; one without quotes holds none
 * (draft-ietf-httpapi-idempotency-key-header 2.1, which has quotes alone). */
static bool
key_unquote(Slice key, char *ret_text, size_t *ret_size)
{
    if (key.size >= 2 && key.data[0] == '"' && key.data[key.size - 1] == '"') {
        return string_unquote(key, ret_text, ret_size);
    }
    memcpy(ret_text, key.data, key.size);
    *ret_size = key.size;
    return slice_find(key, '"') == key.size;
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
    char *text = text_copy(call->arena, key);
    if (text == NULL) {
        return call_fail_memory(call, "the idempotency key");
    }
    size_t size = 0;
    bool is_valid = key_unquote(key, text, &size);
    key = slice_of(text, size);
    if (!is_valid || !is_visible(key)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "Idempotency-Key cannot be read: expected 1 to %d visible characters, in quotes or without",
            IDEMPOTENCY_KEY_MAX);
    }
    *ret_key = key;
    return STATUS_OK;
}

bool
request_id_is_valid(Slice header)
{
    return header.size > 0 && header.size < REQUEST_ID_SIZE && character_all(header, CHARACTER_ID);
}

static Status
fail_basic(Call *call)
{
    return call_fail(call, STATUS_UNAUTHENTICATED,
        "the Basic credentials cannot be read: expected base64 of 'key id:secret'");
}

static Status
basic_parse(Call *call, Slice text, Credentials *ret_credentials)
{
    size_t size = 0;
    if (text.size > CREDENTIALS_SIZE_MAX || !base64_decoded_size(text, &size)) {
        return fail_basic(call);
    }
    char *bytes = arena_alloc(call->arena, size + 1);
    if (bytes == NULL) {
        return call_fail_memory(call, "the credentials");
    }
    Slice decoded = slice_of(bytes, size);
    if (!base64_decode(text, bytes) || slice_find(decoded, ':') == size ||
        !character_all(decoded, CHARACTER_VALUE)) {
        return fail_basic(call);
    }
    size_t colon = slice_find(decoded, ':');
    *ret_credentials = (Credentials){
        .scheme = CREDENTIALS_BASIC,
        .name = slice_part(decoded, 0, colon),
        .secret = slice_part(decoded, colon + 1, size),
    };
    return STATUS_OK;
}

static Status
bearer_parse(Call *call, Slice text, Credentials *ret_credentials)
{
    if (text.size == 0 || text.size > CREDENTIALS_SIZE_MAX || slice_find(text, ' ') != text.size) {
        return call_fail(call, STATUS_UNAUTHENTICATED, "the Bearer token cannot be read: expected one word");
    }
    *ret_credentials = (Credentials){.scheme = CREDENTIALS_BEARER, .secret = text};
    return STATUS_OK;
}

Status
credentials_parse(Call *call, Slice authorization, Credentials *ret_credentials)
{
    if (authorization.data == NULL) {
        *ret_credentials = (Credentials){0};
        return STATUS_OK;
    }
    Slice trimmed = slice_trim(authorization);
    size_t space = slice_find(trimmed, ' ');
    Slice scheme = slice_part(trimmed, 0, space);
    Slice text = slice_trim(slice_part(trimmed, space, trimmed.size));
    if (slice_equal_ignoring_case(scheme, SLICE("Bearer"))) {
        return bearer_parse(call, text, ret_credentials);
    }
    if (slice_equal_ignoring_case(scheme, SLICE("Basic"))) {
        return basic_parse(call, text, ret_credentials);
    }
    return call_fail(call, STATUS_UNAUTHENTICATED,
        "the authorization scheme is '%.*s', expected 'Bearer' or 'Basic'",
        SLICE_PRINT(slice_part(scheme, 0, 32)));
}
