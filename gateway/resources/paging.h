/* Pages of resources that are listed by their id: between the query (gateway/http/page.h) and the store's
 * keys (gateway/store/page.h).
 *
 * Errors: INVALID_ARGUMENT for a size, a token or a parameter that a list does not know. */
#pragma once

#include "gateway/domain/limits.h"
#include "gateway/http/request.h"
#include "gateway/http/response.h"
#include "gateway/store/page.h"
#include "shared/json/writer.h"

/* The page that page_size and page_token ask for; a size above the limit `page_size` counts as the limit. */
MUST_USE Status paging_read(Call *call, const Request *request, const Limits *limits, Page *ret_page);

/* The same for a list with parameters of its own: the caller has checked which there are. */
MUST_USE Status paging_read_filtered(
    Call *call, const Request *request, const Limits *limits, Page *ret_page);

/* Ends the document of a list: "next_page_token", with the Link header; empty when `last` is NULL, for then
 * no page follows. */
void paging_write_next(
    Call *call, const Request *request, Response *response, JsonWriter *writer, const Uuid *last);
