/* Lists in pages (AIP-158): page_size and an opaque page_token, which holds the key of the last item of a
 * page and never an offset. Resources that are listed by id have the store's keys (gateway/store/page.h).
 *
 * A token is bound to the route and to every other query parameter of the request that it was made for:
 * with another filter it is refused. It carries no authority: every page is authorized anew.
 *
 * Errors: INVALID_ARGUMENT for a size, a token or a parameter that a list does not know. */
#pragma once

#include "gateway/domain/limits.h"
#include "gateway/http/request.h"
#include "gateway/http/response.h"
#include "gateway/store/page.h"
#include "shared/json/writer.h"

enum { PAGE_QUERY_SIZE_DEFAULT = 50, PAGE_QUERY_SIZE_MAX = 1000 };

typedef struct PageQuery {
    uint32_t size; /* at most PAGE_QUERY_SIZE_MAX; asking for one more tells whether a page follows */
    Slice after;   /* the bytes given to page_token() for the last item; empty for the first page */
} PageQuery;

MUST_USE Status page_parse(Call *call, const Request *request, PageQuery *ret_page);

/* Returns the token of the page behind the item with this key, and sets the Link header with rel="next".
 * NULL without memory. */
const char *page_token(Call *call, const Request *request, Response *response, Slice key);

/* Reads page_size and page_token; a size above the limit `page_size` counts as the limit. */
MUST_USE Status paging_read(Call *call, const Request *request, const Limits *limits, Page *ret_page);

/* Reads the same for a list that has further parameters, which the caller has checked. */
MUST_USE Status paging_read_filtered(
    Call *call, const Request *request, const Limits *limits, Page *ret_page);

/* Begins the document of a list, whose items are to be written next. */
JsonWriter paging_begin(Response *response, const char *name);

/* Ends it with "next_page_token" and the Link header; `last` without bytes: no page follows. */
void paging_end_at(Call *call, const Request *request, Response *response, JsonWriter *writer, Slice last);

/* Does the same for a list by id; `last` NULL: no page follows. */
void paging_end(Call *call, const Request *request, Response *response, JsonWriter *writer, const Uuid *last);
