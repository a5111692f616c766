/* openapiJson: serves the contract of this API to tools that read no YAML. */
#include "gateway/handlers/documents.h"
#include "gateway/http/exchange.h"

static void
start_openapi_json(Exchange *exchange)
{
    response_borrow(
        exchange_response(exchange), "application/json", slice_from_string(openapi_json), NULL, NULL);
    exchange_finish(exchange);
}

HANDLER(openapi_json) = {
    .operation_id = "openapiJson",
    .method = "GET",
    .path = "/openapi.json",
    .access = ACCESS_PUBLIC,
    .start = start_openapi_json,
};
