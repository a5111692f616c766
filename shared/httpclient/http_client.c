/* Requests on libcurl: a transfer is set up, driven by a loop of ours, and its outcome translated.
 *
 * The loop is libcurl's multi interface with one transfer in it, not curl_easy_perform(): that looks at
 * its callbacks about once a second while nothing moves, which is too late for Ctrl-C and too rare to show
 * that time passes. */
#include "shared/httpclient/http_client.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <curl/curl.h>

#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/base/text.h"

enum { TICK_MS = 100, CONNECT_TIMEOUT_MS = 10000, KEEPALIVE_S = 30, UPLOAD_BUFFER_SIZE = 512 * 1024 };

/* The meaning of a code of libcurl's. */
typedef struct CurlMeaning {
    Status status;
    const char *text; /* continues "http://host:port …" */
} CurlMeaning;

typedef struct CodeRow {
    CURLcode code;
    CurlMeaning meaning;
} CodeRow;

static const CodeRow rows[] = {
    {CURLE_UNSUPPORTED_PROTOCOL, {STATUS_INVALID_ARGUMENT, "is no http or https address"}},
    {CURLE_URL_MALFORMAT, {STATUS_INVALID_ARGUMENT, "is no address"}},
    {CURLE_BAD_FUNCTION_ARGUMENT, {STATUS_INVALID_ARGUMENT, "cannot be asked this way"}},
    {CURLE_COULDNT_RESOLVE_PROXY, {STATUS_UNAVAILABLE, "is behind a proxy whose name is not known"}},
    {CURLE_COULDNT_RESOLVE_HOST, {STATUS_UNAVAILABLE, "has a name that is not known"}},
    {CURLE_COULDNT_CONNECT, {STATUS_UNAVAILABLE, "cannot be reached"}},
    {CURLE_SSL_CONNECT_ERROR, {STATUS_UNAVAILABLE, "does not speak TLS with us"}},
    {CURLE_SEND_ERROR, {STATUS_UNAVAILABLE, "closed the connection"}},
    {CURLE_RECV_ERROR, {STATUS_UNAVAILABLE, "closed the connection"}},
    {CURLE_GOT_NOTHING, {STATUS_UNAVAILABLE, "closed the connection without an answer"}},
    {CURLE_WEIRD_SERVER_REPLY, {STATUS_UNAVAILABLE, "does not speak HTTP"}},
    {CURLE_HTTP2, {STATUS_UNAVAILABLE, "broke off the connection"}},
    {CURLE_HTTP2_STREAM, {STATUS_UNAVAILABLE, "broke off the request"}},
    {CURLE_PARTIAL_FILE, {STATUS_DATA_LOSS, "cut its answer short"}},
    {CURLE_BAD_CONTENT_ENCODING, {STATUS_DATA_LOSS, "sent an answer that cannot be decoded"}},
    {CURLE_OPERATION_TIMEDOUT, {STATUS_DEADLINE_EXCEEDED, "did not answer in time"}},
    {CURLE_ABORTED_BY_CALLBACK, {STATUS_CANCELLED, "was not waited for"}},
    {CURLE_OUT_OF_MEMORY, {STATUS_RESOURCE_EXHAUSTED, "could not be asked for lack of memory"}},
    {CURLE_PEER_FAILED_VERIFICATION, {STATUS_FAILED_PRECONDITION, "is not trusted"}},
    {CURLE_SSL_CACERT_BADFILE, {STATUS_FAILED_PRECONDITION, "has no authorities to be checked by"}},
    {CURLE_SSL_CERTPROBLEM, {STATUS_FAILED_PRECONDITION, "does not take our certificate"}},
};

/* Translates a code that is not CURLE_OK. `was_connected`: a timeout after that is the request's, before
 * it the connection's. */
