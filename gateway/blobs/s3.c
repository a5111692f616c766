/* The backend that keeps each blob as an object of an S3-compatible store: "s3:<key>", by multipart uploads.
 *
 * Happy path: CreateMultipartUpload, whose id is the upload's state → UploadPart for each part, whose ETags
 * are its tags → CompleteMultipartUpload → GetObject with a Range.
 *
 * Failures: a request that got no answer, or one that says "later" (429, 5xx), is sent again a few times,
 * with growing pauses and within the call's deadline: each of them may be repeated. A part that two gateways
 * sent has the ETag of the last one, so that completing fails unless that is the one which the row knows. An
 * upload that is given up is aborted by its key, which no other blob ever has, since the id may have been
 * lost with a gateway. */
#include <assert.h>
#include <string.h>
#include <time.h>

#include "gateway/blobs/backends.h"
#include "shared/base/clock.h"
#include "shared/base/list.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "shared/base/random.h"
#include "shared/base/text.h"
#include "shared/httpclient/http_client.h"

enum {
    PART_SIZE_MIN = 8 << 20,
    PART_SIZE_MAX = 64 << 20,
    PARTS_MAX = 10000, /* of an upload, as S3 has it */
    CLIENTS_KEPT_MAX = 16,
    TRIES_MAX = 5,
    PAUSE_MS = 100, /* before the second try; then twice as long, and so on */
    TRY_TIMEOUT_MS = 60000,
    STALL_TIMEOUT_MS = 30000,
    JOIN_TIMEOUT_MS = 600000, /* a store may join parts for minutes, and send nothing meanwhile */
    CONNECT_TIMEOUT_MS = 5000,
    DOCUMENT_SIZE_MAX = 4 << 20,
    TEXTS_SIZE_MAX = 64 * 1024,
    HTTP_NOT_FOUND = 404,
    HTTP_TOO_MANY = 429,
    HTTP_ERROR_MIN = 300,
    HTTP_SERVER_ERROR_MIN = 500,
};

typedef struct IdleClient {
    ListLink link;
    HttpClient *client;
} IdleClient;

typedef struct S3 {
    BlobBackend backend; /* first */
    Arena *arena;        /* of the texts */
    const char *root;    /* "https://host/bucket" */
    const char *prefix;  /* of the keys: "" or "models/" */
    HttpClientSigning signing;
    Mutex mutex; /* guards the members below */
    ListLink idle;
    size_t idle_count;
} S3;

static const char scheme_prefix[] = "s3:";

typedef struct S3Request {
    const char *method;
    const char *location; /* NULL: the bucket itself */
    const char *query;    /* sorted and escaped; NULL: none */
    const char *range;    /* a header; NULL: none */
    Slice body;
    size_t answer_size_max;
    bool joins; /* makes an object of all its parts */
} S3Request;

static HttpClient *
take_client(S3 *s3)
{
    static const HttpClientOptions options = {
        .user_agent = "sluice-gateway", .connect_timeout_ms = CONNECT_TIMEOUT_MS};
    mutex_lock(&s3->mutex);
    ListLink *link = list_first(&s3->idle);
    if (link != NULL) {
        list_remove(link);
        s3->idle_count--;
    }
    mutex_unlock(&s3->mutex);
    if (link == NULL) {
        return http_client_new(&options);
    }
    IdleClient *idle = LIST_ITEM(link, IdleClient, link);
    HttpClient *client = idle->client;
    memory_free(idle);
    return client;
}

/* Keeps a client, with its connections, for the next request. */
static void
give_client(S3 *s3, HttpClient *client)
{
    IdleClient *idle = memory_new(1, sizeof *idle);
    mutex_lock(&s3->mutex);
    bool is_kept = idle != NULL && s3->idle_count < CLIENTS_KEPT_MAX;
    if (is_kept) {
        idle->client = client;
        list_append(&s3->idle, &idle->link);
        s3->idle_count++;
    }
    mutex_unlock(&s3->mutex);
    if (!is_kept) {
        memory_free(idle);
        http_client_free(client);
    }
}

/* Returns what stands between <name> and </name>, from *rest on, and moves *rest behind it; data is NULL when
 * there is no more. S3's documents have no attributes on the elements that are asked for. */
