/* Lines that are sorted. Valid C11 and C++. */
#pragma once

#include <stddef.h>

#include "worker/cuda/kernels/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An element's place in the order, and in its line. */
typedef struct CudaPlace {
    uint64_t key;
    int64_t index;
} CudaPlace;

/* Lines of `size` elements that are `inner` apart, `outer` × `inner` of them, of which the elements from
 * place `first` in the order are taken. Equal elements stand in the order of the line; NaN is the largest
 * number. */
typedef struct CudaSort {
    const void *input;
    void *values;  /* `count` of each line, as far apart */
    void *indices; /* as many, or NULL */
    int64_t outer;
    int64_t size;
    int64_t inner;
    int64_t first;
    int64_t count;
    CudaPlace *places; /* room for `abreast` lines of cuda_sort_places() */
    int64_t abreast;
    bool is_largest_first;
    bool keeps_heap; /* the first `count`, unless they are all, stand as in the reference kernel's heap */
    bool is_wide;    /* indices are int64, else int32 */
} CudaSort;

/* Returns for how many elements a line needs room: a power of 2. */
static inline int64_t
cuda_sort_room(int64_t size)
{
    int64_t room = 1;
    while (room < size) {
        room *= 2;
    }
    return room;
}

static inline bool
cuda_sort_is_heap(const CudaSort *sort)
{
    return sort->keeps_heap && sort->count < sort->size;
}

/* Returns how many places a line needs. */
static inline int64_t
cuda_sort_places(const CudaSort *sort)
{
    return cuda_sort_is_heap(sort) ? sort->count + 1 : cuda_sort_room(sort->size);
}

/* Floating types and integers. */
int cuda_sort(CudaType type, const CudaSort *sort, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
