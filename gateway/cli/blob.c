/* Happy path: hash the content → HEAD says how far the blob has come → PUT sends the next piece → … → the
 * last piece's answer says that the blob is whole.
 *
 * Failures: what passes (a lost connection, a busy gateway, another upload of the same bytes) is asked about
 * again, with growing pauses; each piece that arrives starts the patience anew. A gateway that does not
 * answer at all is not waited for. A file that changes while it is hashed or sent ends the upload; what the
 * gateway has of it ages there. */
#include "gateway/cli/blob.h"

#include <time.h>

#include "gateway/cli/api.h"
#include "gateway/cli/progress.h"
#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/base/text.h"

enum {
    WINDOW_SIZE = 1 << 20,
    TRIES_MAX = 8, /* without progress: about a minute and a half */
    PAUSE_MS = 500,
    PAUSE_MAX_MS = 20000,
    ASK_TIMEOUT_MS = 60000,
    HTTP_OK = 200,
    HTTP_ACCEPTED = 202,
    HTTP_NO_CONTENT = 204,
    HTTP_NOT_FOUND = 404,
    HTTP_TOO_MANY = 429,
};

static const uint64_t piece_size = (uint64_t)256 << 20;

/* One upload. */
typedef struct Upload {
    Cli *cli;
    Content *content;
    const char *label;
    const char *target;
    UploadedBlob blob;
    uint64_t offset;   /* what the gateway has */
    bool has_answered; /* the gateway has said so once */
    bool is_whole;
    Progress progress;
} Upload;

Status
blob_digest_parse(Cli *cli, const char *text, Sha256 *ret_digest)
{
    Slice slice = slice_from_string(text);
    return sha256_from_ref(slice, ret_digest) || sha256_from_hex(slice, ret_digest)
               ? STATUS_OK
               : cli_usage(cli, "'%s' is no digest, expected 'sha256:' and 64 lower-case hex digits", text);
}

static Status
hash_windows(Upload *upload, char *window, Sha256State *state)
{
    Call *call = upload->cli->call;
    Progress progress = progress_begin(text_format(call->arena, "%s: reading", upload->label));
    Status status = STATUS_OK;
    for (uint64_t done = 0; status == STATUS_OK && done < upload->blob.size;) {
        size_t count = 0;
        status = content_read(call, upload->content, done, window, WINDOW_SIZE, &count);
        sha256_update(state, slice_of(window, count));
        done += count;
        progress_show(&progress, &(HttpClientProgress){.sent = done, .send_total = upload->blob.size});
        status = status == STATUS_OK ? call_check(call, clock_monotonic_ns()) : status;
    }
    progress_end(&progress);
    return status;
}

static Status
hash_content(Upload *upload)
{
    AUTO_MEMORY char *window = memory_new(WINDOW_SIZE, 1);
    Sha256State *state = window == NULL ? NULL : sha256_begin();
    if (state == NULL) {
        return call_fail_memory(upload->cli->call, "a file");
    }
    Status status = hash_windows(upload, window, state);
    if (status != STATUS_OK) {
        sha256_abandon(state);
        return status;
    }
    sha256_end(state, &upload->blob.digest);
    return STATUS_OK;
}

/* Waits before the next try, a tenth of a second at a time, so that Ctrl-C ends it. */
static Status
pause_upload(Upload *upload, int tries)
{
    enum { STEP_MS = 100 };
    uint64_t pause_ms = (uint64_t)PAUSE_MS << (tries - 1);
    struct timespec step = {.tv_nsec = (long)(STEP_MS * CLOCK_NS_PER_MS)};
    pause_ms = pause_ms < PAUSE_MAX_MS ? pause_ms : PAUSE_MAX_MS;
    for (uint64_t waited_ms = 0; waited_ms < pause_ms; waited_ms += STEP_MS) {
        TRY(call_check(upload->cli->call, clock_monotonic_ns()));
        (void)nanosleep(&step, NULL);
    }
    return STATUS_OK;
}

/* Returns whether the tenant has sent more requests than it may in a second. A quota of bytes that is used up
 * has the same status, and does not pass. */
static bool
is_too_fast(const HttpClientResponse *reply)
{
    return reply->status == HTTP_TOO_MANY && http_client_header(reply, "RateLimit").data != NULL;
}

/* Sends a request, again after a pause when it comes too fast. */
static Status
send_request(Upload *upload, const ApiRequest *request, HttpClientResponse *ret_reply)
{
    Status status = api_send(upload->cli, request, ret_reply);
    for (int tries = 1; is_too_fast(ret_reply) && tries <= TRIES_MAX; tries++) {
        http_client_response_done(ret_reply);
        *ret_reply = (HttpClientResponse){0};
        TRY(pause_upload(upload, tries));
        status = api_send(upload->cli, request, ret_reply);
    }
    return status;
}

/* Fails for a refused HEAD, which has no words: with those that a GET gets, unless that is not refused. */
static Status
explain_refusal(Upload *upload, int http_status)
{
    AUTO_REPLY reply = {0};
    ApiRequest request = {.path = upload->target,
        .headers = (const char *const[]){"Range: bytes=0-0", NULL},
        .timeout_ms = ASK_TIMEOUT_MS};
    Status status = send_request(upload, &request, &reply);
    return status != STATUS_OK && reply.status != HTTP_NOT_FOUND
               ? status
               : call_fail(upload->cli->call, STATUS_UNAVAILABLE, "the gateway answered with status %d",
                     http_status);
}

