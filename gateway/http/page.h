/* Lists in pages (AIP-158): page_size and an opaque page_token, which holds the key of the last item of a
 * page and never an offset.
 *
 * A token is bound to the route and to every other query parameter of the request that it was made for:
 * with another filter it is refused. It carries no authority: every page is authorized anew.
 *
 * Errors: INVALID_ARGUMENT for a size or a token that cannot be read. */
#pragma once

#include "gateway/http/request.h"
#include "gateway/http/response.h"

enum { PAGE_QUERY_SIZE_DEFAULT = 50, PAGE_QUERY_SIZE_MAX = 1000 };

typedef struct PageQuery {
    uint32_t size; /* at most PAGE_QUERY_SIZE_MAX; asking for one more tells whether a page follows */
    Slice after;   /* the bytes given to page_token() for the last item; empty for the first page */
} PageQuery;

MUST_USE Status page_parse(Call *call, const Request *request, PageQuery *ret_page);

/* Returns the token of the page behind the item with this key, and sets the Link header with rel="next".
 * NULL without memory. */
const char *page_token(Call *call, const Request *request, Response *response, Slice key);
