/* The vendor's libraries: cuBLASLt for products, cuDNN for convolutions, NVRTC for fused kernels. None is
 * linked; each is a table of its functions, NULL when it cannot be used. CUPTI, for traces, is opened when it
 * is asked for first. NVRTC is used in one version only: that of the nvcc whose kernels its own must equal.
 *
 * Threads: cuda_libraries_open() by the one that opens the device; the tables are constant from then on. */
#pragma once

#include "worker/cuda/cublaslt.h"
#include "worker/cuda/cudnn.h"
#include "worker/cuda/cupti.h"
#include "worker/cuda/nvrtc.h"
#include "worker/runtime/plugin.h"

#define CUDA_BLAS_FUNCTIONS(X)                                                                               \
    X(cublasLtCreate)                                                                                        \
    X(cublasLtDestroy)                                                                                       \
    X(cublasLtGetStatusName)                                                                                 \
    X(cublasLtGetVersion)                                                                                    \
    X(cublasLtMatmul)                                                                                        \
    X(cublasLtMatmulAlgoGetHeuristic)                                                                        \
    X(cublasLtMatmulDescCreate)                                                                              \
    X(cublasLtMatmulDescDestroy)                                                                             \
    X(cublasLtMatmulDescSetAttribute)                                                                        \
    X(cublasLtMatmulPreferenceCreate)                                                                        \
    X(cublasLtMatmulPreferenceDestroy)                                                                       \
    X(cublasLtMatmulPreferenceSetAttribute)                                                                  \
    X(cublasLtMatrixLayoutCreate)                                                                            \
    X(cublasLtMatrixLayoutDestroy)                                                                           \
    X(cublasLtMatrixLayoutSetAttribute)

#define CUDA_DNN_FUNCTIONS(X)                                                                                \
    X(cudnnBackendCreateDescriptor)                                                                          \
    X(cudnnBackendDestroyDescriptor)                                                                         \
    X(cudnnBackendExecute)                                                                                   \
    X(cudnnBackendFinalize)                                                                                  \
    X(cudnnBackendGetAttribute)                                                                              \
    X(cudnnBackendSetAttribute)                                                                              \
    X(cudnnCreate)                                                                                           \
    X(cudnnDestroy)                                                                                          \
    X(cudnnGetErrorString)                                                                                   \
    X(cudnnGetVersion)                                                                                       \
    X(cudnnSetStream)

#define CUDA_CUPTI_FUNCTIONS(X)                                                                              \
    X(cuptiActivityDisable)                                                                                  \
    X(cuptiActivityEnable)                                                                                   \
    X(cuptiActivityFlushAll)                                                                                 \
    X(cuptiActivityGetNextRecord)                                                                            \
    X(cuptiActivityGetNumDroppedRecords)                                                                     \
    X(cuptiActivityPopExternalCorrelationId)                                                                 \
    X(cuptiActivityPushExternalCorrelationId)                                                                \
    X(cuptiActivityRegisterCallbacks)                                                                        \
    X(cuptiGetResultString)                                                                                  \
    X(cuptiGetTimestamp)                                                                                     \
    X(cuptiGetVersion)                                                                                       \
    X(cuptiSubscribe)                                                                                        \
    X(cuptiUnsubscribe)

#define CUDA_NVRTC_FUNCTIONS(X)                                                                              \
    X(nvrtcCompileProgram)                                                                                   \
    X(nvrtcCreateProgram)                                                                                    \
    X(nvrtcDestroyProgram)                                                                                   \
    X(nvrtcGetCUBIN)                                                                                         \
    X(nvrtcGetCUBINSize)                                                                                     \
    X(nvrtcGetErrorString)                                                                                   \
    X(nvrtcGetProgramLog)                                                                                    \
    X(nvrtcGetProgramLogSize)                                                                                \
    X(nvrtcVersion)

#define CUDA_FUNCTION_POINTER(name) __typeof__(name) *name;

typedef struct CudaBlas {
    CUDA_BLAS_FUNCTIONS(CUDA_FUNCTION_POINTER)
} CudaBlas;

typedef struct CudaDnn {
    CUDA_DNN_FUNCTIONS(CUDA_FUNCTION_POINTER)
} CudaDnn;

typedef struct CudaCupti {
    CUDA_CUPTI_FUNCTIONS(CUDA_FUNCTION_POINTER)
} CudaCupti;

typedef struct CudaNvrtc {
    CUDA_NVRTC_FUNCTIONS(CUDA_FUNCTION_POINTER)
} CudaNvrtc;

/* Opens what can be found; the folders are PluginOptions.libraries. Does it once in a process. */
void cuda_libraries_open(const char *folders);

/* Tells what was opened and what was not, in words, for PluginDevice. Lives as long as the process. */
const PluginLibrary *cuda_libraries(size_t *ret_count);

/* The tables. NULL: the library cannot be used, or cuda_libraries_open() was not called. */
const CudaBlas *cuda_blas(void);
const CudaDnn *cuda_dnn(void);
const CudaNvrtc *cuda_nvrtc(void);

/* The same of CUPTI, on any thread; the first call opens it. `ret_reason` (may be NULL) gets why it is NULL.
 */
const CudaCupti *cuda_cupti(const char **ret_reason);
