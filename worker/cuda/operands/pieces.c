#include "worker/cuda/operands/pieces.h"

enum { PIECE_SIZE_MAX = 16 };

size_t
cuda_cut_rows(size_t element_size, int64_t *inner, const void *from, const void *to)
{
    size_t row = (size_t)*inner * element_size;
    size_t piece = PIECE_SIZE_MAX;
    while (piece > element_size && ((row | (uintptr_t)from | (uintptr_t)to) % piece) != 0) {
        piece /= 2;
    }
    *inner = (int64_t)(row / piece);
    return piece;
}
