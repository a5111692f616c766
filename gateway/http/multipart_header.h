/* The headers of a multipart/form-data body: its boundary, and those of one part (RFC 7578 4). Pure
 * functions. */
#pragma once

#include "shared/base/call.h"
#include "shared/base/slice.h"

enum {
    MULTIPART_BOUNDARY_SIZE_MAX = 70, /* RFC 2046 5.1.1 */
    MULTIPART_HEADER_SIZE_MAX = 8192, /* all headers of one part */
};

typedef struct MultipartPart {
    Slice name;       /* unescaped: RFC 7578 4.2's percent form, and backslashes */
    Slice media_type; /* as sent, without parameters; empty: none */
} MultipartPart;

/* Reads lines that all end with CRLF. Returns NULL, or the fault as a sentence. Names without escapes
 * point into the lines, others live in the arena. */
MUST_USE const char *multipart_header_read(Arena *arena, Slice lines, MultipartPart *ret_part);

/* Reads the boundary that a Content-Type names; it points into `content_type`. */
MUST_USE Status multipart_boundary(Call *call, Slice content_type, Slice *ret_boundary);
