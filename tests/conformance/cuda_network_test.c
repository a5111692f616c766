/* Kernels of the CUDA plugin that networks are made of beside their reference kernels: attention,
 * quantised numbers, sums of products, losses. */
#include "shared/base/compiler.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"

/* Both layouts, heads that share keys, a past, masks of all ranks and types, caps, windows, lengths, and rows
 * in which nothing may be looked at. */
static const CudaKernelCase attentions[] = {
    {"onnx::Attention", NULL, {"T[2,3,5,4]", "T[2,3,7,4]", "T[2,3,7,6]"}},
    {"onnx::Attention", NULL, {"T[1,1,1,1]", "T[1,1,1,1]", "T[1,1,1,1]"}},
    {"onnx::Attention", "is_causal=1; scale=0.3", {"T[1,2,5,33]", "T[1,2,300,33]", "T[1,2,300,17]"}},
    {"onnx::Attention", "q_num_heads=4; kv_num_heads=2", {"T[2,5,12]", "T[2,7,6]", "T[2,7,10]"}},
    {"onnx::Attention", "softcap=0.5; qk_matmul_output_mode=1; score_outputs=1",
        {"T[2,6,5,4]", "T[2,3,7,4]", "T[2,3,7,6]", "bool[5,7]"}},
    {"onnx::Attention", "qk_matmul_output_mode=2; score_outputs=1",
        {"T[2,6,3,4]", "T[2,3,2,4]", "T[2,3,2,6]", "T[2,1,1,6]", "T[2,3,5,4]", "T[2,3,5,6]"}},
    {"onnx::Attention",
        "is_causal=1; qk_matmul_output_mode=3; score_outputs=1; q_num_heads=2; kv_num_heads=2",
        {"T[2,3,8]", "T[2,4,8]", "T[2,4,6]", "", "T[2,2,5,4]", "T[2,2,5,3]"}},
    {"onnx::Attention", "score_outputs=1",
        {"T[1,1,2,4]", "T[1,1,3,4]", "T[1,1,3,4]", "bool[2,3] 0 0 0 1 0 1"}},
    {"onnx::Attention", "left_window_size=1; right_window_size=2",
        {"T[1,2,9,4]", "T[1,2,9,4]", "T[1,2,9,4]"}},
    {"onnx::Attention", "is_causal=1; left_window_size=0",
        {"T[2,1,3,4]", "T[2,1,6,4]", "T[2,1,6,4]", "int32[3,6]", "", "", "int64[2] 6 4"}},
    {"onnx::Attention", NULL,
        {"T[2,1,3,4]", "T[2,1,6,4]", "T[2,1,6,4]", "float64[6]", "", "", "int64[2] 0 5"}},
    {"onnx::Attention", NULL, {"T[2,1,3,4]", "T[2,1,6,4]", "T[2,1,6,4]", "", "", "", "int64[2] 3 7"}},
    {"onnx::Attention", NULL, {"T[2,1,3,4]", "T[2,1,6,4]", "T[2,1,6,4]", "", "", "", "int64[2] -1 7"}},
    {"onnx::Attention", NULL, {"T[0,3,5,4]", "T[0,3,7,4]", "T[0,3,7,6]"}},
    {"onnx::Attention", NULL, {"T[1,2,3,4]", "T[1,2,0,4]", "T[1,2,0,6]"}},
    {"onnx::Attention", NULL, {"T[1,2,3,4]", "T[1,2,5,4]", "T[1,2,5,0]"}},
};

/* Both layouts and kinds of pairs, vectors that are rotated in part, and positions that are none. */
static const CudaKernelCase rotations[] = {
    {"onnx::RotaryEmbedding", NULL, {"T[2,3,5,8]", "T[9,4]", "T[9,4]", "int64[2,5] 0 1 2 3 8 4 ..."}},
    {"onnx::RotaryEmbedding", "interleaved=1", {"T[1,2,33,8]", "T[1,33,4]", "T[1,33,4]"}},
    {"onnx::RotaryEmbedding", "num_heads=3; rotary_embedding_dim=4", {"T[2,5,24]", "T[2,5,2]", "T[2,5,2]"}},
    {"onnx::RotaryEmbedding", "rotary_embedding_dim=4; interleaved=1",
        {"T[1,1,1,7]", "T[1,1,2]", "T[1,1,2]"}},
    {"onnx::RotaryEmbedding", NULL, {"T[1,1,3,2]", "T[4,1]", "T[4,1]", "int64[1,3] 0 4 -1"}},
    {"onnx::RotaryEmbedding", NULL, {"T[0,3,5,8]", "T[0,5,4]", "T[0,5,4]"}},
};

