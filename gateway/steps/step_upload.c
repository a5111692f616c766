#include "gateway/steps/step_upload.h"

#include <assert.h>
#include <string.h>

#include "shared/base/text.h"

static void
upload_release(void *resource)
{
    StepUpload *upload = resource;
    for (size_t index = 0; index < upload->feed_count; index++) {
        tensor_unref(&upload->feeds[index].tensor);
    }
    npy_reader_done(&upload->reader);
    npy_check_done(&upload->check);
    sha256_abandon(upload->digesting);
    buffer_done(&upload->request);
}

static Status
wrap_feed(Call *call, Slice name)
{
    return call_wrap(call, "feed '%.*s'", SLICE_PRINT(slice_part(name, 0, 128)));
}

static Status
request_begin(Call *call, StepUpload *upload)
{
    if (upload->has_request) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the form has two parts 'request'");
    }
    upload->has_request = true;
    upload->is_in_request = true;
    return STATUS_OK;
}

/* Returns room for one more feed; doubles the list in the arena when it is full. */
static UploadedFeed *
feed_room(Call *call, StepUpload *upload)
{
    enum { FIRST = 4 };
    size_t count = upload->feed_count;
    bool is_full = count == 0 || (count >= FIRST && (count & (count - 1)) == 0);
    if (!is_full) {
        return &upload->feeds[count];
    }
    UploadedFeed *larger = arena_alloc(call->arena, (count < FIRST ? FIRST : count * 2) * sizeof *larger);
    if (larger == NULL) {
        return NULL;
    }
    if (count > 0) {
        memcpy(larger, upload->feeds, count * sizeof *larger);
    }
    upload->feeds = larger;
    return &larger[count];
}

/* Finds an uploaded feed by its name; NULL: it has not come. */
static const UploadedFeed *
find_uploaded(const StepUpload *upload, Slice name)
{
    for (size_t index = 0; index < upload->feed_count; index++) {
        if (slice_equal(upload->feeds[index].name, name)) {
            return &upload->feeds[index];
        }
    }
    return NULL;
}

static Status
feed_begin(Call *call, StepUpload *upload, const MultipartPart *part)
{
    static const char *const types[] = {"", "application/x-npy", "application/octet-stream"};
    bool is_npy = false;
    for (size_t index = 0; index < COUNT_OF(types); index++) {
        is_npy = is_npy || slice_equal_ignoring_case(part->media_type, slice_from_string(types[index]));
    }
    if (!is_npy) {
        (void)!call_fail(call, STATUS_INVALID_ARGUMENT,
            "its Content-Type is '%.*s', not 'application/x-npy'; the JSON of the step is the part 'request'",
            SLICE_PRINT(slice_part(part->media_type, 0, 128)));
        return wrap_feed(call, part->name);
    }
    if (find_uploaded(upload, part->name) != NULL) {
        (void)!call_fail(call, STATUS_INVALID_ARGUMENT, "it comes twice");
        return wrap_feed(call, part->name);
    }
    UploadedFeed *feed = feed_room(call, upload);
    const char *name = text_copy(call->arena, part->name);
    if (feed == NULL || name == NULL) {
        return call_fail_memory(call, "the feeds of a step");
    }
    *feed = (UploadedFeed){.name = slice_of(name, part->name.size)};
    upload->feed_count++;
    upload->is_in_request = false;
    return STATUS_OK;
}

static void
digest_update(const StepUpload *upload, Slice bytes)
{
    if (upload->digesting != NULL) {
        sha256_update(upload->digesting, bytes);
    }
}

/* Adds a size to the digest, which keeps parts and their names apart. */
static void
digest_update_size(const StepUpload *upload, uint64_t size)
{
    digest_update(upload, slice_of(&size, sizeof size));
}

static Status
part_begin(Call *call, void *context, const MultipartPart *part)
{
    StepUpload *upload = context;
    upload->part_size = 0;
    digest_update_size(upload, part->name.size);
    digest_update(upload, part->name);
    return slice_equals_string(part->name, "request") ? request_begin(call, context)
                                                      : feed_begin(call, context, part);
}

