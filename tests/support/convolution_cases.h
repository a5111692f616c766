/* Convolutions of all forms, which the plain kernel and the vendor's library are compared by. */
#pragma once

#include "tests/support/cuda_kernels.h"

#define SAME "strides=[1,1,1,1]; padding=SAME"
#define FUSED(steps) "fused_ops=[" steps "]; epsilon=0.001"

static const CudaKernelCase onnx_convolutions[] = {
    {.op = "onnx::Conv", .inputs = {"T[2,3,9] numbers 1", "T[5,3,3] numbers 2"}},
    {.op = "onnx::Conv",
        .attrs = "pads=[1,2]; strides=[2]; dilations=[2]",
        .inputs = {"T[1,2,11] numbers 1", "T[6,2,3] numbers 2", "T[6] numbers 3"}},
    {.op = "onnx::Conv", .inputs = {"T[1,1,1,1] numbers 1", "T[1,1,1,1] numbers 2"}},
    {.op = "onnx::Conv",
        .attrs = "pads=[1,1,1,1]",
        .inputs = {"T[1,3,5,6] numbers 1", "T[17,3,3,3] numbers 2", "T[17] numbers 3"}},
    {.op = "onnx::Conv",
        .attrs = "pads=[0,1,2,0]; strides=[2,3]; dilations=[1,2]",
        .inputs = {"T[2,2,7,8] numbers 1", "T[5,2,3,2] numbers 2"}},
    {.op = "onnx::Conv",
        .attrs = "auto_pad=SAME_LOWER",
        .inputs = {"T[1,2,4,4] numbers 1", "T[6,2,2,2] numbers 2"}},
    {.op = "onnx::Conv",
        .attrs = "group=2",
        .inputs = {"T[1,4,5,5] numbers 1", "T[12,2,3,3] numbers 2", "T[12] numbers 3"}},
    {.op = "onnx::Conv",
        .attrs = "group=4; pads=[1,1,1,1]",
        .inputs = {"T[2,4,5,5] numbers 1", "T[8,1,3,3] numbers 2", "T[8] numbers 3"}},
    {.op = "onnx::Conv",
        .attrs = "pads=[1,0,1,1,0,1]",
        .inputs = {"T[1,2,3,4,3] numbers 1", "T[5,2,2,2,3] numbers 2"}},
    {.op = "onnx::Conv", .inputs = {"T[0,3,5,5]", "T[4,3,3,3] numbers 2"}},
    {.op = "onnx::Conv", .inputs = {"T[1,3,5,5] numbers 1", "T[4,2,3,3] numbers 2"}},
    {.op = "onnx::Conv", .inputs = {"T[1,1,2,2] numbers 1", "T[1,1,3,3] numbers 2"}},
};

static const CudaKernelCase tensorflow_convolutions[] = {
    {.op = "Conv2D", .attrs = SAME, .inputs = {"T[1,5,6,3] numbers 1", "T[3,3,3,17] numbers 2"}},
    {.op = "Conv2D",
        .attrs = "strides=[1,2,3,1]; padding=VALID; dilations=[1,1,2,1]",
        .inputs = {"T[2,7,8,2] numbers 1", "T[3,2,2,5] numbers 2"}},
    {.op = "Conv2D",
        .attrs = "strides=[1,1,1,1]; padding=SAME; data_format=NCHW",
        .inputs = {"T[1,3,5,6] numbers 1", "T[3,3,3,6] numbers 2"}},
    {.op = "Conv2D",
        .attrs = "strides=[1,1,1,1]; padding=EXPLICIT; explicit_paddings=[0,0,1,0,0,2,0,0]",
        .inputs = {"T[1,4,4,4] numbers 1", "T[2,2,2,10] numbers 2"}},
    {.op = "DepthwiseConv2dNative",
        .attrs = SAME,
        .inputs = {"T[1,5,6,3] numbers 1", "T[3,3,3,2] numbers 2"}},
    {.op = "DepthwiseConv2dNative",
        .attrs = "strides=[1,2,2,1]; padding=VALID",
        .inputs = {"T[2,5,5,2] numbers 1", "T[2,2,2,6] numbers 2"}},
    {.op = "Conv3D",
        .attrs = "strides=[1,1,2,1,1]; padding=SAME",
        .inputs = {"T[1,3,4,3,2] numbers 1", "T[2,2,2,2,5] numbers 2"}},
};

static const CudaKernelCase large_convolutions[] = {
    {.op = "onnx::Conv",
        .attrs = "pads=[1,1,1,1]",
        .inputs = {"T[1,1,64,65] numbers 1", "T[64,1,3,3] numbers 2"}},
    {.op = "Conv2D",
        .attrs = "strides=[1,1,1,1]; padding=VALID",
        .inputs = {"T[1,64,65,2] numbers 1", "T[1,1,2,65] numbers 2"}},
};

static const CudaKernelCase fused_convolutions[] = {
    {.op = "_FusedConv2D",
        .attrs = SAME "; " FUSED("BiasAdd,Relu"),
        .inputs = {"T[1,3,3,2] numbers 1", "T[3,3,2,5] numbers 2", "T[5] numbers 3"}},
    {.op = "_FusedConv2D",
        .attrs = SAME "; data_format=NCHW; " FUSED("FusedBatchNorm,Add,Relu"),
        .inputs = {"T[2,2,3,3] numbers 1", "T[3,3,2,5] numbers 2", "T[5] numbers 3", "T[5] numbers 4",
            "T[5] numbers 5", "T[5] 0.5 2 ...", "T[2,5,3,3] numbers 6"}},
    {.op = "_FusedDepthwiseConv2dNative",
        .attrs = SAME "; " FUSED("BiasAdd,Relu6"),
        .inputs = {"T[1,4,4,3] numbers 1", "T[3,3,3,1] numbers 2", "T[3] numbers 3"}},
    {.op = "FusedDepthwiseConv2dNative",
        .attrs = SAME "; " FUSED("BiasAdd"),
        .inputs = {"T[1,3,3,2] numbers 1", "T[2,2,2,1] numbers 2", "T[2] numbers 3"}},
    {.op = "_FusedOnnxConv",
        .attrs = "pads=[1,1,1,1]; " FUSED("BiasAdd,Add,Relu"),
        .inputs = {"T[1,2,4,4] numbers 1", "T[6,2,3,3] numbers 2", "T[6] numbers 3", "T[1,6,4,4] numbers 4"}},
};
