/* The headers of one part of a multipart/form-data body (RFC 7578 4). Pure functions. */
#pragma once

#include "gateway/http/multipart.h"

/* Reads lines that all end with CRLF. Returns NULL, or the fault as a sentence. Names without escapes
 * point into the lines, others live in the arena. */
MUST_USE const char *multipart_header_read(Arena *arena, Slice lines, MultipartPart *ret_part);
