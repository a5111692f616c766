/* Content negotiation (RFC 9110 12.5): which of the forms that we can give does the client want most?
 *
 * Errors: a header that cannot be read counts as absent, as RFC 9110 12.1 lets a server do. */
#pragma once

#include <stdbool.h>

#include "shared/base/slice.h"

enum { ACCEPT_QUALITY_MAX = 1000 };

/* What an Accept header gives this media type ("application/json"): 0 for not acceptable, to 1000. The most
 * specific range counts. An absent header (data NULL) or an empty one takes everything. */
int accept_quality(Slice accept, const char *media_type);

/* The index of the best of our offers, in our order when they tie; -1 when none is acceptable (406). */
int accept_choose(Slice accept, const char *const *offers, int offer_count);

/* Whether Accept-Encoding admits this content coding ("gzip"). Without the header: no, for a client that
 * names nothing may not be able to. */
bool accept_encoding(Slice accept_encoding_header, const char *coding);

/* "Application/JSON; charset=utf-8" gives "Application/JSON". */
Slice media_type_bare(Slice content_type);
