/* Fuzzes request targets as a client sends them. An accepted target holds no byte that means structure
 * elsewhere. */
#include <assert.h>

#include "gateway/http/target.h"

static void
assert_clean(Slice text, const char *forbidden)
{
    for (size_t index = 0; index < text.size; index++) {
        unsigned char byte = (unsigned char)text.data[index];
        assert(byte >= ' ' && byte != 0x7f && strchr(forbidden, byte) == NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA arena = arena_new(1024 * 1024);
    Call call = {.arena = arena};
    Target target;
    if (target_parse(&call, slice_of(data, size), &target) == STATUS_OK) {
        for (size_t index = 0; index < target.segment_count; index++) {
            Slice segment = target.segments[index];
            assert_clean(segment, "/\\");
            assert(!slice_equals_string(segment, ".") && !slice_equals_string(segment, ".."));
        }
    }
    Request request = {0};
    if (query_parse(&call, target_query(slice_of(data, size)), request.query, &request.query_count) ==
        STATUS_OK) {
        for (size_t index = 0; index < request.query_count; index++) {
            assert_clean(request.query[index].name, "");
            assert_clean(request.query[index].value, "");
        }
    }
    return 0;
}
