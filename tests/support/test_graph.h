/* Captured work of the test device (test_device.h): the kernels that were computed, with the addresses of
 * what they read and wrote, to be computed again at the same addresses.
 *
 * Ownership: test_graph_free() frees a graph. The states of its kernels are the partition's.
 * Threads:   one at a time. */
#pragma once

#include "worker/runtime/kernel.h"

/* NULL without memory. */
MUST_USE DeviceGraph *test_graph_new(void);
void test_graph_free(DeviceGraph *graph); /* NULL is allowed */

/* Adds a kernel that has been computed, with the context that it was given. `inputs` are those from before,
 * which it may have moved. False without memory. */
MUST_USE bool test_graph_add(
    DeviceGraph *graph, const Kernel *kernel, const KernelContext *context, const Tensor *inputs);

/* Fills what the kernels have written, and not only passed on, with a byte: a replay has to write it again.
 */
void test_graph_spoil(const DeviceGraph *graph, int filling);

/* Computes the kernels again. Fails as the first that fails does. */
MUST_USE Status test_graph_compute(Call *call, const DeviceGraph *graph);
