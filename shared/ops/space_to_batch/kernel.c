/* Blocks of space moved into the batch and back: every position within a block is a batch of its own,
 * copied in one piece. */
#include "shared/ops/space_to_batch/rule.h"
#include "worker/reference/fill.h"
#include "worker/reference/moves.h"
#include "worker/reference/outputs.h"

/* The tensor with space and the one with the batch; either is the input. */
typedef struct Sides {
    const Shape *space;
    const Shape *batch;
    StridedCopy copy; /* in the direction from space to batch */
} Sides;

/* Returns the first s for which s × block + rest is not negative. */
static int64_t
first_block(int64_t rest, int64_t block)
{
    return rest >= 0 ? 0 : (-rest + block - 1) / block;
}

/* Space at s × block + position - before corresponds to the batch at s. */
static void
plan_dimension(const Blocks *blocks, int index, int64_t position, Sides *sides)
{
    StridedCopy *copy = &sides->copy;
    int dimension = index + 1;
    int64_t block = blocks->size[index];
    int64_t rest = position - blocks->before[index];
    int64_t first = first_block(rest, block);
    int64_t last = first_block(rest - sides->space->dims[dimension], block);
    last = last < sides->batch->dims[dimension] ? last : sides->batch->dims[dimension];
    copy->dims[dimension] = last > first ? last - first : 0;
    copy->from_offset += (first * block + rest) * copy->from[dimension];
    copy->to_offset += first * copy->to[dimension];
    copy->from[dimension] *= block;
}

static void
plan_position(const Blocks *blocks, int64_t number, Sides *sides)
{
    StridedCopy *copy = &sides->copy;
    *copy = (StridedCopy){.rank = sides->space->rank};
    memcpy(copy->dims, sides->space->dims, sizeof sides->space->dims);
    strides_dense(sides->space, copy->from);
    strides_dense(sides->batch, copy->to);
    copy->to_offset = number * sides->space->dims[0] * copy->to[0];
    for (int index = blocks->rank - 1; index >= 0; index--) {
        plan_dimension(blocks, index, number % blocks->size[index], sides);
        number /= blocks->size[index];
    }
}

static bool
supports_copyable(const Node *node)
{
    return dtype_is_copyable(node->input_dtypes[0]);
}

static Status
compute_blocks(KernelContext *context)
{
    const Tensor *input = &context->inputs[0];
    bool to_batch = blocks_go_to_batch(context->node);
    KernelInference inference;
    Blocks blocks;
    Tensor *output = NULL;
    kernel_inference(context, NULL, &inference);
    TRY(blocks_read(context->call, &inference.context, &blocks));
    TRY(kernel_output(context, 0, input->dtype, &blocks.output, &output));
    if (tensor_element_count(output) == 0) {
        return STATUS_OK;
    }
    TRY(move_zeros_into(context, output));
    int64_t positions = 1;
    for (int index = 0; index < blocks.rank; index++) {
        positions *= blocks.size[index];
    }
    Sides sides = {.space = to_batch ? &input->shape : &output->shape,
        .batch = to_batch ? &output->shape : &input->shape};
    for (int64_t number = 0; number < positions && tensor_element_count(input) > 0; number++) {
        plan_position(&blocks, number, &sides);
        StridedCopy copy = to_batch ? sides.copy : strided_reverse(&sides.copy);
        TRY(move_elements(context, &copy, input, output));
    }
    return STATUS_OK;
}

static const Kernel space_to_batch_kernels[] = {
    {.op = "SpaceToBatch", .supports = supports_copyable, .compute = compute_blocks, .host_inputs = 1 << 1},
    {.op = "BatchToSpace", .supports = supports_copyable, .compute = compute_blocks, .host_inputs = 1 << 1},
    {.op = "SpaceToBatchND",
        .supports = supports_copyable,
        .compute = compute_blocks,
        .host_inputs = 1 << 1 | 1 << 2},
    {.op = "BatchToSpaceND",
        .supports = supports_copyable,
        .compute = compute_blocks,
        .host_inputs = 1 << 1 | 1 << 2},
};

KERNEL_FAMILY(reference, space_to_batch, space_to_batch_kernels);
