/* The source of a kernel that computes a group of element-wise functions at once, for NVRTC. It calls the
 * functions that the kernels of single nodes are made of (kernels/functions.cuh), and follows from functions
 * and types alone: shapes, strides and parameters are given to each launch (fused.h).
 *
 * Ownership: values.
 * Threads:   pure. */
#pragma once

#include "shared/base/buffer.h"
#include "worker/cuda/fusion/fused.h"
#include "worker/cuda/kernels/map.h"

#define FUSION_KERNEL "sluice_fused"

/* Values are numbered: first the inputs of the group, then the results of the steps. */
typedef struct FusionStep {
    CudaMapFunction function;
    CudaType type;                          /* of the values that it reads; of those that it chooses from */
    CudaType becomes;                       /* of the value that is converted */
    uint32_t operands[CUDA_MAP_INPUTS_MAX]; /* as many as the function has inputs */
} FusionStep;

typedef struct FusionGroup {
    CudaType inputs[CUDA_FUSED_INPUTS_MAX];
    uint32_t input_count;
    FusionStep steps[CUDA_FUSED_STEPS_MAX]; /* each reads what is before it; the last one gives the output */
    uint32_t step_count;
} FusionGroup;

/* Returns how many inputs a function has; 0: it cannot be fused, for any type or for this one. */
int fusion_inputs(CudaMapFunction function, CudaType type);

/* Returns whether a function's results are to be compared with those of the plugin's own kernel: choices and
 * conversions are instructions of the card, which every compiler gives. */
bool fusion_is_compared(CudaMapFunction function);

/* Returns the type of a step's result. */
CudaType fusion_result(const FusionStep *step);

/* Returns the name of a function that can be fused: "ADD". */
const char *fusion_function_name(CudaMapFunction function);

/* Writes the source of a group's kernel, FUSION_KERNEL. */
void fusion_write(const FusionGroup *group, Buffer *ret_source);

/* Writes the source of kernels of one step each, which read their operands from as many inputs, in order. */
void fusion_write_alone(const FusionStep *steps, uint32_t count, Buffer *ret_source);

/* Writes the name of the kernel of step `index` in that source. */
enum { FUSION_NAME_SIZE = 32 };
void fusion_name_alone(uint32_t index, char ret_name[FUSION_NAME_SIZE]);

/* The headers that the source includes, by the names by which it does. */
extern const char *const fusion_headers[];
extern const char *const fusion_header_names[];
extern const int fusion_header_count;
