/* livez: answers while the process and its loop are alive; never touches the database. */
#include "gateway/http/exchange.h"
#include "gateway/http/handler.h"

static void
start_livez(Exchange *exchange)
{
    buffer_append_string(response_body(exchange_response(exchange), "text/plain"), "ok\n");
    exchange_finish(exchange);
}

HANDLER(livez) = {
    .operation_id = "livez",
    .method = "GET",
    .path = "/livez",
    .access = ACCESS_PUBLIC,
    .start = start_livez,
};
