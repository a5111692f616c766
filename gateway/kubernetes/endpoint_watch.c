/* Happy path: all pages of the list → the endpoints are told → one request whose answer goes on for WATCH_S,
 * a line an event; after each piece that has brought some the endpoints are told → the server ends the
 * answer, and the next request goes on where it ended (`resourceVersion`), which bookmarks move on while
 * nothing happens.
 *
 * The answers are short so that silence means something: nobody hears of a server that has gone without a
 * word, or of a proxy that keeps the connection of one that has. A watch that nobody ends is given up after
 * WATCH_S and WATCH_LATE_S, less than half a minute together.
 *
 * A watch that breaks off goes on where it was. 410 Gone (the server has forgotten that version), as a status
 * or as an event, lists anew, and so does an event that cannot be read. Between failures it waits, longer
 * after each, by chance between the half and the whole, so that gateways do not come back together. The token
 * is read for each request, since the kubelet renews it; after a failure the connection is made anew, with
 * the authorities that are in the file then. */
#include "gateway/kubernetes/endpoint_watch.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/clock.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "shared/base/random.h"
#include "shared/base/text.h"
#include "shared/config/setting.h"
#include "shared/httpclient/http_client.h"
#include "shared/json/reader.h"
#include "shared/telemetry/log.h"

enum {
    CONNECT_MS = 5000,
    LIST_MS = 30000,
    WATCH_S = 15,          /* after which the server ends its answer, */
    WATCH_LATE_S = 10,     /* or, if it is gone without a word, this much later the request is given up */
    WATCH_SHORT_MS = 1000, /* a watch that ends sooner without an event has failed */
    PAUSE_MIN_MS = 500,
    PAUSE_MAX_MS = 30000,
    PAGE_SLICES = 500,
    PAGE_SIZE_MAX = 64 << 20,
    EVENT_SIZE_MAX = 4 << 20,
    ARENA_SIZE_MAX = 256 << 20,
    ACCOUNT_FILE_SIZE_MAX = 64 * 1024,
    GONE = 410,
    NAME_SIZE_MAX = 253, /* of a namespace, and of a Service */
    PORT_SIZE_MAX = 15,
};

struct EndpointWatch {
    EndpointWatchOptions options;
    Slice name;
    Slice port;
    EndpointSlices *slices;
    HttpClient *client;
    char *certificates;
    Buffer space;       /* the namespace */
    Buffer version;     /* the resourceVersion to go on from; empty: a list is wanted */
    Buffer line;        /* of a watch's answer, as far as it has come */
    Arena *arena;       /* of a request */
    Arena *event_arena; /* of an event */
    int failure_count;
    bool is_troubled; /* which the log says */
    bool has_news;
    pthread_t thread;
    Mutex lock; /* guards the following */
    Condition changed;
    bool has_stopped;
    Call *sending; /* the request under way; NULL: none */
};

