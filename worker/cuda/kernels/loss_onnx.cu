#include "worker/cuda/kernels/loss_onnx.h"

#include "worker/cuda/kernels/blame.cuh"
#include "worker/cuda/kernels/block.cuh"
#include "worker/cuda/kernels/index.cuh"
#include "worker/cuda/kernels/integers.cuh"

/* Returns the class of a place, or -1: it counts for nothing. */
__device__ __forceinline__ int64_t
class_of(const CudaLabelled &labelled, int64_t place)
{
    int64_t label = 0;
    bool is_read = load_integer(labelled.label_type, labelled.labels, place, &label);
    if (labelled.ignores_one && is_read && label == labelled.ignored) {
        return -1;
    }
    if (is_read && label >= 0 && label < labelled.classes) {
        return label;
    }
    refuse(labelled.blame, place, label, labelled.classes);
    return -1;
}

template <typename T>
__global__ void
label_losses_kernel(CudaLabelled labelled)
{
    for (int64_t place = index_first(); place < labelled.places; place += index_step()) {
        int64_t label = class_of(labelled, place);
        double weight = label < 0 ? 0 : 1;
        double loss = 0;
        if (label >= 0) {
            int64_t outer = place / labelled.inner;
            int64_t at = (outer * labelled.classes + label) * labelled.inner + place % labelled.inner;
            weight = labelled.weights == nullptr ? 1 : (double)((const T *)labelled.weights)[label];
            loss = -(double)((const T *)labelled.scores)[at] * weight;
        }
        labelled.losses[place] = loss;
        labelled.loss_weights[place] = weight;
    }
}

template <typename T>
static cudaError_t
find_losses(const CudaLabelled *labelled, cudaStream_t stream)
{
    return labelled->places == 0 ? cudaSuccess
                                 : cuda_launch(label_losses_kernel<T>, index_grid(labelled->places),
                                       dim3(INDEX_THREADS), 0, stream, *labelled);
}

extern "C" int
cuda_label_losses(CudaType type, const CudaLabelled *labelled, cudaStream_t stream)
{
    EACH_WIDE_TYPE(type, find_losses<T>(labelled, stream));
}

static __global__ void
sum_losses_kernel(const double *losses, const double *weights, int64_t count, double *output)
{
    double sum = 0;
    double weight = 0;
    for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
        sum += losses[i];
        weight += weights == nullptr ? 0 : weights[i];
    }
    sum = block_join<BlockSum<double>>(sum);
    weight = block_join<BlockSum<double>>(weight);
    if (threadIdx.x == 0) {
        *output = weights == nullptr ? sum : sum / weight;
    }
}

extern "C" int
cuda_sum_losses(
    const double *losses, const double *weights, int64_t count, double *output, cudaStream_t stream)
{
    enum { THREADS = 1024 };
    return (int)cuda_launch(
        sum_losses_kernel, dim3(1), dim3(THREADS), 0, stream, losses, weights, count, output);
}