static CurlMeaning
curl_meaning(CURLcode code, bool was_connected)
{
    static const CurlMeaning unreached = {STATUS_UNAVAILABLE, "cannot be reached in time"};
    static const CurlMeaning unknown = {STATUS_UNKNOWN, "could not be asked"};
    if (code == CURLE_OPERATION_TIMEDOUT && !was_connected) {
        return unreached;
    }
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        if (rows[index].code == code) {
            return rows[index].meaning;
        }
    }
    return unknown;
}

/* The bytes of a form's part: `head`, then the file. */
typedef struct PartSource {
    Slice head;
    int fd; /* -1: no file */
    uint64_t size;
    uint64_t offset; /* bytes read so far */
} PartSource;

typedef struct Form {
    curl_mime *mime;
    size_t count;
    PartSource sources[];
} Form;

static size_t
part_read(char *room, size_t size, size_t count, void *context)
{
    PartSource *source = context;
    Slice left = slice_part(source->head, source->offset, size * count);
    ssize_t got = (ssize_t)left.size;
    if (left.size > 0) {
        memcpy(room, left.data, left.size);
    } else if (source->fd >= 0) {
        off_t at = (off_t)(source->offset - source->head.size);
        do {
            got = pread(source->fd, room, size * count, at);
        } while (got < 0 && errno == EINTR);
    }
    if (got < 0) {
        return CURL_READFUNC_ABORT;
    }
    source->offset += (uint64_t)got;
    return (size_t)got;
}

/* Goes back to the start: a kept connection that turns out dead is replaced, and the body sent again. */
static int
part_seek(void *context, curl_off_t offset, int origin)
{
    PartSource *source = context;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > source->size) {
        return CURL_SEEKFUNC_FAIL;
    }
    source->offset = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

static Status
source_open(Call *call, const HttpClientPart *part, PartSource *ret_source)
{
    struct stat about = {0};
    *ret_source = (PartSource){.head = part->head, .fd = -1};
    if (part->path != NULL) {
        ret_source->fd = open(part->path, O_RDONLY | O_CLOEXEC);
        if (ret_source->fd < 0) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "file '%s' cannot be opened: %s", part->path,
                strerrordesc_np(errno));
        }
        if (fstat(ret_source->fd, &about) != 0 || !S_ISREG(about.st_mode)) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "'%s' is no regular file", part->path);
        }
    }
    ret_source->size = part->head.size + (uint64_t)about.st_size;
    return STATUS_OK;
}

static Status
part_add(Call *call, Form *form, const HttpClientPart *part)
{
    PartSource *source = &form->sources[form->count++];
    TRY(source_open(call, part, source));
    curl_mimepart *made = curl_mime_addpart(form->mime);
    if (made == NULL || curl_mime_name(made, part->name) != CURLE_OK ||
        curl_mime_type(made, part->content_type) != CURLE_OK ||
        curl_mime_data_cb(made, (curl_off_t)source->size, part_read, part_seek, NULL, source) != CURLE_OK) {
        return call_fail_memory(call, "a form");
    }
    return STATUS_OK;
}

static void
form_free(Form *form)
{
    if (form == NULL) {
        return;
    }
    curl_mime_free(form->mime);
    for (size_t index = 0; index < form->count; index++) {
        if (form->sources[index].fd >= 0) {
            (void)close(form->sources[index].fd);
        }
    }
    memory_free(form);
}

static Status
form_new(Call *call, CURL *easy, const HttpClientPart *parts, size_t part_count, Form **ret_form)
{
    Form *form = memory_new(1, sizeof *form + part_count * sizeof form->sources[0]);
    if (form == NULL) {
        return call_fail_memory(call, "a form");
    }
    form->mime = curl_mime_init(easy);
    Status status = form->mime == NULL ? call_fail_memory(call, "a form") : STATUS_OK;
    for (size_t index = 0; status == STATUS_OK && index < part_count; index++) {
        status = part_add(call, form, &parts[index]);
    }
    if (status != STATUS_OK) {
        form_free(form);
        return status;
    }
    (void)curl_easy_setopt(easy, CURLOPT_MIMEPOST, form->mime);
    *ret_form = form;
    return STATUS_OK;
}

