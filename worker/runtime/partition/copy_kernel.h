/* The kernels of _Copy, which copies a tensor between the host's memory and an accelerator's. The state of a
 * _Copy is the accelerator's Device.
 *
 * Threads: as kernels; the copy completes on a thread of the device.
 * Errors:  RESOURCE_EXHAUSTED when the memory copied to is full; those of the device. */
#pragma once

#include "worker/runtime/kernel.h"

extern const Op copy_op;
extern const Kernel upload_kernel;   /* to the accelerator */
extern const Kernel download_kernel; /* to the host */
