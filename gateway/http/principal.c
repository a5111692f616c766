#include "gateway/http/principal.h"

#include "gateway/http/characters.h"
#include "shared/base/base64.h"

enum { CREDENTIALS_SIZE_MAX = 8 * 1024 };

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
    char *const bytes = arena_alloc(call->arena, size + 1);
    if (bytes == NULL) {
        return call_fail_memory(call, "the credentials");
    }
    const Slice decoded = slice_of(bytes, size);
    if (!base64_decode(text, bytes) || slice_find(decoded, ':') == size ||
        !character_all(decoded, CHARACTER_VALUE)) {
        return fail_basic(call);
    }
    const size_t colon = slice_find(decoded, ':');
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
    const Slice trimmed = slice_trim(authorization);
    const size_t space = slice_find(trimmed, ' ');
    const Slice scheme = slice_part(trimmed, 0, space);
    const Slice text = slice_trim(slice_part(trimmed, space, trimmed.size));
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
