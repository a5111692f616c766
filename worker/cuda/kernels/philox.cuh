/* Philox 4x32-10 on the card: the numbers of worker/reference/philox.h, bit for bit where they are not
 * rounded. */
#pragma once

#include "worker/cuda/kernels/random.h"
#include "worker/cuda/kernels/types.cuh"

/* Four words at a counter. */
struct Words {
    uint32_t word[4];
};

__device__ __forceinline__ CudaPhilox
philox_at(CudaPhilox philox, uint64_t count)
{
    uint64_t low = philox.counter[0] | (uint64_t)philox.counter[1] << 32;
    uint64_t sum = low + count;
    philox.counter[0] = (uint32_t)sum;
    philox.counter[1] = (uint32_t)(sum >> 32);
    if (sum < low && ++philox.counter[2] == 0) {
        philox.counter[3]++;
    }
    return philox;
}

__device__ __forceinline__ Words
philox_words(const CudaPhilox &start, uint64_t count)
{
    CudaPhilox philox = philox_at(start, count);
    Words words = {{philox.counter[0], philox.counter[1], philox.counter[2], philox.counter[3]}};
    for (int n = 0; n < 10; n++) {
        uint64_t first = (uint64_t)0xd2511f53U * words.word[0];
        uint64_t second = (uint64_t)0xcd9e8d57U * words.word[2];
        words = {{(uint32_t)(second >> 32) ^ words.word[1] ^ philox.key[0], (uint32_t)second,
            (uint32_t)(first >> 32) ^ words.word[3] ^ philox.key[1], (uint32_t)first}};
        philox.key[0] += 0x9e3779b9U;
        philox.key[1] += 0xbb67ae85U;
    }
    return words;
}

/* A number in [0, 1) of as many bits as the mantissa of T holds behind its first. */
template <typename T>
__device__ __forceinline__ float
uniform_of(uint32_t word)
{
    return (float)(word & 0x7fffffU) * 0x1p-23F;
}
template <>
__device__ __forceinline__ float
uniform_of<__half>(uint32_t word)
{
    return (float)(word & 0x3ffU) * 0x1p-10F;
}
template <>
__device__ __forceinline__ float
uniform_of<__nv_bfloat16>(uint32_t word)
{
    return (float)(word & 0x7fU) * 0x1p-7F;
}

__device__ __forceinline__ double
uniform_of_two(uint32_t low, uint32_t high)
{
    return (double)((uint64_t)(low & 0xfffffU) << 32 | high) * 0x1p-52;
}

/* Two numbers of the standard normal distribution. */
template <typename C> struct Normals {
    C first;
    C second;
};

/* Smaller numbers would make the logarithm too large. */
static constexpr double TWO_PI = 6.283185307179586476925286766559;

/* The functions are those of double, rounded once: those of float would differ from the host's in the last
 * bit more often. */
__device__ __forceinline__ Normals<float>
normals_of(uint32_t first, uint32_t second)
{
    float uniform = uniform_of<float>(first);
    float limited = uniform < 1.0e-7F ? 1.0e-7F : uniform;
    double angle = (double)(float)(TWO_PI * (double)uniform_of<float>(second));
    float radius = (float)sqrt((double)(-2.0F * (float)log((double)limited)));
    return {(float)sin(angle) * radius, (float)cos(angle) * radius};
}

__device__ __forceinline__ Normals<double>
normals_of_four(const Words &words)
{
    double uniform = uniform_of_two(words.word[0], words.word[1]);
    double angle = TWO_PI * uniform_of_two(words.word[2], words.word[3]);
    double radius = sqrt(-2.0 * log(uniform < 1.0e-7 ? 1.0e-7 : uniform));
    return {sin(angle) * radius, cos(angle) * radius};
}