static Slice
next_element(Slice *rest, const char *name)
{
    size_t size = strlen(name);
    for (size_t at = slice_find(*rest, '<'); at < rest->size; at = slice_find(*rest, '<')) {
        Slice inside = slice_part(*rest, at + 1, rest->size);
        *rest = inside;
        if (!slice_starts_with(inside, slice_of(name, size)) || inside.size <= size ||
            inside.data[size] != '>') {
            continue;
        }
        Slice content = slice_part(inside, size + 1, inside.size);
        size_t end = slice_find(content, '<');
        *rest = slice_part(content, end, content.size);
        return slice_part(content, 0, end);
    }
    return (Slice){0};
}

static Slice
find_element(const HttpClientResponse *response, const char *name)
{
    Slice rest = buffer_slice(&response->body);
    return next_element(&rest, name);
}

/* Fails with what the store said. An error behind a head of success may pass, as the 5xx that it would have
 * been (CompleteMultipartUpload in the API reference of Amazon S3). */
static Status
fail_answer(Call *call, const S3Request *request, const HttpClientResponse *response)
{
    Slice code = find_element(response, "Code");
    Slice message = find_element(response, "Message");
    bool is_late = response->status < HTTP_ERROR_MIN; /* the head was sent before the work was done */
    bool is_passing =
        is_late || response->status >= HTTP_SERVER_ERROR_MIN || response->status == HTTP_TOO_MANY;
    Status status = is_passing                           ? STATUS_UNAVAILABLE
                    : response->status == HTTP_NOT_FOUND ? STATUS_NOT_FOUND
                                                         : STATUS_FAILED_PRECONDITION;
    return call_fail(call, status, "the blob store answered %s with status %d: %.*s: %.*s", request->method,
        response->status, SLICE_PRINT(slice_part(code, 0, 80)), SLICE_PRINT(slice_part(message, 0, 200)));
}

/* Sends a request once. */
static Status
send_once(Call *call, S3 *s3, const S3Request *request, HttpClientResponse *ret_response)
{
    Sha256 digest;
    char hex[SHA256_HEX_SIZE];
    sha256(request->body.data == NULL ? SLICE("") : request->body, &digest);
    sha256_to_hex(&digest, hex);
    const char *key = request->location == NULL ? "" : request->location + sizeof scheme_prefix - 1;
    const char *url = text_format(call->arena, "%s%s%s%s%s", s3->root, request->location == NULL ? "" : "/",
        key, request->query == NULL ? "" : "?", request->query == NULL ? "" : request->query);
    const char *headers[] = {text_format(call->arena, "x-amz-content-sha256: %s", hex), request->range, NULL};
    HttpClient *client = take_client(s3);
    if (url == NULL || headers[0] == NULL || client == NULL) {
        http_client_free(client);
        return call_fail_memory(call, "a request to the blob store");
    }
    HttpClientRequest http = {
        .method = request->method,
        .url = url,
        .content_type = "application/octet-stream",
        .headers = headers,
        .body = request->body,
        .response_size_max = request->answer_size_max == 0 ? DOCUMENT_SIZE_MAX : request->answer_size_max,
        .timeout_ms = request->joins ? JOIN_TIMEOUT_MS : TRY_TIMEOUT_MS,
        .stall_timeout_ms = request->joins ? JOIN_TIMEOUT_MS : STALL_TIMEOUT_MS,
        .signing = &s3->signing,
    };
    Status status = http_client_send(call, client, &http, ret_response);
    give_client(s3, client);
    TRY(status);
    return ret_response->status < HTTP_ERROR_MIN ? STATUS_OK : fail_answer(call, request, ret_response);
}

/* Waits before try number `count`, with jitter; false when the call has no time for that. */
static bool
pause_before(const Call *call, int count)
{
    uint64_t pause_ns = ((uint64_t)PAUSE_MS << (count - 1)) * CLOCK_NS_PER_MS;
    pause_ns = pause_ns / 2 + random_uint64() % pause_ns;
    if (call_time_left_ns(call, clock_monotonic_ns()) <= pause_ns) {
        return false;
    }
    struct timespec pause = {
        .tv_sec = (time_t)(pause_ns / CLOCK_NS_PER_S), .tv_nsec = (long)(pause_ns % CLOCK_NS_PER_S)};
    (void)nanosleep(&pause, NULL);
    return true;
}

/* Returns whether another try may help. */
static bool
is_passing(Status status)
{
    return status == STATUS_UNAVAILABLE || status == STATUS_DATA_LOSS || status == STATUS_DEADLINE_EXCEEDED;
}