/* All modes in all dimensions with all paddings, far outside of the image, and in images of one element. */
static const CudaKernelCase samples[] = {
    {"onnx::GridSample", NULL, {"T[2,3,5,4]", "T[2,7,6,2]"}},
    {"onnx::GridSample", "align_corners=1", {"T[1,2,5,4]", "float32[1,3,3,2]"}},
    {"onnx::GridSample", "padding_mode=border", {"T[1,2,5,4]", "float64[1,3,3,2]"}},
    {"onnx::GridSample", "padding_mode=reflection", {"T[1,2,5,4]", "float32[1,3,50,2]"}},
    {"onnx::GridSample", "padding_mode=reflection; align_corners=1", {"T[1,2,5,4]", "float32[1,3,50,2]"}},
    {"onnx::GridSample", "mode=nearest", {"T[1,2,5,4]", "float32[1,3,3,2]"}},
    {"onnx::GridSample", "mode=nearest; padding_mode=reflection", {"T[1,1,5,4]", "float32[1,3,3,2]"}},
    {"onnx::GridSample", "mode=cubic", {"T[1,2,5,4]", "float32[1,3,3,2]"}},
    {"onnx::GridSample", "mode=cubic; padding_mode=border", {"T[1,2,5,4]", "float32[1,3,3,2]"}},
    {"onnx::GridSample", "mode=cubic; padding_mode=reflection; align_corners=1",
        {"T[1,2,5,4]", "float32[1,3,3,2]"}},
    {"onnx::GridSample", NULL, {"T[1,2,3,4,5]", "float32[1,2,3,4,3]"}},
    {"onnx::GridSample", "mode=cubic", {"T[1,1,3,4,5]", "float32[1,2,1,2,3]"}},
    {"onnx::GridSample", NULL, {"T[1,2,5]", "float32[1,7,1]"}},
    {"onnx::GridSample", "padding_mode=reflection; align_corners=1", {"T[1,1,1,1]", "float32[1,2,2,2]"}},
    {"onnx::GridSample", NULL, {"T[1,1,2,2]", "float32[1,2,2,2] nan 0 inf 0 -inf 1 0 0"}},
    {"onnx::GridSample", NULL, {"T[1,1,0,2]", "float32[1,2,2,2]"}},
    {"onnx::GridSample", NULL, {"T[0,3,5,4]", "float32[0,7,6,2]"}},
    {"onnx::GridSample", "mode=round", {"T[1,1,2,2]", "float32[1,2,2,2]"}},
};

/* Losses of one place and of many, weighed, left out, reduced in each way, and of labels that are none. */
static const CudaKernelCase label_losses[] = {
    {"onnx::NegativeLogLikelihoodLoss", NULL, {"T[3,5]", "int64[3] 4 0 2"}},
    {"onnx::NegativeLogLikelihoodLoss", "reduction=none", {"T[2,5,3]", "int32[2,3] 4 0 2 1 1 3"}},
    {"onnx::NegativeLogLikelihoodLoss", "reduction=sum", {"T[2,5,3]", "int64[2,3] 4 0 2 1 1 3", "T[5]"}},
    {"onnx::NegativeLogLikelihoodLoss", "ignore_index=-7", {"T[2,3,2]", "int64[2,2] 2 -7 0 1", "T[3] 1 2 3"}},
    {"onnx::NegativeLogLikelihoodLoss", "ignore_index=1", {"T[1,3]", "int64[1] 1"}},
    {"onnx::NegativeLogLikelihoodLoss", "reduction=none", {"T[1,3,400]", "int64[1,400] 1 ..."}},
    {"onnx::NegativeLogLikelihoodLoss", NULL, {"T[3,5]", "int64[3] 4 5 -1"}},
    {"onnx::NegativeLogLikelihoodLoss", NULL, {"T[3,5]", "int32[3] 4 0 -1"}},
    {"onnx::NegativeLogLikelihoodLoss", "reduction=none", {"T[0,5]", "int64[0]"}},
    {"onnx::NegativeLogLikelihoodLoss", "reduction=sum", {"T[0,5]", "int64[0]"}},
    {"onnx::NegativeLogLikelihoodLoss", NULL, {"T[0,5]", "int64[0]"}},
    {"onnx::SoftmaxCrossEntropyLoss", NULL, {"T[3,5]", "int64[3] 4 0 2"}},
    {"onnx::SoftmaxCrossEntropyLoss", "reduction=none", {"T[2,5,3]", "int32[2,3] 4 0 2 1 1 3", "T[5]"}},
    {"onnx::SoftmaxCrossEntropyLoss", "reduction=sum; ignore_index=2",
        {"T[2,300,2]", "int64[2,2] 299 2 0 1", "T[300]"}},
    {"onnx::SoftmaxCrossEntropyLoss", NULL, {"T[2,5]", "int64[2] 5 0"}},
    {"onnx::SoftmaxCrossEntropyLoss", "reduction=none", {"T[0,5]", "int64[0]"}},
};

