/* Authorization looks the credentials up in the cache of keys, and on a job thread when the cache does not
 * know them. The job begins with the first piece of the body, since libmicrohttpd allows no suspension
 * before. */
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
    if (exchange->credentials.scheme == CREDENTIALS_NONE && ticket.size > 0) {
        exchange->credentials = (Credentials){.scheme = CREDENTIALS_TICKET, .secret = ticket};
    }
    AuthorizeAnswer answer = AUTHORIZE_DENIED;
    if (options->authorize != NULL) {
        answer = options->authorize(options->parts, request, &exchange->credentials, &request->principal);
    }
    if (answer == AUTHORIZE_UNKNOWN && options->authorize_blocking != NULL) {
        exchange->needs_authorization = true;
        return STATUS_OK;
    }
    return answer == AUTHORIZE_ALLOWED ? authorization_conclude(exchange) : fail_credentials(exchange);
}

static Status
look_up_principal(Call *call, JobContext *job_context, void *owner)
{
    Exchange *exchange = owner;
    const HttpOptions *options = &exchange->server->options;
    return options->authorize_blocking(
        call, job_context, &exchange->request, &exchange->credentials, &exchange->request.principal);
}

bool
authorization_ask(Exchange *exchange, void (*done)(Exchange *exchange, Status status, void *owner))
{
    assert(exchange->needs_authorization && exchange->phase == EXCHANGE_BODY);

    exchange->needs_authorization = false;
    if (!exchange_offload(exchange, look_up_principal, done, exchange)) {
        return false;
    }
    exchange->phase = EXCHANGE_AUTHORIZING;
    connection_enter(exchange->connection, CONNECTION_WORK, 0);
    connection_suspend(exchange->connection);
    return true;
}
