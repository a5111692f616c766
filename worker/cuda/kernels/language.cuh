/* The words that functions.cuh, values.cuh and offsets.cuh are written in: those of CUDA's headers and of
 * C's. NVRTC has no headers, and is given its own: the conversions of 16-bit floats are the instructions that
 * cuda_fp16.h and cuda_bf16.h name. */
#pragma once

#ifndef __CUDACC_RTC__
#include <cmath>

#include "worker/cuda/kernels/launch.cuh"
#else

typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef unsigned long size_t;

#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295U
#define INFINITY __int_as_float(0x7f800000)

struct __half {
    unsigned short bits;
};

struct __nv_bfloat16 {
    unsigned short bits;
};

__device__ __forceinline__ float
__half2float(__half value)
{
    float result;
    asm("{  cvt.f32.f16 %0, %1;}" : "=f"(result) : "h"(value.bits));
    return result;
}

__device__ __forceinline__ __half
__float2half_rn(float value)
{
    __half result;
    asm("{  cvt.rn.f16.f32 %0, %1;}" : "=h"(result.bits) : "f"(value));
    return result;
}

__device__ __forceinline__ float
__bfloat162float(__nv_bfloat16 value)
{
    float result;
#if __CUDA_ARCH__ >= 900
    asm("{ cvt.f32.bf16 %0, %1;}" : "=f"(result) : "h"(value.bits));
#else
    asm("{ mov.b32 %0, {0,%1};}" : "=f"(result) : "h"(value.bits));
#endif
    return result;
}

/* Cards before sm_80 have no instruction for it. */
__device__ __forceinline__ __nv_bfloat16
__float2bfloat16_rn(float value)
{
    __nv_bfloat16 result;
#if __CUDA_ARCH__ >= 800
    asm("{  cvt.rn.bf16.f32 %0, %1;}" : "=h"(result.bits) : "f"(value));
#else
    unsigned bits = __float_as_uint(value);
    unsigned rounded = (bits + 0x7fffU + (bits >> 16 & 1)) >> 16;
    result.bits = (unsigned short)((bits & 0x7fffffffU) > 0x7f800000U ? 0x7fffU : rounded);
#endif
    return result;
}
#endif