/* A scale for all elements, one for each position of an axis, without zero points; quotients that are halves,
 * beyond the ends and NaN. */
static const CudaKernelCase quantised[] = {
    {"onnx::QuantizeLinear", NULL, {"T[333]", "float32[] 0.25", "uint8[] 7"}},
    {"onnx::QuantizeLinear", NULL, {"T[2,3,5]", "T[3] 1 2 3", "int8[3] 1 -2 3"}},
    {"onnx::QuantizeLinear", "axis=-1", {"T[2,3]", "float16[3] 1 2 0.5", "int16[3] 1 -2 3"}},
    {"onnx::QuantizeLinear", NULL, {"T[5]", "bfloat16[1] 0.5", "uint16[1] 1"}},
    {"onnx::QuantizeLinear", NULL, {"T[0]", "float64[] 0.5", "uint8[] 1"}},
    {"onnx::QuantizeLinear", NULL, {"float32[8] 1 3 -1 nan inf -inf 1e9 5", "float32[] 2", "int8[] 0"}},
    {"onnx::QuantizeLinear", NULL, {"float32[3] 1 0 -1", "float32[] 0", "uint8[] 3"}},
    {"onnx::QuantizeLinear", NULL, {"float32[3] 1 0 -1", "float32[2] 1 2", "uint8[2] 3 3"}},
    {"onnx::QuantizeLinear", NULL, {"float32[1,2] 1 0", "float32[2] 1 2", "uint8[1] 3"}},
    {"onnx::DequantizeLinear", NULL, {"uint8[333]", "T[] 2", "uint8[] 7"}},
    {"onnx::DequantizeLinear", NULL, {"int8[2,3,5]", "T[3] 1 2 3", "int8[3] 1 -2 3"}},
    {"onnx::DequantizeLinear", "axis=0", {"int16[2,3]", "T[2] 1 2", "int16[2] 1 -2"}},
    {"onnx::DequantizeLinear", NULL, {"uint16[5]", "T[1] 1", "uint16[1] 65535"}},
    {"onnx::DequantizeLinear", NULL, {"int32[3] 2147483647 -2147483648 5", "T[] 1"}},
    {"onnx::DequantizeLinear", NULL, {"uint8[0]", "T[] 1", "uint8[] 7"}},
    {"onnx::DequantizeLinear", NULL, {"T[333]", "float32[] 0.5"}},
    {"onnx::DynamicQuantizeLinear", NULL, {"float32[333]"}},
    {"onnx::DynamicQuantizeLinear", NULL, {"float32[70000]"}},
    {"onnx::DynamicQuantizeLinear", NULL, {"float32[0]"}},
    {"onnx::DynamicQuantizeLinear", NULL, {"float32[3] 1 2 3"}},
    {"onnx::DynamicQuantizeLinear", NULL, {"float32[3] -1 -2 nan"}},
    {"onnx::DynamicQuantizeLinear", NULL, {"float32[2] 0 0"}},
    {"onnx::MatMulInteger", NULL, {"T[3,5]", "T[5,7]", "T[] 1", "T[] 2"}},
    {"onnx::MatMulInteger", NULL, {"T[2,3,5]", "uint8[5,2]", "T[3] 1 2 3", "uint8[2] 1 2"}},
    {"onnx::MatMulInteger", NULL, {"T[33,40]", "int8[40,17]"}},
    {"onnx::MatMulInteger", NULL, {"T[0,5]", "int16[5,7]"}},
    {"onnx::MatMulInteger", NULL, {"T[3,0]", "uint16[0,7]"}},
    {"onnx::MatMulInteger", NULL, {"uint8[2,2] 1 2 3 4", "int8[2,2] 1 2 3 4", "uint8[3] 1 2 3", "int8[] 0"}},
    {"onnx::QLinearMatMul", NULL,
        {"T[3,5]", "float32[] 0.5", "T[] 1", "uint8[5,7]", "float32[] 0.25", "uint8[] 2", "float32[] 3",
            "uint8[] 9"}},
    {"onnx::QLinearMatMul", NULL,
        {"T[2,3,5]", "float16[3] 0.5 1 2", "T[3] 1 2 3", "int8[5,2]", "float16[2] 0.25 1", "int8[2] 2 1",
            "float16[] 3", "int8[] 9"}},
    {"onnx::QLinearMatMul", NULL,
        {"T[19,20]", "float64[] 0.5", "T[] 1", "int16[20,19]", "float64[] 0.25", "int16[] 2", "float64[] 3",
            "uint16[] 9"}},
    {"onnx::QLinearMatMul", NULL,
        {"T[0,5]", "float32[] 0.5", "T[] 1", "uint8[5,7]", "float32[] 0.25", "uint8[] 2", "float32[] 3",
            "T[] 9"}},
    {"onnx::QLinearConv", "pads=[1,1,1,1]",
        {"T[2,3,9,7]", "float32[] 0.5", "T[] 1", "int8[4,3,3,3]", "float32[4] 0.25 0.5 1 2",
            "int8[4] 0 1 0 -2", "float32[] 64", "uint8[] 9", "int32[4] 900 -70 3 -1200"}},
    {"onnx::QLinearConv", "group=2; strides=[2,1]; dilations=[1,2]",
        {"uint8[1,4,9,7]", "float32[] 0.5", "uint8[] 128", "T[6,2,3,2]", "float32[] 0.25", "T[] 3",
            "float32[] 16", "int8[] 9", "int32[6] 900 -70 3 -1200 8 0"}},
    {"onnx::QLinearConv", NULL,
        {"T[1,2,30]", "float32[] 0.5", "T[] 1", "uint8[5,2,3]", "float32[] 0.25", "uint8[] 2", "float32[] 32",
            "uint8[] 9"}},
    {"onnx::QLinearConv", NULL,
        {"T[0,2,30]", "float32[] 0.5", "T[] 1", "uint8[5,2,3]", "float32[] 0.25", "uint8[] 2", "float32[] 32",
            "uint8[] 9"}},
    {"onnx::ConvInteger", "pads=[1,1,1,1]", {"T[2,3,9,7]", "int8[5,3,3,3]", "T[] 1", "int8[5] 0 1 0 -2 3"}},
    {"onnx::ConvInteger", "group=2; strides=[2,1]; dilations=[1,2]", {"uint8[1,4,9,7]", "T[6,2,3,2]"}},
    {"onnx::ConvInteger", "strides=[2]",
        {"int8[1,2,3] -128 127 3 4 5 6", "uint8[2,2,1] 255 2 7 0", "int8[] -1"}},
    {"onnx::ConvInteger", NULL, {"uint8[1,2,3,4,5]", "int8[40,2,2,2,2]", "", "int8[] 3"}},
    {"onnx::ConvInteger", NULL, {"T[0,2,30]", "uint8[5,2,3]"}},
    {"onnx::ConvInteger", NULL, {"T[1,1,3]", "uint8[1,1,2]", "T[3] 1 2 3"}},
};

