#include "gateway/cli/api.h"

#include <assert.h>
#include <stdio.h>

#include "gateway/cli/local_file.h"
#include "gateway/cli/progress.h"
#include "gateway/cli/reply.h"
#include "gateway/cli/screen.h"
#include "shared/base/text.h"

enum { HTTP_TIMED_OUT = 504, HTTP_BAD_GATEWAY = 502, HTTP_UNAVAILABLE = 503, HTTP_UNAUTHENTICATED = 401 };

typedef struct Problem {
    Slice detail;
    Slice code;
    Slice request_id;
} Problem;

static Status
detail_note(Call *call, void *context, Slice item)
{
    typedef struct Detail {
        Slice pointer;
        Slice text;
    } Detail;
    static const JsonMember members[] = {
        {"pointer", JSON_SLICE, .offset = offsetof(Detail, pointer)},
        {"detail", JSON_SLICE, .offset = offsetof(Detail, text)},
    };
    (void)context;
    Detail detail = {0};
    TRY(reply_read(call, item, members, COUNT_OF(members), &detail));
    const char *pointer = text_copy(call->arena, detail.pointer);
    if (pointer != NULL) {
        call_note(call, pointer, "%.*s", SLICE_PRINT(detail.text));
    }
    return STATUS_OK;
}

static bool
is_problem(const HttpClientResponse *reply)
{
    return slice_starts_with(http_client_header(reply, "Content-Type"), SLICE("application/problem+json"));
}

/* Fails for an answer that is not the gateway's: a proxy's or another server's. */
static Status
foreign_fail(Cli *cli, const HttpClientResponse *reply)
{
    bool is_gone = reply->status >= HTTP_BAD_GATEWAY && reply->status <= HTTP_TIMED_OUT;
    Status status = call_fail(cli->call, is_gone ? STATUS_UNAVAILABLE : STATUS_UNKNOWN,
        "'%s' answered with status %d, which is no answer of a gateway", config_string(cli->config, "url"),
        reply->status);
    return cli_fail(cli, is_gone ? EXIT_UNREACHABLE : EXIT_REFUSED, status);
}

/* Returns the exit code of a refusal. A step that was accepted has a Location, even when it failed. */
static ExitCode
refusal_exit_code(const HttpClientResponse *reply)
{
    Slice location = http_client_header(reply, "Location");
    if (reply->status == HTTP_TIMED_OUT) {
        return EXIT_TIMED_OUT;
    }
    return memmem(location.data, location.size, "/steps/", 7) == NULL ? EXIT_REFUSED : EXIT_STEP_FAILED;
}

static Status
refusal_fail(Cli *cli, const HttpClientResponse *reply)
{
    static const JsonMember members[] = {
        {"detail", JSON_SLICE, .offset = offsetof(Problem, detail)},
        {"code", JSON_SLICE, .offset = offsetof(Problem, code)},
        {"request_id", JSON_SLICE, .offset = offsetof(Problem, request_id)},
    };
    Call *call = cli->call;
    Slice body = buffer_slice(&reply->body);
    Problem problem = {.code = SLICE("UNKNOWN")};
    Status code = STATUS_UNKNOWN;
    if (!is_problem(reply)) {
        return foreign_fail(cli, reply);
    }
    TRY(reply_read(call, body, members, COUNT_OF(members), &problem));
    TRY(reply_each(call, body, "errors", detail_note, NULL));
    const char *copy = text_copy(call->arena, body);
    cli->problem = copy == NULL ? SLICE("") : slice_of(copy, body.size);
    (void)status_from_name(problem.code, &code);
    (void)snprintf(call->request_id, sizeof call->request_id, "%.*s", SLICE_PRINT(problem.request_id));
    bool lacks_key = reply->status == HTTP_UNAUTHENTICATED && config_secret(cli->config, "key") == NULL;
    Status status = call_fail(call, code == STATUS_OK ? STATUS_UNKNOWN : code, "%.*s%s",
        SLICE_PRINT(problem.detail), lacks_key ? "; '--key-file' names the file of a key" : "");
    return cli_fail(cli, refusal_exit_code(reply), status);
}

/* Fails for a request that got no answer. */
static Status
transport_fail(Cli *cli, Status status)
{
    static const struct {
        Status status;
        ExitCode exit_code;
    } rows[] = {
        {STATUS_UNAVAILABLE, EXIT_UNREACHABLE},
        {STATUS_FAILED_PRECONDITION, EXIT_UNREACHABLE},
        {STATUS_DATA_LOSS, EXIT_UNREACHABLE},
        {STATUS_INVALID_ARGUMENT, EXIT_USAGE},
        {STATUS_DEADLINE_EXCEEDED, EXIT_TIMED_OUT},
    };
    if (status == STATUS_CANCELLED) {
        return cli_fail(cli, EXIT_INTERRUPTED, call_fail(cli->call, status, "interrupted"));
    }
    for (size_t index = 0; index < COUNT_OF(rows); index++) {
        if (rows[index].status == status) {
            return cli_fail(cli, rows[index].exit_code, status);
        }
    }
    return status;
}

