/* The numbers of cuDNN that worker/cuda/cudnn.h declares, as NVIDIA's header has them. */
#pragma once

#include <stddef.h>

#define CUDNN_NUMBERS(X)                                                                                     \
    X(CUDNN_STATUS_SUCCESS)                                                                                  \
    X(CUDNN_STATUS_NOT_INITIALIZED)                                                                          \
    X(CUDNN_STATUS_BAD_PARAM)                                                                                \
    X(CUDNN_STATUS_NOT_SUPPORTED)                                                                            \
    X(CUDNN_STATUS_INTERNAL_ERROR)                                                                           \
    X(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED)                                                    \
    X(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED)                                                  \
    X(CUDNN_STATUS_EXECUTION_FAILED)                                                                         \
    X(CUDNN_DATA_FLOAT)                                                                                      \
    X(CUDNN_DATA_DOUBLE)                                                                                     \
    X(CUDNN_DATA_HALF)                                                                                       \
    X(CUDNN_DATA_BFLOAT16)                                                                                   \
    X(CUDNN_PROPAGATE_NAN)                                                                                   \
    X(CUDNN_CROSS_CORRELATION)                                                                               \
    X(CUDNN_POINTWISE_ADD)                                                                                   \
    X(CUDNN_POINTWISE_RELU_FWD)                                                                              \
    X(CUDNN_HEUR_MODE_FALLBACK)                                                                              \
    X(CUDNN_HEUR_MODE_A)                                                                                     \
    X(CUDNN_NUMERICAL_NOTE_TENSOR_CORE)                                                                      \
    X(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)                                                              \
    X(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)                                                      \
    X(CUDNN_NUMERICAL_NOTE_FFT)                                                                              \
    X(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)                                                                 \
    X(CUDNN_NUMERICAL_NOTE_WINOGRAD)                                                                         \
    X(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4)                                                                \
    X(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6)                                                                \
    X(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13)                                                              \
    X(CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP)                                                                  \
    X(CUDNN_BACKEND_POINTWISE_DESCRIPTOR)                                                                    \
    X(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR)                                                                  \
    X(CUDNN_BACKEND_ENGINE_DESCRIPTOR)                                                                       \
    X(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)                                                                    \
    X(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR)                                                                   \
    X(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)                                                               \
    X(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR)                                                \
    X(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)                                                          \
    X(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)                                                               \
    X(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)                                                                 \
    X(CUDNN_BACKEND_TENSOR_DESCRIPTOR)                                                                       \
    X(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR)                                                                   \
    X(CUDNN_ATTR_POINTWISE_MODE)                                                                             \
    X(CUDNN_ATTR_POINTWISE_MATH_PREC)                                                                        \
    X(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION)                                                                  \
    X(CUDNN_ATTR_CONVOLUTION_COMP_TYPE)                                                                      \
    X(CUDNN_ATTR_CONVOLUTION_CONV_MODE)                                                                      \
    X(CUDNN_ATTR_CONVOLUTION_DILATIONS)                                                                      \
    X(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES)                                                                 \
    X(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS)                                                                  \
    X(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS)                                                                   \
    X(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS)                                                                   \
    X(CUDNN_ATTR_ENGINEHEUR_MODE)                                                                            \
    X(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)                                                                 \
    X(CUDNN_ATTR_ENGINEHEUR_RESULTS)                                                                         \
    X(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP)                                                                      \
    X(CUDNN_ATTR_ENGINECFG_ENGINE)                                                                           \
    X(CUDNN_ATTR_EXECUTION_PLAN_HANDLE)                                                                      \
    X(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)                                                               \
    X(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)                                                              \
    X(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP)                                                                  \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA)                                                        \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA)                                                         \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC)                                                    \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W)                                                            \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X)                                                            \
    X(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y)                                                            \
    X(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)                                                          \
    X(CUDNN_ATTR_OPERATION_POINTWISE_XDESC)                                                                  \
    X(CUDNN_ATTR_OPERATION_POINTWISE_BDESC)                                                                  \
    X(CUDNN_ATTR_OPERATION_POINTWISE_YDESC)                                                                  \
    X(CUDNN_ATTR_OPERATIONGRAPH_HANDLE)                                                                      \
    X(CUDNN_ATTR_OPERATIONGRAPH_OPS)                                                                         \
    X(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT)                                                                      \
    X(CUDNN_ATTR_TENSOR_DATA_TYPE)                                                                           \
    X(CUDNN_ATTR_TENSOR_DIMENSIONS)                                                                          \
    X(CUDNN_ATTR_TENSOR_STRIDES)                                                                             \
    X(CUDNN_ATTR_TENSOR_UNIQUE_ID)                                                                           \
    X(CUDNN_ATTR_TENSOR_IS_VIRTUAL)                                                                          \
    X(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS)                                                                    \
    X(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)                                                                 \
    X(CUDNN_ATTR_VARIANT_PACK_WORKSPACE)                                                                     \
    X(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE)                                                                      \
    X(CUDNN_ATTR_DEVICEPROP_HANDLE)                                                                          \
    X(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION)                                                             \
    X(CUDNN_TYPE_HANDLE)                                                                                     \
    X(CUDNN_TYPE_DATA_TYPE)                                                                                  \
    X(CUDNN_TYPE_BOOLEAN)                                                                                    \
    X(CUDNN_TYPE_INT64)                                                                                      \
    X(CUDNN_TYPE_FLOAT)                                                                                      \
    X(CUDNN_TYPE_DOUBLE)                                                                                     \
    X(CUDNN_TYPE_VOID_PTR)                                                                                   \
    X(CUDNN_TYPE_CONVOLUTION_MODE)                                                                           \
    X(CUDNN_TYPE_HEUR_MODE)                                                                                  \
    X(CUDNN_TYPE_NAN_PROPOGATION)                                                                            \
    X(CUDNN_TYPE_NUMERICAL_NOTE)                                                                             \
    X(CUDNN_TYPE_POINTWISE_MODE)                                                                             \
    X(CUDNN_TYPE_BACKEND_DESCRIPTOR)                                                                         \
    X(CUDNN_TYPE_CHAR)

#define CUDNN_SIZES(X)                                                                                       \
    X(cudnnStatus_t)                                                                                         \
    X(cudnnDataType_t)                                                                                       \
    X(cudnnNanPropagation_t)                                                                                 \
    X(cudnnConvolutionMode_t)                                                                                \
    X(cudnnPointwiseMode_t)                                                                                  \
    X(cudnnBackendHeurMode_t)                                                                                \
    X(cudnnBackendNumericalNote_t)                                                                           \
    X(cudnnBackendDescriptor_t)

/* One for each row of both lists, in their order; none where the header is not installed. */
extern const long cudnn_numbers[];
extern const size_t cudnn_number_count;
