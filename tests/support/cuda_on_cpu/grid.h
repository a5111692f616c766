/* Runs the blocks of a kernel one behind the other; each thread of a block is a fiber. A warp goes on for as
 * long as it can while the others stand still: this order, the least fair, shows a barrier that is not there,
 * which a fair one hides.
 *
 * Threads: one at a time (the runtime's lock). */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <vector_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The meaning of threadIdx, blockIdx, blockDim and gridDim. */
typedef struct GridThread {
    uint3 index;
    int lane;
    int warp;
} GridThread;

typedef struct GridBlock {
    uint3 index;
    dim3 size;
    dim3 grid;
    void *dynamic_shared;
} GridBlock;

extern GridThread *grid_thread;
extern GridBlock grid_block;

/* Functions that a kernel's threads call. `mask` names the lanes that take part. */
void grid_barrier(void);
void grid_warp_barrier(unsigned mask);
uint64_t grid_shuffle(unsigned mask, uint64_t bits, int from_lane);

/* Runs a kernel. `body` is called once a thread of each block. Ends the process when threads of a block wait
 * at barriers that others never reach. */
void grid_run(dim3 grid, dim3 block, size_t shared_size, void (*body)(void *arguments), void *arguments);

/* Draws a number below `bound`, for the order of all that is not ordered. */
uint64_t grid_random(uint64_t bound);
void grid_seed(uint64_t seed);

#ifdef __cplusplus
}
#endif
