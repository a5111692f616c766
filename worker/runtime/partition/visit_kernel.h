/* Kernels that visit variables, in workers whose variables may lie on an accelerator. A visit runs the
 * kernel; when that wants a variable's value in another memory, the value is copied there, which takes its
 * time, and the kernel runs again.
 *
 * A read leaves the elements where they are and a mirror of them where it wanted them, so that a value that
 * does not change is copied once. A change drops the mirror: a variable that is read and changed on the
 * accelerator has its elements there alone from then on.
 *
 * Threads: as kernels; after a copy the kernel runs on a thread of the host.
 * Errors:  those of the kernel and of the device; RESOURCE_EXHAUSTED when the other memory is full. */
#pragma once

#include "worker/runtime/partition/schedule.h"

/* Has the nodes that visit variables run as visits, if the worker has an accelerator. Devices must have been
 * assigned. */
MUST_USE Status visit_variables(Call *call, Partition *partition);
