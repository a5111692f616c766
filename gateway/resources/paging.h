/* Pages of resources that are listed by id: links the query (gateway/http/page.h) to the store's keys
 * (gateway/store/page.h).
 *
 * Errors: INVALID_ARGUMENT for a size, a token or a parameter that a list does not know. */
#pragma once

#include "gateway/domain/limits.h"
#include "gateway/http/request.h"
#include "gateway/http/response.h"
#include "gateway/store/page.h"
#include "shared/json/writer.h"

/* Reads page_size and page_token; a size above the limit `page_size` counts as the limit. */
MUST_USE Status paging_read(Call *call, const Request *request, const Limits *limits, Page *ret_page);

/* Reads the same for a list that has further parameters, which the caller has checked. */
MUST_USE Status paging_read_filtered(
    Call *call, const Request *request, const Limits *limits, Page *ret_page);

/* Ends the document of a list with "next_page_token" and the Link header; `last` NULL: no page follows. */
void paging_write_next(
    Call *call, const Request *request, Response *response, JsonWriter *writer, const Uuid *last);