static const char *
url_of(const Cli *cli, const char *path)
{
    Slice base = slice_from_string(config_string(cli->config, "url"));
    while (base.size > 0 && base.data[base.size - 1] == '/') {
        base.size--;
    }
    return text_format(cli->call->arena, "%.*s%s", SLICE_PRINT(base), path);
}

/* Returns the credentials' header and the caller's, NULL-terminated; NULL without memory. */
static const char **
headers_of(const Cli *cli, const char *const *more)
{
    enum { OWN_COUNT = 1, MORE_MAX = 6 };
    const char *key = config_secret(cli->config, "key");
    const char **headers = arena_alloc(cli->call->arena, (OWN_COUNT + MORE_MAX + 1) * sizeof *headers);
    size_t count = 0;
    if (headers != NULL && key != NULL) {
        headers[count++] = text_format(cli->call->arena, "Authorization: Bearer %s", key);
    }
    for (; headers != NULL && more != NULL && *more != NULL && count < OWN_COUNT + MORE_MAX; more++) {
        headers[count++] = *more;
    }
    return headers;
}

/* The context of a request's events. */
typedef struct Exchange {
    Progress own;
    Progress *progress; /* `own` or the caller's */
    LocalFile file;
    Sha256State *hash; /* of the file; NULL: it is not checked */
} Exchange;

static void
exchange_done(Exchange *exchange)
{
    sha256_abandon(exchange->hash);
    local_file_done(&exchange->file);
}
#define AUTO_EXCHANGE CLEANUP(exchange_done) Exchange

static void
exchange_progress(void *context, const HttpClientProgress *transferred)
{
    Exchange *exchange = context;
    progress_show(exchange->progress, transferred);
}

static Status
exchange_save(Call *call, void *context, Slice piece)
{
    Exchange *exchange = context;
    if (exchange->hash != NULL) {
        sha256_update(exchange->hash, piece);
    }
    return local_file_append(call, &exchange->file, piece);
}

static Status
exchange_run(Cli *cli, const ApiRequest *request, Exchange *exchange, HttpClientResponse *ret_reply)
{
    static const HttpClientEvents events = {.on_progress = exchange_progress};
    static const HttpClientEvents save_events = {.on_data = exchange_save, .on_progress = exchange_progress};
    bool has_body = request->body.data != NULL || request->source != NULL;
    bool is_json = has_body && request->content_type == NULL;
    HttpClientRequest sent = {
        .method = request->method,
        .url = url_of(cli, request->path),
        .content_type = is_json ? "application/json" : request->content_type,
        .headers = headers_of(cli, request->headers),
        .body = request->body,
        .source = request->source,
        .parts = request->parts,
        .part_count = request->part_count,
        .response_size_max = API_REPLY_SIZE_MAX,
        .timeout_ms = request->timeout_ms,
        .stall_timeout_ms = request->timeout_ms == 0 ? API_STALL_TIMEOUT_MS : 0,
        .events = request->save_path == NULL ? &events : &save_events,
        .context = exchange,
    };
    if (sent.url == NULL || sent.headers == NULL) {
        return call_fail_memory(cli->call, "a request");
    }
    return http_client_send(cli->call, cli->client, &sent, ret_reply);
}

/* Keeps the file that was received, if it is what it was asked for. */
static Status
exchange_keep(Call *call, Exchange *exchange, const Sha256 *wanted)
{
    Sha256 found;
    if (wanted != NULL) {
        sha256_end(TAKE(exchange->hash), &found);
        if (!sha256_equal(&found, wanted)) {
            return call_fail(call, STATUS_DATA_LOSS, "the bytes that came have another digest");
        }
    }
    return local_file_keep(call, &exchange->file);
}

Status
api_send(Cli *cli, const ApiRequest *request, HttpClientResponse *ret_reply)
{
    assert(cli->client != NULL && request->path != NULL);
    enum { CLASS = 100 };
    AUTO_EXCHANGE exchange = {.own = progress_begin(request->label)};
    exchange.progress = request->progress == NULL ? &exchange.own : request->progress;
    *ret_reply = (HttpClientResponse){0};
    cli->problem = SLICE("");
    cli->call->request_id[0] = '\0';
    if (request->digest != NULL) {
        exchange.hash = sha256_begin();
        if (exchange.hash == NULL) {
            return call_fail_memory(cli->call, "a digest");
        }
    }
    if (request->save_path != NULL) {
        Status status = local_file_begin(cli->call, request->save_path, &exchange.file);
        if (status != STATUS_OK) {
            return cli_fail(cli, EXIT_USAGE, status);
        }
    }
    Status status = exchange_run(cli, request, &exchange, ret_reply);
    progress_end(&exchange.own);
    if (status != STATUS_OK) {
        return transport_fail(cli, status);
    }
    if (ret_reply->status / CLASS != 2 && !request->takes_any_status) {
        return refusal_fail(cli, ret_reply);
    }
    return request->save_path == NULL ? STATUS_OK : exchange_keep(cli->call, &exchange, request->digest);
}

Status
api_get(Cli *cli, const char *path, HttpClientResponse *ret_reply)
{
    return api_send(cli, &(ApiRequest){.path = path}, ret_reply);
}