struct HttpClient {
    CURL *easy;
    CURLM *multi;
    HttpClientOptions options;
};

/* The state of one http_client_send(). */
typedef struct Transfer {
    Call *call;
    CURL *easy;
    const HttpClientRequest *request;
    HttpClientResponse *response;
    struct curl_slist *headers;
    uint64_t source_offset; /* bytes that were read of the source */
    Form *form;
    Status status; /* our own first failure, which libcurl knows only as a callback that gave up */
    char error[CURL_ERROR_SIZE];
} Transfer;

/* Keeps the headers of the last answer: a final one may follow informational ones (100), and each begins
 * anew. */
static size_t
header_take(char *line, size_t size, size_t count, void *context)
{
    Transfer *transfer = context;
    Buffer *headers = &transfer->response->headers;
    Slice taken = slice_of(line, size * count);
    if (slice_starts_with(taken, SLICE("HTTP/"))) {
        buffer_clear(headers);
    }
    buffer_append_slice(headers, taken);
    if (!buffer_is_ok(headers)) {
        transfer->status = call_fail(transfer->call, STATUS_OUT_OF_RANGE,
            "the answer's headers are larger than %zu bytes", headers->size_max);
        return 0;
    }
    return taken.size;
}

static bool
is_success(const Transfer *transfer)
{
    enum { CLASS = 100 };
    long status = 0;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    return status / CLASS == 2;
}

static Status
body_keep(Transfer *transfer, Slice piece)
{
    Buffer *body = &transfer->response->body;
    bool fits = piece.size <= body->size_max - body->size;
    buffer_append_slice(body, piece);
    if (!fits) {
        return call_fail(
            transfer->call, STATUS_OUT_OF_RANGE, "the answer is larger than %zu bytes", body->size_max);
    }
    return buffer_is_ok(body) ? STATUS_OK : call_fail_memory(transfer->call, "an answer");
}

static size_t
body_take(char *data, size_t size, size_t count, void *context)
{
    Transfer *transfer = context;
    const HttpClientRequest *request = transfer->request;
    Slice piece = slice_of(data, size * count);
    bool has_sink = request->events != NULL && request->events->on_data != NULL;
    transfer->status = has_sink && is_success(transfer)
                           ? request->events->on_data(transfer->call, request->context, piece)
                           : body_keep(transfer, piece);
    return transfer->status == STATUS_OK ? piece.size : CURL_WRITEFUNC_ERROR;
}

static size_t
source_take(char *room, size_t size, size_t count, void *context)
{
    Transfer *transfer = context;
    const HttpClientSource *source = transfer->request->source;
    uint64_t left = source->size - transfer->source_offset;
    size_t wanted = size * count < left ? size * count : (size_t)left;
    size_t got = 0;
    if (wanted == 0) {
        return 0;
    }
    transfer->status =
        source->read(transfer->call, source->context, transfer->source_offset, room, wanted, &got);
    if (transfer->status != STATUS_OK) {
        return CURL_READFUNC_ABORT;
    }
    assert(got > 0 && got <= wanted);
    transfer->source_offset += got;
    return got;
}

/* Goes back to the start: a kept connection that turns out dead is replaced, and the body sent again. */
static int
source_seek(void *context, curl_off_t offset, int origin)
{
    Transfer *transfer = context;
    if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > transfer->request->source->size) {
        return CURL_SEEKFUNC_FAIL;
    }
    transfer->source_offset = (uint64_t)offset;
    return CURL_SEEKFUNC_OK;
}

static Status
header_add(Transfer *transfer, const char *header)
{
    if (strpbrk(header, "\r\n") != NULL) {
        return call_fail(transfer->call, STATUS_INVALID_ARGUMENT, "a header holds a line end");
    }
    struct curl_slist *longer = curl_slist_append(transfer->headers, header);
    if (longer == NULL) {
        return call_fail_memory(transfer->call, "a header");
    }
    transfer->headers = longer;
    return STATUS_OK;
}