/* Limits of which 0 is no step, with one that is too large and one that is none, and channels without
 * elements. */
static const CudaKernelCase rounded_to_steps[] = {
    {"FakeQuantWithMinMaxArgs", NULL, {"float32[3,111]"}},
    {"FakeQuantWithMinMaxArgs", "min=-1.3; max=2.1; num_bits=4; narrow_range=true", {"float32[333]"}},
    {"FakeQuantWithMinMaxArgs", "min=0.5; max=2.0", {"float32[6] nan inf -inf 0 0.49 9"}},
    {"FakeQuantWithMinMaxArgs", "min=0.0; max=0.0", {"float32[2] 1 nan"}},
    {"FakeQuantWithMinMaxArgs", "min=2.0; max=1.0", {"float32[2] 1 2"}},
    {"FakeQuantWithMinMaxArgs", NULL, {"float32[0,3]"}},
    {"FakeQuantWithMinMaxArgsGradient", "min=-1.3; max=2.1", {"float32[3,111]", "float32[3,111]"}},
    {"FakeQuantWithMinMaxArgsGradient", "min=0.0; max=0.0", {"float32[2] 1 2", "float32[2] 0 nan"}},
    {"FakeQuantWithMinMaxArgsGradient", NULL, {"float32[0]", "float32[0]"}},
    {"FakeQuantWithMinMaxArgsGradient", NULL, {"float32[300]", "float32[1]"}},
    {"FakeQuantWithMinMaxArgsGradient", "min=1.0; max=1.0", {"float32[300]", "float32[1]"}},
    {"FakeQuantWithMinMaxVars", NULL, {"float32[333]", "float32[] -1.3", "float32[] 2.1"}},
    {"FakeQuantWithMinMaxVars", "num_bits=16", {"float32[5,7]", "float32[] -3", "float32[] -1"}},
    {"FakeQuantWithMinMaxVars", NULL, {"float32[0]", "float32[] 2", "float32[] 1"}},
    {"FakeQuantWithMinMaxVars", NULL, {"float32[300]", "float32[] nan", "float32[] 0.1"}},
    {"FakeQuantWithMinMaxVars", NULL, {"float32[2]", "float32[] 0", "float32[] 0"}},
    {"FakeQuantWithMinMaxVarsPerChannel", NULL, {"float32[5,3]", "float32[3] -1 0 0", "float32[3] 2 0.3 0"}},
    {"FakeQuantWithMinMaxVarsPerChannel", "narrow_range=true",
        {"float32[2,3,111]", "float32[111] -2 ...", "float32[111] 1.7 ..."}},
    {"FakeQuantWithMinMaxVarsPerChannel", NULL, {"float32[5,3]", "float32[3] -1 2 3", "float32[3] 2 2 2"}},
    {"FakeQuantWithMinMaxVarsPerChannel", NULL, {"float32[0,3]", "float32[3] -1 0 3", "float32[3] 2 2 2"}},
    {"FakeQuantWithMinMaxVarsPerChannel", NULL, {"float32[3,0]", "float32[0]", "float32[0]"}},
};

