/* Matrices turned over: transposes of images between channels first and channels last, among others. Valid
 * C11 and C++. */
#pragma once

#include <stdbool.h>

#include "worker/cuda/kernels/move.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Element (row, column) of a matrix goes from row × from_row + column to column × to_row + row. Counted in
 * elements. */
typedef struct CudaTurn {
    const void *from;
    void *to;
    int64_t rows;
    int64_t columns;
    int64_t from_row;
    int64_t to_row;
    int64_t matrices;
    int64_t from_matrix; /* from a matrix to the next */
    int64_t to_matrix;
} CudaTurn;

/* Returns whether a move turns matrices over that are worth tiles; its dimensions are merged. */
bool cuda_turn_read(const CudaMove *move, CudaTurn *ret_turn);

/* Elements of 1, 2, 4, 8 or 16 bytes; at least one. */
int cuda_turn(size_t element_size, const CudaTurn *turn, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
