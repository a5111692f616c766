/* Tensors made from a few numbers. Valid C11 and C++. */
#pragma once

#include <stddef.h>

#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Lines of `depth` elements that are `inner` apart: `on` where the line's index says, `off` elsewhere. `on`
 * and `off` are elements in the card's memory. */
typedef struct CudaOneHot {
    const void *indices;
    CudaType type;       /* of the indices, integers */
    bool count_from_end; /* those below zero, as ONNX's do */
    const void *on;
    const void *off;
    void *output;
    int64_t depth;
    int64_t inner;
    int64_t count; /* of all elements */
} CudaOneHot;

/* Elements of 1, 2, 4, 8 or 16 bytes. */
int cuda_one_hot(size_t element_size, const CudaOneHot *one_hot, cudaStream_t stream);

/* Element n is start + n × delta, numbers on the host: floats in double, with one rounding; integers wrap. */
int cuda_range(
    CudaType type, const void *start, const void *delta, void *output, int64_t count, cudaStream_t stream);

/* Writes `count` floats from `first` to `last`, numbers on the host, at equal distances: computed in double,
 * the last one is `last` itself. */
int cuda_space(
    CudaType type, const void *first, const void *last, void *output, int64_t count, cudaStream_t stream);

/* Element n is weights[0] + weights[1] × cos(a) + weights[2] × cos(2 × a), where a is n of `length` parts of
 * a full turn; 0 when the length is. */
typedef struct CudaCosines {
    double weights[3];
    double length;
    double *output;
    int64_t count;
} CudaCosines;

int cuda_cosines(const CudaCosines *window, cudaStream_t stream);

enum { CUDA_TRIANGLES_MAX = 254 };

/* Triangles, each in a column: from 0 in row corners[n] up to 1 in row corners[n + 1], and down to 0 in row
 * corners[n + 2]. */
typedef struct CudaTriangles {
    int64_t corners[CUDA_TRIANGLES_MAX + 2];
    int64_t count;
    double *output; /* the first row of the first of these columns */
    int64_t rows;
    int64_t step; /* from one row to the next */
} CudaTriangles;

int cuda_triangles(const CudaTriangles *triangles, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