/* Sends a request until it is answered, within the call's time. The caller frees the response, also of a
 * failure. */
static Status
send_request(Call *call, S3 *s3, const S3Request *request, HttpClientResponse *ret_response)
{
    Status status = send_once(call, s3, request, ret_response);
    for (int count = 1; count < TRIES_MAX && is_passing(status) && pause_before(call, count); count++) {
        http_client_response_done(ret_response);
        *ret_response = (HttpClientResponse){0};
        status = send_once(call, s3, request, ret_response);
    }
    return status == STATUS_DATA_LOSS
               ? call_fail(call, STATUS_UNAVAILABLE, "the blob store cuts its answers short")
               : status;
}

static size_t
choose_part_size(const BlobBackend *backend, uint64_t size)
{
    enum { UNIT = 1 << 20 };
    (void)backend;
    uint64_t least = (size + PARTS_MAX - 1) / PARTS_MAX;
    uint64_t part_size = (least + UNIT - 1) / UNIT * UNIT;
    if (part_size > PART_SIZE_MAX) {
        return 0;
    }
    return part_size < PART_SIZE_MIN ? PART_SIZE_MIN : (size_t)part_size;
}

static Status
make_location(
    Call *call, const BlobBackend *backend, TenantId tenant, const Sha256 *digest, const char **ret_location)
{
    const S3 *s3 = (const S3 *)backend;
    LocationNames names = location_names(tenant, digest);
    const char *location = text_format(
        call->arena, "%s%s%s/%s-%s", scheme_prefix, s3->prefix, names.tenant, names.digest, names.id);
    if (location == NULL) {
        return call_fail_memory(call, "a blob");
    }
    *ret_location = location;
    return STATUS_OK;
}

static Status
begin_upload(Call *call, BlobBackend *backend, const BlobObject *object, const char **ret_state)
{
    AUTO_HTTP_CLIENT_RESPONSE response = {0};
    S3Request request = {.method = "POST", .location = object->location, .query = "uploads="};
    TRY(send_request(call, (S3 *)backend, &request, &response));
    Slice id = find_element(&response, "UploadId");
    if (id.size == 0) {
        return call_fail(call, STATUS_UNAVAILABLE, "the blob store began an upload without an id");
    }
    const char *state = text_copy(call->arena, id);
    if (state == NULL) {
        return call_fail_memory(call, "an upload");
    }
    *ret_state = state;
    return STATUS_OK;
}

static Status
write_part(
    Call *call, BlobBackend *backend, const BlobObject *object, const BlobPart *part, const char **ret_tag)
{
    AUTO_BUFFER query = {0};
    AUTO_HTTP_CLIENT_RESPONSE response = {0};
    buffer_append_format(&query, "partNumber=%llu&uploadId=", (unsigned long long)part->number + 1);
    buffer_append_escaped(&query, slice_from_string(object->state));
    S3Request request = {.method = "PUT",
        .location = object->location,
        .query = buffer_string(&query),
        .body = part->bytes.data == NULL ? SLICE("") : part->bytes};
    if (request.query == NULL) {
        return call_fail_memory(call, "a request to the blob store");
    }
    TRY(send_request(call, (S3 *)backend, &request, &response));
    Slice tag = http_client_header(&response, "ETag");
    const char *text = text_copy(call->arena, tag);
    if (tag.size == 0 || text == NULL) {
        return call_fail(call, STATUS_UNAVAILABLE, "the blob store took a part without an ETag");
    }
    *ret_tag = text;
    return STATUS_OK;
}

/* Returns OK when the object is there with its size: an end that was answered to nobody. */
static Status
check_object(Call *call, S3 *s3, const BlobObject *object, const BlobParts *parts)
{
    uint64_t size = 0;
    AUTO_HTTP_CLIENT_RESPONSE response = {0};
    S3Request request = {.method = "HEAD", .location = object->location};
    Status status = send_request(call, s3, &request, &response);
    if (status == STATUS_NOT_FOUND) {
        return call_fail(call, STATUS_FAILED_PRECONDITION,
            "the blob store has lost the upload: end it with DELETE to begin anew");
    }
    TRY(status);
    bool is_whole =
        slice_to_uint64(http_client_header(&response, "Content-Length"), &size) && size == parts->size;
    return is_whole ? STATUS_OK
                    : call_fail(call, STATUS_DATA_LOSS,
                          "the blob store has %llu bytes, not the %llu that were written",
                          (unsigned long long)size, (unsigned long long)parts->size);
}

