/* The numbers and records of CUPTI that worker/cuda/cupti.h declares, as NVIDIA's headers have them. */
#pragma once

#include <stddef.h>

#define CUPTI_NUMBERS(X)                                                                                     \
    X(CUPTI_SUCCESS)                                                                                         \
    X(CUPTI_ERROR_MAX_LIMIT_REACHED)                                                                         \
    X(CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED)                                                          \
    X(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)                                                                   \
    X(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)                                                        \
    X(CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES)                                                \
    X(CUPTI_ACTIVITY_KIND_MEMCPY)                                                                            \
    X(CUPTI_ACTIVITY_KIND_MEMSET)                                                                            \
    X(CUPTI_ACTIVITY_KIND_DRIVER)                                                                            \
    X(CUPTI_ACTIVITY_KIND_RUNTIME)                                                                           \
    X(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)                                                                 \
    X(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)                                                              \
    X(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD)                                                                       \
    X(CUPTI_ACTIVITY_MEMCPY_KIND_DTOH)                                                                       \
    X(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED)                                                                      \
    X(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0)

/* Places of members: K of kernels, C of copies, F of fills, E of external correlations. */
#define CUPTI_PLACES(K, C, F, E)                                                                             \
    K(kind)                                                                                                  \
    K(start)                                                                                                 \
    K(end)                                                                                                   \
    K(streamId)                                                                                              \
    K(gridX)                                                                                                 \
    K(gridZ)                                                                                                 \
    K(blockX)                                                                                                \
    K(blockZ)                                                                                                \
    K(correlationId)                                                                                         \
    K(name)                                                                                                  \
    K(graphNodeId)                                                                                           \
    C(kind)                                                                                                  \
    C(copyKind)                                                                                              \
    C(bytes)                                                                                                 \
    C(start)                                                                                                 \
    C(end)                                                                                                   \
    C(streamId)                                                                                              \
    C(correlationId)                                                                                         \
    C(graphNodeId)                                                                                           \
    F(kind)                                                                                                  \
    F(bytes)                                                                                                 \
    F(start)                                                                                                 \
    F(end)                                                                                                   \
    F(streamId)                                                                                              \
    F(correlationId)                                                                                         \
    F(graphNodeId)                                                                                           \
    E(kind)                                                                                                  \
    E(externalKind)                                                                                          \
    E(externalId)                                                                                            \
    E(correlationId)

extern const long cupti_numbers[];
extern const size_t cupti_number_count; /* 0: NVIDIA's headers are not here */
