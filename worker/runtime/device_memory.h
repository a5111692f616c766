/* Allocates of a device what runs need, at the expense of what is kept for later, or from the memory of the
 * part of a graph that is being captured.
 *
 * This header is valid C11 and C++, so that nvcc can read it. */
#pragma once

#include "worker/runtime/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns memory as allocate() does, for which what the device's keeper can do without makes room, but not
 * when `account` (NULL: none) has refused it. While a part of a graph is captured on this thread, it is of
 * the part's own (capture_memory.h). */
TensorBuffer *device_allocate(Device *device, size_t size, const MemoryAccount *account);

/* Frees what was used longest ago of that which the device keeps and nobody uses now; false: there is none.
 */
bool device_make_room(Device *device);

/* Counts an allocation that found no room, and writes why, in a user's words that follow "but" or ":". */
enum { DEVICE_FULL_TEXT_SIZE = 320 };
const char *device_tell_full(
    Device *device, const MemoryAccount *account, char ret_text[DEVICE_FULL_TEXT_SIZE]);

/* Counts a tensor that is copied during a run, to an accelerator or from it. */
void device_count_copy(Device *accelerator, bool is_upload, size_t size);

#ifdef __cplusplus
}
#endif
