/* Ops that move elements and compute nothing: their rules are those of the reference kernels, which run here
 * as they are and leave the moving to the card (operands/movement.h). */
#include "worker/cuda/operands/movement.h"

/* Only a border of one value is moved; mirrored ones are computed element by element. */
static bool
supports_border(const Node *node)
{
    const AttrValue *mode = node_attr(node, "mode");
    return (mode == NULL || slice_equal(mode->value.s, SLICE("constant"))) && cuda_movement_supports(node);
}

#define MOVEMENT(name, support, on_host)                                                                     \
    {                                                                                                        \
        .op = name, .supports = support, .create = cuda_movement_create, .destroy = cuda_movement_destroy,   \
        .compute = cuda_movement_compute, .host_inputs = on_host                                             \
    }

enum {
    FIRST = 1 << 0,
    SECOND = 1 << 1,
    THIRD = 1 << 2,
    BOUNDS = SECOND | THIRD | 1 << 3 | 1 << 4,
};

static const Kernel movement_kernels[] = {
    MOVEMENT("Transpose", cuda_movement_supports, SECOND),
    MOVEMENT("ReverseV2", cuda_movement_supports, SECOND),
    MOVEMENT("ReverseSequence", cuda_movement_supports, SECOND),
    MOVEMENT("Roll", cuda_movement_supports, SECOND | THIRD),
    MOVEMENT("DepthToSpace", cuda_movement_supports, 0),
    MOVEMENT("SpaceToDepth", cuda_movement_supports, 0),
    MOVEMENT("onnx::Transpose", cuda_movement_supports, 0),
    MOVEMENT("onnx::DepthToSpace", cuda_movement_supports, 0),
    MOVEMENT("onnx::SpaceToDepth", cuda_movement_supports, 0),
    MOVEMENT("Slice", cuda_movement_supports, BOUNDS),
    MOVEMENT("StridedSlice", cuda_movement_supports, BOUNDS),
    MOVEMENT("onnx::Slice", cuda_movement_supports, BOUNDS),
    MOVEMENT("StridedSliceGrad", cuda_movement_supports, FIRST | SECOND | THIRD | 1 << 3),
    MOVEMENT("Concat", cuda_movement_supports, FIRST),
    {.op = "ConcatV2",
        .supports = cuda_movement_supports,
        .create = cuda_movement_create,
        .destroy = cuda_movement_destroy,
        .compute = cuda_movement_compute,
        .is_last_on_host = true},
    MOVEMENT("ParallelConcat", cuda_movement_supports, 0),
    MOVEMENT("Pack", cuda_movement_supports, 0),
    MOVEMENT("Unpack", cuda_movement_supports, 0),
    MOVEMENT("Split", cuda_movement_supports, FIRST),
    MOVEMENT("SplitV", cuda_movement_supports, SECOND | THIRD),
    MOVEMENT("Tile", cuda_movement_supports, SECOND),
    MOVEMENT("onnx::Concat", cuda_movement_supports, 0),
    MOVEMENT("onnx::Split", cuda_movement_supports, SECOND),
    MOVEMENT("onnx::Tile", cuda_movement_supports, SECOND),
    MOVEMENT("BroadcastTo", cuda_movement_supports, SECOND),
    MOVEMENT("onnx::Expand", cuda_movement_supports, SECOND),
    MOVEMENT("Pad", cuda_movement_supports, SECOND),
    MOVEMENT("PadV2", cuda_movement_supports, SECOND | THIRD),
    MOVEMENT("onnx::CenterCropPad", cuda_movement_supports, SECOND),
    MOVEMENT("onnx::Pad", supports_border, SECOND | THIRD | 1 << 3),
    MOVEMENT("SpaceToBatch", cuda_movement_supports, SECOND),
    MOVEMENT("BatchToSpace", cuda_movement_supports, SECOND),
    MOVEMENT("SpaceToBatchND", cuda_movement_supports, SECOND | THIRD),
    MOVEMENT("BatchToSpaceND", cuda_movement_supports, SECOND | THIRD),
    MOVEMENT("ExtractImagePatches", cuda_movement_supports, 0),
    MOVEMENT("MatrixDiag", cuda_movement_supports, 0),
    MOVEMENT("MatrixDiagV2", cuda_movement_supports, BOUNDS),
    MOVEMENT("MatrixDiagV3", cuda_movement_supports, BOUNDS),
    MOVEMENT("MatrixDiagPart", cuda_movement_supports, 0),
    MOVEMENT("MatrixDiagPartV2", cuda_movement_supports, SECOND | THIRD),
    MOVEMENT("MatrixDiagPartV3", cuda_movement_supports, SECOND | THIRD),
    MOVEMENT("MatrixSetDiag", cuda_movement_supports, 0),
    MOVEMENT("MatrixSetDiagV2", cuda_movement_supports, THIRD),
    MOVEMENT("MatrixSetDiagV3", cuda_movement_supports, THIRD),
    MOVEMENT("Diag", cuda_movement_supports, 0),
    MOVEMENT("DiagPart", cuda_movement_supports, 0),
    MOVEMENT("ZerosLike", cuda_movement_supports, 0),
    MOVEMENT("OnesLike", cuda_movement_supports, 0),
    MOVEMENT("Fill", cuda_movement_supports, FIRST | SECOND),
    MOVEMENT("onnx::ConstantOfShape", cuda_movement_supports, FIRST),
};

KERNEL_FAMILY(cuda_kernels, movement, movement_kernels);
