/* Guards refuse requests whose headers two programs could read in two ways, before anything else looks at
 * them.
 *
 * libmicrohttpd 0.9.75 is more generous than a proxy in front of it may be: it takes bare line feeds for
 * line ends, cuts a value at a NUL, unfolds folded lines, reads the first of two Content-Lengths, and
 * prefers chunked over a Content-Length beside it. Its interface does not show any of that, but the bytes
 * that it has parsed do. It parses in place: names and values are pointers into the one buffer that the
 * header block was received into, and each CR, LF and ':' at the end of one is overwritten by NUL.
 * Therefore the bytes between the end of a value and the next name are two NULs exactly when the line
 * ended with CRLF and the value held no NUL, and the parts of a folded line are out of order.
 * guard_layout() checks just that. A libmicrohttpd that parses otherwise would have every request refused,
 * and the tests of this module would fail.
 *
 * The last line is one byte longer, or shorter, when a NUL ends its value or a bare line feed the block: the
 * size that libmicrohttpd counted tells.
 *
 * One thing is not seen: line ends and extensions inside chunked bodies, therefore a connection ends with its
 * first chunked request. And one comes before the guards: a Content-Length that is no number is refused by
 * libmicrohttpd itself, with a page of its own that stands behind its head twice. Its log is told first,
 * where admission_refuse_length() answers in its place.
 *
 * Errors: INVALID_ARGUMENT; the reply is 400 and the connection is closed. */
#pragma once

#include "gateway/http/request.h"

typedef struct Head {
    const char *method; /* in libmicrohttpd's buffer, as all the others are */
    const char *target;
    size_t target_size;  /* up to the first NUL, measured before the query was taken apart in place */
    const char *version; /* "HTTP/1.1" */
    const Field *fields; /* in the order received */
    size_t field_count;
    size_t size; /* of the whole block, from the method to behind the empty line */
} Head;

MUST_USE Status guard_layout(Call *call, const Head *head);

/* Refuses names that are no tokens, values with control bytes, and a second header that frames or
 * identifies. */
MUST_USE Status guard_fields(Call *call, const Field *fields, size_t field_count);

/* Requires Host from HTTP/1.1 on (RFC 9112 3.2). libmicrohttpd's strict mode would refuse such a request
 * too, but version 0.9.75 sends the head of that refusal twice; all its other checks are made here. */
MUST_USE Status guard_host(Call *call, const Request *request, const char *version);

/* Refuses with PERMISSION_DENIED what a web page of another host may have made its reader's browser send:
 * Host must be no domain, and Origin, if there is one, must name this machine. For servers that ask for no
 * keys: nothing else tells a page's requests from its reader's. Host catches pages whose domain was made to
 * lead here (DNS rebinding), Origin all others that can change anything (Fetch 3.2). */
MUST_USE Status guard_local(Call *call, const Request *request);

/* The framing of a request's body. */
typedef struct Framing {
    uint64_t content_length; /* 0 without one */
    bool is_chunked;
    bool expects_continue;
} Framing;

/* Refuses framing that can be read in two ways: Content-Length with Transfer-Encoding, codings but chunked,
 * and any coding in HTTP/1.0, which has none (RFC 9112 6.1). */
MUST_USE Status guard_framing(Call *call, const Request *request, const char *version, Framing *ret_framing);

/* Returns the size of the header block in bytes. */
size_t head_size(const Head *head);
