/* Attention in the forms that the vendor's library computes in 16 bits, by which it and the plain kernels are
 * compared. Its heads have a multiple of 8 numbers. */
#pragma once

#include "tests/support/cuda_kernels.h"

#define KEY_ROWS "transpose_key=true; "
#define WIDE_HEADS "T[2,3,5,8] numbers 1", "T[2,3,7,8] numbers 2", "T[2,3,7,16] numbers 3"

/* No two are alike to the library. */
static const CudaKernelCase attentions[] = {
    {.op = "_FusedAttention", .attrs = KEY_ROWS, .inputs = {WIDE_HEADS}},
    {.op = "_FusedAttention",
        .attrs = KEY_ROWS "num_args=1; num_masks=0; fused_ops=[Mul]",
        .inputs = {"T[13,24] numbers 1", "T[19,24] numbers 2", "T[19,8] numbers 3", "T[1] 0.5"}},
    {.op = "_FusedAttention",
        .attrs = KEY_ROWS "num_args=2; num_masks=0; fused_ops=[Mul,Add]",
        .inputs = {WIDE_HEADS, "T[] 0.5", "T[2,1,1,7] numbers 5"}},
    {.op = "_FusedAttention",
        .attrs = KEY_ROWS "num_args=2; num_masks=0; fused_ops=[Div,Add]",
        .inputs = {WIDE_HEADS, "T[1] 1.5", "T[5,7] numbers 5"}},
    {.op = "_FusedAttention",
        .attrs = KEY_ROWS "num_args=1; num_masks=0; fused_ops=[Add]",
        .inputs = {"T[2,1,3,5,8] numbers 1", "T[2,1,3,7,8] numbers 2", "T[2,1,3,7,8] numbers 3",
            "T[2,1,1,1,7] numbers 5"}},
    {.op = "_FusedAttention",
        .attrs = KEY_ROWS "num_args=1; num_masks=0; fused_ops=[Add]",
        .inputs = {WIDE_HEADS, "T[3,5,7] numbers 5"}},
    {.op = "onnx::Attention",
        .inputs = {"T[2,3,5,8] numbers 1", "T[2,3,9,8] numbers 2", "T[2,3,9,16] numbers 3"}},
    {.op = "onnx::Attention",
        .attrs = "is_causal=1; scale=0.3",
        .inputs = {"T[1,2,40,8] numbers 1", "T[1,2,50,8] numbers 2", "T[1,2,50,8] numbers 3"}},
    {.op = "onnx::Attention",
        .attrs = "q_num_heads=4; kv_num_heads=2",
        .inputs = {"T[2,5,32] numbers 1", "T[2,7,16] numbers 2", "T[2,7,32] numbers 3"}},
};
