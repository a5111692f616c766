#include "worker/cuda/operands/movement.h"

#include <assert.h>
#include <string.h>

#include "shared/base/memory.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/kernels/move.h"
#include "worker/cuda/kernels/optimise.h"
#include "worker/cuda/lane.h"
#include "worker/cuda/operands/types.h"
#include "worker/reference/moves.h"

_Static_assert((int)CUDA_MOVE_RANK_MAX >= (int)STRIDED_RANK_MAX, "a move holds every copy");

static Status
copy_on_card(KernelContext *context, const StridedCopy *copy, const Tensor *from, Tensor *to)
{
    size_t size = dtype_size(to->dtype);
    CudaMove move = {
        .from = (const char *)from->data + copy->from_offset * (int64_t)size,
        .to = (char *)to->data + copy->to_offset * (int64_t)size,
        .count = 1,
        .rank = copy->rank,
    };
    for (int dimension = 0; dimension < copy->rank; dimension++) {
        move.count *= copy->dims[dimension];
        move.sizes[dimension] = copy->dims[dimension];
        move.strides[0][dimension] = copy->from[dimension];
        move.strides[1][dimension] = copy->to[dimension];
    }
    return cuda_check(context->call, cuda_move(size, &move, cuda_stream(context)), "a move of elements");
}

static Status
fill_on_card(KernelContext *context, Tensor *tensor, const void *element)
{
    static const _Alignas(CUDA_ELEMENT_MAX) unsigned char zero[CUDA_ELEMENT_MAX];
    size_t size = dtype_size(tensor->dtype);
    int error = cuda_fill(size, element == NULL ? zero : element, tensor->data, tensor_element_count(tensor),
        cuda_stream(context));
    return cuda_check(context->call, error, "a fill");
}

static Status
add_on_card(KernelContext *context, const Tensor *value, Tensor *sum)
{
    CudaOptimise change = {.from = {sum->data},
        .to = {sum->data},
        .gradient = value->data,
        .count = tensor_element_count(value)};
    int error = cuda_optimise(cuda_type(value->dtype), CUDA_ASSIGN_ADD, &change, cuda_stream(context));
    return cuda_check(context->call, error, "a sum");
}

static const KernelMoves moves = {.copy = copy_on_card, .fill = fill_on_card, .add = add_on_card};

/* The reference kernel of the node, which has no state of its own. */
typedef struct MovementState {
    const Kernel *reference;
} MovementState;

bool
cuda_movement_supports(const Node *node)
{
    const Kernel *reference = kernel_find_reference(node);
    return reference != NULL && reference->create == NULL;
}

Status
cuda_movement_create(Call *call, const Node *node, void **ret_state)
{
    MovementState *state = memory_new(1, sizeof *state);
    if (state == NULL) {
        return call_fail_memory(call, "a kernel");
    }
    state->reference = kernel_find_reference(node);
    *ret_state = state;
    return STATUS_OK;
}

void
cuda_movement_destroy(void *state)
{
    memory_free(state);
}

Status
cuda_movement_compute(KernelContext *context)
{
    const MovementState *state = context->state;
    assert(context->moves == NULL);
    context->moves = &moves;
    Status status = state->reference->compute(context);
    context->moves = NULL;
    return status;
}
