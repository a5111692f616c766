/* Random bytes from the kernel, for identities, tokens and incarnations.
 *
 * Threads: any.
 * Errors:  none: the program stops when the kernel gives no randomness, for nothing safe can follow. */
#pragma once

#include <stddef.h>
#include <stdint.h>

void random_bytes(void *ret_bytes, size_t size);
uint64_t random_uint64(void);
uint64_t random_nonzero_uint64(void); /* for incarnations, where 0 means unknown */
