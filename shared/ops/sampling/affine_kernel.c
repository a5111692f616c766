/* onnx::AffineGrid, in double. The points of the output lie from -1 to 1 along each side, at its ends or,
 * unless corners are aligned, half a step inside; a side of one point has it in the middle, as PyTorch has.
 */
#include "worker/reference/doubles.h"
#include "worker/reference/walk.h"

static double
place_of(int64_t position, int64_t size, bool aligns_corners)
{
    if (aligns_corners) {
        return size == 1 ? 0 : 2 * (double)position / (double)(size - 1) - 1;
    }
    return (2 * (double)position + 1) / (double)size - 1;
}

/* Writes the points of one image: theta × (x, y, 1), with the last side's place first. */
static void
fill_grid(const double *theta, const Shape *grid, bool aligns_corners, double *to)
{
    int space = grid->rank - 2;
    Walk walk = {.rank = space};
    memcpy(walk.dims, &grid->dims[1], (size_t)space * sizeof *walk.dims);
    do {
        for (int64_t row = 0; row < space; row++) {
            const double *factors = theta + row * (space + 1);
            double sum = factors[space];
            for (int column = 0; column < space; column++) {
                int side = space - 1 - column;
                sum += factors[column] * place_of(walk.position[side], walk.dims[side], aligns_corners);
            }
            *to++ = sum;
        }
    } while (walk_next(&walk));
}

static Status
affine_grid_compute(KernelContext *context)
{
    AUTO_DOUBLES doubles = {0};
    TRY(doubles_begin(context, &doubles));
    bool aligns_corners = node_attr_int(context->node, "align_corners") != 0;
    const Shape *grid = &doubles.outputs[0].shape;
    int64_t count = tensor_element_count(&doubles.outputs[0]);
    int64_t space = grid->rank - 2;
    for (int64_t image = 0; count > 0 && image < grid->dims[0]; image++) {
        fill_grid(doubles_in(&doubles, 0) + image * space * (space + 1), grid, aligns_corners,
            doubles_out(&doubles, 0) + image * (count / grid->dims[0]));
    }
    return doubles_finish(context, &doubles);
}

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

static const Kernel sampling_affine_kernels[] = {
    {.op = "onnx::AffineGrid",
        .supports = supports_floats,
        .compute = affine_grid_compute,
        .host_inputs = 1 << 1,
        DOUBLES_SCRATCH},
};

KERNEL_FAMILY(reference, sampling_affine, sampling_affine_kernels);
