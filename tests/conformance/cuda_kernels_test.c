/* Every kernel of the CUDA plugin beside its reference kernel: in each dtype that it takes, at shapes of no
 * element, of one, of odd numbers, and broadcast. */
#include "tests/support/cmocka_all.h"

#include "shared/ops/registry.h"
#include "tests/support/cuda_kernels.h"

extern const KernelFamily *const cuda_kernels_table[];
extern const size_t cuda_kernels_table_count;

/* Shapes for functions of one, two and three inputs. */
static const char *const shapes[][3] = {
    {"T[]", "T[]", "T[]"},
    {"T[0]", "T[1]", "T[0]"},
    {"T[1]", "T[1]", "T[1]"},
    {"T[33]", "T[33]", "T[33]"},
    {"T[257]", "T[]", "T[]"},
    {"T[3,5,7]", "T[5,1]", "T[7]"},
    {"T[5]", "T[4,5]", "T[4,5]"},
    {"T[2,1,3,1,2,1]", "T[1,3,1,2,1,2]", "T[2,3,3,2,2,2]"},
};

static const CudaKernelCase choices[] = {
    {"Select", NULL, {"bool[3] 1 0 1", "T[3,5]", "T[3,5]"}},
    {"Select", NULL, {"bool[2,2] 1 0 1 0", "T[2,2]", "T[2,2]"}},
    {"Select", NULL, {"bool[] 1", "T[33]", "T[33]"}},
    {"SelectV2", NULL, {"bool[3,1] 1 0 1", "T[3,5]", "T[5]"}},
    {"SelectV2", NULL, {"bool[0]", "T[0]", "T[1]"}},
    {"onnx::Where", NULL, {"bool[2,1,3] 1 0 1 0 0 1", "T[5,1]", "T[]"}},
    {"onnx::Clip", NULL, {"T[33]", "T[] 1", "T[] 3"}},
    {"onnx::Clip", NULL, {"T[33]", "", "T[] 3"}},
    {"onnx::Clip", NULL, {"T[33]", "T[] 2"}},
    {"onnx::Clip", NULL, {"T[0]"}},
    {"onnx::Clip", NULL, {"T[3]", "T[3] 1 2 3"}},
    {"Select", NULL, {"bool[300]", "T[300]", "T[300]"}},
    {"SelectV2", NULL, {"bool[3,1]", "T[3,111]", "T[111]"}},
    {"onnx::Where", NULL, {"bool[3,1]", "T[111]", "T[]"}},
    {"onnx::Where", NULL, {"bool[0]", "T[0]", "T[1]"}},
    {"onnx::Clip", NULL, {"T[333]", "T[] 1", "T[] 3"}},
};

static const CudaKernelCase folds[] = {
    {"AddN", NULL, {"T[3,11]", "T[3,11]", "T[3,11]"}},
    {"AddN", NULL, {"T[3]"}},
    {"AddN", NULL, {"T[0]", "T[0]"}},
    {"AccumulateNV2", "shape=[5]", {"T[5]", "T[5]"}},
    {"onnx::Sum", NULL, {"T[5,1]", "T[3]", "T[1]"}},
    {"onnx::Max", NULL, {"T[5,1]", "T[3]", "T[]"}},
    {"onnx::Min", NULL, {"T[5,1]", "T[3]", "T[]"}},
    {"onnx::Mean", NULL, {"T[5,1]", "T[3]", "T[]"}},
    {"onnx::Mean", NULL, {"T[5]"}},
    {"onnx::Pow", NULL, {"T[33]", "T[33]"}},
    {"onnx::Pow", NULL, {"T[3,1]", "T[5] 2 3 0 1 2"}},
    {"BiasAdd", NULL, {"T[2,3,5]", "T[5]"}},
    {"BiasAdd", "data_format=NCHW", {"T[2,3,5,7]", "T[3]"}},
    {"BiasAdd", NULL, {"T[0,5]", "T[5]"}},
    {"BiasAddV1", NULL, {"T[4,5]", "T[5]"}},
    {"AddN", NULL, {"T[3,111]", "T[3,111]"}},
    {"AccumulateNV2", "shape=[333]", {"T[333]", "T[333]"}},
    {"AccumulateNV2", "shape=[0]", {"T[0]"}},
    {"onnx::Sum", NULL, {"T[3,111]", "T[111]"}},
    {"onnx::Sum", NULL, {"T[0]", "T[1]"}},
    {"onnx::Max", NULL, {"T[3,111]", "T[111]"}},
    {"onnx::Max", NULL, {"T[0]", "T[1]"}},
    {"onnx::Min", NULL, {"T[3,111]", "T[111]"}},
    {"onnx::Min", NULL, {"T[0]", "T[1]"}},
    {"onnx::Mean", NULL, {"T[3,111]", "T[111]"}},
    {"onnx::Mean", NULL, {"T[0]", "T[1]"}},
    {"onnx::Pow", NULL, {"T[333]", "T[1]"}},
    {"onnx::Pow", NULL, {"T[0]", "T[1]"}},
    {"BiasAdd", NULL, {"T[3,111]", "T[111]"}},
    {"BiasAddV1", NULL, {"T[3,111]", "T[111]"}},
    {"BiasAddV1", NULL, {"T[0,5]", "T[5]"}},
    {"onnx::PRelu", NULL, {"T[3,111]", "T[111]"}},
    {"onnx::PRelu", NULL, {"T[3,5,2]", "T[5,1]"}},
    {"onnx::PRelu", NULL, {"T[0,5]", "T[]"}},
    {"onnx::PRelu", NULL, {"float32[4] nan -inf -0 -2", "float32[1] 0"}},
};

