/* A convolution with the steps behind it, or a gradient of one, as a graph of cuDNN's operations, which needs
 * no card to be made.
 *
 * Ownership: all descriptors of a plan are in one list, destroyed together.
 * Threads:   one at a time.
 * Errors:    the library's codes. */
#pragma once

#include "worker/cuda/dnn/description.h"
#include "worker/cuda/libraries.h"

/* Tells tensors apart; values between operations, which are never in memory, come behind. */
typedef enum DnnTensorId {
    DNN_INPUT = 1,
    DNN_FILTER,
    DNN_OUTPUT,
    DNN_BIAS,
    DNN_ADDEND,
    DNN_BETWEEN,
} DnnTensorId;

enum { DNN_DESCRIPTORS_MAX = 24 };

typedef struct DnnDescriptors {
    const CudaDnn *dnn;
    cudnnBackendDescriptor_t items[DNN_DESCRIPTORS_MAX];
    int count;
} DnnDescriptors;

#define DNN_TRY(call)                                                                                        \
    do {                                                                                                     \
        cudnnStatus_t dnn_status_ = (call);                                                                  \
        if (dnn_status_ != CUDNN_STATUS_SUCCESS) {                                                           \
            return dnn_status_;                                                                              \
        }                                                                                                    \
    } while (0)

/* Makes a descriptor, which is destroyed with the list. */
MUST_USE cudnnStatus_t dnn_descriptor(
    DnnDescriptors *descriptors, cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *ret_descriptor);

/* Destroys all descriptors of the list. */
void dnn_descriptors_done(DnnDescriptors *descriptors);

/* An attribute of a descriptor, by which tables of them are set. */
typedef struct DnnAttribute {
    cudnnBackendAttributeName_t name;
    cudnnBackendAttributeType_t type;
    int64_t count;
    const void *elements;
} DnnAttribute;

/* Sets the attributes, and finalizes the descriptor. */
MUST_USE cudnnStatus_t dnn_finalize(
    const CudaDnn *dnn, cudnnBackendDescriptor_t descriptor, const DnnAttribute *attributes, size_t count);

/* Makes the graph. Without a handle it can be checked, but not run. */
MUST_USE cudnnStatus_t dnn_graph(DnnDescriptors *descriptors, cudnnHandle_t handle,
    const DnnDescription *description, cudnnBackendDescriptor_t *ret_graph);
