/* index: says to who opens the gateway in a browser where they are. */
#include "gateway/handlers/pages.h"

static void
start_index(Exchange *exchange)
{
    page_answer(exchange, index_html);
}

HANDLER(index) = {
    .operation_id = "index",
    .method = "GET",
    .path = "/",
    .access = ACCESS_PUBLIC,
    .start = start_index,
};