static const CudaKernelCase movements[] = {
    {"Transpose", NULL, {"T[2,3,5]", "int32[3] 2 0 1"}},
    {"Transpose", NULL, {"T[]", "int32[0]"}},
    {"Transpose", NULL, {"T[0,3]", "int32[2] 1 0"}},
    {"Transpose", NULL, {"T[2,1,3,2,1,3]", "int64[6] 5 3 1 0 2 4"}},
    {"onnx::Transpose", "perm=[1,0]", {"T[33,7]"}},
    {"onnx::Transpose", NULL, {"T[2,3,4]"}},
    {"ReverseV2", NULL, {"T[3,5]", "int32[2] 0 1"}},
    {"DepthToSpace", "block_size=2", {"T[1,2,3,8]"}},
    {"SpaceToDepth", "block_size=2", {"T[1,4,2,3]"}},
    {"onnx::DepthToSpace", "blocksize=2; mode=CRD", {"T[1,8,2,3]"}},
    {"onnx::SpaceToDepth", "blocksize=2", {"T[1,2,4,2]"}},
    {"Slice", NULL, {"T[5,7]", "int32[2] 1 2", "int32[2] 3 -1"}},
    {"Slice", NULL, {"T[5]", "int32[1] 4", "int32[1] 1"}},
    {"StridedSlice", "shrink_axis_mask=1", {"T[5,7]", "int32[2] 3 6", "int32[2] 4 0", "int32[2] 1 -2"}},
    {"StridedSliceGrad", NULL, {"int32[1] 7", "int32[1] 1", "int32[1] 7", "int32[1] 2", "T[3]"}},
    {"onnx::Slice", NULL, {"T[5,7]", "int64[1] 1", "int64[1] 6", "int64[1] 1", "int64[1] 3"}},
    {"Concat", NULL, {"int32[] 1", "T[2,3]", "T[2,1]"}},
    {"ConcatV2", NULL, {"T[2,3]", "T[2,1]", "int32[] 1"}},
    {"ConcatV2", NULL, {"T[2,3]", "T[0,3]", "T[1,3]", "int32[] 0"}},
    {"ConcatV2", NULL, {"T[1]", "T[2]", "T[1]", "T[3]", "int32[] 0"}},
    {"ConcatV2", NULL,
        {"T[1]", "T[2]", "T[1]", "T[3]", "T[1]", "T[2]", "T[1]", "T[3]", "T[1]", "T[2]", "int32[] 0"}},
    {"onnx::Concat", "axis=-1", {"T[2,3]", "T[2,1]", "T[2,2]"}},
    {"Pack", "axis=1", {"T[3,2]", "T[3,2]"}},
    {"Unpack", "axis=1; num=3", {"T[2,3]"}},
    {"Split", "num_split=3", {"int32[] 1", "T[2,6]"}},
    {"SplitV", "num_split=2", {"T[2,5]", "int32[2] 2 3", "int32[] 1"}},
    {"onnx::Split", "axis=0; num_outputs=2", {"T[5,2]", "int64[2] 1 4"}},
    {"Tile", NULL, {"T[2,3]", "int32[2] 2 3"}},
    {"onnx::Tile", NULL, {"T[3]", "int64[1] 0"}},
    {"BroadcastTo", NULL, {"T[3,1]", "int32[3] 2 3 4"}},
    {"onnx::Expand", NULL, {"T[3,1]", "int64[3] 2 1 4"}},
    {"Pad", NULL, {"T[2,3]", "int32[2,2] 1 2 0 1"}},
    {"PadV2", NULL, {"T[2,3]", "int32[2,2] 1 2 0 1", "T[]"}},
    {"onnx::Pad", NULL, {"T[2,3]", "int64[4] 1 -1 0 2", "T[]"}},
    {"SpaceToBatchND", NULL, {"T[1,3,2]", "int32[1] 2", "int32[1,2] 0 1"}},
    {"BatchToSpaceND", NULL, {"T[2,2,2]", "int32[1] 2", "int32[1,2] 0 1"}},
    {"ZerosLike", NULL, {"T[33]"}},
    {"onnx::CenterCropPad", NULL, {"T[5,4]", "int64[2] 2 7"}},
    {"onnx::CenterCropPad", "axes=[-1]", {"T[3,111]", "int64[1] 200"}},
    {"onnx::CenterCropPad", NULL, {"T[0,3]", "int64[2] 0 5"}},
    {"Fill", NULL, {"int32[2] 3 11", "T[]"}},
    {"onnx::ConstantOfShape", "value=T[1] numbers 3; dtype=T", {"int64[2] 5 7"}},
    {"Transpose", NULL, {"T[3,111]", "int32[2] 1 0"}},
    {"onnx::Transpose", NULL, {"T[3,111]"}},
    {"onnx::Transpose", NULL, {"T[0,3]"}},
    {"ReverseV2", NULL, {"T[3,111]", "int32[1] 1"}},
    {"ReverseV2", NULL, {"T[0,3]", "int32[1] 1"}},
    {"DepthToSpace", "block_size=2", {"T[1,5,5,12]"}},
    {"DepthToSpace", "block_size=2", {"T[0,2,3,8]"}},
    {"SpaceToDepth", "block_size=2", {"T[1,10,10,3]"}},
    {"SpaceToDepth", "block_size=2", {"T[0,4,2,3]"}},
    {"onnx::DepthToSpace", "blocksize=2", {"T[1,12,5,5]"}},
    {"onnx::DepthToSpace", "blocksize=2", {"T[0,8,2,3]"}},
    {"onnx::SpaceToDepth", "blocksize=2", {"T[1,3,10,10]"}},
    {"onnx::SpaceToDepth", "blocksize=2", {"T[0,2,4,2]"}},
    {"Slice", NULL, {"T[5,111]", "int32[2] 1 2", "int32[2] 3 -1"}},
    {"Slice", NULL, {"T[5]", "int32[1] 4", "int32[1] 0"}},
    {"StridedSlice", NULL, {"T[5,333]", "int32[2] 1 0", "int32[2] 5 333", "int32[2] 1 3"}},
    {"StridedSlice", NULL, {"T[5]", "int32[1] 3", "int32[1] 3", "int32[1] 1"}},
    {"StridedSliceGrad", NULL, {"int32[1] 333", "int32[1] 1", "int32[1] 333", "int32[1] 3", "T[111]"}},
    {"StridedSliceGrad", NULL, {"int32[1] 7", "int32[1] 3", "int32[1] 3", "int32[1] 1", "T[0]"}},
    {"onnx::Slice", NULL, {"T[5,333]", "int64[1] 0", "int64[1] 333", "int64[1] 1", "int64[1] 3"}},
    {"onnx::Slice", NULL, {"T[5]", "int64[1] 3", "int64[1] 3"}},
    {"Concat", NULL, {"int32[] 1", "T[3,100]", "T[3,11]"}},
    {"Concat", NULL, {"int32[] 0", "T[0,3]", "T[0,3]"}},
    {"ConcatV2", NULL, {"T[3,100]", "T[3,11]", "int32[] 1"}},
    {"ConcatV2", NULL, {"T[0,3]", "T[0,3]", "int32[] 0"}},
    {"onnx::Concat", "axis=1", {"T[3,100]", "T[3,11]"}},
    {"onnx::Concat", "axis=0", {"T[0,3]", "T[0,3]"}},
    {"Pack", "axis=1", {"T[3,111]", "T[3,111]"}},
    {"Pack", NULL, {"T[0]", "T[0]"}},
    {"Unpack", "num=2", {"T[2,300]"}},
    {"Unpack", "num=2", {"T[2,0]"}},
    {"Split", "num_split=3", {"int32[] 0", "T[9,111]"}},
    {"Split", "num_split=3", {"int32[] 1", "T[0,6]"}},
    {"SplitV", "num_split=2", {"T[3,222]", "int32[2] 111 111", "int32[] 1"}},
    {"SplitV", "num_split=2", {"T[0,5]", "int32[2] 2 3", "int32[] 1"}},
    {"onnx::Split", "axis=0; num_outputs=2", {"T[5,222]", "int64[2] 2 3"}},
    {"onnx::Split", "axis=0; num_outputs=2", {"T[5,0]", "int64[2] 1 4"}},
    {"Tile", NULL, {"T[3,37]", "int32[2] 2 3"}},
    {"Tile", NULL, {"T[2,3]", "int32[2] 0 1"}},
    {"onnx::Tile", NULL, {"T[111]", "int64[1] 3"}},
    {"BroadcastTo", NULL, {"T[3,1]", "int32[2] 3 111"}},
    {"BroadcastTo", NULL, {"T[1]", "int32[1] 0"}},
    {"onnx::Expand", NULL, {"T[3,1]", "int64[2] 1 111"}},
    {"onnx::Expand", NULL, {"T[1]", "int64[1] 0"}},
    {"Pad", NULL, {"T[3,111]", "int32[2,2] 1 2 0 1"}},
    {"Pad", NULL, {"T[0]", "int32[1,2] 0 0"}},
    {"PadV2", NULL, {"T[3,111]", "int32[2,2] 1 2 0 1", "T[]"}},
    {"PadV2", NULL, {"T[0]", "int32[1,2] 0 0", "T[]"}},
    {"onnx::Pad", NULL, {"T[3,111]", "int64[4] 1 -1 0 2", "T[]"}},
    {"onnx::Pad", NULL, {"T[0]", "int64[2] 0 0", "T[]"}},
    {"SpaceToBatchND", NULL, {"T[1,111,3]", "int32[1] 2", "int32[1,2] 0 1"}},
    {"SpaceToBatchND", NULL, {"T[0,4,2]", "int32[1] 2", "int32[1,2] 0 0"}},
    {"BatchToSpaceND", NULL, {"T[2,111,3]", "int32[1] 2", "int32[1,2] 0 1"}},
    {"BatchToSpaceND", NULL, {"T[2,2,0]", "int32[1] 2", "int32[1,2] 0 1"}},
    {"ZerosLike", NULL, {"T[333]"}},
    {"ZerosLike", NULL, {"T[0]"}},
    {"OnesLike", NULL, {"T[333]"}},
    {"OnesLike", NULL, {"T[0]"}},
    {"ParallelConcat", "shape=[3,111]", {"T[1,111]", "T[1,111]", "T[1,111]"}},
    {"ParallelConcat", "shape=[2,0]", {"T[1,0]", "T[1,0]"}},
    {"SpaceToBatch", "block_size=2", {"T[1,111,3,2]", "int32[2,2] 0 1 1 0"}},
    {"SpaceToBatch", "block_size=2", {"T[0,4,2,1]", "int32[2,2] 0 0 0 0"}},
    {"BatchToSpace", "block_size=2", {"T[4,111,3,2]", "int32[2,2] 0 1 1 0"}},
    {"BatchToSpace", "block_size=2", {"T[4,2,2,0]", "int32[2,2] 0 1 0 0"}},
    {"ExtractImagePatches", "ksizes=[1,3,2,1]; strides=[1,2,1,1]; rates=[1,1,2,1]; padding=SAME",
        {"T[2,9,7,3]"}},
    {"ExtractImagePatches", "ksizes=[1,3,3,1]; strides=[1,1,1,1]; rates=[1,2,2,1]; padding=VALID",
        {"T[1,6,7,2]"}},
    {"ExtractImagePatches", "ksizes=[1,9,9,1]; strides=[1,5,5,1]; rates=[1,1,1,1]; padding=SAME",
        {"T[1,3,2,1]"}},
    {"ExtractImagePatches", "ksizes=[1,3,3,1]; strides=[1,1,1,1]; rates=[1,1,1,1]; padding=SAME",
        {"T[0,6,7,2]"}},
    {"Fill", NULL, {"int32[2] 3 111", "T[]"}},
    {"Fill", NULL, {"int32[1] 0", "T[]"}},
    {"onnx::ConstantOfShape", "value=T[1] numbers 3; dtype=T", {"int64[2] 3 111"}},
    {"onnx::ConstantOfShape", "value=T[1] numbers 3; dtype=T", {"int64[1] 0"}},
};

static const CudaKernelCase diagonals[] = {
    {"MatrixDiag", NULL, {"T[2,3]"}},
    {"MatrixDiag", NULL, {"T[2,33]"}},
    {"MatrixDiag", NULL, {"T[0,3]"}},
    {"MatrixDiagV2", NULL, {"T[2,3,4]", "int32[2] -1 1", "int32[] 4", "int32[] 4", "T[]"}},
    {"MatrixDiagV2", NULL, {"T[300]", "int32[] 2", "int32[] -1", "int32[] -1", "T[]"}},
    {"MatrixDiagV2", NULL, {"T[0]", "int32[] 0", "int32[] -1", "int32[] -1", "T[]"}},
    {"MatrixDiagV3", "align=RIGHT_LEFT", {"T[2,3,4]", "int32[2] -1 1", "int32[] 5", "int32[] 4", "T[]"}},
    {"MatrixDiagV3", "align=LEFT_RIGHT", {"T[3,19]", "int32[2] -1 1", "int32[] 19", "int32[] 19", "T[]"}},
    {"MatrixDiagV3", NULL, {"T[0,3]", "int32[] 0", "int32[] -1", "int32[] -1", "T[]"}},
    {"MatrixDiagPart", NULL, {"T[2,3,4]"}},
    {"MatrixDiagPart", NULL, {"T[2,19,17]"}},
    {"MatrixDiagPart", NULL, {"T[2,0,3]"}},
    {"MatrixDiagPartV2", NULL, {"T[2,3,4]", "int32[2] -2 3", "T[]"}},
    {"MatrixDiagPartV2", NULL, {"T[19,17]", "int32[] -3", "T[]"}},
    {"MatrixDiagPartV2", NULL, {"T[0,3,4]", "int32[2] -1 1", "T[]"}},
    {"MatrixDiagPartV3", "align=RIGHT_RIGHT", {"T[2,3,4]", "int32[2] -2 3", "T[]"}},
    {"MatrixDiagPartV3", "align=LEFT_LEFT", {"T[19,17]", "int32[2] -3 3", "T[]"}},
    {"MatrixDiagPartV3", NULL, {"T[0,3,4]", "int32[2] -1 1", "T[]"}},
    {"MatrixSetDiag", NULL, {"T[2,3,4]", "T[2,3]"}},
    {"MatrixSetDiag", NULL, {"T[19,17]", "T[17]"}},
    {"MatrixSetDiag", NULL, {"T[0,3,4]", "T[0,3]"}},
    {"MatrixSetDiagV2", NULL, {"T[2,3,4]", "T[2,3,3]", "int32[2] -1 1"}},
    {"MatrixSetDiagV2", NULL, {"T[19,17]", "T[16]", "int32[] 1"}},
    {"MatrixSetDiagV2", NULL, {"T[0,3,4]", "T[0,3]", "int32[] 0"}},
    {"MatrixSetDiagV3", "align=LEFT_RIGHT", {"T[2,3,4]", "T[2,3,3]", "int32[2] -1 1"}},
    {"MatrixSetDiagV3", NULL, {"T[19,17]", "T[3,17]", "int32[2] -1 1"}},
    {"MatrixSetDiagV3", NULL, {"T[0,3,4]", "T[0,3]", "int32[] 0"}},
    {"Diag", NULL, {"T[2,3]"}},
    {"Diag", NULL, {"T[33]"}},
    {"Diag", NULL, {"T[0]"}},
    {"DiagPart", NULL, {"T[2,3,2,3]"}},
    {"DiagPart", NULL, {"T[33,33]"}},
    {"DiagPart", NULL, {"T[0,0]"}},
    {"SpaceToBatch", "block_size=2", {"T[1,4,6,1]", "int32[2,2] 0 0 1 1"}},
    {"SpaceToBatch", "block_size=3", {"T[2,9,9,2]", "int32[2,2] 0 0 0 0"}},
    {"SpaceToBatch", "block_size=2", {"T[0,4,6,1]", "int32[2,2] 0 0 1 1"}},
    {"BatchToSpace", "block_size=2", {"T[4,2,3,1]", "int32[2,2] 0 1 1 0"}},
    {"BatchToSpace", "block_size=3", {"T[9,5,4,2]", "int32[2,2] 0 0 0 0"}},
    {"BatchToSpace", "block_size=2", {"T[0,2,3,1]", "int32[2,2] 0 1 1 0"}},
    {"ParallelConcat", "shape=[3,111]", {"T[1,111]", "T[1,111]", "T[1,111]"}},
    {"ParallelConcat", "shape=[2,0]", {"T[1,0]", "T[1,0]"}},
};

