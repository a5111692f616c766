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

/* Chooses between elements of inputs 1 and 2 by input 0, a bool. */
#define CHOOSE_LOOP(type)                                                                                    \
    static void choose_##type(const ElementRun *run)                                                         \
    {                                                                                                        \
        const uint8_t *mask = run->inputs[0];                                                                \
        const type *x = run->inputs[1];                                                                      \
        const type *y = run->inputs[2];                                                                      \
        type *z = run->output;                                                                               \
        for (int64_t n = 0; n < run->count; n++) {                                                           \
            z[n] = mask[n * run->strides[0]] != 0 ? x[n * run->strides[1]] : y[n * run->strides[2]];         \
        }                                                                                                    \
    }

CHOOSE_LOOP(uint16_t)
CHOOSE_LOOP(uint32_t)
CHOOSE_LOOP(uint64_t)

static ElementLoop
choosing_loop(Dtype dtype)
{
    size_t size = dtype_size(dtype);
    return size == sizeof(uint16_t)   ? choose_uint16_t
           : size == sizeof(uint32_t) ? choose_uint32_t
                                      : choose_uint64_t;
}

/* Broadens a shape of rank 2. */
static void
broaden(Shape *shape, const Shape *other)
{
    for (int dimension = 0; dimension < 2; dimension++) {
        shape->dims[dimension] =
            other->dims[dimension] == 1 ? shape->dims[dimension] : other->dims[dimension];
    }
}

/* The rows of its operands that a step works on. */
typedef struct StepRows {
    AttentionStep step;
    Tensor operand;
    Tensor mask; /* of a step that chooses */
} StepRows;

/* Does what a step does to the scores, which move to the other room when they become more. */
static void
apply_step(const AttentionWork *work, const StepRows *rows, Tensor *scores, Tensor *spare)
{
    bool chooses = attention_step_chooses(rows->step);
    Tensor result = *scores;
    broaden(&result.shape, &rows->operand.shape);
    if (chooses) {
        broaden(&result.shape, &rows->mask.shape);
    }
    if (!shape_equal(&result.shape, &scores->shape)) {
        result.data = spare->data;
        *spare = *scores;
    }
    if (chooses) {
        bool keeps = rows->step == ATTENTION_KEEP;
        const Tensor *inputs[] = {
            &rows->mask, keeps ? scores : &rows->operand, keeps ? &rows->operand : scores};
        broadcast_run(inputs, COUNT_OF(inputs), &result, NULL, choosing_loop(result.dtype));
    } else {
        const Tensor *inputs[] = {scores, &rows->operand};
        broadcast_run(inputs, COUNT_OF(inputs), &result, NULL, work->steps[rows->step]);
    }
    *scores = result;
}

/* Applies all steps to the scores of some rows of a matrix. */
static void
apply_steps(
    const AttentionWork *work, int64_t matrix, int64_t first, int64_t count, Tensor *scores, Tensor *spare)
{
    const Attention *attention = &work->attention;
    const Shape *output = &work->shapes.output;
    for (int step = 0; step < attention->step_count; step++) {
        StepRows rows = {.step = attention->steps[step]};
        rows.operand = view_rows(&work->inputs[ATTENTION_FIRST_OPERAND + step], output, matrix, first, count);
        if (attention->masks[step] != 0) {
            rows.mask = view_rows(&work->inputs[attention->masks[step]], output, matrix, first, count);
        }
        apply_step(work, &rows, scores, spare);
    }
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
    apply_steps(work, matrix, first, count, &scores, &spare);
    work->normalise(&scores, room);
    Tensor value = view_matrix(&work->inputs[ATTENTION_VALUE], output, matrix);
    Tensor result = view_rows(work->output, output, matrix, first, count);
    work->multiply(work->context, ATTENTION_WEIGHING, &scores, &value, &result);
}
