#include "shared/ops/image/columns_rule.h"

static Status
check_sizes(Call *call, const int64_t *sizes, size_t count, const char *what)
{
    for (size_t index = 0; index < count; index++) {
        if (sizes[index] < 1) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "size %zu of the %s is %lld, not at least 1",
                index, what, (long long)sizes[index]);
        }
    }
    return STATUS_OK;
}

/* The second dimension has the elements of the blocks of all channels. */
static Status
read_channels(Call *call, int64_t dimension, Columns *columns)
{
    if (dimension >= 0 && dimension % columns->elements != 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "%lld rows are no channels of blocks of %lld elements", (long long)dimension,
            (long long)columns->elements);
    }
    columns->image.dims[1] = dimension < 0 ? -1 : dimension / columns->elements;
    return STATUS_OK;
}

Status
columns_read(Call *call, const InferContext *context, Columns *ret_columns)
{
    int64_t image[WINDOW_RANK_MAX];
    int64_t block[WINDOW_RANK_MAX];
    size_t rank = 0;
    size_t block_rank = 0;
    int64_t same = 0;
    Shape input;
    Columns columns = {.elements = 1, .blocks = 1};
    TRY(infer_rank(call, context, COLUMNS_INPUT, 3, &input));
    TRY(infer_ints(call, context, COLUMNS_IMAGE_SHAPE, image, WINDOW_RANK_MAX, &rank));
    TRY(infer_ints(call, context, COLUMNS_BLOCK_SHAPE, block, WINDOW_RANK_MAX, &block_rank));
    if (rank == 0 || rank != block_rank) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "an image of %zu dimensions has no blocks of %zu dimensions", rank, block_rank);
    }
    TRY(check_sizes(call, image, rank, "image"));
    TRY(check_sizes(call, block, rank, "block"));
    columns.image = (Shape){.rank = 2 + (int)rank, .dims = {input.dims[0]}};
    for (size_t index = 0; index < rank; index++) {
        columns.image.dims[2 + index] = image[index];
        TRY(infer_multiply(call, columns.elements, block[index], &columns.elements));
    }
    TRY(read_channels(call, input.dims[1], &columns));
    TRY(window_onnx(call, context->node, &columns.image, block, (int)rank, &columns.window));
    for (size_t index = 0; index < rank; index++) {
        TRY(infer_multiply(call, columns.blocks, columns.window.output[index], &columns.blocks));
    }
    TRY(infer_equal(call, columns.blocks, input.dims[2], "the number of blocks", &same));
    *ret_columns = columns;
    return infer_check_size(call, &columns.image);
}