static bool
is_name(Slice text, size_t size_max)
{
    bool is_ok = text.size > 0 && text.size <= size_max;
    for (size_t index = 0; is_ok && index < text.size; index++) {
        char letter = text.data[index];
        is_ok = (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '-' ||
                letter == '.';
    }
    return is_ok;
}

/* Takes "namespace/service:port" apart; without a namespace it is the pod's own, which a file tells later. */
static Status
read_service(Call *call, EndpointWatch *watch)
{
    Slice text = watch->options.service;
    size_t slash = slice_find(text, '/');
    Slice space = slash < text.size ? slice_part(text, 0, slash) : SLICE("");
    Slice rest = slash < text.size ? slice_part(text, slash + 1, SIZE_MAX) : text;
    size_t colon = slice_find(rest, ':');
    watch->name = slice_part(rest, 0, colon);
    watch->port = colon < rest.size ? slice_part(rest, colon + 1, SIZE_MAX) : SLICE("");
    bool is_ok = is_name(watch->name, NAME_SIZE_MAX) &&
                 (slash == text.size || is_name(space, NAME_SIZE_MAX)) &&
                 (colon == rest.size || is_name(watch->port, PORT_SIZE_MAX));
    buffer_append_slice(&watch->space, space);
    return is_ok ? STATUS_OK
                 : call_fail(call, STATUS_INVALID_ARGUMENT,
                       "'kubernetes:%.*s' names no Service: kubernetes:namespace/service:port does, with the "
                       "port's name",
                       SLICE_PRINT(slice_part(text, 0, 64)));
}

static Status
read_account_file(Call *call, const EndpointWatch *watch, const char *name, Slice *ret_text)
{
    const char *path = text_format(call->arena, "%s/%s", watch->options.account, name);
    if (path == NULL) {
        return call_fail_memory(call, "a path");
    }
    TRY(setting_read_file(call, path, ACCOUNT_FILE_SIZE_MAX, ret_text));
    while (ret_text->size > 0 && (unsigned char)ret_text->data[ret_text->size - 1] <= ' ') {
        ret_text->size--;
    }
    return STATUS_OK;
}

static Status
find_namespace(Call *call, EndpointWatch *watch)
{
    Slice space = {0};
    if (watch->space.size > 0) {
        return STATUS_OK;
    }
    TRY(read_account_file(call, watch, "namespace", &space));
    if (!is_name(space, NAME_SIZE_MAX)) {
        return call_fail(
            call, STATUS_FAILED_PRECONDITION, "the service account's file 'namespace' has no name");
    }
    buffer_append_slice(&watch->space, space);
    return buffer_is_ok(&watch->space) ? STATUS_OK : call_fail_memory(call, "a namespace");
}

/* Fails with the sentence of the API's Status, if it sent one. */
static Status
fail_refused(Call *call, const HttpClientResponse *response)
{
    typedef struct Refusal {
        Slice message;
    } Refusal;
    static const JsonMember members[] = {{"message", JSON_SLICE, .offset = offsetof(Refusal, message)}};
    static const JsonTable table = JSON_TABLE("a status", members);
    static const JsonDialect dialect = {.unknown = JSON_UNKNOWN_IS_SKIPPED, .skips_other_kinds = true};
    Refusal refusal = {0};
    Call reading = {.arena = call->arena};
    bool is_read =
        json_stream_read(&reading, buffer_slice(&response->body), &dialect, &table, &refusal) == STATUS_OK;
    return call_fail(call, response->status == GONE ? STATUS_ABORTED : STATUS_UNAVAILABLE,
        "the API answers %d: %.*s", response->status, SLICE_PRINT(is_read ? refusal.message : SLICE("")));
}

/* Sends a request for the slices, with the token as the file has it at this moment. */
static Status
ask(Call *call, EndpointWatch *watch, const char *query, const HttpClientEvents *events, uint64_t timeout_ms,
    HttpClientResponse *response)
{
    Slice token = {0};
    TRY(read_account_file(call, watch, "token", &token));
    const char *credential = text_format(call->arena, "Authorization: Bearer %.*s", SLICE_PRINT(token));
    const char *url = text_format(call->arena,
        "%s/apis/discovery.k8s.io/v1/namespaces/%.*s/"
        "endpointslices?labelSelector=kubernetes.io%%2Fservice-name%%"
        "3D%.*s&%s",
        watch->options.api, SLICE_PRINT(buffer_slice(&watch->space)), SLICE_PRINT(watch->name), query);
    if (credential == NULL || url == NULL) {
        return call_fail_memory(call, "a request");
    }
    const char *headers[] = {credential, "Accept: application/json", NULL};
    HttpClientRequest request = {
        .url = url,
        .headers = headers,
        .response_size_max = PAGE_SIZE_MAX,
        .timeout_ms = timeout_ms,
        .events = events,
        .context = watch,
    };
    TRY(http_client_send(call, watch->client, &request, response));
    return response->status == 200 ? STATUS_OK : fail_refused(call, response);
}

static void
tell_endpoints(EndpointWatch *watch)
{
    AUTO_BUFFER endpoints = {0};
    if (endpoint_slices_collect(watch->slices, &endpoints)) {
        watch->options.on_endpoints(watch->options.context, (const Endpoint *)(const void *)endpoints.data,
            endpoints.size / sizeof(Endpoint));
    } else {
        log_event(LOG_WARNING, "no memory left for the endpoints of workers");
    }
}

static void
keep_version(EndpointWatch *watch, Slice version)
{
    if (version.size > 0) {
        buffer_clear(&watch->version);
        buffer_append_slice(&watch->version, version);
    }
}

/* Asks for one page. `next_page` holds the token of the next one, or is empty. */
static Status
list_page(Call *call, EndpointWatch *watch, Buffer *next_page)
{
    AUTO_BUFFER query = {0};
    AUTO_HTTP_CLIENT_RESPONSE response = {0};
    SliceNews news = {0};
    buffer_append_format(&query, "limit=%d", PAGE_SLICES);
    if (next_page->size > 0) {
        buffer_append_string(&query, "&continue=");
        buffer_append_escaped(&query, buffer_slice(next_page));
    }
    const char *text = buffer_string(&query);
    if (text == NULL) {
        return call_fail_memory(call, "a query");
    }
    TRY(ask(call, watch, text, NULL, LIST_MS, &response));
    TRY(endpoint_slices_read_page(call, watch->slices, buffer_slice(&response.body), &news));
    keep_version(watch, news.resource_version);
    buffer_clear(next_page);
    buffer_append_slice(next_page, news.next_page);
    return buffer_is_ok(next_page) ? STATUS_OK : call_fail_memory(call, "a page's token");
}

/* Lists all slices. A token that has expired meanwhile (410) begins anew, as any failure does. */
static Status
list_slices(Call *call, EndpointWatch *watch)
{
    AUTO_BUFFER next_page = {0};
    Status status = STATUS_OK;
    endpoint_slices_begin(watch->slices);
    do {
        status = list_page(call, watch, &next_page);
    } while (status == STATUS_OK && next_page.size > 0);
    if (status != STATUS_OK) {
        buffer_clear(&watch->version);
        return status;
    }
    endpoint_slices_end(watch->slices);
    tell_endpoints(watch);
    return STATUS_OK;
}

static Status
take_event(Call *call, EndpointWatch *watch, Slice line)
{
    SliceNews news = {0};
    Call reading = {.arena = watch->event_arena};
    arena_clear(watch->event_arena);
    Status status = endpoint_slices_read_event(&reading, watch->slices, line, &news);
    if (status != STATUS_OK) {
        buffer_clear(&watch->version);
        return call_fail(call, status, "an event of the API cannot be read: %s", reading.error.message);
    }
    if (news.is_error) {
        buffer_clear(&watch->version);
        return call_fail(call, news.code == GONE ? STATUS_ABORTED : STATUS_UNAVAILABLE,
            "the API ends the watch with %d: %.*s", (int)news.code, SLICE_PRINT(news.message));
    }
    keep_version(watch, news.resource_version);
    watch->has_news = true;
    return STATUS_OK;
}

/* Implements HttpClientEvents.on_data: takes all lines that are whole by this piece. */
static Status
take_piece(Call *call, void *context, Slice piece)
{
    EndpointWatch *watch = context;
    bool has_event = false;
    buffer_append_slice(&watch->line, piece);
    if (!buffer_is_ok(&watch->line)) {
        return call_fail(
            call, STATUS_RESOURCE_EXHAUSTED, "an event of the API has more than %d bytes", EVENT_SIZE_MAX);
    }
    for (size_t end; (end = slice_find(buffer_slice(&watch->line), '\n')) < watch->line.size;) {
        Slice line = slice_trim(slice_of(watch->line.data, end));
        TRY(line.size == 0 ? STATUS_OK : take_event(call, watch, line));
        has_event = has_event || line.size > 0;
        buffer_consume(&watch->line, end + 1);
    }
    if (has_event) {
        tell_endpoints(watch);
    }
    return STATUS_OK;
}

static Status
follow_events(Call *call, EndpointWatch *watch)
{
    static const HttpClientEvents events = {.on_data = take_piece};
    enum { MS_PER_S = 1000 };
    AUTO_HTTP_CLIENT_RESPONSE response = {0};
    uint64_t begun_ns = clock_monotonic_ns();
    const char *query =
        text_format(call->arena, "watch=true&allowWatchBookmarks=true&timeoutSeconds=%d&resourceVersion=%.*s",
            WATCH_S, SLICE_PRINT(buffer_slice(&watch->version)));
    if (query == NULL) {
        return call_fail_memory(call, "a query");
    }
    buffer_done(&watch->line);
    watch->line = (Buffer){.size_max = EVENT_SIZE_MAX};
    watch->has_news = false;
    Status status =
        ask(call, watch, query, &events, (uint64_t)(WATCH_S + WATCH_LATE_S) * MS_PER_S, &response);
    if (response.status == GONE) {
        buffer_clear(&watch->version);
    }
    bool is_short = clock_monotonic_ns() - begun_ns < WATCH_SHORT_MS * CLOCK_NS_PER_MS;
    return status == STATUS_OK && is_short && !watch->has_news
               ? call_fail(call, STATUS_UNAVAILABLE, "the API ends its watch at once")
               : status;
}

/* Returns how long to wait after so many failures in a row: between the half and the whole of a time that
 * doubles. */
static uint64_t
pause_ms(int failure_count)
{
    uint64_t whole = PAUSE_MAX_MS;
    if (failure_count < 7) {
        whole = (uint64_t)PAUSE_MIN_MS << (failure_count - 1);
        whole = whole < PAUSE_MAX_MS ? whole : PAUSE_MAX_MS;
    }
    return whole / 2 + random_uint64() % (whole / 2 + 1);
}

/* Notes how it went, and makes the connection anew after a failure. A version that is gone is part of every
 * watch's life: the list comes next, and only if that goes wrong is there trouble. */
static void
note_outcome(EndpointWatch *watch, const Call *call, Status status)
{
    HttpClientOptions client = {.user_agent = "sluice-gateway",
        .certificates = watch->certificates,
        .connect_timeout_ms = CONNECT_MS};
    if (status == STATUS_OK) {
        if (watch->is_troubled) {
            log_event(LOG_INFO, "Kubernetes tells the endpoints of workers again",
                log_slice("service", watch->options.service));
        }
        watch->is_troubled = false;
        watch->failure_count = 0;
        return;
    }
    watch->failure_count = watch->has_news ? 1 : watch->failure_count + 1;
    if (status != STATUS_ABORTED && status != STATUS_CANCELLED && !watch->is_troubled) {
        watch->is_troubled = true;
        log_event(LOG_WARNING, "Kubernetes does not tell the endpoints of workers",
            log_slice("service", watch->options.service), log_text("error", call->error.message));
    }
    HttpClient *fresh = http_client_new(&client);
    if (fresh != NULL) {
        http_client_free(watch->client);
        watch->client = fresh;
    }
}

/* Lists, or goes on watching; without the lock. */
static void
take_turn(EndpointWatch *watch, Call *call)
{
    bool is_list = watch->version.size == 0;
    watch->has_news = false;
    Status status = find_namespace(call, watch);
    if (status == STATUS_OK) {
        status = is_list ? list_slices(call, watch) : follow_events(call, watch);
    }
    note_outcome(watch, call, status);
    arena_clear(watch->arena);
}

static void
await_turn(EndpointWatch *watch)
{
    uint64_t end_ns = clock_monotonic_ns() + pause_ms(watch->failure_count) * CLOCK_NS_PER_MS;
    while (!watch->has_stopped && condition_wait_until(&watch->changed, &watch->lock, end_ns)) {}
}

static void *
run_watch(void *context)
{
    EndpointWatch *watch = context;
    mutex_lock(&watch->lock);
    while (!watch->has_stopped) {
        Call call = {.arena = watch->arena};
        watch->sending = &call;
        mutex_unlock(&watch->lock);
        take_turn(watch, &call);
        mutex_lock(&watch->lock);
        watch->sending = NULL;
        if (watch->failure_count > 0) {
            await_turn(watch);
        }
    }
    mutex_unlock(&watch->lock);
    return NULL;
}

static void
release(EndpointWatch *watch)
{
    http_client_free(watch->client);
    endpoint_slices_free(watch->slices);
    buffer_done(&watch->space);
    buffer_done(&watch->version);
    buffer_done(&watch->line);
    arena_free(watch->arena);
    arena_free(watch->event_arena);
    memory_free(watch->certificates);
    condition_done(&watch->changed);
    mutex_done(&watch->lock);
    memory_free(watch);
}

static Status
start(Call *call, EndpointWatch *watch)
{
    TRY(read_service(call, watch));
    const char *account = watch->options.account;
    size_t size = strlen(account) + sizeof "/ca.crt";
    watch->certificates = memory_new(size, 1);
    watch->arena = arena_new(ARENA_SIZE_MAX);
    watch->event_arena = arena_new(ARENA_SIZE_MAX);
    watch->slices = endpoint_slices_new(watch->port);
    bool is_made = watch->certificates != NULL && watch->arena != NULL && watch->event_arena != NULL &&
                   watch->slices != NULL && buffer_is_ok(&watch->space);
    if (!is_made) {
        return call_fail_memory(call, "a watch of workers");
    }
    (void)snprintf(watch->certificates, size, "%s/ca.crt", account);
    HttpClientOptions client = {.user_agent = "sluice-gateway",
        .certificates = watch->certificates,
        .connect_timeout_ms = CONNECT_MS};
    watch->client = http_client_new(&client);
    if (watch->client == NULL) {
        return call_fail_memory(call, "a watch of workers");
    }
    return pthread_create(&watch->thread, NULL, run_watch, watch) == 0
               ? STATUS_OK
               : call_fail(call, STATUS_UNAVAILABLE, "no thread could be started");
}

Status
endpoint_watch_new(Call *call, const EndpointWatchOptions *options, EndpointWatch **ret_watch)
{
    assert(options->api != NULL && options->account != NULL && options->on_endpoints != NULL);

    EndpointWatch *watch = memory_new(1, sizeof *watch);
    if (watch == NULL) {
        return call_fail_memory(call, "a watch of workers");
    }
    watch->options = *options;
    mutex_init(&watch->lock);
    condition_init(&watch->changed);
    Status status = start(call, watch);
    if (status != STATUS_OK) {
        release(watch);
        return status;
    }
    *ret_watch = watch;
    return STATUS_OK;
}

void
endpoint_watch_free(EndpointWatch *watch)
{
    if (watch == NULL) {
        return;
    }
    mutex_lock(&watch->lock);
    watch->has_stopped = true;
    if (watch->sending != NULL) {
        call_cancel(watch->sending);
    }
    condition_broadcast(&watch->changed);
    mutex_unlock(&watch->lock);
    (void)pthread_join(watch->thread, NULL);
    release(watch);
}