/* Takes what the header lacks of the piece, and asks the taker when it is complete. */
static Status
feed_take_head(Call *call, StepUpload *upload, Slice *piece)
{
    NpyHead *head = &upload->reader.head;
    if (upload->taker == NULL || head->described.dtype != DTYPE_INVALID) {
        return STATUS_OK;
    }
    TRY(npy_head_write(call, head, piece, (size_t)upload->limits->step_body_bytes));
    upload->rest_size = piece->size;
    if (head->described.dtype != DTYPE_INVALID) {
        TRY(upload->taker->begin(upload, head, &upload->is_taken));
    }
    if (upload->is_taken) {
        upload->check = (NpyCheck){.head = *head};
        *head = (NpyHead){0};
    }
    return STATUS_OK;
}

static Status
feed_take(Call *call, StepUpload *upload, Slice piece)
{
    size_t size_max = (size_t)upload->limits->step_body_bytes;
    if (!upload->is_taken) {
        TRY(feed_take_head(call, upload, &piece));
    }
    if (!upload->is_taken) {
        return npy_reader_write(call, &upload->reader, piece, size_max);
    }
    TRY(npy_check_write(call, &upload->check, piece, size_max));
    return piece.size == 0 ? STATUS_OK : upload->taker->piece(upload, piece);
}

static Status
part_take(Call *call, void *context, Slice piece)
{
    StepUpload *upload = context;
    upload->part_size += piece.size;
    digest_update(upload, piece);
    if (!upload->is_in_request) {
        Status status = feed_take(call, upload, piece);
        upload->kept_size += upload->is_taken ? 0 : piece.size;
        return status == STATUS_OK ? status : wrap_feed(call, upload->feeds[upload->feed_count - 1].name);
    }
    if (piece.size > upload->limits->json_body_bytes - upload->request.size) {
        return call_fail(call, STATUS_OUT_OF_RANGE, "the limit json_body_bytes is %llu bytes",
            (unsigned long long)upload->limits->json_body_bytes);
    }
    upload->kept_size += piece.size;
    buffer_append_slice(&upload->request, piece);
    return buffer_is_ok(&upload->request) ? STATUS_OK : call_fail_memory(call, "the request of a step");
}

static Status
feed_end(Call *call, StepUpload *upload, UploadedFeed *feed)
{
    if (!upload->is_taken) {
        TRY(npy_reader_end(call, &upload->reader, &feed->tensor));
        return upload->taker == NULL ? STATUS_OK : upload->taker->whole(upload, feed);
    }
    TRY(npy_check_end(call, &upload->check));
    npy_check_done(&upload->check);
    upload->is_taken = false;
    return upload->taker->end(upload);
}

static Status
part_end(Call *call, void *context)
{
    StepUpload *upload = context;
    digest_update_size(upload, upload->part_size);
    if (upload->is_in_request) {
        return STATUS_OK;
    }
    UploadedFeed *feed = &upload->feeds[upload->feed_count - 1];
    Status status = feed_end(call, upload, feed);
    return status == STATUS_OK ? status : wrap_feed(call, feed->name);
}

Status
step_upload_begin(Call *call, const Request *request, const Limits *limits, void **ret_upload)
{
    static const MultipartEvents events = {
        .on_part = part_begin, .on_data = part_take, .on_part_end = part_end};
    StepUpload *upload = arena_alloc(call->arena, sizeof *upload);
    if (upload == NULL || arena_defer(call->arena, upload_release, upload) == NULL) {
        return call_fail_memory(call, "a form");
    }
    upload->limits = limits;
    if (request_header(request, "Idempotency-Key").data != NULL) {
        upload->digesting = sha256_begin();
        if (upload->digesting == NULL) {
            return call_fail_memory(call, "the digest of a form");
        }
    }
    MultipartOptions options = {
        .part_count_max = (size_t)upload->limits->step_feeds + 1,
        .part_limit = "step_feeds, and the request",
        .events = &events,
        .context = upload,
    };
    TRY(multipart_boundary(call, request_header(request, "Content-Type"), &options.boundary));
    upload->boundary = options.boundary;
    TRY(multipart_new(call, &options, &upload->multipart));
    *ret_upload = upload;
    return STATUS_OK;
}

