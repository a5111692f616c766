/* Authorization looks the credentials up in the cache of keys, and in the database when the cache does not
 * know them. That begins with the first piece of the body, since libmicrohttpd allows no suspension before.
 *
 * The database is asked about all requests that wait at once, by one job at a time. Whoever floods a gateway
 * with keys that do not exist fills its turns, a few dozen a second, and neither the job threads nor
 * PostgreSQL; a key that was valid a moment ago waits for no turn. */
#include <assert.h>

#include "gateway/http/exchange.h"
#include "gateway/http/headers.h"
#include "gateway/http/internals.h"

Status
authorization_conclude(Exchange *exchange)
{
    assert(exchange->request.handler != NULL);

    bool is_hidden =
        exchange->request.handler->access == ACCESS_OPERATOR && !exchange->request.principal.is_operator;
    const HttpOptions *options = &exchange->server->options;
    if (options->charge != NULL) {
        TRY(options->charge(&exchange->call, &exchange->request, &exchange->response));
    }
    return !is_hidden ? STATUS_OK
                      : call_fail(&exchange->call, STATUS_NOT_FOUND, "there is nothing at '%.*s'",
                            SLICE_PRINT(slice_part(exchange->request.path, 0, 256)));
}

static Status
fail_credentials(Exchange *exchange)
{
    if (exchange->request.handler->access == ACCESS_WORKER) {
        return call_fail(&exchange->call, STATUS_UNAUTHENTICATED,
            "workers join with the token of --worker-token-file, 'Authorization: Bearer <token>'");
    }
    return exchange->credentials.scheme == CREDENTIALS_NONE
               ? call_fail(&exchange->call, STATUS_UNAUTHENTICATED,
                     "credentials are required: 'Authorization: Bearer <key>'")
               : call_fail(&exchange->call, STATUS_UNAUTHENTICATED, "the credentials are not valid");
}

Status
authorization_begin(Exchange *exchange)
{
    assert(exchange->request.handler != NULL);

    Request *request = &exchange->request;
    const HttpOptions *options = &exchange->server->options;
    if (request->handler->access == ACCESS_PUBLIC) {
        return STATUS_OK;
    }
    if (options->is_local_only) {
        TRY(guard_local(&exchange->call, request));
    }
    Slice ticket = request_query(request, "ticket");
    TRY(credentials_parse(&exchange->call, request_header(request, "Authorization"), &exchange->credentials));
    if (exchange->credentials.scheme == CREDENTIALS_NONE && ticket.size > 0 &&
        request->handler->takes_tickets) {
        exchange->credentials =
            (Credentials){.scheme = CREDENTIALS_TICKET, .name = request->path, .secret = ticket};
    }
    AuthorizeAnswer answer = AUTHORIZE_DENIED;
    if (options->authorize != NULL) {
        answer = options->authorize(options->parts, request, &exchange->credentials, &request->principal);
    }
    bool must_be_asked = answer == AUTHORIZE_STALE || answer == AUTHORIZE_UNKNOWN;
    if (must_be_asked && options->authorize_blocking != NULL) {
        exchange->needs_authorization = true;
        exchange->is_stale = answer == AUTHORIZE_STALE;
        return STATUS_OK;
    }
    return answer == AUTHORIZE_ALLOWED ? authorization_conclude(exchange) : fail_credentials(exchange);
}

static void
look_up_on_job(Job *job, JobContext *context)
{
    HttpServer *server = LIST_ITEM(job, HttpServer, authorizations.job);
    Authorizations *waiting = &server->authorizations;
    server->options.authorize_blocking(server->options.parts, context, waiting->items, waiting->count);
}

static void
end_look_up(HttpServer *server)
{
    Authorizations *waiting = &server->authorizations;
    for (size_t index = 0; index < waiting->count; index++) {
        Exchange *exchange = waiting->exchanges[index];
        exchange->authorized(exchange, waiting->items[index].status);
    }
    waiting->count = 0;
    loop_defer(server->loop, &waiting->begin);
}

static void
look_up_is_done(Job *job)
{
    end_look_up(LIST_ITEM(job, HttpServer, authorizations.job));
}

static void
take_items(Authorizations *waiting, ListLink *list)
{
    while (!list_is_empty(list) && waiting->count < AUTHORIZE_ITEMS_MAX) {
        Exchange *exchange = LIST_ITEM(list_first(list), Exchange, authorizing);
        list_remove(&exchange->authorizing);
        waiting->exchanges[waiting->count] = exchange;
        waiting->items[waiting->count++] = (AuthorizeItem){.call = &exchange->call,
            .credentials = &exchange->credentials,
            .principal = &exchange->request.principal};
    }
}

static void
take_unknown(HttpServer *server)
{
    Authorizations *waiting = &server->authorizations;
    uint64_t now_ns = loop_now_ns(server->loop);
    if (list_is_empty(&waiting->unknown)) {
        return;
    }
    if (now_ns < waiting->due_ns) {
        timer_set(server->loop, &waiting->pause, waiting->due_ns);
        return;
    }
    waiting->due_ns = now_ns + AUTHORIZE_PAUSE_MS * CLOCK_NS_PER_MS;
    take_items(waiting, &waiting->unknown);
}

static void
begin_look_up(HttpServer *server)
{
    Authorizations *waiting = &server->authorizations;
    JobPool *jobs = server->options.jobs;
    if (waiting->count > 0) {
        return;
    }
    take_items(waiting, &waiting->stale);
    take_unknown(server);
    waiting->job = (Job){.loop = server->loop, .run = look_up_on_job, .done = look_up_is_done};
    if (waiting->count == 0 || (jobs != NULL && job_submit(jobs, &waiting->job))) {
        return;
    }
    for (size_t index = 0; index < waiting->count; index++) {
        waiting->items[index].status = exchange_note_overload(waiting->exchanges[index]);
    }
    end_look_up(server);
}

static void
begin_deferred(Task *task)
{
    begin_look_up(LIST_ITEM(task, HttpServer, authorizations.begin));
}

static void
begin_after_pause(Timer *timer)
{
    begin_look_up(LIST_ITEM(timer, HttpServer, authorizations.pause));
}

void
authorization_ask(Exchange *exchange, void (*done)(Exchange *exchange, Status status))
{
    assert(exchange->needs_authorization && exchange->phase == EXCHANGE_BODY);

    Authorizations *waiting = &exchange->server->authorizations;
    exchange->needs_authorization = false;
    exchange->authorized = done;
    exchange->phase = EXCHANGE_AUTHORIZING;
    connection_enter(exchange->connection, CONNECTION_WORK, 0);
    connection_suspend(exchange->connection);
    list_append(exchange->is_stale ? &waiting->stale : &waiting->unknown, &exchange->authorizing);
    loop_defer(exchange->server->loop, &waiting->begin);
}

void
authorizations_open(HttpServer *server)
{
    Authorizations *waiting = &server->authorizations;
    list_init(&waiting->stale);
    list_init(&waiting->unknown);
    waiting->begin.run = begin_deferred;
    waiting->pause.fire = begin_after_pause;
}

void
authorizations_close(HttpServer *server)
{
    Authorizations *waiting = &server->authorizations;
    assert(waiting->count == 0);

    timer_clear(server->loop, &waiting->pause);
    loop_undefer(server->loop, &waiting->begin);
}