/* Grids with sides of one point and of none. */
static const CudaKernelCase grids[] = {
    {"onnx::AffineGrid", NULL, {"T[2,2,3]", "int64[4] 2 3 5 4"}},
    {"onnx::AffineGrid", "align_corners=1", {"T[2,2,3]", "int64[4] 2 1 13 11"}},
    {"onnx::AffineGrid", NULL, {"T[2,3,4]", "int64[5] 2 1 5 4 3"}},
    {"onnx::AffineGrid", "align_corners=1", {"T[1,3,4]", "int64[5] 1 1 1 7 2"}},
    {"onnx::AffineGrid", NULL, {"T[2,2,3]", "int64[4] 2 3 0 4"}},
    {"onnx::AffineGrid", NULL, {"T[0,3,4]", "int64[5] 0 1 5 4 3"}},
};

/* Blocks beside each other, with gaps, padding and steps, in one to three dimensions, and larger than the
 * image. */
static const CudaKernelCase blocks[] = {
    {"onnx::Col2Im", NULL, {"T[1,8,9]", "int64[2] 4 4", "int64[2] 2 2"}},
    {"onnx::Col2Im", "pads=[0,1,1,1]; strides=[1,2]", {"T[2,6,10]", "int64[2] 5 5", "int64[2] 3 1"}},
    {"onnx::Col2Im", "pads=[1,1,1,1]; dilations=[2,3]", {"T[1,12,216]", "int64[2] 18 13", "int64[2] 2 2"}},
    {"onnx::Col2Im", "strides=[2]", {"T[3,6,4]", "int64[1] 9", "int64[1] 3"}},
    {"onnx::Col2Im", NULL, {"T[1,8,12]", "int64[3] 3 3 4", "int64[3] 2 2 2"}},
    {"onnx::Col2Im", NULL, {"T[1,25,0]", "int64[2] 4 4", "int64[2] 5 5"}},
    {"onnx::Col2Im", NULL, {"T[0,4,9]", "int64[2] 4 4", "int64[2] 2 2"}},
    {"onnx::Col2Im", NULL, {"T[1,5,9]", "int64[2] 4 4", "int64[2] 2 2"}},
};

