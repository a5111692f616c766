/* Streams and events. A stream does its work as late as it may: when somebody waits for it, or when a draw
 * says so, on the thread of whoever called; so work that should have been ordered by an event and is not
 * comes in the wrong order.
 *
 * Threads: any; the lock of runtime.h. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct KernelLaunch {
    const void *kernel;
    dim3 grid;
    dim3 block;
    size_t shared_size;
    void (*body)(void *arguments); /* called once a thread */
    void *arguments;               /* on the heap, owned by the launch */
} KernelLaunch;

/* Enqueues a kernel, as <<<>>> does. Always takes over the arguments. */
cudaError_t cuda_on_cpu_launch(const KernelLaunch *launch, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

/* Under the lock: */

/* Does all work of all streams. */
void streams_finish(void);

/* Forgets all streams and their work. */
void streams_drop(void);
