/* A part of a graph as CUDA has captured it. Its kernels refuse values in a record of their own: each replay
 * begins with a copy of its run's record, and ends with a copy back.
 *
 * Threads: the one whose turn of the lane it is. */
#pragma once

#include "worker/cuda/blame.h"
#include "worker/cuda/watcher.h"

struct DeviceGraph {
    cudaGraphExec_t executable;
    TensorBuffer *record; /* a CudaRefused on the card */
    uint64_t turn;        /* kernels so far that may refuse a value; 0: none */
    uint64_t code_number; /* the lane's, when it was captured */
    struct CudaCaptures *captures;
};

/* Returns where a kernel that is being captured refuses values, and its turn, for CudaBlame. */
static inline CudaRefused *
cuda_graph_blames(DeviceGraph *graph, uint64_t *ret_turn)
{
    *ret_turn = ++graph->turn;
    return graph->record->data;
}
