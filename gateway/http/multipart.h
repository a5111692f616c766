/* Bodies of the type multipart/form-data (RFC 7578), read as they arrive: bytes in, parts out.
 *
 * The reading is strict: the body begins with the boundary and ends with the closing one (a line end may
 * follow), lines end with CRLF, every part is named once by a Content-Disposition: form-data, and no part
 * is encoded.
 *
 *     X                multipart_write(X)
 *     --b\r\n
 *     Content-Disposition: form-data; name="x:0"\r\n
 *     \r\n             on_part
 *     …bytes…          on_data, any number of times
 *     \r\n--b--        on_part_end
 *
 * Ownership: lives in the arena of the call; a MultipartPart lives until on_part returns.
 * Threads:   one at a time.
 * Errors:    INVALID_ARGUMENT names the part and the byte; OUT_OF_RANGE above a limit. A failed event ends
 *            the reading with its Status. Nothing may be written after an error. */
#pragma once

#include "gateway/http/multipart_header.h"
#include "shared/base/call.h"
#include "shared/base/slice.h"

typedef struct Multipart Multipart;

typedef struct MultipartEvents {
    MUST_USE Status (*on_part)(Call *call, void *context, const MultipartPart *part);
    MUST_USE Status (*on_data)(Call *call, void *context, Slice piece);
    MUST_USE Status (*on_part_end)(Call *call, void *context);
} MultipartEvents;

typedef struct MultipartOptions {
    Slice boundary;
    size_t part_count_max;
    const char *part_limit; /* the name of that limit, for the error */
    const MultipartEvents *events;
    void *context;
} MultipartOptions;

MUST_USE Status multipart_new(Call *call, const MultipartOptions *options, Multipart **ret_multipart);
MUST_USE Status multipart_write(Call *call, Multipart *multipart, Slice piece);

/* Returns the offset in the body of the next byte: in on_part, of the part's first; in on_data, of the one
 * behind the piece. */
uint64_t multipart_position(const Multipart *multipart);

/* Fails when the body, which has ended, has no closing boundary. */
MUST_USE Status multipart_end(Call *call, const Multipart *multipart);