/* Asks how far the blob has come. */
static Status
ask_offset(Upload *upload)
{
    AUTO_REPLY reply = {0};
    ApiRequest request = {
        .method = "HEAD", .path = upload->target, .takes_any_status = true, .timeout_ms = ASK_TIMEOUT_MS};
    TRY(send_request(upload, &request, &reply));
    switch (reply.status) {
    case HTTP_OK:
        upload->offset = upload->blob.size;
        upload->is_whole = true;
        break;
    case HTTP_NO_CONTENT:
        if (!slice_to_uint64(http_client_header(&reply, "Upload-Offset"), &upload->offset)) {
            return call_fail(
                upload->cli->call, STATUS_UNKNOWN, "the gateway does not say how far the upload is");
        }
        break;
    case HTTP_NOT_FOUND:
        upload->offset = 0;
        break;
    default:
        return explain_refusal(upload, reply.status);
    }
    upload->has_answered = true;
    return STATUS_OK;
}

/* Reads the piece that begins at upload->offset. */
static Status
read_piece(Call *call, void *context, uint64_t offset, char *room, size_t size, size_t *ret_count)
{
    const Upload *upload = context;
    return content_read(call, upload->content, upload->offset + offset, room, size, ret_count);
}

/* Sends the next piece; one without bytes asks the gateway to finish what it has. */
static Status
send_piece(Upload *upload)
{
    AUTO_REPLY reply = {0};
    Arena *arena = upload->cli->call->arena;
    uint64_t left = upload->blob.size - upload->offset;
    uint64_t size = left < piece_size ? left : piece_size;
    unsigned long long first = upload->offset;
    unsigned long long total = upload->blob.size;
    const char *range = size == 0 ? text_format(arena, "Content-Range: bytes */%llu", total)
                                  : text_format(arena, "Content-Range: bytes %llu-%llu/%llu", first,
                                        first + (unsigned long long)size - 1, total);
    if (range == NULL) {
        return call_fail_memory(upload->cli->call, "a request");
    }
    upload->progress.sent_before = upload->offset;
    HttpClientSource source = {.size = size, .read = read_piece, .context = upload};
    ApiRequest request = {
        .method = "PUT",
        .path = upload->target,
        .content_type = "application/octet-stream",
        .source = &source,
        .headers = (const char *const[]){range, NULL},
        .progress = &upload->progress,
    };
    TRY(send_request(upload, &request, &reply));
    upload->is_whole = reply.status != HTTP_ACCEPTED;
    upload->blob.was_there = false;
    return STATUS_OK;
}

/* Returns whether asking again may help. */
static bool
may_pass(const Upload *upload, Status status)
{
    bool is_passing = status == STATUS_UNAVAILABLE || status == STATUS_ABORTED ||
                      status == STATUS_DATA_LOSS || status == STATUS_DEADLINE_EXCEEDED ||
                      status == STATUS_UNKNOWN;
    return is_passing && upload->has_answered;
}

/* Waits for what has failed, and says what that is when it fails again. */
static Status
wait_after(Upload *upload, int tries)
{
    if (tries == 2) {
        progress_say(&upload->progress, upload->cli->call->error.message);
    }
    return pause_upload(upload, tries);
}

static Status
try_once(Upload *upload)
{
    TRY(ask_offset(upload));
    return upload->is_whole ? STATUS_OK : send_piece(upload);
}

/* Goes on until the blob is whole. */
static Status
send_all(Upload *upload)
{
    uint64_t reached = 0;
    for (int tries = 0; !upload->is_whole;) {
        Status status = try_once(upload);
        if (status != STATUS_OK && (!may_pass(upload, status) || tries == TRIES_MAX)) {
            return status;
        }
        bool has_moved = upload->offset > reached;
        reached = has_moved ? upload->offset : reached;
        tries = has_moved || status == STATUS_OK ? 0 : tries + 1;
        if (tries > 0) {
            TRY(wait_after(upload, tries));
        }
    }
    upload->cli->exit_code = EXIT_REFUSED; /* as it was before something passed */
    return STATUS_OK;
}

/* Explains a digest that the gateway found to be wrong by the file that changed, if one did; and says of an
 * upload that was stopped that it can go on. */
static Status
explain_failure(const Upload *upload, Status status)
{
    Cli *cli = upload->cli;
    if (status == STATUS_INVALID_ARGUMENT && content_check(cli->call, upload->content) != STATUS_OK) {
        return cli_fail(cli, EXIT_USAGE, status);
    }
    if (status == STATUS_CANCELLED) {
        status = call_fail(cli->call, status,
            "interrupted: '%s' goes on where it was when the command is given again", upload->label);
        return cli_fail(cli, EXIT_INTERRUPTED, status);
    }
    return status;
}

static Status
send_content(Upload *upload)
{
    char hex[SHA256_HEX_SIZE];
    sha256_to_hex(&upload->blob.digest, hex);
    upload->target = text_format(upload->cli->call->arena, "/api/v1/blobs/%s", hex);
    if (upload->target == NULL) {
        return call_fail_memory(upload->cli->call, "a request");
    }
    upload->progress = progress_begin(upload->label);
    upload->progress.send_total = upload->blob.size;
    Status status = send_all(upload);
    progress_end(&upload->progress);
    return status == STATUS_OK ? STATUS_OK : explain_failure(upload, status);
}

Status
blob_upload(Cli *cli, Content *content, const char *label, UploadedBlob *ret_blob)
{
    Upload upload = {
        .cli = cli, .content = content, .label = label, .blob = {.size = content->size, .was_there = true}};
    Status hashed = hash_content(&upload);
    if (hashed == STATUS_CANCELLED) {
        return cli_fail(cli, EXIT_INTERRUPTED, call_fail(cli->call, hashed, "interrupted"));
    }
    if (hashed != STATUS_OK) {
        return cli_fail(cli, EXIT_USAGE, hashed);
    }
    TRY(send_content(&upload));
    *ret_blob = upload.blob;
    return STATUS_OK;
}