static const CudaKernelCase borders[] = {
    {"MirrorPad", "mode=REFLECT", {"T[3,4]", "int32[2,2] 2 1 0 3"}},
    {"MirrorPad", "mode=SYMMETRIC", {"T[3,111]", "int64[2,2] 3 1 0 7"}},
    {"MirrorPad", "mode=SYMMETRIC", {"T[0,3]", "int32[2,2] 0 0 1 1"}},
    {"MirrorPad", "mode=REFLECT", {"T[3]", "int32[1,2] 3 0"}},
    {"onnx::Pad", "mode=reflect", {"T[3,4]", "int64[4] 2 0 1 3"}},
    {"onnx::Pad", "mode=edge", {"T[3,4]", "int64[4] 5 -1 1 3"}},
    {"onnx::Pad", "mode=wrap", {"T[3,4]", "int64[4] 4 0 1 9"}},
    {"onnx::Pad", "mode=edge", {"T[3,111]", "int64[4] 0 1 0 1"}},
    {"onnx::Pad", "mode=edge", {"T[0,3]", "int64[4] 0 1 0 1"}},
    {"MatrixBandPart", NULL, {"T[2,4,5]", "int32[] 1", "int32[] 2"}},
    {"MatrixBandPart", NULL, {"T[2,19,17]", "int64[] -1", "int64[] 0"}},
    {"MatrixBandPart", NULL, {"T[0,3,3]", "int64[] 0", "int64[] -1"}},
    {"MatrixBandPart", NULL, {"T[3,3]", "int32[] 4", "int32[] 0"}},
    {"onnx::Trilu", NULL, {"T[2,4,5]"}},
    {"onnx::Trilu", "upper=0", {"T[4,5]", "int64[] 0"}},
    {"onnx::Trilu", NULL, {"T[5,4]", "int64[] 2"}},
    {"onnx::Trilu", NULL, {"T[2,19,17]", "int64[] -3"}},
    {"onnx::Trilu", "upper=0", {"T[19,17]", "int64[] 5"}},
    {"onnx::Trilu", "upper=0", {"T[3,4]", "int64[] -2"}},
    {"onnx::Trilu", "upper=0", {"T[3,4]", "int64[] -9223372036854775808"}},
    {"onnx::Trilu", NULL, {"T[3,4]", "int64[] -9223372036854775808"}},
    {"onnx::Trilu", NULL, {"T[3,4]", "int64[] 9223372036854775807"}},
    {"onnx::Trilu", NULL, {"T[0,3,3]", "int64[] 1"}},
    {"onnx::Trilu", NULL, {"T[3,0]"}},
    {"ReverseSequence", "seq_dim=1", {"T[3,5,2]", "int32[3] 0 5 3"}},
    {"ReverseSequence", "seq_dim=0; batch_dim=1", {"T[5,111]", "int64[111]"}},
    {"ReverseSequence", "seq_dim=0; batch_dim=1", {"T[150,2]", "int64[2] 149 7"}},
    {"ReverseSequence", "seq_dim=1", {"T[0,5]", "int32[0]"}},
    {"Roll", NULL, {"T[3,5]", "int32[2] 1 -7", "int32[2] 0 1"}},
    {"Roll", NULL, {"T[3,111]", "int32[] 100", "int32[] 1"}},
    {"Roll", NULL, {"T[0,3]", "int32[] 1", "int32[] 0"}},
};

/* Larger and smaller images, corners that are aligned or not, one pixel of many and many of one. */
static const CudaKernelCase images[] = {
    {"ResizeBilinear", NULL, {"T[2,3,5,2]", "int32[2] 7 4"}},
    {"ResizeBilinear", "align_corners=true", {"T[1,4,5,3]", "int32[2] 9 11"}},
    {"ResizeBilinear", "half_pixel_centers=true", {"T[1,4,5,3]", "int32[2] 2 17"}},
    {"ResizeBilinear", "align_corners=true", {"T[1,4,5,1]", "int32[2] 1 1"}},
    {"ResizeBilinear", NULL, {"T[0,3,5,2]", "int32[2] 7 4"}},
    {"ResizeNearestNeighbor", NULL, {"T[2,3,5,2]", "int32[2] 7 4"}},
    {"ResizeNearestNeighbor", "align_corners=true", {"T[1,4,5,3]", "int32[2] 9 11"}},
    {"ResizeNearestNeighbor", "half_pixel_centers=true", {"T[1,4,5,3]", "int32[2] 2 17"}},
    {"ResizeNearestNeighbor", NULL, {"T[0,3,5,2]", "int32[2] 7 4"}},
    {"ResizeBilinearGrad", NULL, {"float32[2,7,4,2]", "T[2,3,5,2]"}},
    {"ResizeBilinearGrad", "align_corners=true", {"float32[1,9,11,3]", "T[1,4,5,3]"}},
    {"ResizeBilinearGrad", "half_pixel_centers=true", {"float32[1,2,17,3]", "T[1,4,5,3]"}},
    {"ResizeBilinearGrad", "align_corners=true", {"float32[1,5,300,1]", "T[1,1,1,1]"}},
    {"ResizeBilinearGrad", "half_pixel_centers=true", {"float32[1,1,1,1]", "T[1,5,6,1]"}},
    {"ResizeBilinearGrad", NULL, {"float32[0,7,4,2]", "T[0,3,5,2]"}},
    {"ResizeNearestNeighborGrad", NULL, {"T[2,7,4,2]", "int32[2] 3 5"}},
    {"ResizeNearestNeighborGrad", "align_corners=true", {"T[1,9,11,3]", "int32[2] 4 5"}},
    {"ResizeNearestNeighborGrad", "half_pixel_centers=true", {"T[1,2,17,3]", "int32[2] 4 5"}},
    {"ResizeNearestNeighborGrad", NULL, {"T[0,7,4,2]", "int32[2] 3 5"}},
    {"CropAndResize", NULL,
        {"T[2,4,5,3]", "float32[3,4] 0 0 1 1 0.2 0.9 0.8 0.1 -0.5 0 1.2 0.5", "int32[3] 0 1 1",
            "int32[2] 7 5"}},
    {"CropAndResize", "method=nearest; extrapolation_value=-1",
        {"T[2,4,5,3]", "float32[3,4] 0 0 1 1 0.2 0.9 0.8 0.1 -0.5 0 1.2 0.5", "int32[3] 0 1 1",
            "int32[2] 1 2"}},
    {"CropAndResize", NULL,
        {"T[1,4,5,3]", "float32[3,4] 0 0 1 1 nan 0 1 1 0 0 1 1", "int32[3] 0 0 0", "int32[2] 2 2"}},
    {"CropAndResize", NULL,
        {"T[2,4,5,3]", "float32[3,4] 0 0 1 1 0 0 1 1 0 0 1 1", "int32[3] 1 -1 2", "int32[2] 2 2"}},
    {"CropAndResize", NULL, {"T[1,4,5,3]", "float32[0,4]", "int32[0]", "int32[2] 7 5"}},
};

static const CudaKernelCase gathers[] = {
    {"Gather", NULL, {"T[5,3]", "int32[4] 4 0 2 2"}},
    {"Gather", NULL, {"T[5]", "uint8[0]"}},
    {"Gather", NULL, {"T[3,4]", "int64[2,2] 0 1 2 1"}},
    {"Gather", NULL, {"T[3,4]", "int64[5] 0 3 -1 1 7"}},
    {"Gather", NULL, {"T[0,4]", "int64[1] 0"}},
    {"Gather", NULL, {"T[3,0]", "int16[2] 1 3"}},
    {"Gather", NULL, {"T[3]", "uint64[2] 2 18446744073709551615"}},
    {"GatherV2", NULL, {"T[2,5,7]", "int32[3] 4 1 1", "int32[] 1"}},
    {"GatherV2", NULL, {"T[2,5,7]", "int32[3] 6 0 -1", "int32[] -1"}},
    {"GatherV2", "batch_dims=1", {"T[2,5,3]", "int32[2,2] 4 1 0 3", "int32[] 1"}},
    {"GatherV2", "batch_dims=1", {"T[2,5,3]", "int32[2,2] 4 1 0 5", "int32[] 1"}},
    {"GatherV2", NULL, {"T[0,5]", "int32[1] 9", "int32[] 1"}},
    {"GatherNd", NULL, {"T[3,4,5]", "int32[2,2] 2 3 0 1"}},
    {"GatherNd", NULL, {"T[3,4]", "int64[3,2] 2 3 0 4 3 0"}},
    {"GatherNd", NULL, {"T[3,4]", "int64[2,0]"}},
    {"onnx::Gather", "axis=1", {"T[3,5]", "int64[2,2] 0 -1 -5 4"}},
    {"onnx::Gather", "axis=1", {"T[3,5]", "int64[2] -6 0"}},
    {"onnx::GatherND", "batch_dims=1", {"T[2,3,4]", "int64[2,1] 2 -3"}},
    {"onnx::GatherND", NULL, {"T[2,3,4]", "int64[2,3] 1 2 3 0 0 4"}},
    {"onnx::GatherElements", "axis=1", {"T[3,5]", "int64[2,3] 4 0 -1 2 2 -5"}},
    {"onnx::GatherElements", "axis=0", {"T[3,5]", "int32[3,2] 0 1 2 0 1 3"}},
    {"onnx::GatherElements", NULL, {"T[3]", "int32[0]"}},
    {"Gather", NULL, {"T[3,111]", "int32[3] 2 0 2"}},
    {"GatherV2", NULL, {"T[2,3,111]", "int64[3] 2 0 2", "int32[] 1"}},
    {"GatherNd", NULL, {"T[3,111]", "int32[3,1] 2 0 2"}},
    {"onnx::Gather", NULL, {"T[3,111]", "int32[3] 2 0 -1"}},
    {"onnx::Gather", NULL, {"T[3,5]", "int32[0]"}},
    {"onnx::GatherND", NULL, {"T[3,111]", "int64[3,1] 2 0 -1"}},
    {"onnx::GatherND", NULL, {"T[3,5]", "int64[0,1]"}},
    {"onnx::GatherElements", "axis=1", {"T[1,333]", "int32[1,3] 332 0 -1"}},
};

