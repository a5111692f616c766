/* Attention as one op, in float32, and in floats of 16 bits by that. A task is a few blocks of query rows:
 * their scores stay in the cache from the first product to the second, and the score matrix is never whole.
 * Tasks are cut by the shape alone, and all sums are those of the kernels for the ops alone, so that the bits
 * are, too. */
#include <assert.h>

#include "shared/base/atomic.h"
#include "worker/cpu/kernels/softmax.h"
#include "worker/cpu/product/product.h"
#include "worker/cpu/vector/loops.h"
#include "worker/reference/attention.h"
#include "worker/runtime/device_memory.h"

enum {
    BLOCK_ROWS = 128,
    TASK_WORK_MIN = 2 * 1024 * 1024, /* multiplications of a task, which take some ten microseconds or more */
};

VECTOR_BINARY(add, a + b)
VECTOR_BINARY(divide, a / b)
VECTOR_BINARY(multiply, a *b)
VECTOR_BINARY(subtract, a - b)

static const ElementLoop *const step_loops[ATTENTION_ARITHMETIC_KINDS] = {
    [ATTENTION_ADD] = add_loops,
    [ATTENTION_DIVIDE] = divide_loops,
    [ATTENTION_MULTIPLY] = multiply_loops,
    [ATTENTION_SUBTRACT] = subtract_loops,
};

static bool
supports_floats(const Node *node)
{
    return node->input_dtypes[0] == DTYPE_FLOAT32 || halves_has(node->input_dtypes[0]);
}

static int64_t
last_dimension(const Shape *shape)
{
    assert(shape->rank >= 2);
    return shape->dims[shape->rank - 1];
}

typedef struct AttentionRun {
    AttentionWork work;
    Device *device;
    const MemoryAccount *account;
    size_t room;
    int64_t block_count;
    int64_t blocks_of_task;
    int is_full; /* atomic: a block found no room */
} AttentionRun;

static void
multiply_apart(AttentionRun *run, const ProductShape *shape, const float *a, const float *b, float *output)
{
    ProductOperands operands = {.a = a, .b = b, .output = output};
    if (!product_alone(run->device, shape, &operands)) {
        atomic_store_relaxed(&run->is_full, 1);
    }
}

/* Returns how many floats a product of 16 bits is computed in. */
static int64_t
wide_count(const ProductShape *shape)
{
    return shape->m * shape->k + shape->k * shape->n + shape->m * shape->n;
}

static void
multiply_wide(AttentionRun *run, const ProductShape *shape, const Tensor *a, const Tensor *b, Tensor *output)
{
    size_t size = (size_t)wide_count(shape) * sizeof(float);
    TensorBuffer *room = device_allocate(run->device, size, run->account);
    if (room == NULL) {
        atomic_store_relaxed(&run->is_full, 1);
        return;
    }
    float *left = room->data;
    float *right = left + shape->m * shape->k;
    float *sums = right + shape->k * shape->n;
    halves_widen(a->dtype, a->data, left, shape->m * shape->k);
    halves_widen(b->dtype, b->data, right, shape->k * shape->n);
    multiply_apart(run, shape, left, right, sums);
    halves_narrow(output->dtype, sums, output->data, shape->m * shape->n);
    tensor_buffer_unref(room);
}

static void
multiply_rows(void *context, AttentionProduct product, const Tensor *a, const Tensor *b, Tensor *output)
{
    AttentionRun *run = context;
    ProductShape shape = {
        .m = output->shape.dims[0],
        .n = output->shape.dims[1],
        .k = a->shape.dims[1],
        .transposes_b = product == ATTENTION_SCORES && run->work.attention.transposes_key,
        .alpha = 1,
    };
    if (shape.n == 0) {
        return;
    }
    if (halves_has(output->dtype)) {
        multiply_wide(run, &shape, a, b, output);
    } else {
        multiply_apart(run, &shape, a->data, b->data, output->data);
    }
}

/* `line` has room for the doubles of a row, and so for its floats. */
static void
normalise_rows(Tensor *scores, double *line)
{
    int64_t rows = scores->shape.dims[0];
    int64_t columns = scores->shape.dims[1];
    if (!halves_has(scores->dtype)) {
        softmax_rows(scores->data, scores->data, rows, columns);
        return;
    }
    float *numbers = (float *)(void *)line;
    for (int64_t row = 0; row < rows; row++) {
        uint16_t *halves = (uint16_t *)scores->data + row * columns;
        halves_widen(scores->dtype, halves, numbers, columns);
        softmax_rows(numbers, numbers, 1, columns);
        halves_narrow(scores->dtype, numbers, halves, columns);
    }
}

