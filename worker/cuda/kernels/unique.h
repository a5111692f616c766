/* The different slices along an axis. Slices are sorted by a number that equal ones share; each then finds
 * the first that equals it among those of its number. Valid C11 and C++. */
#pragma once

#include "worker/cuda/kernels/order.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Slice n has the elements (o × size + n) × inner + i of all o < outer and i < inner. NaN equals nothing, 0
 * equals -0. */
typedef struct CudaSlices {
    const void *data;
    CudaType type; /* bools, numbers */
    int64_t outer;
    int64_t size; /* slices */
    int64_t inner;
} CudaSlices;

/* Writes for each slice which is the first that equals it: itself, when none before it does. `places` has
 * cuda_sort_room() of the slices. */
int cuda_find_equal(const CudaSlices *slices, CudaPlace *places, int64_t *ret_equals, cudaStream_t stream);

/* Puts the slices firsts[count], which ascend, into the order of their elements: the first that differ
 * decide, and NaN is the largest number. Those without a difference stay as they are. `places` has
 * cuda_sort_room() of the count. */
int cuda_order_slices(
    const CudaSlices *slices, CudaPlace *places, int64_t *firsts, int64_t count, cudaStream_t stream);

/* The numbers of slices among the different ones, whose first ones are `firsts`. */
typedef struct CudaNumbering {
    const int64_t *firsts;
    int64_t count; /* of them */
    const int64_t *equals;
    int64_t size;     /* slices */
    int64_t *numbers; /* room for as many */
    void *indices;    /* by slice */
    void *counts;     /* by number: how many slices are equal; NULL: not wanted */
    bool is_wide;     /* indices and counts are int64, else int32 */
} CudaNumbering;

int cuda_number_slices(const CudaNumbering *numbering, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