/* Regions at borders, turned over, of no size, of other images, and beyond all images. */
#define REGIONS "T[5,4] 0 0 5 4 1 1 3 2 -2 -2 9 9 4 3 1 1 2 2 2 2"
static const CudaKernelCase regions[] = {
    {"onnx::RoiAlign", "output_height=2; output_width=3", {"T[2,3,5,6]", REGIONS, "int64[5] 0 1 1 0 1"}},
    {"onnx::RoiAlign", "output_height=3; output_width=2; mode=max; spatial_scale=0.9",
        {"T[2,3,5,6]", REGIONS, "int64[5] 0 1 1 0 1"}},
    {"onnx::RoiAlign",
        "output_height=7; output_width=9; sampling_ratio=2; "
        "coordinate_transformation_mode=output_half_pixel",
        {"T[2,3,5,6]", REGIONS, "int64[5] 0 1 1 0 1"}},
    {"onnx::RoiAlign", "mode=max; sampling_ratio=3; coordinate_transformation_mode=output_half_pixel",
        {"T[2,1,1,1]", REGIONS, "int64[5] 0 1 1 0 1"}},
    {"onnx::RoiAlign", NULL, {"float32[1,1,2,2] nan inf 1 -inf", "float32[1,4] 0 0 2 2", "int64[1] 0"}},
    {"onnx::RoiAlign", "mode=max", {"float32[1,1,2,2] nan inf 1 -inf", "float32[1,4] 0 0 2 2", "int64[1] 0"}},
    {"onnx::RoiAlign", NULL, {"T[2,3,5,6]", "T[0,4]", "int64[0]"}},
    {"onnx::RoiAlign", NULL, {"T[2,0,5,6]", REGIONS, "int64[5] 0 1 1 0 1"}},
    {"onnx::RoiAlign", NULL, {"T[2,0,5,6]", REGIONS, "int64[5] 0 1 2 0 1"}},
    {"onnx::RoiAlign", NULL, {"T[2,1,5,0]", REGIONS, "int64[5] 0 1 1 0 1"}},
    {"onnx::RoiAlign", NULL, {"T[2,3,5,6]", REGIONS, "int64[5] 0 1 -1 0 2"}},
    {"onnx::RoiAlign", "sampling_ratio=1025", {"T[2,3,5,6]", REGIONS, "int64[5] 0 1 1 0 1"}},
    {"onnx::RoiAlign", "mode=none", {"T[2,3,5,6]", REGIONS, "int64[5] 0 1 1 0 1"}},
    {"onnx::RoiAlign", NULL, {"float32[1,1,5,6]", "float32[2,4] 0 0 1 nan 0 0 1 1", "int64[2] 0 7"}},
    {"onnx::RoiAlign", NULL, {"float64[1,1,5,6]", "float64[2,4] 0 0 1 1 0 1e300 1 1", "int64[2] 0 0"}},
};

/* Products of matrices as they lie and turned, batches of them, sums of all kinds, diagonals, operands that
 * broadcast, and no elements. */
