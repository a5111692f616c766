#include <cmath>

#include "worker/cuda/kernels/index.cuh"
#include "worker/cuda/kernels/optimise.h"

/* Each rule computes new values of the variables v of the gradient g and the scalars h, in the order of the
 * reference's operations. */
template <typename C>
__device__ __forceinline__ C
sign_of(C x)
{
    return x > 0 ? (C)1 : x < 0 ? (C)-1 : (C)0;
}

/* The soft threshold of the proximal rules: l1 pulls towards 0, l2 scales. */
template <typename C>
__device__ __forceinline__ C
proximal(C value, C rate, C l1, C l2)
{
    C beyond = fabs(value) - rate * l1;
    C pulled = l1 > 0 ? sign_of(value) * (beyond > 0 ? beyond : (C)0) : value;
    return pulled / (1 + l2 * rate);
}

struct GradientDescent {
    template <typename C>
    static __device__ __forceinline__ void
    change(C *v, C g, const C *h, bool)
    {
        v[0] -= g * h[0];
    }
};

struct ProximalGradientDescent {
    template <typename C>
    static __device__ __forceinline__ void
    change(C *v, C g, const C *h, bool)
    {
        v[0] = proximal(v[0] - g * h[0], h[0], h[1], h[2]);
    }
};

/* h is lr, rho, epsilon. */
struct Adadelta {
    template <typename C>
    static __device__ __forceinline__ void
    change(C *v, C g, const C *h, bool)
    {
        v[1] = v[1] * h[1] + g * g * (1 - h[1]);
        C update = sqrt(v[2] + h[2]) / sqrt(v[1] + h[2]) * g;
        v[0] -= update * h[0];
        v[2] = v[2] * h[1] + update * update * (1 - h[1]);
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

struct AdagradV2 {
    template <typename C>
    static __device__ __forceinline__ void
    change(C *v, C g, const C *h, bool updates_slots)
    {
        v[1] += updates_slots ? g * g : C(0);
        v[0] -= g * h[0] / (sqrt(v[1]) + h[1]);
    }
};

struct ProximalAdagrad {
    template <typename C>
    static __device__ __forceinline__ void
    change(C *v, C g, const C *h, bool)
    {
        v[1] += g * g;
        C rate = h[0] / sqrt(v[1]);
        v[0] = proximal(v[0] - g * rate, rate, h[1], h[2]);
    }
};

/* h is lr, l1, l2, lr_power, l2_shrinkage; the power is usually a square root. */
struct Ftrl {
    template <typename C>
    static __device__ __forceinline__ C
    powered(C x, C power)
    {
        return power == -(C)1 / 2 ? (C)sqrt(x) : (C)pow(x, -power);
    }

    template <typename C>
    static __device__ __forceinline__ void
    change(C *v, C g, const C *h, bool)
    {
        C sum = v[1] + g * g;
        C after = powered(sum, h[3]);
        v[2] += (g + 2 * h[4] * v[0]) - (after - powered(v[1], h[3])) / h[0] * v[0];
        v[1] = sum;
        v[0] = fabs(v[2]) > h[1] ? (h[1] * sign_of(v[2]) - v[2]) / (after / h[0] + 2 * h[2]) : (C)0;
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

struct AdamAmsgrad {
    template <typename C>
    static __device__ __forceinline__ void
    change(C *v, C g, const C *h, bool)
    {
        C rate = h[0] * sqrt(1 - h[5]) / (1 - h[4]);
        v[1] += (g - v[1]) * (1 - h[1]);
        v[2] += (g * g - v[2]) * (1 - h[2]);
        v[3] = fmax(v[3], v[2]);
        v[0] -= v[1] * rate / (sqrt(v[3]) + h[3]);
    }
};

struct AdaMax {
    template <typename C>
    static __device__ __forceinline__ void
    change(C *v, C g, const C *h, bool)
    {
        v[1] += (g - v[1]) * (1 - h[1]);
        v[2] = fmax(h[2] * v[2], (C)fabs(g));
        v[0] -= h[0] / (1 - h[4]) * (v[1] / (v[2] + h[3]));
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

/* v is the variable, the means of gradients and of their squares, and the momentum. */
struct CenteredRmsProp {
    template <typename C>
    static __device__ __forceinline__ void
    change(C *v, C g, const C *h, bool)
    {
        v[2] += (g * g - v[2]) * (1 - h[1]);
        v[1] += (g - v[1]) * (1 - h[1]);
        v[3] = v[3] * h[2] + g * h[0] / sqrt(v[2] - v[1] * v[1] + h[3]);
        v[0] -= v[3];
    }
};

/* h is lr, alpha, sign_decay, beta. */
struct AddSign {
    template <typename C>
    static __device__ __forceinline__ void
    change(C *v, C g, const C *h, bool)
    {
        v[1] = v[1] * h[3] + g * (1 - h[3]);
        v[0] -= h[0] * (h[1] + h[2] * (sign_of(g) * sign_of(v[1]))) * g;
    }
};

/* h is lr, logbase, sign_decay, beta. */
struct PowerSign {
    template <typename C>
    static __device__ __forceinline__ void
    change(C *v, C g, const C *h, bool)
    {
        v[1] = v[1] * h[3] + g * (1 - h[3]);
        v[0] -= h[0] * (C)exp(h[1] * h[2] * (sign_of(g) * sign_of(v[1]))) * g;
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

template <typename T>
static cudaError_t
launch_rule(CudaOptimiser rule, const CudaOptimise *optimise, cudaStream_t stream)
{
    static void (*const kernels[])(CudaOptimise) = {
        /* by CudaOptimiser */
        optimise_kernel<T, GradientDescent>,
        optimise_kernel<T, ProximalGradientDescent>,
        optimise_kernel<T, Adadelta>,
        optimise_kernel<T, Adagrad>,
        optimise_kernel<T, AdagradV2>,
        optimise_kernel<T, ProximalAdagrad>,
        optimise_kernel<T, Ftrl>,
        optimise_kernel<T, Momentum>,
        optimise_kernel<T, KerasMomentum>,
        optimise_kernel<T, Adam>,
        optimise_kernel<T, AdamAmsgrad>,
        optimise_kernel<T, AdaMax>,
        optimise_kernel<T, RmsProp>,
        optimise_kernel<T, CenteredRmsProp>,
        optimise_kernel<T, AddSign>,
        optimise_kernel<T, PowerSign>,
        optimise_kernel<T, AssignAdd>,
        optimise_kernel<T, AssignSub>,
    };
    return cuda_launch(kernels[rule], index_grid(optimise->count), dim3(INDEX_THREADS), 0, stream, *optimise);
}

extern "C" int
cuda_optimise(CudaType type, CudaOptimiser rule, const CudaOptimise *optimise, cudaStream_t stream)
{
    if (optimise->count == 0) {
        return (int)cudaSuccess;
    }
    EACH_FLOATING_TYPE(type, launch_rule<T>(rule, optimise, stream));
}
