/* Values that a kernel refuses (an index out of range, a divisor of zero), for the C and the CUDA side. The
 * kernel is told whom to blame (CudaBlame); the first refused value of a run stays in the card's memory
 * (CudaRefused), until the host reads it with what it wanted to read. Valid C11 and C++. */
#pragma once

#include <stdint.h>

enum { CUDA_BLAME_NODE_SIZE = 128 };

typedef enum CudaRefusal {
    CUDA_REFUSES_INDEX,   /* `value`, which is element `element` of the indices, lies outside 0…limit - 1 */
    CUDA_REFUSES_BOX,     /* box `element` is of image `value`, which lies outside 0…limit - 1 */
    CUDA_REFUSES_OPERAND, /* `value`, which is element `element` of the second input, of Dtype `limit` */
    CUDA_REFUSES_LABEL,   /* `value`, which is element `element` of the labels, is none of `limit` classes */
    CUDA_REFUSES_PLACE,   /* the same, in the words of ONNX's losses */
    CUDA_REFUSES_LENGTH,  /* `value` keys of batch `element` of attention are no padding, of `limit` */
    CUDA_REFUSES_POSITION, /* `value`, which is position `element`, has no angles: there are `limit` */
    CUDA_REFUSES_MATRIX,   /* matrix `element` of a batch, which is not invertible */
    CUDA_REFUSES_SEGMENT,  /* `value`, which is id `element`, is no segment of `limit` */
    CUDA_REFUSES_BIN,      /* `value`, which is element `element` of the numbers to be counted, is below 0 */
    CUDA_REFUSES_ROW,      /* `value`, which is element `element` of the places of rows, is below 0 */
    CUDA_REFUSES_SLICE,    /* slice `value` is chosen of `limit` */
    CUDA_REFUSES_PART,   /* `value`, which is element `element` of the numbers of parts, is none of `limit` */
    CUDA_REFUSES_GROUP,  /* `value`, which is element `element` of g_idx, is no block of `limit` */
    CUDA_REFUSES_TOKENS, /* `value`, which is element `element` of seqlens_k, does not fit: the past has room
                            for `limit` tokens */
    CUDA_REFUSES_ANGLE,  /* position `value` is none of `limit` in cos_cache */
    CUDA_REFUSES_BIAS,   /* attention_bias has `limit` keys, and `value` are there */
    CUDA_REFUSES_PERMUTATION, /* `value`, which is element `element`, is none of `limit` places, or was there
                                 before */
    CUDA_REFUSES_RANGE,  /* `value` and `limit` have the bits of doubles: the upper end, not above the lower
                            one */
    CUDA_REFUSES_LIMITS, /* `value` and `limit` as of a range: a lower limit, not below the upper one */
    CUDA_REFUSES_COORDINATE, /* `value`, which is coordinate `element` of all, is none of `limit` */
    CUDA_REFUSES_REGION,     /* `value`, the image of a region, is none of `limit` */
    CUDA_REFUSES_SIDE,       /* `value` has the bits of a double: a coordinate of a region */
} CudaRefusal;

/* The first value that kernels of a run refused, in the order of the lane; of one kernel, the one of the
 * lowest element. */
typedef struct CudaRefused {
    uint64_t turn; /* the lane's, in which the kernel was enqueued (lane.h); 0: nothing was refused */
    int64_t element;
    int64_t value;
    int64_t limit;
    int64_t width; /* as its kernel's blame has it */
    CudaRefusal reason;
    unsigned lock; /* 1: a thread of the card writes the members before */
    char node[CUDA_BLAME_NODE_SIZE];
} CudaRefused;

/* Given to a kernel by value. */
typedef struct CudaBlame {
    CudaRefused *refused; /* in the card's memory */
    uint64_t turn;
    int64_t width; /* elements of a line, where messages number lines and their elements; at least 1 */
    CudaRefusal reason;
    char node[CUDA_BLAME_NODE_SIZE];
} CudaBlame;
