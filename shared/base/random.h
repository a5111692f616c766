/* Random bytes from the kernel, for identities, tokens and incarnations. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Never fails: the program stops when the kernel gives no randomness, for nothing safe can follow. */
void random_bytes(void *ret_bytes, size_t size);
uint64_t random_uint64(void);
uint64_t random_nonzero_uint64(void); /* incarnations: 0 means unknown */
