/* Fuzzes header values with grammars of their own: Accept, Accept-Encoding, Prefer, Idempotency-Key,
 * Authorization, If-Match. */
#include <assert.h>

#include "gateway/http/headers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA arena = arena_new(1024 * 1024);
    Call call = {.arena = arena};
    Slice header = slice_of(data, size);

    static const char *const offers[] = {"application/json", "text/html"};
    int quality = accept_quality(header, offers[0]);
    assert(quality >= 0 && quality <= ACCEPT_QUALITY_MAX);
    int choice = accept_choose(header, offers, 2);
    assert(choice >= -1 && choice < 2 && (choice != 0 || quality > 0));
    (void)accept_encoding(header, "gzip");
    (void)etag_list_has(header, SLICE("r1"));

    Preferences preferences = preferences_parse(header);
    assert(preferences.has_wait || preferences.wait_s == 0);

    Slice key = {0};
    if (idempotency_key_parse(&call, header, &key) == STATUS_OK && key.data != NULL) {
        assert(key.size >= 1 && key.size <= 255);
    }
    Credentials credentials;
    if (credentials_parse(&call, header, &credentials) == STATUS_OK) {
        assert(credentials.scheme == CREDENTIALS_NONE || credentials.scheme == CREDENTIALS_BASIC ||
               credentials.secret.size > 0);
    }
    return 0;
}
