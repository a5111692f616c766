/* Elements that are only moved, of which nothing but the size counts. */
#pragma once

#include "worker/cuda/kernels/types.cuh"

struct __align__(16) Element16
{
    uint64_t low;
    uint64_t high;
};

/* Returns `call`, in which T is the type of elements of `size` bytes. */
#define EACH_ELEMENT_SIZE(size, call)                                                                        \
    TYPE_SWITCH(size, TYPE_CASE(sizeof(uint8_t), uint8_t, call) TYPE_CASE(sizeof(uint16_t), uint16_t, call)  \
                          TYPE_CASE(sizeof(uint32_t), uint32_t, call) TYPE_CASE(sizeof(uint64_t), uint64_t,  \
                              call) TYPE_CASE(sizeof(Element16), Element16, call))