static const CudaKernelCase scatters[] = {
    {"TensorScatterUpdate", NULL, {"T[4,3]", "int32[3,1] 3 0 3", "T[3,3]"}},
    {"TensorScatterUpdate", NULL, {"T[4,3]", "int64[2,2] 3 2 0 3", "T[2]"}},
    {"TensorScatterUpdate", NULL, {"T[3]", "uint8[0,1]", "T[0]"}},
    {"TensorScatterUpdate", NULL, {"T[333]", "int32[2,1] 332 7", "T[2]"}},
    {"TensorScatterAdd", NULL, {"T[4,3]", "int32[3,1] 3 0 3", "T[3,3]"}},
    {"TensorScatterAdd", NULL, {"T[0,3]", "int32[0,1]", "T[0,3]"}},
    {"TensorScatterAdd", NULL, {"T[333]", "int32[3,1] 1 332 1", "T[3]"}},
    {"TensorScatterAdd", NULL, {"T[2,0]", "int32[1,1] 7", "T[1,0]"}},
    {"TensorScatterSub", NULL, {"T[4,3]", "int32[3,1] 3 0 -1", "T[3,3]"}},
    {"TensorScatterSub", NULL, {"T[0]", "int32[0,1]", "T[0]"}},
    {"TensorScatterSub", NULL, {"T[3,111]", "int64[3,1] 1 0 1", "T[3,111]"}},
    {"TensorScatterMin", NULL, {"T[4,3]", "int32[2,2] 3 1 3 1", "T[2]"}},
    {"TensorScatterMin", NULL, {"T[0]", "int32[0,1]", "T[0]"}},
    {"TensorScatterMin", NULL, {"T[3,111]", "int64[3,1] 1 0 1", "T[3,111]"}},
    {"TensorScatterMax", NULL, {"T[4,3]", "int32[2,2] 3 1 3 1", "T[2]"}},
    {"TensorScatterMax", NULL, {"T[3] 1 nan 2", "int32[3,1] 0 1 0", "T[3] nan 3 2"}},
    {"TensorScatterMax", NULL, {"T[0]", "int32[0,1]", "T[0]"}},
    {"TensorScatterMax", NULL, {"T[3,111]", "int64[3,1] 1 0 1", "T[3,111]"}},
    {"ScatterNdNonAliasingAdd", NULL, {"T[4,3]", "int32[3,1] 3 0 3", "T[3,3]"}},
    {"ScatterNdNonAliasingAdd", NULL, {"T[0]", "int32[0,1]", "T[0]"}},
    {"ScatterNdNonAliasingAdd", NULL, {"T[333]", "int32[3,1] 1 332 1", "T[3]"}},
    {"onnx::ScatterND", NULL, {"T[4,3]", "int64[3,1] 3 0 -1", "T[3,3]"}},
    {"onnx::ScatterND", NULL, {"T[4,3]", "int64[2,2] 3 2 0 3", "T[2]"}},
    {"onnx::ScatterND", NULL, {"T[333]", "int64[2,1] -1 7", "T[2]"}},
    {"onnx::ScatterND", NULL, {"T[3]", "int64[0,1]", "T[0]"}},
    {"onnx::ScatterND", NULL, {"T[2,0]", "int64[1,1] 7", "T[1,0]"}},
    {"onnx::ScatterND", "reduction=add", {"T[3,111]", "int64[3,1] 1 0 1", "T[3,111]"}},
    {"onnx::ScatterND", "reduction=mul", {"T[4,3]", "int64[3,1] 3 0 3", "T[3,3]"}},
    {"onnx::ScatterND", "reduction=min", {"T[4,3]", "int64[2,2] 3 1 3 1", "T[2]"}},
    {"onnx::ScatterND", "reduction=max", {"T[3] 1 nan 2", "int64[3,1] 0 1 0", "T[3] nan 3 2"}},
    {"onnx::ScatterElements", "axis=1", {"T[3,5]", "int64[2,3] 4 0 -1 2 2 -5", "T[2,3]"}},
    {"onnx::ScatterElements", NULL, {"T[3,5]", "int32[3,2] 0 1 2 0 1 3", "T[3,2]"}},
    {"onnx::ScatterElements", NULL, {"T[333]", "int64[3] 332 -1 7", "T[3]"}},
    {"onnx::ScatterElements", NULL, {"T[3]", "int32[0]", "T[0]"}},
    {"onnx::ScatterElements", "axis=-1; reduction=add", {"T[1,5]", "int64[1,4] 1 1 3 -2", "T[1,4]"}},
    {"onnx::ScatterElements", "reduction=mul", {"T[5]", "int64[4] 1 1 3 -2", "T[4]"}},
    {"onnx::ScatterElements", "reduction=min", {"T[5]", "int64[4] 1 1 3 -2", "T[4]"}},
    {"onnx::ScatterElements", "reduction=max", {"T[300]", "int64[4] 1 1 299 -2", "T[4]"}},
    {"ScatterNd", NULL, {"int32[3,1] 4 1 4", "T[3,2]", "int32[2] 5 2"}},
    {"ScatterNd", NULL, {"int32[3,2] 4 1 0 0 4 1", "T[3]", "int32[2] 5 2"}},
    {"ScatterNd", NULL, {"int32[2,1] 5 1", "T[2]", "int32[1] 5"}},
    {"ScatterNd", NULL, {"int32[0,1]", "T[0]", "int32[1] 300"}},
    {"ScatterNd", NULL, {"int64[3,0]", "T[3,2]", "int64[1] 2"}},
};

/* Of sums the segments are folded in parts of so many; the ids of the last cases say 300 of them. */
static const CudaKernelCase segments[] = {
    {"UnsortedSegmentSum", NULL, {"T[5,3]", "int32[5] 2 0 -1 2 0", "int32[] 4"}},
    {"UnsortedSegmentSum", NULL, {"T[2,3,2]", "int64[2,3] 2 0 -1 2 0 1", "int32[] 3"}},
    {"UnsortedSegmentSum", NULL, {"T[3]", "int32[3] 0 2 1", "int32[] 2"}},
    {"UnsortedSegmentSum", NULL, {"T[0,3]", "int32[0]", "int32[] 2"}},
    {"UnsortedSegmentSum", NULL, {"T[3,111]", "int32[3] 1 0 1", "int32[] 2"}},
    {"UnsortedSegmentSum", NULL, {"T[3,0]", "int32[3] 1 0 1", "int32[] 2"}},
    {"UnsortedSegmentSum", NULL, {"T[300]", "uint8[300]", "int32[] 13"}},
    {"UnsortedSegmentSum", NULL, {"T[2]", "int32[2] 39999 5", "int32[] 40000"}},
    {"UnsortedSegmentProd", NULL, {"T[5,3]", "int32[5] 2 0 -1 2 0", "int32[] 4"}},
    {"UnsortedSegmentProd", NULL, {"T[0]", "int32[0]", "int32[] 2"}},
    {"UnsortedSegmentProd", NULL, {"T[3,111]", "int32[3] 1 0 1", "int32[] 2"}},
    {"UnsortedSegmentMin", NULL, {"T[5,3]", "int32[5] 2 0 -1 2 0", "int32[] 4"}},
    {"UnsortedSegmentMin", NULL, {"T[0]", "int32[0]", "int32[] 2"}},
    {"UnsortedSegmentMin", NULL, {"T[3,111]", "int32[3] 1 0 1", "int32[] 2"}},
    {"UnsortedSegmentMax", NULL, {"T[5,3]", "int32[5] 2 0 -1 2 0", "int32[] 4"}},
    {"UnsortedSegmentMax", NULL, {"T[4] nan 1 nan 2", "int32[4] 0 0 1 1", "int32[] 2"}},
    {"UnsortedSegmentMax", NULL, {"T[0]", "int32[0]", "int32[] 2"}},
    {"UnsortedSegmentMax", NULL, {"T[3,111]", "int32[3] 1 0 1", "int32[] 2"}},
    {"SegmentSum", NULL, {"T[5,3]", "int32[5] 0 0 2 2 3"}},
    {"SegmentSum", NULL, {"T[3]", "int32[3] 0 2 1"}},
    {"SegmentSum", NULL, {"T[3]", "int32[3] 0 4 3"}},
    {"SegmentSum", NULL, {"T[0,3]", "int64[0]"}},
    {"SegmentSum", NULL, {"T[3,111]", "int32[3] 0 1 1"}},
    {"SegmentSum", NULL, {"T[3,2]", "int32[3] 3 255 600"}},
    {"SegmentMean", NULL, {"T[5,3]", "int32[5] 0 0 2 2 3"}},
    {"SegmentMean", NULL, {"T[0,3]", "int64[0]"}},
    {"SegmentMean", NULL, {"T[3,111]", "int32[3] 0 1 1"}},
    {"SegmentProd", NULL, {"T[5,3]", "int32[5] 0 0 2 2 3"}},
    {"SegmentProd", NULL, {"T[0,3]", "int64[0]"}},
    {"SegmentProd", NULL, {"T[3,111]", "int32[3] 0 1 1"}},
    {"SegmentMin", NULL, {"T[5,3]", "int32[5] 0 0 2 2 3"}},
    {"SegmentMin", NULL, {"T[0,3]", "int64[0]"}},
    {"SegmentMin", NULL, {"T[3,111]", "int32[3] 0 1 1"}},
    {"SegmentMax", NULL, {"T[5,3]", "int32[5] 0 0 2 2 3"}},
    {"SegmentMax", NULL, {"T[0,3]", "int64[0]"}},
    {"SegmentMax", NULL, {"T[3,111]", "int32[3] 0 1 1"}},
    {"SparseSegmentSum", NULL, {"T[5,3]", "int32[4] 4 0 0 2", "int32[4] 0 0 1 3"}},
    {"SparseSegmentSum", NULL, {"T[5,3]", "int64[3] 4 5 0", "int32[3] 0 0 1"}},
    {"SparseSegmentSum", NULL, {"T[2,0]", "int64[3] 1 1 2", "int32[3] 0 0 1"}},
    {"SparseSegmentSum", NULL, {"T[0,3]", "int32[0]", "int32[0]"}},
    {"SparseSegmentSum", NULL, {"T[3,111]", "int32[3] 2 1 1", "int32[3] 0 0 300"}},
    {"SparseSegmentMean", NULL, {"T[5,3]", "int32[4] 4 0 0 2", "int32[4] 0 0 1 3"}},
    {"SparseSegmentMean", NULL, {"T[0,3]", "int32[0]", "int32[0]"}},
    {"SparseSegmentMean", NULL, {"T[3,111]", "int32[3] 2 1 1", "int32[3] 0 0 1"}},
    {"SparseSegmentSqrtN", NULL, {"T[5,3]", "int32[4] 4 0 0 2", "int32[4] 0 0 1 3"}},
    {"SparseSegmentSqrtN", NULL, {"T[0,3]", "int32[0]", "int32[0]"}},
    {"SparseSegmentSqrtN", NULL, {"T[3,111]", "int32[3] 2 1 1", "int32[3] 0 0 1"}},
    {"SparseSegmentSumWithNumSegments", NULL,
        {"T[5,3]", "int32[4] 4 0 0 2", "int32[4] 0 0 1 3", "int32[] 6"}},
    {"SparseSegmentSumWithNumSegments", NULL, {"T[5,3]", "int32[2] 4 0", "int32[2] 0 2", "int32[] 2"}},
    {"SparseSegmentSumWithNumSegments", NULL, {"T[0,3]", "int32[0]", "int32[0]", "int32[] 2"}},
    {"SparseSegmentSumWithNumSegments", NULL, {"T[3,111]", "int32[1] 2", "int32[1] 0", "int32[] 2"}},
    {"SparseSegmentMeanWithNumSegments", NULL,
        {"T[5,3]", "int32[4] 4 0 0 2", "int32[4] 0 0 1 3", "int32[] 6"}},
    {"SparseSegmentMeanWithNumSegments", NULL, {"T[0,3]", "int32[0]", "int32[0]", "int32[] 2"}},
    {"SparseSegmentMeanWithNumSegments", NULL, {"T[3,111]", "int32[1] 2", "int32[1] 0", "int32[] 2"}},
    {"SparseSegmentSqrtNWithNumSegments", NULL,
        {"T[5,3]", "int32[4] 4 0 0 2", "int32[4] 0 0 1 3", "int32[] 6"}},
    {"SparseSegmentSqrtNWithNumSegments", NULL, {"T[0,3]", "int32[0]", "int32[0]", "int32[] 2"}},
    {"SparseSegmentSqrtNWithNumSegments", NULL, {"T[3,111]", "int32[1] 2", "int32[1] 0", "int32[] 2"}},
    {"Bincount", "T=T", {"int32[6] 1 4 1 9 0 1", "int32[] 5", "T[6]"}},
    {"Bincount", "T=T", {"int32[6] 1 4 1 9 0 1", "int32[] 5", "T[0]"}},
    {"Bincount", "T=T", {"int32[3] 1 -4 1", "int32[] 5", "T[3]"}},
    {"Bincount", "T=T", {"int32[0]", "int32[] 300", "T[0]"}},
};

