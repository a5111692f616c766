/* An accelerator that does nothing: its kernels make their outputs and enqueue no work. What a step on it
 * takes is what the host does for the step.
 *
 * Ownership: one in a process, which is never freed; its memory is the host's.
 * Threads:   any, as a Device. */
#pragma once

#include "worker/runtime/kernel.h"

/* Returns the accelerator, whose kernels (of Add alone) are registered. */
Device *null_accelerator(Call *call, Device *host);