static Status
complete_upload(Call *call, S3 *s3, const BlobObject *object, const char *query, Slice document)
{
    AUTO_HTTP_CLIENT_RESPONSE response = {0};
    S3Request request = {
        .method = "POST", .location = object->location, .query = query, .body = document, .joins = true};
    TRY(send_request(call, s3, &request, &response));
    return find_element(&response, "ETag").size > 0 ? STATUS_OK : fail_answer(call, &request, &response);
}

static Status
finish_upload(Call *call, BlobBackend *backend, const BlobObject *object, const BlobParts *parts)
{
    S3 *s3 = (S3 *)backend;
    AUTO_BUFFER query = {0};
    AUTO_BUFFER document = {0};
    buffer_append_string(&query, "uploadId=");
    buffer_append_escaped(&query, slice_from_string(object->state));
    buffer_append_string(&document, "<CompleteMultipartUpload>");
    for (size_t index = 0; index < parts->count; index++) {
        buffer_append_format(&document, "<Part><PartNumber>%zu</PartNumber><ETag>%s</ETag></Part>", index + 1,
            parts->tags[index]);
    }
    buffer_append_string(&document, "</CompleteMultipartUpload>");
    if (buffer_string(&query) == NULL || !buffer_is_ok(&document)) {
        return call_fail_memory(call, "a request to the blob store");
    }
    Status status = complete_upload(call, s3, object, buffer_string(&query), buffer_slice(&document));
    return status == STATUS_NOT_FOUND ? check_object(call, s3, object, parts) : status;
}

static Status
read_object(Call *call, BlobBackend *backend, const BlobObject *object, BlobRange range, Buffer *ret_bytes)
{
    AUTO_HTTP_CLIENT_RESPONSE response = {0};
    S3Request request = {.method = "GET",
        .location = object->location,
        .answer_size_max = range.size < DOCUMENT_SIZE_MAX ? DOCUMENT_SIZE_MAX : range.size,
        .range = text_format(call->arena, "Range: bytes=%llu-%llu", (unsigned long long)range.offset,
            (unsigned long long)(range.offset + range.size - 1))};
    if (request.range == NULL) {
        return call_fail_memory(call, "a request to the blob store");
    }
    Status status = send_request(call, (S3 *)backend, &request, &response);
    if (status == STATUS_NOT_FOUND) {
        return call_fail(call, STATUS_DATA_LOSS, "the blob's object '%s' is not there", object->location);
    }
    TRY(status);
    if (response.body.size != range.size) {
        return call_fail(call, STATUS_DATA_LOSS, "the blob store sent %zu bytes, %zu were asked for",
            response.body.size, range.size);
    }
    buffer_append_slice(ret_bytes, buffer_slice(&response.body));
    return buffer_is_ok(ret_bytes) ? STATUS_OK : call_fail_memory(call, "the bytes of a blob");
}