static const CudaKernelCase divisions[] = {
    {"Div", NULL, {"T[333]", "T[1] 3"}},
    {"Div", NULL, {"int32[6] 7 -7 7 -7 0 5", "int32[6] 2 2 -2 -2 3 -1"}},
    {"Div", NULL, {"int8[2] -128 -128", "int8[2] -1 1"}},
    {"Div", NULL, {"int64[2] -9223372036854775808 -9223372036854775808", "int64[2] -1 2"}},
    {"Div", NULL, {"int32[3] 1 2 3", "int32[3] 1 0 0"}},
    {"Div", NULL, {"int32[0]", "int32[1] 0"}},
    {"RealDiv", NULL, {"T[3,111]", "T[3,1] 3 2 7"}},
    {"TruncateDiv", NULL, {"T[333]", "T[1] 3"}},
    {"TruncateDiv", NULL, {"uint8[2] 7 200", "uint8[2] 0 2"}},
    {"TruncateMod", NULL, {"T[333]", "T[1] 3"}},
    {"TruncateMod", NULL, {"int16[5] 7 -7 7 -7 -32768", "int16[5] 2 2 -2 -2 -1"}},
    {"FloorDiv", NULL, {"T[3,111]", "T[111]"}},
    {"FloorDiv", NULL, {"T[333]", "T[1] 5"}},
    {"FloorDiv", NULL, {"int64[5] 7 -7 7 -7 -6", "int64[5] 2 2 -2 -2 3"}},
    {"FloorMod", NULL, {"T[333]", "T[1] 5"}},
    {"FloorMod", NULL, {"int32[5] 7 -7 7 -7 -6", "int32[5] 2 2 -2 -2 3"}},
    {"Mod", NULL, {"T[333]", "T[1] 5"}},
    {"onnx::Mod", NULL, {"T[333]", "T[1] 5"}},
    {"onnx::Mod", "fmod=1", {"T[333]", "T[1] 5"}},
    {"onnx::Mod", "fmod=1", {"int32[2] 7 -7", "int32[2] 0 2"}},
    {"onnx::Mod", NULL, {"T[0]", "T[1] 5"}},
    {"onnx::Div", NULL, {"T[333]", "T[1] 5"}},
    {"Pow", NULL, {"T[333]", "T[1] 3"}},
    {"Pow", NULL, {"int32[3] 2 3 -2", "int32[3] 31 -1 3"}},
    {"onnx::Pow", NULL, {"uint64[2] 2 3", "uint64[2] 18446744073709551615 4"}},
    {"onnx::Pow", NULL, {"T[333]", "float32[1] 2"}},
    {"onnx::Pow", NULL, {"T[3,1]", "int8[5] 2 3 0 1 2"}},
    {"onnx::Pow", NULL, {"T[0]", "uint16[1] 2"}},
    {"onnx::Pow", NULL, {"float32[3] 2 -3 0.5", "int64[3] -1 -3 -2"}},
    {"onnx::Pow", NULL, {"int32[3] 4 9 -8", "float64[3] 0.5 -0.5 3"}},
    {"onnx::Pow", NULL, {"int32[3] 2 3 -2", "int64[3] 31 -1 3"}},
    {"ApproximateEqual", "tolerance=2.0", {"T[333]", "T[333]"}},
    {"ApproximateEqual", NULL, {"float32[4] 1 nan inf 1", "float32[4] 1.000001 nan inf 1.1"}},
    {"ApproximateEqual", NULL, {"T[0]", "T[0]"}},
};

static const CudaKernelCase shifts[] = {
    {"onnx::BitShift", "direction=LEFT", {"T[333]", "T[1] 3"}},
    {"onnx::BitShift", "direction=RIGHT", {"T[3,111]", "T[111]"}},
    {"onnx::BitShift", "direction=LEFT", {"T[0]", "T[1] 3"}},
    {"onnx::BitShift", "direction=LEFT", {"uint8[6] 255 255 255 255 255 1", "uint8[6] 0 7 8 63 64 255"}},
    {"onnx::BitShift", "direction=RIGHT", {"uint64[4] 18446744073709551615 8 8 8", "uint64[4] 63 64 65 3"}},
    {"LeftShift", NULL, {"T[333]", "T[333]"}},
    {"LeftShift", NULL, {"T[0]", "T[1] 3"}},
    {"LeftShift", NULL, {"int8[6] -1 -128 127 3 3 3", "int8[6] 0 1 1 7 8 -1"}},
    {"LeftShift", NULL, {"uint64[3] 1 1 1", "uint64[3] 63 64 18446744073709551615"}},
    {"RightShift", NULL, {"T[333]", "T[333]"}},
    {"RightShift", NULL, {"T[0]", "T[1] 3"}},
    {"RightShift", NULL, {"int64[4] -1 -9223372036854775808 7 7", "int64[4] 5 63 64 -3"}},
    {"RightShift", NULL, {"uint16[3] 65535 65535 65535", "uint16[3] 15 16 200"}},
};

static const CudaKernelCase specials[] = {
    {"Lgamma", NULL, {"T[7] 0 -1 -1.5 0.5 inf -inf nan"}},
    {"Digamma", NULL, {"T[7] 0 -1 -1.5 0.5 11 inf nan"}},
    {"Zeta", NULL, {"T[8] 1 2 2 3 4 0.5 nan 40", "T[8] 1 0.5 -2 -3 -2.5 1 1 3"}},
    {"Polygamma", NULL, {"T[6] 0 1 2 -1 1.5 3", "T[6] 2 3 0.5 1 1 7"}},
    {"Igamma", NULL, {"T[8] 1 2 30 0 -1 nan 2 2", "T[8] 0.5 3 20 1 1 1 0 inf"}},
    {"Igammac", NULL, {"T[8] 1 2 30 0 -1 nan 2 2", "T[8] 0.5 3 20 1 1 1 0 inf"}},
    {"Betainc", NULL, {"T[6] 1 2 30 0 2 2", "T[6] 0.5 3 20 1 2 2", "T[6] 0.25 0.5 0.75 0.5 0 1.5"}},
    {"NextAfter", NULL, {"T[6] 0 1 1 inf nan -0", "T[6] 1 2 -2 0 1 0"}},
};

static const CudaKernelCase generated[] = {
    {"OneHot", NULL, {"int32[5] 0 3 -1 2 4", "int32[] 4", "T[] 1", "T[] 0"}},
    {"OneHot", "axis=0", {"int64[2,3] 0 1 2 3 9 1", "int32[] 3", "T[]", "T[]"}},
    {"OneHot", "axis=1", {"uint8[2,3] 0 1 2 3 9 1", "int32[] 3", "T[]", "T[]"}},
    {"OneHot", NULL, {"int64[3] 0 110 111", "int32[] 111", "T[]", "T[]"}},
    {"OneHot", NULL, {"int64[0]", "int32[] 111", "T[]", "T[]"}},
    {"OneHot", NULL, {"int64[2] 0 1", "int32[] 3", "float32[2] 1 2", "float32[] 0"}},
    {"onnx::OneHot", NULL, {"int32[5] 0 3 -1 -5 4", "int64[] 4", "T[2] 0 1"}},
    {"onnx::OneHot", "axis=0", {"T[2,3] 0 1 2 3 9 1", "int32[] 3", "float32[2] 5 7"}},
    {"onnx::OneHot", "axis=1", {"float32[4] 0 1.5 -0.5 nan", "float32[1] 3", "T[2]"}},
    {"onnx::OneHot", NULL, {"int64[3] 0 110 111", "int32[] 111", "T[2]"}},
    {"onnx::OneHot", NULL, {"int64[0]", "int32[] 111", "T[2]"}},
    {"onnx::OneHot", NULL, {"T[0]", "int32[] 111", "float32[2]"}},
    {"onnx::OneHot", NULL, {"int64[2] 0 1", "int32[] 3", "float32[3] 1 2 3"}},
    {"LinSpace", NULL, {"T[] 1", "T[] 7", "int32[] 333"}},
    {"LinSpace", NULL, {"T[1] 1", "T[] 7", "int64[] 1"}},
    {"LinSpace", NULL, {"float32[] 0.1", "float32[] 0.7", "int32[] 5"}},
    {"LinSpace", NULL, {"float32[0]", "float32[] 0.7", "int32[] 5"}},
    {"Range", NULL, {"T[] 2", "T[] 11", "T[] 3"}},
    {"Range", NULL, {"T[] 2", "T[] 2", "T[] 3"}},
    {"Range", NULL, {"int16[] 999", "int16[] 0", "int16[] -3"}},
    {"Range", NULL, {"float32[] 0.1", "float32[] 77", "float32[] 0.1"}},
    {"onnx::Range", NULL, {"T[] 2", "T[] 11", "T[] 3"}},
    {"onnx::Range", NULL, {"T[] 2", "T[] 2", "T[] 3"}},
    {"onnx::Range", NULL, {"int32[] 0", "int32[] 333", "int32[] 1"}},
};

/* Inputs and axes of functions along a dimension. */
static const char *const along[][2] = {
    {"T[1]", "0"},
    {"T[0,3]", "1"},
    {"T[3,0]", "0"},
    {"T[33]", "-1"},
    {"T[2,7,5]", "1"},
    {"T[777]", "0"},
    {"T[2,300,2]", "-2"},
};

static const char *const running[] = {"Cumsum", "Cumprod", "onnx::CumSum", "onnx::CumProd"};
static const char *const extremes[] = {"ArgMax", "ArgMin", "onnx::ArgMax", "onnx::ArgMin"};

static const CudaKernelCase ends_of_lines[] = {
    {"ArgMax", NULL, {"float32[4] nan 1 nan 1", "int32[] 0"}},
    {"ArgMax", NULL, {"float16[3] -inf nan -65504", "int32[] 0"}},
    {"ArgMax", "output_type=int32", {"float64[3] nan nan -inf", "int32[] 0"}},
    {"ArgMin", NULL, {"bfloat16[3] inf nan 1", "int32[] 0"}},
    {"onnx::ArgMax", NULL, {"float32[4] 1 nan inf nan"}},
    {"onnx::ArgMax", "select_last_index=1", {"float32[4] 1 nan inf nan"}},
    {"onnx::ArgMin", "select_last_index=1; keepdims=0", {"int32[5] 2 1 3 1 2"}},
};

static const char *const reductions[] = {"Sum", "Mean", "Max", "Min", "Prod", "EuclideanNorm", "Any", "All",
    "onnx::ReduceSum", "onnx::ReduceMean", "onnx::ReduceMax", "onnx::ReduceMin", "onnx::ReduceProd",
    "onnx::ReduceL1", "onnx::ReduceL2", "onnx::ReduceSumSquare", "onnx::ReduceLogSum",
    "onnx::ReduceLogSumExp"};

/* Input and axes of reductions. */
static const char *const reduced[][2] = {
    {"T[]", "int64[0]"},
    {"T[1]", "int64[1] 0"},
    {"T[0,3]", "int64[1] 0"},
    {"T[3,0]", "int64[1] 0"},
    {"T[3,33]", "int64[1] 1"},
    {"T[2,7,5]", "int64[2] 0 2"},
    {"T[7,2,5]", "int64[1] 1"},
    {"T[777]", "int64[1] -1"},
};