static Status
headers_set(Transfer *transfer)
{
    const HttpClientRequest *request = transfer->request;
    /* An empty type keeps libcurl from sending its own guess. A form has none here: libcurl knows its
     * boundary. */
    const char *type = text_format(transfer->call->arena, "Content-Type:%s%s",
        request->content_type == NULL ? "" : " ", request->content_type == NULL ? "" : request->content_type);
    if (type == NULL) {
        return call_fail_memory(transfer->call, "a header");
    }
    TRY(request->parts == NULL ? header_add(transfer, type) : STATUS_OK);
    for (size_t index = 0; request->headers != NULL && request->headers[index] != NULL; index++) {
        TRY(header_add(transfer, request->headers[index]));
    }
    (void)curl_easy_setopt(transfer->easy, CURLOPT_HTTPHEADER, transfer->headers);
    return STATUS_OK;
}

static void
source_set(Transfer *transfer)
{
    CURL *easy = transfer->easy;
    (void)curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)transfer->request->source->size);
    (void)curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)UPLOAD_BUFFER_SIZE);
    (void)curl_easy_setopt(easy, CURLOPT_READFUNCTION, source_take);
    (void)curl_easy_setopt(easy, CURLOPT_READDATA, transfer);
    (void)curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, source_seek);
    (void)curl_easy_setopt(easy, CURLOPT_SEEKDATA, transfer);
}

static Status
body_set(Transfer *transfer, const char *method)
{
    const HttpClientRequest *request = transfer->request;
    if (request->parts != NULL) {
        (void)curl_easy_setopt(transfer->easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)UPLOAD_BUFFER_SIZE);
        TRY(form_new(transfer->call, transfer->easy, request->parts, request->part_count, &transfer->form));
    } else if (request->source != NULL) {
        source_set(transfer);
    } else if (request->body.data != NULL || strcmp(method, "POST") == 0) {
        (void)curl_easy_setopt(
            transfer->easy, CURLOPT_POSTFIELDS, request->body.data == NULL ? "" : request->body.data);
        (void)curl_easy_setopt(transfer->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.size);
    }
    if (strcmp(method, "HEAD") == 0) {
        (void)curl_easy_setopt(transfer->easy, CURLOPT_NOBODY, 1L);
    }
    (void)curl_easy_setopt(transfer->easy, CURLOPT_CUSTOMREQUEST, method);
    return STATUS_OK;
}

/* Returns the nearer of the request's own time and the Call's deadline. A transfer that ended a fraction
 * of a millisecond early would not be seen to be late, so 2 ms are added: one for the fraction that is cut
 * off, one for libcurl, which may count a part of a millisecond as a whole. */
static long
timeout_ms(const Transfer *transfer)
{
    uint64_t left_ns = call_time_left_ns(transfer->call, clock_monotonic_ns());
    uint64_t own_ms = transfer->request->timeout_ms;
    uint64_t limit_ms = own_ms == 0 ? UINT64_MAX : own_ms;
    if (left_ns != UINT64_MAX && left_ns / CLOCK_NS_PER_MS < limit_ms) {
        limit_ms = left_ns / CLOCK_NS_PER_MS + 2;
    }
    return limit_ms >= INT64_MAX ? 0 : (long)limit_ms;
}

static void
times_set(const Transfer *transfer, const HttpClientOptions *options)
{
    CURL *easy = transfer->easy;
    uint32_t connect_ms = options->connect_timeout_ms == 0 ? CONNECT_TIMEOUT_MS : options->connect_timeout_ms;
    (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
    (void)curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, timeout_ms(transfer));
    if (transfer->request->stall_timeout_ms > 0) {
        enum { MS_PER_S = 1000 };
        uint64_t stall_s = (transfer->request->stall_timeout_ms + MS_PER_S - 1) / MS_PER_S;
        (void)curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
        (void)curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)stall_s);
    }
}