static Status
abort_upload(Call *call, S3 *s3, const BlobObject *object, Slice id)
{
    AUTO_BUFFER query = {0};
    AUTO_HTTP_CLIENT_RESPONSE response = {0};
    buffer_append_string(&query, "uploadId=");
    buffer_append_escaped(&query, id);
    S3Request request = {.method = "DELETE", .location = object->location, .query = buffer_string(&query)};
    if (request.query == NULL) {
        return call_fail_memory(call, "a request to the blob store");
    }
    Status status = send_request(call, s3, &request, &response);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

/* Aborts all multipart uploads of the key. */
static Status
abort_uploads(Call *call, S3 *s3, const BlobObject *object)
{
    AUTO_BUFFER query = {0};
    AUTO_HTTP_CLIENT_RESPONSE response = {0};
    Slice id;
    buffer_append_string(&query, "prefix=");
    buffer_append_escaped(&query, slice_from_string(object->location + sizeof scheme_prefix - 1));
    buffer_append_string(&query, "&uploads=");
    S3Request request = {.method = "GET", .query = buffer_string(&query)};
    if (request.query == NULL) {
        return call_fail_memory(call, "a request to the blob store");
    }
    TRY(send_request(call, s3, &request, &response));
    Slice rest = buffer_slice(&response.body);
    while ((id = next_element(&rest, "UploadId")).size > 0) {
        TRY(abort_upload(call, s3, object, id));
    }
    return STATUS_OK;
}

static Status
remove_object(Call *call, BlobBackend *backend, const BlobObject *object)
{
    S3 *s3 = (S3 *)backend;
    AUTO_HTTP_CLIENT_RESPONSE response = {0};
    S3Request request = {.method = "DELETE", .location = object->location};
    TRY(abort_uploads(call, s3, object));
    Status status = send_request(call, s3, &request, &response);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

static void
free_s3(BlobBackend *backend)
{
    S3 *s3 = (S3 *)backend;
    LIST_EACH(&s3->idle, link)
    {
        IdleClient *idle = LIST_ITEM(link, IdleClient, link);
        http_client_free(idle->client);
        memory_free(idle);
    }
    mutex_done(&s3->mutex);
    arena_free(s3->arena);
    memory_free(s3);
}

/* Returns whether a bucket or prefix needs no escaping in a URL. */
static bool
is_plain(Slice text)
{
    for (size_t index = 0; index < text.size; index++) {
        char byte = text.data[index];
        bool is_name = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
                       (byte >= 'A' && byte <= 'Z') || byte == '-' || byte == '.' || byte == '_' ||
                       byte == '/';
        if (!is_name) {
            return false;
        }
    }
    return true;
}

static Status
check_settings(Call *call, const S3Options *options, const char *path)
{
    Slice endpoint = slice_from_string(options->endpoint == NULL ? "" : options->endpoint);
    bool is_url =
        slice_starts_with(endpoint, SLICE("http://")) || slice_starts_with(endpoint, SLICE("https://"));
    if (!is_url || slice_ends_with(endpoint, SLICE("/"))) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "--s3-endpoint is '%.*s', expected http:// or https://, a host, and no slash at the end",
            SLICE_PRINT(endpoint));
    }
    if (options->key_id == NULL || options->secret == NULL) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "--blob-store s3://… needs --s3-key-id and --s3-secret-file");
    }
    if (path[0] == '\0' || path[0] == '/' || !is_plain(slice_from_string(path))) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "--blob-store: 's3://%s' is no bucket, or bucket/prefix, of letters, digits, '-', '.', '_' and "
            "'/'",
            path);
    }
    return STATUS_OK;
}

/* Makes the texts of "bucket/prefix" and the settings; false without memory. */
static bool
describe_store(S3 *s3, const S3Options *options, const char *path)
{
    Slice whole = slice_from_string(path);
    size_t slash = slice_find(whole, '/');
    Slice prefix = slice_part(whole, slash + 1, whole.size);
    bool needs_slash = prefix.size > 0 && !slice_ends_with(prefix, SLICE("/"));
    s3->arena = arena_new(TEXTS_SIZE_MAX);
    if (s3->arena == NULL) {
        return false;
    }
    s3->root = text_format(s3->arena, "%s/%.*s", options->endpoint, SLICE_PRINT(slice_part(whole, 0, slash)));
    s3->prefix = text_format(s3->arena, "%.*s%s", SLICE_PRINT(prefix), needs_slash ? "/" : "");
    s3->signing = (HttpClientSigning){
        .scope = text_format(s3->arena, "aws:amz:%s:s3", options->region),
        .key_id = options->key_id,
        .secret = options->secret,
    };
    return s3->root != NULL && s3->prefix != NULL && s3->signing.scope != NULL;
}

Status
s3_backend_open(Call *call, const S3Options *options, const char *path, BlobBackend **ret_backend)
{
    TRY(check_settings(call, options, path));
    S3 *s3 = memory_new(1, sizeof *s3);
    if (s3 == NULL) {
        return call_fail_memory(call, "the blob store");
    }
    mutex_init(&s3->mutex);
    list_init(&s3->idle);
    s3->backend = (BlobBackend){
        .scheme = "s3",
        .has_state = true,
        .part_size = choose_part_size,
        .locate = make_location,
        .begin = begin_upload,
        .write = write_part,
        .finish = finish_upload,
        .read = read_object,
        .remove = remove_object,
        .free = free_s3,
    };
    if (!describe_store(s3, options, path)) {
        free_s3(&s3->backend);
        return call_fail_memory(call, "the blob store");
    }
    *ret_backend = &s3->backend;
    return STATUS_OK;
}
