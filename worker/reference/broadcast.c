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

/* A walk with its operands. */
typedef struct Broadcast {
    Walk walk;
    const Tensor *const *inputs;
    int input_count;
    Tensor *output;
    const float *parameters;
    ElementLoop loop;
    int64_t run_count; /* of the innermost dimension's length each */
    int64_t part;      /* elements of each run, or whole runs, that a thread takes at once */
} Broadcast;

/* Computes without a walk what has the output's shape in all inputs. False: some input is broadcast. */
static bool
compute_straight(
    const Tensor *const *inputs, int input_count, Tensor *output, const float *parameters, ElementLoop loop)
{
    ElementRun run = {
        .output = output->data, .count = tensor_element_count(output), .parameters = parameters};
    for (int input = 0; input < input_count; input++) {
        if (!shape_equal(&inputs[input]->shape, &output->shape)) {
            return false;
        }
        run.inputs[input] = inputs[input]->data;
        run.strides[input] = 1;
    }
    if (run.count > 0) {
        loop(&run);
    }
    return true;
}

static Broadcast
broadcast_plan(
    const Tensor *const *inputs, int input_count, Tensor *output, const float *parameters, ElementLoop loop)
{
    assert(input_count <= ELEMENT_INPUTS_MAX);
    Broadcast plan = {.inputs = inputs,
        .input_count = input_count,
        .output = output,
        .parameters = parameters,
        .loop = loop,
        .run_count = 1};
    walk_init(&plan.walk, inputs, input_count, &output->shape);
    for (int dimension = 1; dimension < plan.walk.rank; dimension++) {
        plan.run_count *= plan.walk.dims[dimension];
    }
    return plan;
}

/* Finds the position of a run, and the inputs' elements that it begins at. */
static void
seek_run(const Broadcast *plan, int64_t index, int64_t *position, int64_t *offsets)
{
    const Walk *walk = &plan->walk;
    for (int dimension = 1; dimension < walk->rank; dimension++) {
        position[dimension] = index % walk->dims[dimension];
        index /= walk->dims[dimension];
        for (int input = 0; input < plan->input_count; input++) {
            offsets[input] += position[dimension] * walk->strides[input][dimension];
        }
    }
}

/* Computes the elements from `start` to `end` of `count` runs, the first of which is `first`. */
static void
compute_runs(const Broadcast *plan, int64_t first, int64_t count, int64_t start, int64_t end)
{
    int64_t position[SHAPE_RANK_MAX] = {0};
    int64_t offsets[ELEMENT_INPUTS_MAX] = {0};
    int64_t size = (int64_t)dtype_size(plan->output->dtype);
    ElementRun run = {
        .output = (char *)plan->output->data + (first * plan->walk.dims[0] + start) * size,
        .count = end - start,
        .parameters = plan->parameters,
    };
    seek_run(plan, first, position, offsets);
    for (int64_t left = count; left > 0; left--) {
        for (int input = 0; input < plan->input_count; input++) {
            const Tensor *tensor = plan->inputs[input];
            int64_t stride = plan->walk.strides[input][0];
            int64_t offset = offsets[input] + start * stride;
            run.inputs[input] = (const char *)tensor->data + offset * (int64_t)dtype_size(tensor->dtype);
            run.strides[input] = stride;
        }
        plan->loop(&run);
        run.output = (char *)run.output + plan->walk.dims[0] * size;
        (void)walk_next(&plan->walk, plan->input_count, position, offsets);
    }
}

void
broadcast_run(
    const Tensor *const *inputs, int input_count, Tensor *output, const float *parameters, ElementLoop loop)
{
    if (!compute_straight(inputs, input_count, output, parameters, loop) &&
        tensor_element_count(output) > 0) {
        Broadcast plan = broadcast_plan(inputs, input_count, output, parameters, loop);
        compute_runs(&plan, 0, plan.run_count, 0, plan.walk.dims[0]);
    }
}

static int64_t
parts_of(int64_t whole, int64_t part)
{
    return (whole + part - 1) / part;
}

static void
compute_part_of_run(void *context, int64_t index)
{
    const Broadcast *plan = context;
    int64_t length = plan->walk.dims[0];
    int64_t parts = parts_of(length, plan->part);
    int64_t start = index % parts * plan->part;
    int64_t end = start + plan->part < length ? start + plan->part : length;
    compute_runs(plan, index / parts, 1, start, end);
}

static void
compute_some_runs(void *context, int64_t index)
{
    const Broadcast *plan = context;
    int64_t first = index * plan->part;
    int64_t left = plan->run_count - first;
    compute_runs(plan, first, left < plan->part ? left : plan->part, 0, plan->walk.dims[0]);
}

/* Fewer elements are not worth handing to another thread. */
enum { SHARED_ELEMENTS = 32 * 1024 };

void
broadcast_share(Device *device, const Tensor *const *inputs, int input_count, Tensor *output,
    const float *parameters, ElementLoop loop)
{
    if (tensor_element_count(output) <= SHARED_ELEMENTS) {
        broadcast_run(inputs, input_count, output, parameters, loop);
        return;
    }
    Broadcast plan = broadcast_plan(inputs, input_count, output, parameters, loop);
    int64_t length = plan.walk.dims[0];
    if (length >= SHARED_ELEMENTS) {
        plan.part = SHARED_ELEMENTS;
        int64_t parts = plan.run_count * parts_of(length, plan.part);
        device->parallel_for(device, parts, compute_part_of_run, &plan);
    } else {
        plan.part = parts_of(SHARED_ELEMENTS, length);
        device->parallel_for(device, parts_of(plan.run_count, plan.part), compute_some_runs, &plan);
    }
}
