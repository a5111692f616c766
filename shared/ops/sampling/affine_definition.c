/* Grids at which transformed images are sampled (ONNX's AffineGrid). */
#include "shared/ops/family.h"
#include "shared/ops/infer.h"

enum { SIZES_MAX = 5 };

static Status
check_sizes(Call *call, const int64_t *sizes, size_t count)
{
    if (count != SIZES_MAX - 1 && count != SIZES_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'size' has %zu numbers, not 4 or 5", count);
    }
    for (size_t index = 0; index < count; index++) {
        if (sizes[index] < 0) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "'size' has %lld, not at least 0", (long long)sizes[index]);
        }
    }
    return STATUS_OK;
}

/* theta [batch, space, space + 1], size [batch, channel, space…] → grid [batch, space…, space]. */
static Status
infer_affine_grid(Call *call, InferContext *context)
{
    enum { THETA, SIZE };
    int64_t sizes[SIZES_MAX];
    size_t count = 0;
    int64_t same = 0;
    Shape theta;
    TRY(infer_rank(call, context, THETA, 3, &theta));
    TRY(infer_ints(call, context, SIZE, sizes, COUNT_OF(sizes), &count));
    if (!infer_knows(context, SIZE)) {
        return STATUS_OK;
    }
    TRY(check_sizes(call, sizes, count));
    int space = (int)count - 2;
    Shape grid = {.rank = space + 2};
    TRY(infer_equal(call, theta.dims[0], sizes[0], "the batch", &grid.dims[0]));
    TRY(infer_equal(call, theta.dims[1], space, "the number of rows of theta", &same));
    TRY(infer_equal(call, theta.dims[2], space + 1, "the number of columns of theta", &same));
    for (int index = 0; index < space; index++) {
        grid.dims[1 + index] = sizes[2 + index];
    }
    grid.dims[space + 1] = space;
    context->outputs[0] = grid;
    return infer_check_size(call, &grid);
}

static const OpDefinition sampling_affine_ops[] = {
    OP("onnx::AffineGrid(theta:T1, size:int64)->(grid:T1) {align_corners:int=0, T1:type}", 0,
        infer_affine_grid),
};

OP_FAMILY(sampling_affine, sampling_affine_ops);
