#include "worker/reference/attention.h"

#include <assert.h>

#include "worker/reference/broadcast.h"
#include "worker/reference/matrix.h"
#include "worker/reference/outputs.h"

enum { ROOM_ALIGNMENT = 64 };

static int64_t
rows_of(const Shape *shape)
{
    return shape->rank < 2 ? 1 : shape->dims[shape->rank - 2];
}

static int64_t
columns_of(const Shape *shape)
{
    return shape->rank < 1 ? 1 : shape->dims[shape->rank - 1];
}

Status
attention_begin(KernelContext *context, AttentionWork *ret_work)
{
    AttentionWork work = {.inputs = context->inputs};
    Shape inputs[ATTENTION_INPUTS_MAX];
    int64_t count = 0;
    TRY(attention_read(context->call, context->node, &work.attention));
    for (uint32_t index = 0; index < context->input_count; index++) {
        inputs[index] = context->inputs[index].shape;
    }
    TRY(attention_shapes(context->call, &work.attention, inputs, &work.shapes));
    TRY(output_new(context, &work.output));
    count = tensor_element_count(work.output);
    work.rows = rows_of(&work.shapes.output);
    work.matrices = count == 0 ? 0 : count / (work.rows * columns_of(&work.shapes.output));
    *ret_work = work;
    return STATUS_OK;
}

static int64_t
blocks_of_matrix(const AttentionWork *work)
{
    assert(work->block_rows > 0);
    return (work->rows + work->block_rows - 1) / work->block_rows;
}

int64_t
attention_block_count(const AttentionWork *work)
{
    return work->matrices == 0 ? 0 : work->matrices * blocks_of_matrix(work);
}

static uint64_t
room_of(int64_t count, size_t size)
{
    uint64_t bytes = (uint64_t)count * size;
    return (bytes + ROOM_ALIGNMENT - 1) / ROOM_ALIGNMENT * ROOM_ALIGNMENT;
}

/* Products that steps broaden need room beside the scores. */
static bool
is_broadened(const AttentionShapes *shapes)
{
    return rows_of(&shapes->product) != rows_of(&shapes->scores) ||
           columns_of(&shapes->product) != columns_of(&shapes->scores);
}

uint64_t
attention_room(const AttentionShapes *shapes, Dtype dtype, int64_t rows)
{
    int64_t columns = columns_of(&shapes->scores);
    uint64_t scores = room_of(rows * columns, dtype_size(dtype));
    uint64_t room = room_of(columns, sizeof(double)) + scores * (is_broadened(shapes) ? 2 : 1);
    return room > 0 ? room : ROOM_ALIGNMENT;
}

/* Returns rows of a tensor's matrix that belongs to matrix `index` of the output, as a tensor of rank 2. A
 * tensor of one row gives that row for all. */
static Tensor
view_rows(const Tensor *tensor, const Shape *output, int64_t index, int64_t first, int64_t count)
{
    int64_t rows = rows_of(&tensor->shape);
    int64_t columns = columns_of(&tensor->shape);
    int64_t offset = matrix_of_batch(&tensor->shape, output, index) * rows + (rows == 1 ? 0 : first);
    return (Tensor){
        .dtype = tensor->dtype,
        .shape = {.rank = 2, .dims = {rows == 1 ? 1 : count, columns}},
        .data = (char *)tensor->data + offset * columns * (int64_t)dtype_size(tensor->dtype),
    };
}

static Tensor
view_matrix(const Tensor *tensor, const Shape *output, int64_t index)
{
    return view_rows(tensor, output, index, 0, rows_of(&tensor->shape));
}

/* Does what a step does to the scores, which move to the other room when they become more. */
static void
apply_step(ElementLoop step, const Tensor *operand, Tensor *scores, Tensor *spare)
{
    const Tensor *inputs[] = {scores, operand};
    Tensor result = *scores;
    for (int dimension = 0; dimension < 2; dimension++) {
        result.shape.dims[dimension] = operand->shape.dims[dimension] == 1 ? scores->shape.dims[dimension]
                                                                           : operand->shape.dims[dimension];
    }
    if (!shape_equal(&result.shape, &scores->shape)) {
        result.data = spare->data;
        *spare = *scores;
    }
    broadcast_run(inputs, 2, &result, NULL, step);
    *scores = result;
}

/* Returns the product of the block's queries and the keys, in room for the scores. */
static Tensor
multiply_keys(const AttentionWork *work, int64_t matrix, int64_t first, int64_t count, void *room)
{
    const Shape *output = &work->shapes.output;
    Tensor query = view_rows(&work->inputs[ATTENTION_QUERY], output, matrix, first, count);
    Tensor key = view_matrix(&work->inputs[ATTENTION_KEY], output, matrix);
    Tensor product = {
        .dtype = query.dtype,
        .shape = {.rank = 2, .dims = {query.shape.dims[0], columns_of(&work->shapes.product)}},
        .data = room,
    };
    work->multiply(work->context, ATTENTION_SCORES, &query, &key, &product);
    return product;
}

void
attention_block(const AttentionWork *work, int64_t block, void *room)
{
    assert(block >= 0 && block < attention_block_count(work));
    const Shape *output = &work->shapes.output;
    int64_t matrix = block / blocks_of_matrix(work);
    int64_t first = block % blocks_of_matrix(work) * work->block_rows;
    int64_t left = work->rows - first;
    int64_t count = left < work->block_rows ? left : work->block_rows;
    int64_t columns = columns_of(&work->shapes.scores);
    char *scores_room = (char *)room + room_of(columns, sizeof(double));
    size_t size = dtype_size(work->output->dtype);
    Tensor scores = multiply_keys(work, matrix, first, count, scores_room);
    Tensor spare = {.data = scores_room + room_of(count * columns, size)};
    for (int step = 0; step < work->attention.step_count; step++) {
        Tensor operand =
            view_rows(&work->inputs[ATTENTION_FIRST_OPERAND + step], output, matrix, first, count);
        apply_step(work->steps[work->attention.steps[step]], &operand, &scores, &spare);
    }
    work->normalise(&scores, room);
    Tensor value = view_matrix(&work->inputs[ATTENTION_VALUE], output, matrix);
    Tensor result = view_rows(work->output, output, matrix, first, count);
    work->multiply(work->context, ATTENTION_WEIGHING, &scores, &value, &result);
}
