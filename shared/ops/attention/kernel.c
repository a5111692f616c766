/* Attention as one op: the products and the softmax are those of the ops that it stands for. */
#include "worker/reference/attention.h"
#include "worker/reference/cast.h"
#include "worker/reference/elementwise.h"
#include "worker/reference/matrix.h"
#include "worker/reference/scratch.h"
#include "worker/reference/softmax.h"

FLOATING_ELEMENTS(BINARY_LOOP, add, a + b)
FLOATING_ELEMENTS(BINARY_LOOP, divide, a / b)
FLOATING_ELEMENTS(BINARY_LOOP, multiply, (a * b))
FLOATING_ELEMENTS(BINARY_LOOP, subtract, a - b)

static const ElementLoop step_loops[ATTENTION_ARITHMETIC_KINDS][DTYPE_COUNT] = {
    [ATTENTION_ADD] = {FLOATING_LOOPS(add)},
    [ATTENTION_DIVIDE] = {FLOATING_LOOPS(divide)},
    [ATTENTION_MULTIPLY] = {FLOATING_LOOPS(multiply)},
    [ATTENTION_SUBTRACT] = {FLOATING_LOOPS(subtract)},
};

enum { BLOCK_ROWS = 64 };

static bool
supports_floats(const Node *node)
{
    return dtype_is_floating(node->input_dtypes[0]);
}

static void
multiply_rows(void *context, AttentionProduct product, const Tensor *a, const Tensor *b, Tensor *output)
{
    const Attention *attention = context;
    matrix_multiply(a, false, b, product == ATTENTION_SCORES && attention->transposes_key, output);
}

/* The softmax is computed in double and rounded once, as the op's own kernel does. */
static void
normalise_rows(Tensor *scores, double *line)
{
    int64_t columns = scores->shape.dims[1];
    char *row = scores->data;
    for (int64_t index = 0; index < scores->shape.dims[0]; index++) {
        cast_elements(scores->dtype, row, DTYPE_FLOAT64, line, columns);
        softmax_line(line, columns, 1);
        cast_elements(DTYPE_FLOAT64, line, scores->dtype, row, columns);
        row += columns * (int64_t)dtype_size(scores->dtype);
    }
}

static Status
attention_compute(KernelContext *context)
{
    AttentionWork work;
    AUTO_TENSOR room = {0};
    TRY(attention_begin(context, &work));
    work.block_rows = BLOCK_ROWS;
    work.multiply = multiply_rows;
    work.context = &work.attention;
    work.normalise = normalise_rows;
    for (int step = 0; step < ATTENTION_ARITHMETIC_KINDS; step++) {
        work.steps[step] = step_loops[step][work.output->dtype];
    }
    uint64_t size = attention_room(&work.shapes, work.output->dtype, BLOCK_ROWS);
    TRY(scratch_array(context, 1, size, &room));
    for (int64_t block = 0; block < attention_block_count(&work); block++) {
        attention_block(&work, block, room.data);
    }
    return STATUS_OK;
}

static uint64_t
attention_scratch(const KernelForecast *told)
{
    Attention attention;
    AttentionShapes shapes;
    const Node *node = told->shapes.node;
    return attention_read(told->call, node, &attention) == STATUS_OK &&
                   attention_shapes(told->call, &attention, told->shapes.inputs, &shapes) == STATUS_OK
               ? attention_room(&shapes, node->output_dtypes[0], BLOCK_ROWS)
               : 0;
}

static const Kernel attention_kernels[] = {
    {.op = "_FusedAttention",
        .supports = supports_floats,
        .compute = attention_compute,
        .scratch = attention_scratch},
};

KERNEL_FAMILY(reference, attention, attention_kernels);
