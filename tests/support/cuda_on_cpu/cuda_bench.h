/* A card that is opened as the runtime opens one, with the host that its work comes back to, and copies and
 * fences that are waited for. */
#pragma once

#include "shared/base/memory.h"
#include "tests/support/await.h"
#include "tests/support/call_fixture.h"
#include "tests/support/cuda_on_cpu/cuda_on_cpu.h"
#include "worker/cpu/device.h"
#include "worker/cuda/device.h"
#include "worker/cuda/lane.h"
#include "worker/runtime/memory_account.h"

#define MIB ((size_t)1 << 20)

typedef struct CudaBench {
    Device *host;
    PluginDevice opened;
    Device *card;
    DeviceLane *lane;
} CudaBench;

/* `memory` and `pinned` in bytes, as in PluginOptions; `device` as there. The environment's CUDA_LIBRARIES
 * names folders of the vendor's libraries, with ':' between. */
CudaBench cuda_bench_open(Call *call, const char *device, uint64_t memory, uint64_t pinned);

/* Opens a card with these options, to which the host and the libraries are added. */
CudaBench cuda_bench_open_with(Call *call, PluginOptions options);
void cuda_bench_close(CudaBench *bench);

typedef struct WaitedCopy {
    DeviceCopy copy;
    int32_t is_done;
    Status status;
    char message[ERROR_MESSAGE_SIZE];
} WaitedCopy;

/* Begins a copy of as many bytes as both have. */
void cuda_bench_begin(const CudaBench *bench, WaitedCopy *waited, TensorBuffer *from, TensorBuffer *to);
Status cuda_bench_await(WaitedCopy *waited);

/* Copies, and fails the test unless it is good. */
void cuda_bench_copy(const CudaBench *bench, TensorBuffer *from, TensorBuffer *to);

/* Waits until the lane is empty. Returns what the fence says, and its message. */
Status cuda_bench_fence(const CudaBench *bench, char ret_message[ERROR_MESSAGE_SIZE]);

DeviceMemory cuda_bench_memory(const CudaBench *bench);

/* Makes memory of the card, and of the host with bytes that follow from `seed`. Never NULL. */
TensorBuffer *cuda_bench_new(const CudaBench *bench, size_t size);
TensorBuffer *cuda_bench_filled(size_t size, unsigned seed);

/* Returns whether the card's buffer, downloaded, has the bytes of cuda_bench_filled(). */
bool cuda_bench_has(const CudaBench *bench, TensorBuffer *buffer, unsigned seed);

/* Enqueue work in the lane, as a kernel would. */
void cuda_bench_lane_fill(const CudaBench *bench, TensorBuffer *buffer, int byte);
void cuda_bench_lane_copy(const CudaBench *bench, TensorBuffer *from, TensorBuffer *to);

/* Returns the signal by which a process ends that does body(context), or 0: by none. */
int signal_of(void (*body)(void *context), void *context);
