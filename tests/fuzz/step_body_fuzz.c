/* Fuzzes the request of a step: any bytes are refused with a reason or stay within the limits. The text is
 * copied, so that a sanitizer knows its end. */
#include <assert.h>
#include <string.h>

#include "gateway/steps/step_body.h"
#include "shared/base/memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_SIZE_MAX = 16 << 20 };

static size_t
touch(Slice slice)
{
    size_t sum = 0;
    for (size_t index = 0; index < slice.size; index++) {
        sum += (unsigned char)slice.data[index];
    }
    return sum;
}

static void
check(const StepBody *body, const Limits *limits)
{
    size_t sum = touch(body->graph);
    assert(body->feed_count <= limits->step_feeds);
    assert(body->fetch_count <= limits->step_fetches);
    assert(body->target_count <= limits->step_fetches);
    assert(body->timeout_ms > 0 && body->timeout_ms <= limits->step_timeout_ms);
    assert(body->priority >= 0 && body->priority <= 2);
    for (size_t index = 0; index < body->feed_count; index++) {
        sum += touch(body->feeds[index].name) + touch(body->feeds[index].json);
    }
    for (size_t index = 0; index < body->fetch_count; index++) {
        sum += touch(body->fetches[index]);
    }
    for (size_t index = 0; index < body->target_count; index++) {
        sum += touch(body->targets[index]);
    }
    assert(sum < SIZE_MAX);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* The limits are low, so that they are reached. */
    Limits limits = limits_default();
    limits.step_feeds = 9;
    limits.step_fetches = 9;
    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    AUTO_MEMORY char *copy = memory_new(1, size + 1);
    Call call = {.arena = arena};
    StepBody body = {0};
    assert(arena != NULL && copy != NULL);
    memcpy(copy, data, size);
    if (step_body_read(&call, slice_of(copy, size), &limits, &body) == STATUS_OK) {
        check(&body, &limits);
    } else {
        assert(call.error.message[0] != '\0');
    }
    return 0;
}