static const CudaKernelCase lines[] = {
    {"Softmax", NULL, {"T[3,33]"}},
    {"Softmax", NULL, {"T[1]"}},
    {"Softmax", NULL, {"T[0,3]"}},
    {"Softmax", NULL, {"float32[2] inf 1"}},
    {"Softmax", NULL, {"float16[3] nan 1 2"}},
    {"Softmax", NULL, {"float64[2] -inf -inf"}},
    {"LogSoftmax", NULL, {"T[2,777]"}},
    {"onnx::Softmax", "axis=1", {"T[2,5,3]"}},
    {"onnx::LogSoftmax", "axis=0", {"T[5,3]"}},
    {"onnx::LayerNormalization", NULL, {"T[3,33]", "T[33]", "T[33]"}},
    {"onnx::LayerNormalization", "axis=1", {"T[2,3,5]", "T[3,5]"}},
    {"onnx::LayerNormalization", NULL, {"T[0,5]", "T[5]"}},
    {"onnx::BatchNormalization", NULL, {"T[2,3,5]", "T[3]", "T[3]", "T[3]", "T[3] 1 2 3"}},
    {"onnx::BatchNormalization", NULL, {"T[0,2]", "T[2]", "T[2]", "T[2]", "T[2] 1 2"}},
    {"Softmax", NULL, {"T[3,111]"}},
    {"LogSoftmax", NULL, {"T[0,3]"}},
    {"onnx::Softmax", "axis=1", {"T[3,111]"}},
    {"onnx::Softmax", "axis=1", {"T[0,3]"}},
    {"onnx::LogSoftmax", "axis=0", {"T[3,111]"}},
    {"onnx::LogSoftmax", "axis=1", {"T[0,3]"}},
    {"onnx::LayerNormalization", NULL, {"T[3,111]", "T[111]", "T[111]"}},
    {"onnx::BatchNormalization", NULL, {"T[2,3,55]", "T[3]", "T[3]", "T[3]", "T[3] 1 2 3"}},
    {"onnx::BatchNormalization", NULL,
        {"T[2,3,5]", "float32[3]", "float32[3]", "float32[3]", "float32[3] 1 2 3"}},
};

/* A scale for all elements, one for each position of an axis, without zero points; quotients that are halves,
 * beyond the ends and NaN. */
static const CudaKernelCase quantised[] = {
    {"onnx::QuantizeLinear", NULL, {"T[333]", "float32[] 0.25", "uint8[] 7"}},
    {"onnx::QuantizeLinear", NULL, {"T[2,3,5]", "T[3] 1 2 3", "int8[3] 1 -2 3"}},
    {"onnx::QuantizeLinear", "axis=-1", {"T[2,3]", "float16[3] 1 2 0.5", "int16[3] 1 -2 3"}},
    {"onnx::QuantizeLinear", NULL, {"T[5]", "bfloat16[1] 0.5", "uint16[1] 1"}},
    {"onnx::QuantizeLinear", NULL, {"T[0]", "float64[] 0.5", "uint8[] 1"}},
    {"onnx::QuantizeLinear", NULL, {"float32[8] 1 3 -1 nan inf -inf 1e9 5", "float32[] 2", "int8[] 0"}},
    {"onnx::QuantizeLinear", NULL, {"float32[3] 1 0 -1", "float32[] 0", "uint8[] 3"}},
    {"onnx::QuantizeLinear", NULL, {"float32[3] 1 0 -1", "float32[2] 1 2", "uint8[2] 3 3"}},
    {"onnx::QuantizeLinear", NULL, {"float32[1,2] 1 0", "float32[2] 1 2", "uint8[1] 3"}},
    {"onnx::DequantizeLinear", NULL, {"uint8[333]", "T[] 2", "uint8[] 7"}},
    {"onnx::DequantizeLinear", NULL, {"int8[2,3,5]", "T[3] 1 2 3", "int8[3] 1 -2 3"}},
    {"onnx::DequantizeLinear", "axis=0", {"int16[2,3]", "T[2] 1 2", "int16[2] 1 -2"}},
    {"onnx::DequantizeLinear", NULL, {"uint16[5]", "T[1] 1", "uint16[1] 65535"}},
    {"onnx::DequantizeLinear", NULL, {"int32[3] 2147483647 -2147483648 5", "T[] 1"}},
    {"onnx::DequantizeLinear", NULL, {"uint8[0]", "T[] 1", "uint8[] 7"}},
    {"onnx::DequantizeLinear", NULL, {"T[333]", "float32[] 0.5"}},
    {"onnx::DynamicQuantizeLinear", NULL, {"float32[333]"}},
    {"onnx::DynamicQuantizeLinear", NULL, {"float32[70000]"}},
    {"onnx::DynamicQuantizeLinear", NULL, {"float32[0]"}},
    {"onnx::DynamicQuantizeLinear", NULL, {"float32[3] 1 2 3"}},
    {"onnx::DynamicQuantizeLinear", NULL, {"float32[3] -1 -2 nan"}},
    {"onnx::DynamicQuantizeLinear", NULL, {"float32[2] 0 0"}},
    {"onnx::MatMulInteger", NULL, {"T[3,5]", "T[5,7]", "T[] 1", "T[] 2"}},
    {"onnx::MatMulInteger", NULL, {"T[2,3,5]", "uint8[5,2]", "T[3] 1 2 3", "uint8[2] 1 2"}},
    {"onnx::MatMulInteger", NULL, {"T[33,40]", "int8[40,17]"}},
    {"onnx::MatMulInteger", NULL, {"T[0,5]", "int16[5,7]"}},
    {"onnx::MatMulInteger", NULL, {"T[3,0]", "uint16[0,7]"}},
    {"onnx::MatMulInteger", NULL, {"uint8[2,2] 1 2 3 4", "int8[2,2] 1 2 3 4", "uint8[3] 1 2 3", "int8[] 0"}},
    {"onnx::QLinearMatMul", NULL,
        {"T[3,5]", "float32[] 0.5", "T[] 1", "uint8[5,7]", "float32[] 0.25", "uint8[] 2", "float32[] 3",
            "uint8[] 9"}},
    {"onnx::QLinearMatMul", NULL,
        {"T[2,3,5]", "float16[3] 0.5 1 2", "T[3] 1 2 3", "int8[5,2]", "float16[2] 0.25 1", "int8[2] 2 1",
            "float16[] 3", "int8[] 9"}},
    {"onnx::QLinearMatMul", NULL,
        {"T[19,20]", "float64[] 0.5", "T[] 1", "int16[20,19]", "float64[] 0.25", "int16[] 2", "float64[] 3",
            "uint16[] 9"}},
    {"onnx::QLinearMatMul", NULL,
        {"T[0,5]", "float32[] 0.5", "T[] 1", "uint8[5,7]", "float32[] 0.25", "uint8[] 2", "float32[] 3",
            "T[] 9"}},
};

/* Products of matrices as they lie and turned, batches of them, sums of all kinds, diagonals, operands that
 * broadcast, and no elements. */
static const CudaKernelCase einsums[] = {
    {"Einsum", "equation=ij,jk->ik", {"T[3,5]", "T[5,7]"}},
    {"Einsum", "equation=ij,kj->ki", {"T[33,5]", "T[9,5]"}},
    {"Einsum", "equation=bthd,bshd->bhts", {"T[2,3,4,5]", "T[2,7,4,5]"}},
    {"Einsum", "equation=bhts,bshd->bthd", {"T[2,4,3,7]", "T[2,7,4,5]"}},
    {"Einsum", "equation=acbe,aecd->abcd", {"T[2,3,5,7]", "T[2,7,3,4]"}},
    {"Einsum", "equation=aecd,abcd->acbe", {"T[2,7,3,4]", "T[2,5,3,4]"}},
    {"Einsum", "equation=abc,cde->abde", {"T[2,3,5]", "T[5,4,6]"}},
    {"Einsum", "equation=abcd,cde->abe", {"T[2,3,4,5]", "T[4,5,6]"}},
    {"Einsum", "equation=ij,kj->kji", {"T[3,5]", "T[4,5]"}},
    {"Einsum", "equation=i,j->ij", {"T[3]", "T[333]"}},
    {"Einsum", "equation=ij,j->i", {"T[3,5]", "T[5]"}},
    {"Einsum", "equation=bi,bi->b", {"T[3,300]", "T[3,300]"}},
    {"Einsum", "equation=i,i->", {"T[777]", "T[777]"}},
    {"Einsum", "equation=...ij,...jk->...ik", {"T[1,2,3,5]", "T[4,1,5,2]"}},
    {"Einsum", "equation=ij,jk", {"T[0,5]", "T[5,7]"}},
    {"Einsum", "equation=ij,jk->ik", {"T[3,0]", "T[0,7]"}},
    {"Einsum", "equation=ij,jk->ik", {"float32[1,2] 1 2", "float32[3,1] 1 2 3"}},
    {"Einsum", "equation=ii->i", {"T[17,17]"}},
    {"Einsum", "equation=ii,ij->ij", {"T[5,5]", "T[5,60]"}},
    {"Einsum", "equation=i->ii", {"T[17]"}},
    {"Einsum", "equation=ab,bc,cd->ad", {"T[2,3]", "T[3,4]", "T[4,5]"}},
    {"onnx::Einsum", "equation=...ii->...i", {"T[3,5,5]"}},
    {"onnx::Einsum", "equation=ij->ji", {"T[3,111]"}},
    {"onnx::Einsum", "equation=ij->i", {"T[3,777]"}},
    {"onnx::Einsum", "equation=bij, bjk -> bik", {"T[5,2,3]", "T[5,3,4]"}},
    {"onnx::Einsum", "equation=i,i", {"T[0]", "T[0]"}},
};

/* Infinities and NaN, of which the largest score is taken. */
static const CudaKernelCase ends_of_scores[] = {
    {"onnx::Hardmax", NULL, {"T[3,33]"}},
    {"onnx::Hardmax", "axis=1", {"T[3,111,2]"}},
    {"onnx::Hardmax", "axis=0", {"T[0,3]"}},
    {"onnx::Hardmax", NULL, {"float32[2,4] nan 1 2 2 -inf -inf -inf -inf"}},
    {"onnx::Hardmax", NULL, {"float16[2,2] nan nan inf inf"}},
    {"onnx::ReduceLogSumExp", NULL, {"float32[2,3] inf 1 inf -inf -inf -inf", "int64[1] 1"}},
    {"onnx::ReduceLogSumExp", NULL, {"float64[2,3] nan 1 inf -inf 1000 1001", "int64[1] 1"}},
    {"onnx::ReduceLogSumExp", NULL, {"float16[2,3] nan nan nan 7 7 7", "int64[1] 0"}},
};

static const CudaKernelCase channel_norms[] = {
    {"onnx::InstanceNormalization", NULL, {"T[2,3,5]", "T[3]", "T[3]"}},
    {"onnx::InstanceNormalization", "epsilon=0.5", {"T[2,3,5,111]", "T[3]", "T[3]"}},
    {"onnx::InstanceNormalization", NULL, {"T[0,3,5]", "T[3]", "T[3]"}},
    {"onnx::InstanceNormalization", NULL, {"T[2,3]", "T[3]", "T[3]"}},
    {"FusedBatchNorm", "is_training=false", {"T[2,3,2,5]", "T[5]", "T[5]", "T[5]", "T[5] 1 2 3 4 5"}},
    {"FusedBatchNorm", "is_training=false; data_format=NCHW",
        {"T[2,3,5,11]", "T[3]", "T[3]", "T[3]", "T[3] 1 2 3"}},
    {"FusedBatchNorm", "is_training=false", {"T[0,3,2,2]", "T[2]", "T[2]", "T[2]", "T[2] 1 2"}},
    {"FusedBatchNormV2", "is_training=false", {"T[2,3,40,2]", "T[2]", "T[2]", "T[2]", "T[2] 1 2"}},
    {"FusedBatchNormV2", "is_training=false", {"T[0,3,2,2]", "T[2]", "T[2]", "T[2]", "T[2] 1 2"}},
    {"FusedBatchNormV3", "is_training=false", {"T[2,3,40,2]", "T[2]", "T[2]", "T[2]", "T[2] 1 2"}},
    {"FusedBatchNormV3", "is_training=false", {"T[0,3,2,2]", "T[2]", "T[2]", "T[2]", "T[2] 1 2"}},
    {"FusedBatchNormV2", "is_training=false",
        {"T[2,3,4,2]", "float32[2]", "float32[2]", "float32[2]", "float32[2] 1 2"}},
    {"FusedBatchNormV3", "is_training=false",
        {"T[2,3,4,2]", "float32[2]", "float32[2]", "float32[2]", "float32[2] 1 2"}},
    {"BiasAddGrad", NULL, {"T[2,3,5]"}},
    {"BiasAddGrad", NULL, {"T[3,111]"}},
    {"BiasAddGrad", "data_format=NCHW", {"T[2,3,5,7]"}},
    {"BiasAddGrad", NULL, {"T[0,3]"}},
    {"L2Loss", NULL, {"T[3,111]"}},
    {"L2Loss", NULL, {"T[]"}},
    {"L2Loss", NULL, {"T[0,3]"}},
    {"L2Loss", NULL, {"T[3] 1 nan inf"}},
};

