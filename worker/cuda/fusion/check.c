#include "worker/cuda/fusion/check.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "worker/cuda/errors.h"
#include "worker/cuda/fusion/launch.h"
#include "worker/cuda/fusion/source.h"

enum {
    VALUES = 65536,
    VALUE_SIZE_MAX = 8,
    ROW_SIZE = VALUES * VALUE_SIZE_MAX,
    ROWS = CUDA_MAP_INPUTS_MAX + 2
};

static const size_t sizes[CUDA_TYPE_COUNT] = {
    [CUDA_BOOL] = 1,
    [CUDA_INT8] = 1,
    [CUDA_INT16] = 2,
    [CUDA_INT32] = 4,
    [CUDA_INT64] = 8,
    [CUDA_UINT8] = 1,
    [CUDA_UINT16] = 2,
    [CUDA_UINT32] = 4,
    [CUDA_UINT64] = 8,
    [CUDA_FLOAT16] = 2,
    [CUDA_BFLOAT16] = 2,
    [CUDA_FLOAT32] = 4,
    [CUDA_FLOAT64] = 8,
};

static Status
begin(Call *call, FusionCheck *check)
{
    if (check->stream == NULL) {
        TRY(cuda_check(
            call, (int)cudaStreamCreateWithFlags(&check->stream, cudaStreamNonBlocking), "making a stream"));
    }
    if (check->memory == NULL) {
        void *made = NULL;
        TRY(cuda_check(call, (int)cudaHostAlloc(&made, (size_t)ROWS * ROW_SIZE, cudaHostAllocDefault),
            "memory for a comparison"));
        check->memory = made;
    }
    return STATUS_OK;
}

/* Mixes the bits of a number (SplitMix64), so that equal runs compare equal values. */
static uint64_t
scatter(uint64_t number)
{
    number = (number + 1) * 0x9e3779b97f4a7c15U;
    number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9U;
    number = (number ^ number >> 27) * 0x94d049bb133111ebU;
    return number ^ number >> 31;
}

/* Half of the floats have any bits: they are of all sizes, subnormal, infinite, NaN. The others lie from -8
 * to 8, where functions have their bends. */
static uint64_t
draw_value(CudaType type, uint64_t index)
{
    uint64_t bits = scatter(index);
    double near = ((double)(bits >> 11) / (double)(UINT64_C(1) << 53) - 0.5) * 16;
    float single = (float)near;
    uint32_t single_bits = 0;
    if (type == CUDA_BOOL) {
        return bits & 1;
    }
    if (type == CUDA_FLOAT64 && index % 2 == 0) {
        memcpy(&bits, &near, sizeof bits);
    } else if (type == CUDA_FLOAT32 && index % 2 == 0) {
        memcpy(&single_bits, &single, sizeof single_bits);
        bits = single_bits;
    }
    return bits;
}

/* The first input of 16 bits takes every value that there is. */
static void
fill_inputs(CudaType type, char *memory)
{
    for (uint64_t input = 0; input < CUDA_MAP_INPUTS_MAX; input++) {
        char *row = memory + input * ROW_SIZE;
        for (uint64_t index = 0; index < VALUES; index++) {
            bool is_counted = input == 0 && sizes[type] == sizeof(uint16_t);
            uint64_t bits = is_counted ? index : draw_value(type, input * VALUES + index);
            memcpy(row + index * sizes[type], &bits, sizes[type]);
        }
    }
}

static Status
compute_both(Call *call, FusionCheck *check, CudaMapFunction function, CudaType type, cudaKernel_t kernel)
{
    float width = (float)(CHAR_BIT * sizes[type]);
    bool is_shift = function >= CUDA_MAP_SHIFT_LEFT && function <= CUDA_MAP_SHIFT_OUT_RIGHT;
    CudaMap map = {.count = VALUES,
        .rank = 1,
        .sizes = {VALUES},
        .output = check->memory + (ptrdiff_t)CUDA_MAP_INPUTS_MAX * ROW_SIZE,
        .parameters = {is_shift ? width : 0.3F, 1.7F}};
    CudaFused fused = {.count = VALUES,
        .rank = 1,
        .sizes = {VALUES},
        .output = (char *)map.output + ROW_SIZE,
        .parameters = {{map.parameters[0], map.parameters[1]}}};
    for (ptrdiff_t input = 0; input < CUDA_MAP_INPUTS_MAX; input++) {
        map.inputs[input] = fused.inputs[input] = check->memory + input * ROW_SIZE;
        map.strides[input][0] = fused.strides[input][0] = 1;
    }
    TRY(cuda_check(call, cuda_map(function, type, &map, check->stream), "a function to be compared"));
    TRY(cuda_check(call, fusion_launch(kernel, &fused, check->stream), "a fused function to be compared"));
    return cuda_check(call, (int)cudaStreamSynchronize(check->stream), "comparing a fused function");
}

Status
fusion_check(Call *call, FusionCheck *check, CudaMapFunction function, CudaType type, cudaKernel_t kernel,
    bool *ret_is_equal)
{
    assert(sizes[type] > 0 && fusion_inputs(function, type) > 0);
    TRY(begin(call, check));
    fill_inputs(type, check->memory);
    char *results = check->memory + (ptrdiff_t)CUDA_MAP_INPUTS_MAX * ROW_SIZE;
    memset(results, 0xa5, ROW_SIZE);
    memset(results + ROW_SIZE, 0x5a, ROW_SIZE);
    TRY(compute_both(call, check, function, type, kernel));
    *ret_is_equal =
        memcmp(results, results + ROW_SIZE,
            VALUES * sizes[fusion_result(&(FusionStep){.function = function, .type = type})]) == 0;
    return STATUS_OK;
}

void
fusion_check_done(FusionCheck *check)
{
    if (check->memory != NULL) {
        (void)cudaFreeHost(check->memory);
    }
    if (check->stream != NULL) {
        (void)cudaStreamDestroy(check->stream);
    }
    *check = (FusionCheck){0};
}
