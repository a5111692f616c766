/* The memory of the device. It is closed to the host (PROT_NONE) except while a stream does its work: a host
 * that reads or writes it gets SIGSEGV at the line that did it. Fresh memory is all ones (NaN), freed memory
 * is overwritten, and behind each block is a gap, which is checked when kernels have run and, under the
 * address sanitizer, poisoned.
 *
 * Threads: one at a time (the runtime's lock). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Returns NULL when the card is full. */
void *device_memory_take(size_t size);

/* Returns false when no block begins there. */
bool device_memory_give(void *data);

/* Returns whether all these bytes lie in one block, or none of them in the device's memory. */
bool device_memory_holds(const void *data, size_t size);
bool device_memory_is_host(const void *data);

size_t device_memory_in_use(void);
size_t device_memory_size(void);
void device_memory_set_size(size_t size);

/* Opens and closes the memory for work on a stream; nests. */
void device_memory_open(void);
void device_memory_close(void);

/* Ends the process when something was written behind a block. `who` says what ran. */
void device_memory_check(const char *who);

/* Frees all. Returns how many blocks there were. */
size_t device_memory_clear(void);

/* Memory of the host that asynchronous copies may name (cudaHostAlloc). */
void *pinned_memory_take(size_t size);
bool pinned_memory_give(void *data);
bool pinned_memory_holds(const void *data, size_t size);
size_t pinned_memory_clear(void); /* as device_memory_clear() */