/* Statistics of rows, of groups of channels, of any axes, and of lines of zeros. */
static const CudaKernelCase group_norms[] = {
    {"onnx::RMSNormalization", NULL, {"T[3,33]", "T[33]"}},
    {"onnx::RMSNormalization", "axis=1; epsilon=0.5", {"T[2,3,111]", "T[3,111]"}},
    {"onnx::RMSNormalization", "axis=1", {"T[2,3,5]", "T[3,1]"}},
    {"onnx::RMSNormalization", "axis=0", {"T[2,3,5]", "T[]"}},
    {"onnx::RMSNormalization", NULL, {"T[2,3,5]", "T[2,1,5]"}},
    {"onnx::RMSNormalization", NULL, {"T[0,5]", "T[5]"}},
    {"onnx::RMSNormalization", NULL, {"T[3,0]", "T[0]"}},
    {"onnx::RMSNormalization", NULL, {"float32[1,3] 1 nan inf", "float32[3] 1 2 3"}},
    {"onnx::GroupNormalization", "num_groups=2", {"T[2,4,5]", "T[4]", "T[4]"}},
    {"onnx::GroupNormalization", "num_groups=3; epsilon=0.5", {"T[2,3,5,37]", "T[3]", "T[3]"}},
    {"onnx::GroupNormalization", "num_groups=2; scales_groups=1", {"T[2,4,3]", "T[2]", "T[2]"}},
    {"onnx::GroupNormalization", "num_groups=1", {"T[3,6]", "T[6]", "T[6]"}},
    {"onnx::GroupNormalization", "num_groups=2", {"T[0,4,5]", "T[4]", "T[4]"}},
    {"onnx::MeanVarianceNormalization", NULL, {"T[2,3,5,7]"}},
    {"onnx::MeanVarianceNormalization", "axes=[1,-1]", {"T[2,3,5,37]"}},
    {"onnx::MeanVarianceNormalization", "axes=[0]", {"T[3,111]"}},
    {"onnx::MeanVarianceNormalization", "axes=[0]", {"T[3,0]"}},
    {"onnx::LpNormalization", NULL, {"T[3,111]"}},
    {"onnx::LpNormalization", "p=1; axis=0", {"T[3,111]"}},
    {"onnx::LpNormalization", "axis=1", {"T[2,3,5]"}},
    {"onnx::LpNormalization", NULL, {"T[2,3] 0 0 0 3 -4 0"}},
    {"onnx::LpNormalization", NULL, {"T[0,3]"}},
};

/* Losses of one place and of many, weighed, left out, reduced in each way, and of labels that are none. */
static const CudaKernelCase label_losses[] = {
    {"onnx::NegativeLogLikelihoodLoss", NULL, {"T[3,5]", "int64[3] 4 0 2"}},
    {"onnx::NegativeLogLikelihoodLoss", "reduction=none", {"T[2,5,3]", "int32[2,3] 4 0 2 1 1 3"}},
    {"onnx::NegativeLogLikelihoodLoss", "reduction=sum", {"T[2,5,3]", "int64[2,3] 4 0 2 1 1 3", "T[5]"}},
    {"onnx::NegativeLogLikelihoodLoss", "ignore_index=-7", {"T[2,3,2]", "int64[2,2] 2 -7 0 1", "T[3] 1 2 3"}},
    {"onnx::NegativeLogLikelihoodLoss", "ignore_index=1", {"T[1,3]", "int64[1] 1"}},
    {"onnx::NegativeLogLikelihoodLoss", "reduction=none", {"T[1,3,400]", "int64[1,400] 1 ..."}},
    {"onnx::NegativeLogLikelihoodLoss", NULL, {"T[3,5]", "int64[3] 4 5 -1"}},
    {"onnx::NegativeLogLikelihoodLoss", NULL, {"T[3,5]", "int32[3] 4 0 -1"}},
    {"onnx::NegativeLogLikelihoodLoss", "reduction=none", {"T[0,5]", "int64[0]"}},
    {"onnx::NegativeLogLikelihoodLoss", "reduction=sum", {"T[0,5]", "int64[0]"}},
    {"onnx::NegativeLogLikelihoodLoss", NULL, {"T[0,5]", "int64[0]"}},
    {"onnx::SoftmaxCrossEntropyLoss", NULL, {"T[3,5]", "int64[3] 4 0 2"}},
    {"onnx::SoftmaxCrossEntropyLoss", "reduction=none", {"T[2,5,3]", "int32[2,3] 4 0 2 1 1 3", "T[5]"}},
    {"onnx::SoftmaxCrossEntropyLoss", "reduction=sum; ignore_index=2",
        {"T[2,300,2]", "int64[2,2] 299 2 0 1", "T[300]"}},
    {"onnx::SoftmaxCrossEntropyLoss", NULL, {"T[2,5]", "int64[2] 5 0"}},
    {"onnx::SoftmaxCrossEntropyLoss", "reduction=none", {"T[0,5]", "int64[0]"}},
};

/* Both layouts, heads that share keys, a past, masks of all ranks and types, caps, windows, lengths, and rows
 * in which nothing may be looked at. */
static const CudaKernelCase attentions[] = {
    {"onnx::Attention", NULL, {"T[2,3,5,4]", "T[2,3,7,4]", "T[2,3,7,6]"}},
    {"onnx::Attention", NULL, {"T[1,1,1,1]", "T[1,1,1,1]", "T[1,1,1,1]"}},
    {"onnx::Attention", "is_causal=1; scale=0.3", {"T[1,2,5,33]", "T[1,2,300,33]", "T[1,2,300,17]"}},
    {"onnx::Attention", "q_num_heads=4; kv_num_heads=2", {"T[2,5,12]", "T[2,7,6]", "T[2,7,10]"}},
    {"onnx::Attention", "softcap=0.5; qk_matmul_output_mode=1; score_outputs=1",
        {"T[2,6,5,4]", "T[2,3,7,4]", "T[2,3,7,6]", "bool[5,7]"}},
    {"onnx::Attention", "qk_matmul_output_mode=2; score_outputs=1",
        {"T[2,6,3,4]", "T[2,3,2,4]", "T[2,3,2,6]", "T[2,1,1,6]", "T[2,3,5,4]", "T[2,3,5,6]"}},
    {"onnx::Attention",
        "is_causal=1; qk_matmul_output_mode=3; score_outputs=1; q_num_heads=2; kv_num_heads=2",
        {"T[2,3,8]", "T[2,4,8]", "T[2,4,6]", "", "T[2,2,5,4]", "T[2,2,5,3]"}},
    {"onnx::Attention", "score_outputs=1",
        {"T[1,1,2,4]", "T[1,1,3,4]", "T[1,1,3,4]", "bool[2,3] 0 0 0 1 0 1"}},
    {"onnx::Attention", "left_window_size=1; right_window_size=2",
        {"T[1,2,9,4]", "T[1,2,9,4]", "T[1,2,9,4]"}},
    {"onnx::Attention", "is_causal=1; left_window_size=0",
        {"T[2,1,3,4]", "T[2,1,6,4]", "T[2,1,6,4]", "int32[3,6]", "", "", "int64[2] 6 4"}},
    {"onnx::Attention", NULL,
        {"T[2,1,3,4]", "T[2,1,6,4]", "T[2,1,6,4]", "float64[6]", "", "", "int64[2] 0 5"}},
    {"onnx::Attention", NULL, {"T[2,1,3,4]", "T[2,1,6,4]", "T[2,1,6,4]", "", "", "", "int64[2] 3 7"}},
    {"onnx::Attention", NULL, {"T[2,1,3,4]", "T[2,1,6,4]", "T[2,1,6,4]", "", "", "", "int64[2] -1 7"}},
    {"onnx::Attention", NULL, {"T[0,3,5,4]", "T[0,3,7,4]", "T[0,3,7,6]"}},
    {"onnx::Attention", NULL, {"T[1,2,3,4]", "T[1,2,0,4]", "T[1,2,0,6]"}},
    {"onnx::Attention", NULL, {"T[1,2,3,4]", "T[1,2,5,4]", "T[1,2,5,0]"}},
};

/* Both layouts and kinds of pairs, vectors that are rotated in part, and positions that are none. */
static const CudaKernelCase rotations[] = {
    {"onnx::RotaryEmbedding", NULL, {"T[2,3,5,8]", "T[9,4]", "T[9,4]", "int64[2,5] 0 1 2 3 8 4 ..."}},
    {"onnx::RotaryEmbedding", "interleaved=1", {"T[1,2,33,8]", "T[1,33,4]", "T[1,33,4]"}},
    {"onnx::RotaryEmbedding", "num_heads=3; rotary_embedding_dim=4", {"T[2,5,24]", "T[2,5,2]", "T[2,5,2]"}},
    {"onnx::RotaryEmbedding", "rotary_embedding_dim=4; interleaved=1",
        {"T[1,1,1,7]", "T[1,1,2]", "T[1,1,2]"}},
    {"onnx::RotaryEmbedding", NULL, {"T[1,1,3,2]", "T[4,1]", "T[4,1]", "int64[1,3] 0 4 -1"}},
    {"onnx::RotaryEmbedding", NULL, {"T[0,3,5,8]", "T[0,5,4]", "T[0,5,4]"}},
};

/* All modes in all dimensions with all paddings, far outside of the image, and in images of one element. */
static const CudaKernelCase samples[] = {
    {"onnx::GridSample", NULL, {"T[2,3,5,4]", "T[2,7,6,2]"}},
    {"onnx::GridSample", "align_corners=1", {"T[1,2,5,4]", "float32[1,3,3,2]"}},
    {"onnx::GridSample", "padding_mode=border", {"T[1,2,5,4]", "float64[1,3,3,2]"}},
    {"onnx::GridSample", "padding_mode=reflection", {"T[1,2,5,4]", "float32[1,3,50,2]"}},
    {"onnx::GridSample", "padding_mode=reflection; align_corners=1", {"T[1,2,5,4]", "float32[1,3,50,2]"}},
    {"onnx::GridSample", "mode=nearest", {"T[1,2,5,4]", "float32[1,3,3,2]"}},
    {"onnx::GridSample", "mode=nearest; padding_mode=reflection", {"T[1,1,5,4]", "float32[1,3,3,2]"}},
    {"onnx::GridSample", "mode=cubic", {"T[1,2,5,4]", "float32[1,3,3,2]"}},
    {"onnx::GridSample", "mode=cubic; padding_mode=border", {"T[1,2,5,4]", "float32[1,3,3,2]"}},
    {"onnx::GridSample", "mode=cubic; padding_mode=reflection; align_corners=1",
        {"T[1,2,5,4]", "float32[1,3,3,2]"}},
    {"onnx::GridSample", NULL, {"T[1,2,3,4,5]", "float32[1,2,3,4,3]"}},
    {"onnx::GridSample", "mode=cubic", {"T[1,1,3,4,5]", "float32[1,2,1,2,3]"}},
    {"onnx::GridSample", NULL, {"T[1,2,5]", "float32[1,7,1]"}},
    {"onnx::GridSample", "padding_mode=reflection; align_corners=1", {"T[1,1,1,1]", "float32[1,2,2,2]"}},
    {"onnx::GridSample", NULL, {"T[1,1,2,2]", "float32[1,2,2,2] nan 0 inf 0 -inf 1 0 0"}},
    {"onnx::GridSample", NULL, {"T[1,1,0,2]", "float32[1,2,2,2]"}},
    {"onnx::GridSample", NULL, {"T[0,3,5,4]", "float32[0,7,6,2]"}},
    {"onnx::GridSample", "mode=round", {"T[1,1,2,2]", "float32[1,2,2,2]"}},
};

