/* Pages for people who open the gateway in a browser, embedded by the build (tools/embed_text). They load
 * nothing from elsewhere. */
#pragma once

#include "gateway/http/exchange.h"

extern const char index_html[];
extern const char docs_html[];

/* Answers with a page. Its policy (CSP) keeps the browser from asking any other host. */
static inline void
page_answer(Exchange *exchange, const char *page)
{
    Response *response = exchange_response(exchange);
    response_header(response, "Content-Security-Policy",
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    response_header(response, "X-Content-Type-Options", "nosniff");
    response_borrow(response, "text/html; charset=utf-8", slice_from_string(page), NULL, NULL);
    exchange_finish(exchange);
}
