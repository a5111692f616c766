#include "shared/ops/resize/neighbours_rule.h"

#include <math.h>

/* Returns the weight of the neighbour on the right, 0 or 1, for a position that is `ratio` behind the one on
 * the left. */
static double
nearest_weight(const ResizeFilter *filter, double ratio)
{
    if (ratio == 1 || filter->nearest == RESIZE_CEIL) {
        return 1;
    }
    if (filter->nearest == RESIZE_FLOOR) {
        return 0;
    }
    return ratio > 0.5 || (ratio == 0.5 && filter->nearest == RESIZE_PREFER_CEIL) ? 1 : 0;
}

/* Keys' cubic convolution. */
static double
cubic_weight(double a, double distance)
{
    double x = fabs(distance);
    if (x <= 1) {
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    }
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static double
weight_at(const ResizeFilter *filter, double distance)
{
    double scaled = distance * filter->scale;
    if (filter->mode == RESIZE_CUBIC) {
        return cubic_weight(filter->cubic, scaled);
    }
    return fabs(scaled) < 1 ? 1 - fabs(scaled) : 0;
}

/* Fills in the weights of one element at `position`. A position on an element has that as its neighbour on
 * the right. */
static void
weigh(const ResizeFilter *filter, double position, int64_t size, int64_t *ret_first, int64_t count,
    double *weights)
{
    double left = ceil(position) - 1;
    double ratio = position - left;
    int64_t reach = resize_reach(filter);
    double sum = 0;
    *ret_first = (int64_t)left + reach;
    for (int64_t n = 0; n < count; n++) {
        weights[n] = filter->mode == RESIZE_NEAREST
                         ? (n == 0 ? 1 - nearest_weight(filter, ratio) : nearest_weight(filter, ratio))
                         : weight_at(filter, (double)(reach + n) - ratio);
        int64_t neighbour = *ret_first + n;
        weights[n] = filter->excludes_outside && (neighbour < 0 || neighbour >= size) ? 0 : weights[n];
        sum += weights[n];
    }
    bool is_normalized = filter->excludes_outside || filter->is_antialiased;
    for (int64_t n = 0; is_normalized && n < count; n++) {
        weights[n] /= sum;
    }
}

Status
resize_neighbours(Call *call, const ResizePlan *plan, const ResizeFilter *filter, int64_t input,
    int dimension, ResizeNeighbours *ret_neighbours)
{
    int64_t output = plan->output.dims[dimension];
    int64_t count = 2 - 2 * resize_reach(filter);
    int64_t weight_count = 0;
    TRY(infer_multiply(call, output, count, &weight_count));
    ResizeNeighbours neighbours = {
        .count = count,
        .firsts = arena_alloc(call->arena, (size_t)output * sizeof *neighbours.firsts),
        .weights = arena_alloc(call->arena, (size_t)weight_count * sizeof *neighbours.weights),
        .is_outside = arena_alloc(call->arena, (size_t)output * sizeof *neighbours.is_outside),
    };
    if (neighbours.firsts == NULL || neighbours.weights == NULL || neighbours.is_outside == NULL) {
        return call_fail_memory(call, "the weights of resized elements");
    }
    for (int64_t index = 0; index < output; index++) {
        double position = resize_position(plan, input, output, dimension, index);
        neighbours.is_outside[index] =
            plan->place == RESIZE_CROP && (position < 0 || position > (double)input - 1);
        double within = position < -1 ? -1 : position > (double)input ? (double)input : position;
        weigh(filter, within, input, &neighbours.firsts[index], count, &neighbours.weights[index * count]);
    }
    *ret_neighbours = neighbours;
    return STATUS_OK;
}
