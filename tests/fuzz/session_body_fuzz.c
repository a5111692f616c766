/* Fuzzes the request that creates or changes a session: it is refused with a reason, or gives options that
 * are within bounds and that the planner can read from the database again. */
#include <assert.h>

#include "gateway/sessions/session_options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Limits limits = limits_default();
    AUTO_ARENA arena = arena_new(4 << 20);
    Call call = {.arena = arena};
    SessionBody body = {0};
    SessionOptions options = {0};
    assert(arena != NULL);
    if (session_body_read(&call, slice_of(data, size), &limits, &body) != STATUS_OK) {
        assert(call.error.message[0] != '\0');
        return 0;
    }
    assert(body.name == NULL || strlen(body.name) <= limits.name_bytes);
    if (body.options != NULL) {
        Status status = session_options_read(&call, slice_from_string(body.options), &options);
        assert(status == STATUS_OK && options.plan.slot_count <= limits.session_slots);
    }
    return 0;
}
