/* docs: the reference of this API as a page, which writes itself from openapi.json. */
#include "gateway/handlers/pages.h"

static void
start_docs(Exchange *exchange)
{
    page_answer(exchange, docs_html);
}

HANDLER(docs) = {
    .operation_id = "docs",
    .method = "GET",
    .path = "/docs",
    .access = ACCESS_PUBLIC,
    .start = start_docs,
};
