/* Ops that move elements and compute nothing: their rules are those of the reference kernels, which run here
 * as they are and leave the moving to the card (worker/reference/moves.h). */
#include "worker/cuda/kernels/movement.h"

#include <assert.h>
#include <string.h>

#include "shared/base/memory.h"
#include "worker/cuda/errors.h"
#include "worker/cuda/lane.h"
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

static const KernelMoves moves = {.copy = copy_on_card, .fill = fill_on_card};

/* The reference kernel of the node, which has no state of its own. */
typedef struct MovementState {
    const Kernel *reference;
} MovementState;

static bool
supports_movement(const Node *node)
{
    const Kernel *reference = kernel_find_reference(node);
    return reference != NULL && reference->create == NULL;
}

static Status
create_movement(Call *call, const Node *node, void **ret_state)
{
    MovementState *state = memory_new(1, sizeof *state);
    if (state == NULL) {
        return call_fail_memory(call, "a kernel");
    }
    state->reference = kernel_find_reference(node);
    *ret_state = state;
    return STATUS_OK;
}

static void
destroy_movement(void *state)
{
    memory_free(state);
}

static Status
compute_movement(KernelContext *context)
{
    const MovementState *state = context->state;
    assert(context->moves == NULL);
    context->moves = &moves;
    Status status = state->reference->compute(context);
    context->moves = NULL;
    return status;
}

/* Only a border of one value is moved; mirrored ones are computed element by element. */
static bool
supports_border(const Node *node)
{
    const AttrValue *mode = node_attr(node, "mode");
    return (mode == NULL || slice_equal(mode->value.s, SLICE("constant"))) && supports_movement(node);
}

#define MOVEMENT(name, support, on_host)                                                                     \
    {                                                                                                        \
        .op = name, .supports = support, .create = create_movement, .destroy = destroy_movement,             \
        .compute = compute_movement, .host_inputs = on_host                                                  \
    }

enum {
    FIRST = 1 << 0,
    SECOND = 1 << 1,
    THIRD = 1 << 2,
    BOUNDS = SECOND | THIRD | 1 << 3 | 1 << 4,
};

static const Kernel movement_kernels[] = {
    MOVEMENT("Transpose", supports_movement, SECOND),
    MOVEMENT("ReverseV2", supports_movement, SECOND),
    MOVEMENT("ReverseSequence", supports_movement, SECOND),
    MOVEMENT("Roll", supports_movement, SECOND | THIRD),
    MOVEMENT("DepthToSpace", supports_movement, 0),
    MOVEMENT("SpaceToDepth", supports_movement, 0),
    MOVEMENT("onnx::Transpose", supports_movement, 0),
    MOVEMENT("onnx::DepthToSpace", supports_movement, 0),
    MOVEMENT("onnx::SpaceToDepth", supports_movement, 0),
    MOVEMENT("Slice", supports_movement, BOUNDS),
    MOVEMENT("StridedSlice", supports_movement, BOUNDS),
    MOVEMENT("onnx::Slice", supports_movement, BOUNDS),
    MOVEMENT("StridedSliceGrad", supports_movement, FIRST | SECOND | THIRD | 1 << 3),
    MOVEMENT("Concat", supports_movement, FIRST),
    {.op = "ConcatV2",
        .supports = supports_movement,
        .create = create_movement,
        .destroy = destroy_movement,
        .compute = compute_movement,
        .is_last_on_host = true},
    MOVEMENT("Pack", supports_movement, 0),
    MOVEMENT("Unpack", supports_movement, 0),
    MOVEMENT("Split", supports_movement, FIRST),
    MOVEMENT("SplitV", supports_movement, SECOND | THIRD),
    MOVEMENT("Tile", supports_movement, SECOND),
    MOVEMENT("onnx::Concat", supports_movement, 0),
    MOVEMENT("onnx::Split", supports_movement, SECOND),
    MOVEMENT("onnx::Tile", supports_movement, SECOND),
    MOVEMENT("BroadcastTo", supports_movement, SECOND),
    MOVEMENT("onnx::Expand", supports_movement, SECOND),
    MOVEMENT("Pad", supports_movement, SECOND),
    MOVEMENT("PadV2", supports_movement, SECOND | THIRD),
    MOVEMENT("onnx::Pad", supports_border, SECOND | THIRD | 1 << 3),
    MOVEMENT("SpaceToBatchND", supports_movement, SECOND | THIRD),
    MOVEMENT("BatchToSpaceND", supports_movement, SECOND | THIRD),
    MOVEMENT("ZerosLike", supports_movement, 0),
    MOVEMENT("Fill", supports_movement, FIRST | SECOND),
    MOVEMENT("onnx::ConstantOfShape", supports_movement, FIRST),
};

KERNEL_FAMILY(cuda_kernels, movement, movement_kernels);
