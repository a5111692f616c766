/* Translation between HTTP/2's error codes (RFC 9113 7), nghttp2's own and ours. Threads: any. */
#pragma once

#include <stdint.h>

#include "shared/base/status.h"

Status h2_status_of_code(uint32_t error_code);
uint32_t h2_code_of_status(Status status);

/* Translate a fatal error of the library: the code that the peer is told, and the Status that the streams
 * get. */
uint32_t h2_code_of_failure(int library_error);
Status h2_status_of_failure(int library_error);
