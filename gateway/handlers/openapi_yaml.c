/* openapiYaml: serves the contract of this API as it was built in. */
#include "gateway/handlers/documents.h"
#include "gateway/http/exchange.h"

static void
start_openapi_yaml(Exchange *exchange)
{
    response_borrow(
        exchange_response(exchange), "application/yaml", slice_from_string(openapi_yaml), NULL, NULL);
    exchange_finish(exchange);
}

HANDLER(openapi_yaml) = {
    .operation_id = "openapiYaml",
    .method = "GET",
    .path = "/openapi.yaml",
    .access = ACCESS_PUBLIC,
    .start = start_openapi_yaml,
};