static void
run_task(void *context, int64_t task)
{
    AttentionRun *run = context;
    TensorBuffer *room = device_allocate(run->device, run->room, run->account);
    if (room == NULL) {
        atomic_store_relaxed(&run->is_full, 1);
        return;
    }
    int64_t end = (task + 1) * run->blocks_of_task;
    for (int64_t block = task * run->blocks_of_task; block < end && block < run->block_count; block++) {
        attention_block(&run->work, block, room->data);
    }
    tensor_buffer_unref(room);
}

static int64_t
rows_of_block(const AttentionShapes *shapes)
{
    int64_t rows = shapes->output.dims[shapes->output.rank - 2];
    return rows < BLOCK_ROWS ? rows : BLOCK_ROWS;
}

/* Returns how many blocks are worth handing to another thread. */
static int64_t
blocks_of_task(const AttentionShapes *shapes, const Shape *query)
{
    int64_t depth = last_dimension(query) + last_dimension(&shapes->output) + 1;
    int64_t work = rows_of_block(shapes) * (last_dimension(&shapes->scores) + 1) * depth;
    return work >= TASK_WORK_MIN ? 1 : TASK_WORK_MIN / work;
}

static void
set_kernels(AttentionRun *run)
{
    run->work.multiply = multiply_rows;
    run->work.context = run;
    run->work.normalise = normalise_rows;
    for (int step = 0; step < ATTENTION_ARITHMETIC_KINDS; step++) {
        run->work.steps[step] = step_loops[step][run->work.output->dtype];
    }
}

static Status
compute_attention(KernelContext *context)
{
    AttentionRun run = {.device = context->device, .account = context->account};
    TRY(attention_begin(context, &run.work));
    if (run.work.matrices == 0) {
        return STATUS_OK;
    }
    set_kernels(&run);
    run.work.block_rows = rows_of_block(&run.work.shapes);
    run.room = attention_room(&run.work.shapes, run.work.output->dtype, run.work.block_rows);
    run.block_count = attention_block_count(&run.work);
    run.blocks_of_task = blocks_of_task(&run.work.shapes, &context->inputs[ATTENTION_QUERY].shape);
    int64_t tasks = (run.block_count + run.blocks_of_task - 1) / run.blocks_of_task;
    run.device->parallel_for(run.device, tasks, run_task, &run);
    return run.is_full == 0 ? STATUS_OK
                            : call_fail(context->call, STATUS_RESOURCE_EXHAUSTED,
                                  "no memory for the scores of %lld rows: %zu bytes",
                                  (long long)run.work.block_rows, run.room);
}

/* Returns what a thread takes to multiply; `is_wide`: floats of 16 bits. */
static uint64_t
product_bytes(const Attention *attention, const AttentionShapes *shapes, const Shape *query, bool is_wide)
{
    int64_t rows = rows_of_block(shapes);
    int64_t keys = last_dimension(&shapes->product);
    ProductShape scores = {.m = rows,
        .n = keys,
        .k = last_dimension(query),
        .transposes_b = attention->transposes_key,
        .alpha = 1};
    ProductShape weighing = {
        .m = rows, .n = last_dimension(&shapes->output), .k = last_dimension(&shapes->scores), .alpha = 1};
    uint64_t first = keys == 0 ? 0 : product_alone_scratch(&scores);
    uint64_t second = product_alone_scratch(&weighing);
    if (is_wide) {
        first += (uint64_t)wide_count(&scores) * sizeof(float);
        second += (uint64_t)wide_count(&weighing) * sizeof(float);
    }
    return first > second ? first : second;
}

static uint64_t
attention_scratch(const KernelForecast *told)
{
    Attention attention;
    AttentionShapes shapes;
    const Shape *inputs = told->shapes.inputs;
    int64_t count = 0;
    if (attention_read(told->call, told->shapes.node, &attention) != STATUS_OK ||
        attention_shapes(told->call, &attention, inputs, &shapes) != STATUS_OK ||
        !shape_element_count(&shapes.output, &count) || count == 0) {
        return 0;
    }
    Dtype dtype = told->shapes.node->output_dtypes[0];
    uint64_t room = attention_room(&shapes, dtype, rows_of_block(&shapes));
    return (uint64_t)told->device->thread_count *
           (room + product_bytes(&attention, &shapes, &inputs[ATTENTION_QUERY], halves_has(dtype)));
}

static const Kernel attention_kernels[] = {
    {.op = "_FusedAttention",
        .supports = supports_floats,
        .compute = compute_attention,
        .scratch = attention_scratch},
};

KERNEL_FAMILY(cpu_kernels, attention, attention_kernels);
