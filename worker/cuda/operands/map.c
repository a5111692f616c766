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
    CudaWalk *walk;
    int first; /* of the places that are in use */
} Builder;

static bool
extends_first(const Builder *builder, const int64_t *strides)
{
    const CudaWalk *walk = builder->walk;
    for (int input = 0; input < walk->input_count; input++) {
        if (strides[input] != walk->strides[input][builder->first] * walk->sizes[builder->first]) {
            return false;
        }
    }
    return true;
}

static void
add_dimension(Builder *builder, int64_t size, const int64_t *strides)
{
    CudaWalk *walk = builder->walk;
    if (builder->first < CUDA_MAP_RANK_MAX && extends_first(builder, strides)) {
        walk->sizes[builder->first] *= size;
        return;
    }
    builder->first--;
    assert(builder->first >= 0);
    walk->sizes[builder->first] = size;
    for (int input = 0; input < walk->input_count; input++) {
        walk->strides[input][builder->first] = strides[input];
    }
}

/* Moves the dimensions to the first places; a scalar has one dimension of size 1. */
static int
finish(const Builder *builder)
{
    const CudaWalk *walk = builder->walk;
    if (builder->first == CUDA_MAP_RANK_MAX) {
        walk->sizes[0] = 1;
        return 1;
    }
    int rank = CUDA_MAP_RANK_MAX - builder->first;
    size_t size = (size_t)rank * sizeof(int64_t);
    memmove(walk->sizes, &walk->sizes[builder->first], size);
    for (int input = 0; input < walk->input_count; input++) {
        memmove(walk->strides[input], &walk->strides[input][builder->first], size);
    }
    return rank;
}

int
operands_walk(const Tensor *const *inputs, const Shape *output, CudaWalk *walk)
{
    assert(walk->input_count >= 1 && walk->input_count <= CUDA_WALK_INPUTS_MAX);
    Builder builder = {.walk = walk, .first = CUDA_MAP_RANK_MAX};
    int64_t sizes[CUDA_WALK_INPUTS_MAX];
    for (int input = 0; input < walk->input_count; input++) {
        sizes[input] = 1;
    }
    for (int dimension = output->rank - 1; dimension >= 0; dimension--) {
        int64_t strides[CUDA_WALK_INPUTS_MAX];
        for (int input = 0; input < walk->input_count; input++) {
            strides[input] = stride_along(&inputs[input]->shape, output, dimension, &sizes[input]);
        }
        if (output->dims[dimension] != 1) {
            add_dimension(&builder, output->dims[dimension], strides);
        }
    }
    return finish(&builder);
}

CudaMap
operands_map(const Tensor *const *inputs, int input_count, const Tensor *output)
{
    assert(input_count >= 1 && input_count <= CUDA_MAP_INPUTS_MAX);
    CudaMap map = {.output = output->data, .count = tensor_element_count(output)};
    CudaWalk walk = {.sizes = map.sizes, .strides = map.strides, .input_count = input_count};
    map.rank = operands_walk(inputs, &output->shape, &walk);
    for (int input = 0; input < input_count; input++) {
        map.inputs[input] = inputs[input]->data;
    }
    return map;
}
