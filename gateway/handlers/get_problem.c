/* getProblem: serves the pages that the `type` of problem documents points to, one for each canonical
 * code. */
#include <string.h>

#include "gateway/http/exchange.h"
#include "gateway/http/problem.h"
#include "shared/base/text.h"

/* Texts for clients: the meaning of each code in this API, and the remedy. */
static const char *const pages[] = {
    [STATUS_CANCELLED] = "The step was cancelled: by :cancel, by deleting its session, or because the client "
                         "that waited for it hung up. Nothing more will happen.",
    [STATUS_UNKNOWN] = "The database was lost while a change was being committed: it may have happened. Read "
                       "the resource back before trying again, or use an Idempotency-Key.",
    [STATUS_INVALID_ARGUMENT] =
        "The request cannot be understood or contradicts itself. `errors` says where, "
        "with JSON pointers. The same request will fail again.",
    [STATUS_DEADLINE_EXCEEDED] = "The time of the request or the step ended first. A step may ask for more "
                                 "with options.timeout_ms; `Prefer: respond-async` does not wait at all.",
    [STATUS_NOT_FOUND] = "There is no such resource, or it belongs to another tenant.",
    [STATUS_ALREADY_EXISTS] = "A resource of this identity is there already, or a request with the same "
                              "Idempotency-Key is still under way: ask again in a moment.",
    [STATUS_PERMISSION_DENIED] = "The key is valid, but may not do this.",
    [STATUS_RESOURCE_EXHAUSTED] = "A quota or a pool is used up. Retry-After says when to try again; a quota "
                                  "of stored things needs something to be deleted first.",
    [STATUS_FAILED_PRECONDITION] = "The resource is not in the state that this needs. 412: If-Match names "
                                   "another state, read it again. 428: send If-Match with the ETag.",
    [STATUS_ABORTED] = "Somebody else changed the same thing at the same moment. Read it and try again.",
    [STATUS_OUT_OF_RANGE] = "Something is larger than a limit allows. GET /api/v1/limits shows them all.",
    [STATUS_UNIMPLEMENTED] = "This is not served here: an op, a format or a feature. The detail names it.",
    [STATUS_INTERNAL] = "Something went wrong on our side. The log has it under the request id: please "
                        "report it with that.",
    [STATUS_UNAVAILABLE] = "The database, or the workers, cannot be reached now, or the gateway is stopping. "
                           "Retry-After says when to try again.",
    [STATUS_DATA_LOSS] = "Stored bytes are gone or damaged. The log has it under the request id.",
    [STATUS_UNAUTHENTICATED] = "The key is missing, wrong, revoked or expired. Send `Authorization: Bearer "
                               "slk_…`, or Basic with the key's id and secret.",
};

static void
start_get_problem(Exchange *exchange)
{
    Slice wanted = request_parameter(exchange_request(exchange), "code");
    for (size_t code = 0; code < COUNT_OF(pages); code++) {
        char slug[PROBLEM_SLUG_SIZE];
        problem_slug((Status)code, slug);
        if (pages[code] != NULL && slice_equals_string(wanted, slug)) {
            Buffer *body = response_body(exchange_response(exchange), "text/plain; charset=utf-8");
            buffer_append_format(body, "%s (HTTP %d)\n\n%s\n", status_name((Status)code),
                status_http_code((Status)code), pages[code]);
            exchange_finish(exchange);
            return;
        }
    }
    exchange_fail(exchange, call_fail(exchange_call(exchange), STATUS_NOT_FOUND, "there is no problem '%.*s'",
                                SLICE_PRINT(slice_part(wanted, 0, 64))));
}

HANDLER(get_problem) = {
    .operation_id = "getProblem",
    .method = "GET",
    .path = "/problems/{code}",
    .access = ACCESS_PUBLIC,
    .start = start_get_problem,
};