/* A server that does not know "Expect: 100-continue" is not waited for long. */
static void
signing_set(const Transfer *transfer)
{
    enum { EXPECT_TIMEOUT_MS = 200 };
    const HttpClientSigning *signing = transfer->request->signing;
    if (signing == NULL) {
        return;
    }
    assert(transfer->request->content_type != NULL);
    (void)curl_easy_setopt(transfer->easy, CURLOPT_AWS_SIGV4, signing->scope);
    (void)curl_easy_setopt(transfer->easy, CURLOPT_USERNAME, signing->key_id);
    (void)curl_easy_setopt(transfer->easy, CURLOPT_PASSWORD, signing->secret);
    (void)curl_easy_setopt(transfer->easy, CURLOPT_EXPECT_100_TIMEOUT_MS, (long)EXPECT_TIMEOUT_MS);
}

static Status
transfer_set(Transfer *transfer, const HttpClientOptions *options)
{
    CURL *easy = transfer->easy;
    const HttpClientRequest *request = transfer->request;
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(easy, CURLOPT_URL, request->url);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->error);
    (void)curl_easy_setopt(easy, CURLOPT_USERAGENT, options->user_agent);
    if (options->certificates != NULL) {
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO, options->certificates);
    }
    (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, header_take);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, body_take);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, (long)KEEPALIVE_S);
    times_set(transfer, options);
    TRY(headers_set(transfer));
    signing_set(transfer);
    return body_set(transfer, request->method == NULL ? "GET" : request->method);
}

static uint64_t
bytes_of(const Transfer *transfer, CURLINFO info)
{
    curl_off_t bytes = 0;
    (void)curl_easy_getinfo(transfer->easy, info, &bytes);
    return bytes > 0 ? (uint64_t)bytes : 0;
}

static void
tell_progress(const Transfer *transfer)
{
    const HttpClientEvents *events = transfer->request->events;
    if (events == NULL || events->on_progress == NULL) {
        return;
    }
    HttpClientProgress progress = {
        .sent = bytes_of(transfer, CURLINFO_SIZE_UPLOAD_T),
        .send_total = bytes_of(transfer, CURLINFO_CONTENT_LENGTH_UPLOAD_T),
        .received = bytes_of(transfer, CURLINFO_SIZE_DOWNLOAD_T),
        .receive_total = bytes_of(transfer, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T),
    };
    events->on_progress(transfer->request->context, &progress);
}

/* Returns "http://host:port", without the name and password that a URL may hold. */
static Slice
origin_of(const char *url)
{
    Slice whole = slice_from_string(url);
    const char *scheme_end = strstr(url, "://");
    size_t start = scheme_end == NULL ? 0 : (size_t)(scheme_end - url) + 3;
    Slice rest = slice_part(whole, start, whole.size);
    Slice authority = slice_part(rest, 0, strcspn(rest.data, "/?#"));
    size_t at = slice_find_last(authority, '@');
    return at == authority.size ? slice_part(whole, 0, start + authority.size)
                                : slice_part(authority, at + 1, authority.size);
}

static Status
transfer_fail(const Transfer *transfer, CURLcode code)
{
    /* The time of connecting itself is 0 for a connection that was kept. */
    bool was_connected = bytes_of(transfer, CURLINFO_PRETRANSFER_TIME_T) > 0;
    CurlMeaning meaning = curl_meaning(code, was_connected);
    Slice origin = origin_of(transfer->request->url);
    long number = 0;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_OS_ERRNO, &number);
    const char *cause = number > 0 && code == CURLE_COULDNT_CONNECT ? strerrordesc_np((int)number)
                        : transfer->error[0] != '\0'                ? transfer->error
                                                                    : curl_easy_strerror(code);
    return call_fail(transfer->call, meaning.status, "'%.*s' %s: %s", SLICE_PRINT(origin), meaning.text,
        cause == NULL ? "no cause is known" : cause);
}

