#include "worker/reference/broadcast.h"

#include <assert.h>

/* Dimensions of the output, innermost first. Neighbouring dimensions that every input walks evenly are
 * merged into one. */
typedef struct Walk {
    int rank;
    int64_t dims[SHAPE_RANK_MAX];
    int64_t strides[ELEMENT_INPUTS_MAX][SHAPE_RANK_MAX];
} Walk;

/* Returns the input's stride along a dimension of the output; 0 where it is broadcast. `size` counts the
 * elements of the input's dimensions inside, and grows by this one. */
static int64_t
stride_of(const Shape *input, const Shape *output, int dimension, int64_t *size)
{
    int own = dimension - (output->rank - input->rank);
    if (own < 0 || input->dims[own] == 1) {
        return 0;
    }
    int64_t stride = *size;
    *size *= input->dims[own];
    return stride;
}

static bool
extends_last(const Walk *walk, const int64_t *strides, int input_count)
{
    int last = walk->rank - 1;
    for (int input = 0; input < input_count; input++) {
        if (strides[input] != walk->strides[input][last] * walk->dims[last]) {
            return false;
        }
    }
    return true;
}

static void
walk_init(Walk *walk, const Tensor *const *inputs, int input_count, const Shape *output)
{
    int64_t sizes[ELEMENT_INPUTS_MAX] = {1, 1, 1};
    walk->rank = 0;
    for (int dimension = output->rank - 1; dimension >= 0; dimension--) {
        if (output->dims[dimension] == 1) {
            continue;
        }
        int64_t strides[ELEMENT_INPUTS_MAX] = {0};
        for (int input = 0; input < input_count; input++) {
            strides[input] = stride_of(&inputs[input]->shape, output, dimension, &sizes[input]);
        }
        if (walk->rank > 0 && extends_last(walk, strides, input_count)) {
            walk->dims[walk->rank - 1] *= output->dims[dimension];
            continue;
        }
        for (int input = 0; input < input_count; input++) {
            walk->strides[input][walk->rank] = strides[input];
        }
        walk->dims[walk->rank++] = output->dims[dimension];
    }
    if (walk->rank == 0) {
        *walk = (Walk){.rank = 1, .dims = {1}};
    }
}

/* Moves on by one run of the innermost dimension; `offsets` count elements. False after the last run. */
static bool
walk_next(const Walk *walk, int input_count, int64_t *position, int64_t *offsets)
{
    for (int dimension = 1; dimension < walk->rank; dimension++) {
        bool is_carried = ++position[dimension] == walk->dims[dimension];
        int64_t steps = is_carried ? 1 - walk->dims[dimension] : 1;
        for (int input = 0; input < input_count; input++) {
            offsets[input] += steps * walk->strides[input][dimension];
        }
        if (!is_carried) {
            return true;
        }
        position[dimension] = 0;
    }
    return false;
}

void
broadcast_run(
    const Tensor *const *inputs, int input_count, Tensor *output, const float *parameters, ElementLoop loop)
{
    assert(input_count <= ELEMENT_INPUTS_MAX);
    if (tensor_element_count(output) == 0) {
        return;
    }
    Walk walk;
    walk_init(&walk, inputs, input_count, &output->shape);
    int64_t output_step = walk.dims[0] * (int64_t)dtype_size(output->dtype);
    int64_t position[SHAPE_RANK_MAX] = {0};
    int64_t offsets[ELEMENT_INPUTS_MAX] = {0};
    ElementRun run = {.output = output->data, .count = walk.dims[0], .parameters = parameters};
    do {
        for (int input = 0; input < input_count; input++) {
            int64_t size = (int64_t)dtype_size(inputs[input]->dtype);
            run.inputs[input] = (const char *)inputs[input]->data + offsets[input] * size;
            run.strides[input] = walk.strides[input][0];
        }
        loop(&run);
        run.output = (char *)run.output + output_step;
    } while (walk_next(&walk, input_count, position, offsets));
}