Status
step_upload_write(Call *call, void *state, Slice piece)
{
    StepUpload *upload = state;
    upload->size += piece.size;
    if (upload->size > upload->limits->step_body_bytes) {
        return call_fail(call, STATUS_OUT_OF_RANGE, "the limit step_body_bytes is %llu bytes",
            (unsigned long long)upload->limits->step_body_bytes);
    }
    return multipart_write(call, upload->multipart, piece);
}

size_t
step_upload_kept_size(const void *state)
{
    const StepUpload *upload = state;
    return upload->kept_size;
}

Status
step_upload_end(Call *call, StepUpload *upload)
{
    assert(upload->multipart != NULL);

    TRY(multipart_end(call, upload->multipart));
    if (upload->digesting != NULL) {
        sha256_end(TAKE(upload->digesting), &upload->digest);
    }
    return upload->has_request ? STATUS_OK
                               : call_fail(call, STATUS_INVALID_ARGUMENT, "the form has no part 'request'");
}

/* Counts the parts that were told of and have not come. */
static size_t
count_missing(const StepUpload *upload, const StepBody *body)
{
    size_t count = 0;
    for (size_t index = 0; index < body->part_count; index++) {
        count += find_uploaded(upload, body->parts[index]) == NULL ? 1 : 0;
    }
    return count;
}

static bool
is_told(const StepBody *body, Slice name)
{
    for (size_t index = 0; index < body->part_count; index++) {
        if (slice_equal(body->parts[index], name)) {
            return true;
        }
    }
    return false;
}

/* Compares what has come with what the request tells of. */
Status
step_upload_check_parts(Call *call, const StepUpload *upload, const StepBody *body, bool is_whole)
{
    for (size_t index = 0; index < body->part_count && is_whole; index++) {
        if (find_uploaded(upload, body->parts[index]) == NULL) {
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "the form has no part '%.*s', which 'parts' names",
                SLICE_PRINT(slice_part(body->parts[index], 0, 128)));
        }
    }
    for (size_t index = 0; index < upload->feed_count && body->part_count > 0; index++) {
        if (!is_told(body, upload->feeds[index].name)) {
            return call_fail(call, STATUS_INVALID_ARGUMENT,
                "the form has a part '%.*s', which 'parts' does not name",
                SLICE_PRINT(slice_part(upload->feeds[index].name, 0, 128)));
        }
    }
    return STATUS_OK;
}

Status
step_upload_add_feeds(Call *call, const StepUpload *upload, StepBody *body)
{
    size_t count = body->feed_count + upload->feed_count + count_missing(upload, body);
    if (count > upload->limits->step_feeds) {
        return call_fail(call, STATUS_OUT_OF_RANGE, "the limit step_feeds is %llu tensors",
            (unsigned long long)upload->limits->step_feeds);
    }
    StepFeedText *feeds = arena_alloc(call->arena, (count + 1) * sizeof *feeds);
    if (feeds == NULL) {
        return call_fail_memory(call, "the feeds of a step");
    }
    if (body->feed_count > 0) {
        memcpy(feeds, body->feeds, body->feed_count * sizeof *feeds);
    }
    StepFeedText *next = feeds + body->feed_count;
    for (size_t index = 0; index < upload->feed_count; index++) {
        const UploadedFeed *feed = &upload->feeds[index];
        bool comes = feed->tensor.dtype == DTYPE_INVALID; /* the last one, which is being taken */
        *next++ = (StepFeedText){
            .name = feed->name,
            .tensor = comes ? upload->check.head.described : feed->tensor,
            .comes = comes,
        };
    }
    for (size_t index = 0; index < body->part_count; index++) {
        if (find_uploaded(upload, body->parts[index]) == NULL) {
            *next++ = (StepFeedText){.name = body->parts[index], .comes = true};
        }
    }
    body->feeds = feeds;
    body->feed_count = count;
    return STATUS_OK;
}
