/* Fuzzes a step's request as a form with the boundary "b"; the first byte is the size of the pieces that
 * arrive. In pieces or whole it is the same request, or is refused in the same way. */
#include <assert.h>

#include <string.h>

#include "gateway/steps/step_upload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static Limits limits;

typedef struct Reading {
    Call call; /* with an arena of its own */
    StepUpload *upload;
    Status status;
} Reading;

static Status
upload(Reading *reading, const Request *request, Slice body, size_t piece_size)
{
    Call *call = &reading->call;
    void *state = NULL;
    TRY(step_upload_begin(call, request, &limits, &state));
    reading->upload = state;
    for (size_t start = 0; start < body.size; start += piece_size) {
        TRY(step_upload_write(call, state, slice_part(body, start, piece_size)));
    }
    return step_upload_end(call, state);
}

static Reading
read_body(const Request *request, Slice body, size_t piece_size)
{
    Reading reading = {.call.arena = arena_new(4 << 20)};
    assert(reading.call.arena != NULL);
    reading.status = upload(&reading, request, body, piece_size);
    return reading;
}

static void
compare(const Reading *left, const Reading *right)
{
    assert(left->status == right->status);
    if (left->status != STATUS_OK) {
        return;
    }
    assert(memcmp(&left->upload->digest, &right->upload->digest, sizeof left->upload->digest) == 0);
    assert(left->upload->feed_count == right->upload->feed_count);
    for (size_t index = 0; index < left->upload->feed_count; index++) {
        assert(tensor_equal(&left->upload->feeds[index].tensor, &right->upload->feeds[index].tensor));
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    limits = limits_default();
    limits.step_feeds = 3;
    limits.step_body_bytes = 1 << 16;
    limits.json_body_bytes = 64;
    Request request = {
        .headers = {{SLICE("Content-Type"), SLICE("multipart/form-data; boundary=b")},
            {SLICE("Idempotency-Key"), SLICE("k")}},
        .header_count = 2,
    };
    size_t piece_size = size == 0 ? 1 : (size_t)data[0] + 1;
    Slice body = size == 0 ? SLICE("") : slice_of(data + 1, size - 1);
    Reading whole = read_body(&request, body, body.size + 1);
    Reading pieces = read_body(&request, body, piece_size);
    compare(&whole, &pieces);
    arena_free(whole.call.arena);
    arena_free(pieces.call.arena);
    return 0;
}
