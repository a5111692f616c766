/* What is refused before anybody looks at a request: headers that two programs could read in two ways.
 *
 * libmicrohttpd 0.9.75 is generous where a proxy in front of it may not be: it takes bare line feeds for line
 * ends, cuts a value at a NUL, unfolds folded lines, reads the first of two Content-Lengths, and prefers
 * chunked over a Content-Length beside it. None of that can be seen through its interface; all of it can be
 * seen in the bytes it has parsed. It parses in place: names and values are pointers into the one buffer that
 * the header block was received into, each CR, LF and ':' at the end of one overwritten by NUL. So the bytes
 * between the end of a value and the next name are two NULs exactly when the line ended with CRLF and the
 * value held no NUL, and a folded line is one whose parts are no longer in order. guard_layout() checks just
 * that. With a libmicrohttpd that parses otherwise every request would be refused, and the tests of this
 * module would say so.
 *
 * Not seen: a bare line feed as the very last line end with nothing behind it (nothing can hide there), and
 * line ends and extensions inside chunked bodies; therefore a connection ends with its first chunked request.
 *
 * Errors: INVALID_ARGUMENT; the reply is 400 and the connection is closed. */
#pragma once

#include "gateway/http/request.h"

typedef struct Head {
    const char *target;  /* where libmicrohttpd left the request line's parts: in one buffer */
    size_t target_size;  /* up to the first NUL, before its query was taken apart in place */
    const char *version; /* "HTTP/1.1" */
    const Field *fields; /* in the order received */
    size_t field_count;
} Head;

MUST_USE Status guard_layout(Call *call, const Head *head);

/* Names are tokens, values hold no control bytes, and no header that frames or identifies comes twice. */
MUST_USE Status guard_fields(Call *call, const Field *fields, size_t field_count);

/* Host is required from HTTP/1.1 on (RFC 9112 3.2). libmicrohttpd would refuse it too in its strict mode,
 * which stays off: version 0.9.75 sends the head of that refusal twice. It adds no other check that is not
 * made here. */
MUST_USE Status guard_host(Call *call, const Request *request, const char *version);

/* How the body is framed. */
typedef struct Framing {
    uint64_t content_length; /* 0 without one */
    bool is_chunked;
    bool expects_continue;
} Framing;

/* Refuses what leaves two readings: Content-Length with Transfer-Encoding, another coding than chunked. */
MUST_USE Status guard_framing(Call *call, const Request *request, Framing *ret_framing);

/* The size of the header block in bytes. */
size_t head_size(const Head *head);