static const CudaKernelCase einsums[] = {
    {"Einsum", "equation=ij,jk->ik", {"T[3,5]", "T[5,7]"}},
    {"Einsum", "equation=ij,kj->ki", {"T[33,5]", "T[9,5]"}},
    {"Einsum", "equation=bthd,bshd->bhts", {"T[2,3,4,5]", "T[2,7,4,5]"}},
    {"Einsum", "equation=bhts,bshd->bthd", {"T[2,4,3,7]", "T[2,7,4,5]"}},
    {"Einsum", "equation=acbe,aecd->abcd", {"T[2,3,5,7]", "T[2,7,3,4]"}},
    {"Einsum", "equation=aecd,abcd->acbe", {"T[2,7,3,4]", "T[2,5,3,4]"}},
    {"Einsum", "equation=abc,cde->abde", {"T[2,3,5]", "T[5,4,6]"}},
    {"Einsum", "equation=abcd,cde->abe", {"T[2,3,4,5]", "T[4,5,6]"}},
    {"Einsum", "equation=ij,kj->kji", {"T[3,5]", "T[4,5]"}},
    {"Einsum", "equation=i,j->ij", {"T[3]", "T[333]"}},
    {"Einsum", "equation=ij,j->i", {"T[3,5]", "T[5]"}},
    {"Einsum", "equation=bi,bi->b", {"T[3,300]", "T[3,300]"}},
    {"Einsum", "equation=i,i->", {"T[777]", "T[777]"}},
    {"Einsum", "equation=...ij,...jk->...ik", {"T[1,2,3,5]", "T[4,1,5,2]"}},
    {"Einsum", "equation=ij,jk", {"T[0,5]", "T[5,7]"}},
    {"Einsum", "equation=ij,jk->ik", {"T[3,0]", "T[0,7]"}},
    {"Einsum", "equation=ij,jk->ik", {"float32[1,2] 1 2", "float32[3,1] 1 2 3"}},
    {"Einsum", "equation=ii->i", {"T[17,17]"}},
    {"Einsum", "equation=ii,ij->ij", {"T[5,5]", "T[5,60]"}},
    {"Einsum", "equation=i->ii", {"T[17]"}},
    {"Einsum", "equation=ab,bc,cd->ad", {"T[2,3]", "T[3,4]", "T[4,5]"}},
    {"onnx::Einsum", "equation=...ii->...i", {"T[3,5,5]"}},
    {"onnx::Einsum", "equation=ij->ji", {"T[3,111]"}},
    {"onnx::Einsum", "equation=ij->i", {"T[3,777]"}},
    {"onnx::Einsum", "equation=bij, bjk -> bik", {"T[5,2,3]", "T[5,3,4]"}},
    {"onnx::Einsum", "equation=i,i", {"T[0]", "T[0]"}},
};

static void
attention_of_all_forms(void **state)
{
    (void)state;
    cuda_kernels_compare(attentions, COUNT_OF(attentions));
}

static void
rotated_pairs(void **state)
{
    (void)state;
    cuda_kernels_compare(rotations, COUNT_OF(rotations));
}

static void
sampled_images(void **state)
{
    (void)state;
    cuda_kernels_compare(samples, COUNT_OF(samples));
    cuda_kernels_compare(grids, COUNT_OF(grids));
    cuda_kernels_compare(blocks, COUNT_OF(blocks));
    cuda_kernels_compare(regions, COUNT_OF(regions));
}

static void
losses_of_labels(void **state)
{
    (void)state;
    cuda_kernels_compare(label_losses, COUNT_OF(label_losses));
}

static void
quantised_numbers(void **state)
{
    (void)state;
    cuda_kernels_compare(quantised, COUNT_OF(quantised));
    cuda_kernels_compare(rounded_to_steps, COUNT_OF(rounded_to_steps));
}

static void
sums_of_products(void **state)
{
    (void)state;
    cuda_kernels_compare(einsums, COUNT_OF(einsums));
}

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    static const char *const families[] = {"affine", "columns", "einsum", "fake_quantize", "loss_onnx",
        "onnx_attention", "quantize", "quantized_convolution", "regions", "rotary", "sampling"};
    for (size_t index = 0; index < COUNT_OF(families); index++) {
        cuda_kernels_expect_cases(families[index]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_of_all_forms),
        cmocka_unit_test(rotated_pairs),
        cmocka_unit_test(sampled_images),
        cmocka_unit_test(losses_of_labels),
        cmocka_unit_test(quantised_numbers),
        cmocka_unit_test(sums_of_products),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests(tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
