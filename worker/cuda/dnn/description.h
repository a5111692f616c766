/* A convolution as cuDNN takes it: tensors of batch, channels and two or three spatial dimensions, all with
 * their channels first or all with their channels last. A convolution in one dimension gets another of
 * size 1.
 *
 * Threads: any. */
#pragma once

#include "worker/cuda/kernels/filter.h"
#include "worker/cuda/kernels/move.h"

/* The reason for which a convolution is left to the plain kernel. */
typedef enum DnnRefusal {
    DNN_ACCEPTED,
    DNN_NO_LIBRARY,
    DNN_NO_HANDLE, /* the library does not work with this card or driver */
    DNN_NO_TYPE,   /* doubles */
    DNN_NO_SIZE,   /* empty, or past 31 bits */
    DNN_NO_RANK,   /* four spatial dimensions */
    DNN_NO_LAYOUT, /* channels are neither first nor last */
    DNN_NO_ENGINE, /* none computes it in the way that is wanted, within the workspace */
    DNN_REFUSALS
} DnnRefusal;

/* The one of input, filter and output that is computed from the other two: the output, or the gradient of the
 * input or of the filter, when the other two have that of the output. */
typedef enum DnnKind { DNN_FORWARD, DNN_TO_IMAGE, DNN_TO_FILTER } DnnKind;

enum { DNN_SPACE_MAX = 3, DNN_RANK_MAX = 2 + DNN_SPACE_MAX };

/* Dimensions are batch, channel, space; of a filter: output, input of a group, space. */
typedef struct DnnTensor {
    int64_t sizes[DNN_RANK_MAX];
    int64_t steps[DNN_RANK_MAX]; /* in elements */
    int64_t alignment;           /* of its address, in bytes: the library chooses by it; 0: no such tensor */
} DnnTensor;

/* All by which the library chooses an engine. Compared byte by byte; without padding. */
typedef struct DnnDescription {
    int64_t kind; /* a DnnKind */
    int64_t type; /* a CudaType */
    int64_t
        is_tf32; /* float32 may be multiplied in TF32: rounded to 11 bits of mantissa, summed in float32 */
    int64_t space_rank;
    int64_t stride[DNN_SPACE_MAX];
    int64_t dilation[DNN_SPACE_MAX];
    int64_t before[DNN_SPACE_MAX]; /* padding in front, and behind */
    int64_t after[DNN_SPACE_MAX];
    DnnTensor input;
    DnnTensor filter;
    DnnTensor output;
    DnnTensor bias;   /* one number a channel; added to the sums, as is */
    DnnTensor addend; /* of the output's shape */
    int64_t has_relu; /* at last */
} DnnDescription;

/* Describes the sums of a convolution, or its gradient. `ret_packing` tells how the filter is to be moved,
 * from where it lies to a buffer of its own, which is `to`; a count of 0: it need not be. The gradient of a
 * filter is moved back from there. The results mean nothing unless it is DNN_ACCEPTED. */
DnnRefusal dnn_describe(DnnKind kind, CudaType type, bool allows_tf32, const CudaConvolution *convolution,
    DnnDescription *ret_description, CudaMove *ret_packing);

/* Adds those steps of an epilogue that the library may compute. Returns the steps that are left. */
CudaEpilogue dnn_fuse(const CudaEpilogue *epilogue, DnnDescription *description);
