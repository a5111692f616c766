#include "worker/cuda/operands/map.h"

#include <assert.h>
#include <string.h>

_Static_assert((int)CUDA_MAP_RANK_MAX >= (int)SHAPE_RANK_MAX, "a map holds every shape");

/* Returns the input's stride along a dimension of the output; 0 where it is broadcast. `size` counts the
 * elements of the input's dimensions inside, and grows by this one. */
static int64_t
stride_along(const Shape *input, const Shape *output, int dimension, int64_t *size)
{
    int own = dimension - (output->rank - input->rank);
    if (own < 0 || input->dims[own] == 1) {
        return 0;
    }
    int64_t stride = *size;
    *size *= input->dims[own];
    return stride;
}

/* Dimensions are added from the innermost one, into the last places of the arrays first. */
typedef struct Builder {
    CudaMap *map;
    int first; /* of the places that are in use */
} Builder;

static bool
extends_first(const Builder *builder, const int64_t *strides)
{
    const CudaMap *map = builder->map;
    for (int input = 0; input < CUDA_MAP_INPUTS_MAX; input++) {
        if (strides[input] != map->strides[input][builder->first] * map->sizes[builder->first]) {
            return false;
        }
    }
    return true;
}

static void
add_dimension(Builder *builder, int64_t size, const int64_t *strides)
{
    if (builder->first < CUDA_MAP_RANK_MAX && extends_first(builder, strides)) {
        builder->map->sizes[builder->first] *= size;
        return;
    }
    builder->first--;
    assert(builder->first >= 0);
    builder->map->sizes[builder->first] = size;
    for (int input = 0; input < CUDA_MAP_INPUTS_MAX; input++) {
        builder->map->strides[input][builder->first] = strides[input];
    }
}

/* Moves the dimensions to the first places; a scalar has one dimension of size 1. */
static void
finish(Builder *builder)
{
    CudaMap *map = builder->map;
    if (builder->first == CUDA_MAP_RANK_MAX) {
        map->rank = 1;
        map->sizes[0] = 1;
        return;
    }
    map->rank = CUDA_MAP_RANK_MAX - builder->first;
    size_t size = (size_t)map->rank * sizeof(int64_t);
    memmove(map->sizes, &map->sizes[builder->first], size);
    for (int input = 0; input < CUDA_MAP_INPUTS_MAX; input++) {
        memmove(map->strides[input], &map->strides[input][builder->first], size);
    }
}

CudaMap
operands_map(const Tensor *const *inputs, int input_count, const Tensor *output)
{
    assert(input_count >= 1 && input_count <= CUDA_MAP_INPUTS_MAX);
    CudaMap map = {.output = output->data, .count = tensor_element_count(output)};
    Builder builder = {.map = &map, .first = CUDA_MAP_RANK_MAX};
    int64_t sizes[CUDA_MAP_INPUTS_MAX] = {1, 1, 1};
    for (int dimension = output->shape.rank - 1; dimension >= 0; dimension--) {
        int64_t strides[CUDA_MAP_INPUTS_MAX] = {0};
        for (int input = 0; input < input_count; input++) {
            strides[input] = stride_along(&inputs[input]->shape, &output->shape, dimension, &sizes[input]);
        }
        if (output->shape.dims[dimension] != 1) {
            add_dimension(&builder, output->shape.dims[dimension], strides);
        }
    }
    finish(&builder);
    for (int input = 0; input < input_count; input++) {
        map.inputs[input] = inputs[input]->data;
    }
    return map;
}