static Status
transfer_drive(const Transfer *transfer, CURLM *multi)
{
    for (int running = 1; running > 0;) {
        if (curl_multi_perform(multi, &running) != CURLM_OK) {
            return call_fail_memory(transfer->call, "a request");
        }
        tell_progress(transfer);
        if (running > 0) {
            TRY(call_check(transfer->call, clock_monotonic_ns()));
            (void)curl_multi_poll(multi, NULL, 0, TICK_MS, NULL);
        }
    }
    return STATUS_OK;
}

static Status
transfer_outcome(const Transfer *transfer, CURLM *multi)
{
    int left = 0;
    const CURLMsg *message = curl_multi_info_read(multi, &left);
    assert(message != NULL && message->msg == CURLMSG_DONE);

    if (transfer->status != STATUS_OK) {
        return transfer->status;
    }
    return message->data.result == CURLE_OK ? STATUS_OK : transfer_fail(transfer, message->data.result);
}

static Status
transfer_run(Transfer *transfer, const HttpClient *client)
{
    TRY(call_check(transfer->call, clock_monotonic_ns()));
    TRY(transfer_set(transfer, &client->options));
    if (curl_multi_add_handle(client->multi, transfer->easy) != CURLM_OK) {
        return call_fail_memory(transfer->call, "a request");
    }
    Status status = transfer_drive(transfer, client->multi);
    if (status == STATUS_OK) {
        status = transfer_outcome(transfer, client->multi);
    }
    long http_status = 0;
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &http_status);
    transfer->response->status = (int)http_status;
    /* Closes the connection of a transfer that has not ended: the server sees that nobody waits. */
    (void)curl_multi_remove_handle(client->multi, transfer->easy);
    return status;
}

Status
http_client_send(
    Call *call, HttpClient *client, const HttpClientRequest *request, HttpClientResponse *ret_response)
{
    assert(call->arena != NULL);
    assert(request->url != NULL);

    size_t size_max =
        request->response_size_max == 0 ? HTTP_CLIENT_RESPONSE_SIZE_MAX : request->response_size_max;
    *ret_response = (HttpClientResponse){
        .headers = {.size_max = HTTP_CLIENT_HEADERS_SIZE_MAX},
        .body = {.size_max = size_max},
    };
    Transfer transfer = {.call = call, .easy = client->easy, .request = request, .response = ret_response};
    Status status = transfer_run(&transfer, client);
    /* The handle must not keep pointers into this frame; its connections live in the multi handle. */
    curl_easy_reset(client->easy);
    form_free(transfer.form);
    curl_slist_free_all(transfer.headers);
    return status;
}

static void
library_init(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

HttpClient *
http_client_new(const HttpClientOptions *options)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, library_init);
    HttpClient *client = memory_new(1, sizeof *client);
    if (client == NULL) {
        return NULL;
    }
    *client = (HttpClient){.easy = curl_easy_init(), .multi = curl_multi_init(), .options = *options};
    if (client->easy == NULL || client->multi == NULL) {
        http_client_free(client);
        return NULL;
    }
    return client;
}

void
http_client_free(HttpClient *client)
{
    if (client != NULL) {
        curl_easy_cleanup(client->easy);
        (void)curl_multi_cleanup(client->multi);
        memory_free(client);
    }
}

void
http_client_response_done(HttpClientResponse *response)
{
    buffer_done(&response->headers);
    buffer_done(&response->body);
}

Slice
http_client_header(const HttpClientResponse *response, const char *name)
{
    Slice rest = buffer_slice(&response->headers);
    Slice line;
    while (slice_split(&rest, '\n', &line)) {
        size_t colon = slice_find(line, ':');
        if (colon < line.size &&
            slice_equal_ignoring_case(slice_part(line, 0, colon), slice_from_string(name))) {
            Slice value = slice_trim(slice_part(line, colon + 1, line.size));
            value.size -= value.size > 0 && value.data[value.size - 1] == '\r' ? 1 : 0;
            return slice_trim(value);
        }
    }
    return (Slice){0};
}
