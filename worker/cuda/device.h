/* A card as the runtime's Device (worker/runtime/device.h): one lane, a stream for each direction of copies,
 * memory, and threads that wait for the card so that no other has to.
 *
 * Ownership: the PluginDevice and all that it shows are the caller's until cuda_device_close(); all its
 *            buffers are released and all copies and fences done by then.
 * Threads:   opened and closed by one; the device's functions are called by any.
 * Errors:    UNAVAILABLE: there is no such card. RESOURCE_EXHAUSTED: no memory for it, here or there. */
#pragma once

#include "worker/runtime/plugin.h"

MUST_USE Status cuda_device_open(Call *call, const PluginOptions *options, PluginDevice *ret_device);
void cuda_device_close(PluginDevice *device);