/* Returns whether all inputs are of one dtype, from which that of the output follows. */
static bool
is_generic(const Op *op)
{
    if (op == NULL || (op->flags & OP_ELEMENTWISE) == 0 || op->input_count == 0 || op->input_count > 3) {
        return false;
    }
    for (size_t index = 0; index < op->input_count; index++) {
        const OpArgument *input = &op->inputs[index];
        if (input->number_attr.size > 0 || input->is_optional || input->dtype != op->inputs[0].dtype ||
            !slice_equal(input->type_attr, op->inputs[0].type_attr)) {
            return false;
        }
    }
    const OpArgument *output = &op->outputs[0];
    return output->dtype != DTYPE_INVALID || slice_equal(output->type_attr, op->inputs[0].type_attr);
}

static void
compare_at_all_shapes(const Op *op, const char *name)
{
    for (size_t index = 0; index < COUNT_OF(shapes); index++) {
        char inputs[3][32];
        CudaKernelCase kernel_case = {.op = name};
        for (size_t input = 0; input < op->input_count; input++) {
            bool is_bool = op->inputs[input].dtype == DTYPE_BOOL;
            (void)snprintf(inputs[input], sizeof inputs[input], "%s%s", is_bool ? "bool" : "T",
                shapes[index][input] + 1);
            kernel_case.inputs[input] = inputs[input];
        }
        cuda_kernels_compare(&kernel_case, 1);
    }
}

static void
functions_of_elements(void **state)
{
    (void)state;
    for (size_t family = 0; family < cuda_kernels_table_count; family++) {
        for (size_t index = 0; index < cuda_kernels_table[family]->kernel_count; index++) {
            const char *name = cuda_kernels_table[family]->kernels[index].op;
            const Op *op = op_find(slice_from_string(name));
            if (is_generic(op) && !cuda_kernels_compared(name)) {
                compare_at_all_shapes(op, name);
            }
        }
    }
}

static void
choices_between_elements(void **state)
{
    (void)state;
    cuda_kernels_compare(choices, COUNT_OF(choices));
}

static void
folds_of_inputs(void **state)
{
    (void)state;
    cuda_kernels_compare(folds, COUNT_OF(folds));
}

static void
casts_between_all_types(void **state)
{
    (void)state;
    for (Dtype dtype = DTYPE_BOOL; dtype <= DTYPE_FLOAT64; dtype++) {
        char attrs[64];
        (void)snprintf(attrs, sizeof attrs, "DstT=%s", dtype_name(dtype));
        cuda_kernels_compare(&(CudaKernelCase){"Cast", attrs, {"T[333]"}}, 1);
    }
    static const CudaKernelCase ends[] = {
        {"Cast", "DstT=int32", {"float32[6] nan inf -inf 1e10 -1e10 -1.5"}},
        {"Cast", "DstT=uint32", {"float32[6] nan inf -inf 3e9 -1e10 -1.5"}},
        {"Cast", "DstT=uint8", {"float64[6] nan inf 3e9 300 -1e10 -1.5"}},
        {"Cast", "DstT=int64", {"float32[6] nan inf -inf 1e30 -1e30 -1.5"}},
        {"Cast", "DstT=uint64", {"float64[6] nan inf -inf 1e30 -1e30 -1.5"}},
        {"Cast", "DstT=int8", {"float64[4] 300 -300 127.9 -128.9"}},
        {"Cast", "DstT=bool", {"float32[4] nan 0 -0 1e-30"}},
        {"Cast", "DstT=float16", {"float64[4] 1e30 65519 65520 -1e-8"}},
    };
    cuda_kernels_compare(ends, COUNT_OF(ends));
    static const CudaKernelCase onnx[] = {
        {"onnx::Cast", "to=int32", {"T[333]"}},
        {"onnx::Cast", "to=bfloat16", {"T[0]"}},
        {"onnx::CastLike", NULL, {"T[333]", "float16[1]"}},
        {"onnx::CastLike", NULL, {"T[0]", "float16[1]"}},
    };
    cuda_kernels_compare(onnx, COUNT_OF(onnx));
}

static void
moved_elements(void **state)
{
    (void)state;
    cuda_kernels_compare(movements, COUNT_OF(movements));
    cuda_kernels_compare(diagonals, COUNT_OF(diagonals));
    cuda_kernels_compare(borders, COUNT_OF(borders));
}

static void
resized_images(void **state)
{
    (void)state;
    cuda_kernels_compare(images, COUNT_OF(images));
}

static void
elements_selected_by_index(void **state)
{
    (void)state;
    cuda_kernels_compare(gathers, COUNT_OF(gathers));
}

static void
slices_folded_by_where_they_go(void **state)
{
    (void)state;
    cuda_kernels_compare(scatters, COUNT_OF(scatters));
    cuda_kernels_compare(segments, COUNT_OF(segments));
}

static void
divisions_of_integers(void **state)
{
    (void)state;
    cuda_kernels_compare(divisions, COUNT_OF(divisions));
}

static void
shifts_of_integers(void **state)
{
    (void)state;
    cuda_kernels_compare(shifts, COUNT_OF(shifts));
}

static void
special_functions_at_their_edges(void **state)
{
    (void)state;
    cuda_kernels_compare(specials, COUNT_OF(specials));
}

static void
tensors_of_few_numbers(void **state)
{
    (void)state;
    cuda_kernels_compare(generated, COUNT_OF(generated));
}

/* Compares an op along all lines; ONNX's ArgMax has the axis in an attribute. */
static void
compare_along(const char *op, const char *attrs, bool has_axis_attr)
{
    for (size_t index = 0; index < COUNT_OF(along); index++) {
        char axis[64];
        char all_attrs[128];
        (void)snprintf(axis, sizeof axis, "int32[] %s", along[index][1]);
        (void)snprintf(all_attrs, sizeof all_attrs, "axis=%s; %s", along[index][1], attrs);
        CudaKernelCase kernel_case = {
            .op = op, .attrs = attrs[0] == '\0' ? NULL : attrs, .inputs = {along[index][0], axis}};
        if (has_axis_attr) {
            kernel_case = (CudaKernelCase){.op = op, .attrs = all_attrs, .inputs = {along[index][0]}};
        }
        cuda_kernels_compare(&kernel_case, 1);
    }
}

static void
sums_and_extremes_along_lines(void **state)
{
    (void)state;
    for (size_t index = 0; index < COUNT_OF(running); index++) {
        bool is_onnx = strncmp(running[index], "onnx::", 6) == 0;
        compare_along(running[index], "", false);
        compare_along(running[index], is_onnx ? "exclusive=1" : "exclusive=true", false);
        compare_along(
            running[index], is_onnx ? "reverse=1; exclusive=1" : "reverse=true; exclusive=true", false);
        compare_along(running[index], is_onnx ? "reverse=1" : "reverse=true", false);
    }
    for (size_t index = 0; index < COUNT_OF(extremes); index++) {
        bool is_onnx = strncmp(extremes[index], "onnx::", 6) == 0;
        compare_along(extremes[index], is_onnx ? "keepdims=0" : "", is_onnx);
    }
    cuda_kernels_compare(ends_of_lines, COUNT_OF(ends_of_lines));
}

static void
reductions_of_dimensions(void **state)
{
    (void)state;
    for (size_t index = 0; index < COUNT_OF(reductions); index++) {
        for (size_t shape = 0; shape < COUNT_OF(reduced); shape++) {
            bool is_bool = strcmp(reductions[index], "Any") == 0 || strcmp(reductions[index], "All") == 0;
            char input[32];
            (void)snprintf(input, sizeof input, "%s%s", is_bool ? "bool" : "T", reduced[shape][0] + 1);
            CudaKernelCase kernel_case = {reductions[index], NULL, {input, reduced[shape][1]}};
            cuda_kernels_compare(&kernel_case, 1);
        }
    }
}

static void
quantised_numbers(void **state)
{
    (void)state;
    cuda_kernels_compare(quantised, COUNT_OF(quantised));
}

static void
sums_of_products(void **state)
{
    (void)state;
    cuda_kernels_compare(einsums, COUNT_OF(einsums));
}

static void
softmax_and_norms(void **state)
{
    (void)state;
    cuda_kernels_compare(lines, COUNT_OF(lines));
    cuda_kernels_compare(ends_of_scores, COUNT_OF(ends_of_scores));
    cuda_kernels_compare(channel_norms, COUNT_OF(channel_norms));
    cuda_kernels_compare(group_norms, COUNT_OF(group_norms));
}

static void
attention_of_all_forms(void **state)
{
    (void)state;
    cuda_kernels_compare(attentions, COUNT_OF(attentions));
}

static void
rotated_pairs(void **state)
{
    (void)state;
    cuda_kernels_compare(rotations, COUNT_OF(rotations));
}

static void
sampled_images(void **state)
{
    (void)state;
    cuda_kernels_compare(samples, COUNT_OF(samples));
}

static void
losses_of_labels(void **state)
{
    (void)state;
    cuda_kernels_compare(label_losses, COUNT_OF(label_losses));
}

/* Families whose cases are in tests/unit/worker/cuda. */
static const char *const elsewhere[] = {"attention", "batch_norm", "cells", "convolution", "gradient",
    "interpolate", "list", "loss", "lstm", "matmul", "matrix", "optimise", "order", "pooling",
    "pooling_gradient", "random", "response", "variable"};

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_all_cases(elsewhere, COUNT_OF(elsewhere));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices_between_elements),
        cmocka_unit_test(folds_of_inputs),
        cmocka_unit_test(casts_between_all_types),
        cmocka_unit_test(shifts_of_integers),
        cmocka_unit_test(functions_of_elements),
        cmocka_unit_test(moved_elements),
        cmocka_unit_test(resized_images),
        cmocka_unit_test(elements_selected_by_index),
        cmocka_unit_test(slices_folded_by_where_they_go),
        cmocka_unit_test(divisions_of_integers),
        cmocka_unit_test(special_functions_at_their_edges),
        cmocka_unit_test(tensors_of_few_numbers),
        cmocka_unit_test(sums_and_extremes_along_lines),
        cmocka_unit_test(reductions_of_dimensions),
        cmocka_unit_test(softmax_and_norms),
        cmocka_unit_test(attention_of_all_forms),
        cmocka_unit_test(rotated_pairs),
        cmocka_unit_test(sampled_images),
        cmocka_unit_test(losses_of_labels),
        cmocka_unit_test(quantised_numbers),
        cmocka_unit_test(sums_of_products),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests(tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
