/* A convolution with the steps behind it, or a gradient of one, as a graph of cuDNN's operations, which needs
 * no card to be made.
 *
 * Ownership: all descriptors of a plan are in one list, destroyed together.
 * Threads:   one at a time.
 * Errors:    the library's codes. */
#pragma once

#include "shared/base/slice.h"
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

enum { DNN_DESCRIPTORS_MAX = 64 };

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

/* Operations that are made one after another, and become a graph. */
enum { DNN_OPERATIONS_MAX = 16 };

typedef struct DnnOperations {
    cudnnBackendDescriptor_t items[DNN_OPERATIONS_MAX];
    int count;
} DnnOperations;

MUST_USE cudnnStatus_t dnn_make_graph(DnnDescriptors *descriptors, cudnnHandle_t handle,
    const DnnOperations *operations, cudnnBackendDescriptor_t *ret_graph);

/* Makes a descriptor with these attributes, and finalizes it. */
MUST_USE cudnnStatus_t dnn_make(DnnDescriptors *descriptors, cudnnBackendDescriptorType_t type,
    const DnnAttribute *attributes, size_t count, cudnnBackendDescriptor_t *ret_descriptor);

/* Returns the library's name of a CudaType, of those that it is given. */
cudnnDataType_t dnn_data_type(int64_t type);

/* Makes a graph of operations from its description. Without a handle it can be checked, but not run. */
typedef cudnnStatus_t (*DnnMakeGraph)(DnnDescriptors *descriptors, cudnnHandle_t handle,
    const void *description, cudnnBackendDescriptor_t *ret_graph);

/* The computation that a plan is asked for. */
typedef struct DnnRequest {
    Slice description; /* its bytes are all by which the library chooses, and the plan's key */
    DnnMakeGraph make_graph;
    CudaType type;
    bool is_tf32;     /* tensor cores may multiply float32, which they round to TF32 */
    const char *what; /* is done, in words: "planning a convolution" */
} DnnRequest;

/* Returns the request for a convolution, which must live as long. */
DnnRequest dnn_convolution_request(const DnnDescription *description);
