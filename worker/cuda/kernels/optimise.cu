#include <cmath>

#include "worker/cuda/kernels/index.cuh"
#include "worker/cuda/kernels/optimise.h"

/* Each rule computes new values of the variables v of the gradient g and the scalars h, in the order of the
 * reference's operations. */
struct GradientDescent {
    template <typename C>
    static __device__ __forceinline__ void
    change(C *v, C g, const C *h, bool)
    {
        v[0] -= g * h[0];
    }
};

struct Adagrad {
    template <typename C>
    static __device__ __forceinline__ void
    change(C *v, C g, const C *h, bool updates_slots)
    {
        v[1] += updates_slots ? g * g : C(0);
        v[0] -= g * h[0] / sqrt(v[1]);
    }
};

struct Momentum {
    template <typename C>
    static __device__ __forceinline__ void
    change(C *v, C g, const C *h, bool is_nesterov)
    {
        v[1] = v[1] * h[1] + g;
        v[0] -= is_nesterov ? g * h[0] + v[1] * h[1] * h[0] : v[1] * h[0];
    }
};

struct KerasMomentum {
    template <typename C>
    static __device__ __forceinline__ void
    change(C *v, C g, const C *h, bool is_nesterov)
    {
        v[1] = v[1] * h[1] - g * h[0];
        v[0] += is_nesterov ? v[1] * h[1] - g * h[0] : v[1];
    }
};

/* h is lr, beta1, beta2, epsilon, beta1_power, beta2_power. */
struct Adam {
    template <typename C>
    static __device__ __forceinline__ void
    change(C *v, C g, const C *h, bool is_nesterov)
    {
        C rate = h[0] * sqrt(1 - h[5]) / (1 - h[4]);
        v[1] += (g - v[1]) * (1 - h[1]);
        v[2] += (g * g - v[2]) * (1 - h[2]);
        v[0] -= (is_nesterov ? g * (1 - h[1]) + h[1] * v[1] : v[1]) * rate / (sqrt(v[2]) + h[3]);
    }
};

/* h is lr, rho, momentum, epsilon. */
struct RmsProp {
    template <typename C>
    static __device__ __forceinline__ void
    change(C *v, C g, const C *h, bool)
    {
        v[1] += (g * g - v[1]) * (1 - h[1]);
        v[2] = v[2] * h[2] + g * h[0] / sqrt(v[1] + h[3]);
        v[0] -= v[2];
    }
};

struct AssignAdd {
    template <typename C>
    static __device__ __forceinline__ void
    change(C *v, C g, const C *, bool)
    {
        v[0] += g;
    }
};

struct AssignSub {
    template <typename C>
    static __device__ __forceinline__ void
    change(C *v, C g, const C *, bool)
    {
        v[0] -= g;
    }
};

template <typename T, typename Rule>
__global__ void
optimise_kernel(const CudaOptimise optimise)
{
    using C = Accumulator<T>;
    bool is_void = optimise.refused != nullptr && optimise.refused->turn != 0;
    C h[CUDA_OPTIMISE_SCALARS_MAX];
    for (int n = 0; n < CUDA_OPTIMISE_SCALARS_MAX; n++) {
        const T *scalar = (const T *)optimise.scalars[n];
        h[n] = scalar == nullptr ? C(0) : C(load(scalar, 0));
    }
    for (int64_t at = index_first(); at < optimise.count; at += index_step()) {
        C v[CUDA_OPTIMISE_VARIABLES_MAX];
        for (int n = 0; n < CUDA_OPTIMISE_VARIABLES_MAX; n++) {
            const T *from = (const T *)optimise.from[n];
            v[n] = from == nullptr ? C(0) : C(load(from, at));
        }
        if (!is_void) {
            Rule::change(v, C(load((const T *)optimise.gradient, at)), h, optimise.has_flag);
        }
        for (int n = 0; n < CUDA_OPTIMISE_VARIABLES_MAX; n++) {
            if (optimise.to[n] != nullptr) {
                store((T *)optimise.to[n], at, v[n]);
            }
        }
    }
}

template <typename T, typename Rule>
static cudaError_t
launch(const CudaOptimise *optimise, cudaStream_t stream)
{
    return cuda_launch(
        optimise_kernel<T, Rule>, index_grid(optimise->count), dim3(INDEX_THREADS), 0, stream, *optimise);
}

template <typename T>
static cudaError_t
launch_rule(CudaOptimiser rule, const CudaOptimise *optimise, cudaStream_t stream)
{
    switch (rule) {
    case CUDA_GRADIENT_DESCENT:
        return launch<T, GradientDescent>(optimise, stream);
    case CUDA_ADAGRAD:
        return launch<T, Adagrad>(optimise, stream);
    case CUDA_MOMENTUM:
        return launch<T, Momentum>(optimise, stream);
    case CUDA_KERAS_MOMENTUM:
        return launch<T, KerasMomentum>(optimise, stream);
    case CUDA_ADAM:
        return launch<T, Adam>(optimise, stream);
    case CUDA_RMS_PROP:
        return launch<T, RmsProp>(optimise, stream);
    case CUDA_ASSIGN_ADD:
        return launch<T, AssignAdd>(optimise, stream);
    case CUDA_ASSIGN_SUB:
        return launch<T, AssignSub>(optimise, stream);
    }
    return cudaErrorInvalidValue;
}

extern "C" int
cuda_optimise(CudaType type, CudaOptimiser rule, const CudaOptimise *optimise, cudaStream_t stream)
{
    if (optimise->count == 0) {
        return (int)cudaSuccess;
    }
    EACH_FLOATING_TYPE(type, launch_rule<T>(rule, optimise, stream));
}
