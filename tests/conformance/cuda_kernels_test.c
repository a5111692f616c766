/* Kernels of the CUDA plugin that compute elements, lines and rows beside their reference kernels, and a
 * look at whether every kernel has such a test somewhere: in each dtype that it takes, at shapes of no
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
    {"onnx::Shrink", "lambd=1.5; bias=0.5", {"T[9] -2 -1.5 -1 -0 1 1.5 2 inf nan"}},
};

static const CudaKernelCase generated[] = {
    {"onnx::HannWindow", "output_datatype=T", {"int64[] 7"}},
    {"onnx::HannWindow", "output_datatype=T; periodic=0", {"int32[] 300"}},
    {"onnx::HannWindow", NULL, {"int64[] 0"}},
    {"onnx::HannWindow", "periodic=0", {"int32[] 1"}},
    {"onnx::HammingWindow", "output_datatype=T", {"int64[] 300"}},
    {"onnx::HammingWindow", "output_datatype=T", {"int32[] 0"}},
    {"onnx::BlackmanWindow", "output_datatype=T", {"int64[] 300"}},
    {"onnx::BlackmanWindow", NULL, {"int32[] 0"}},
    {"onnx::MelWeightMatrix", "output_datatype=T",
        {"int64[] 4", "int64[] 16", "int64[] 8192", "float32[] 0", "float32[] 4096"}},
    {"onnx::MelWeightMatrix", "output_datatype=T",
        {"int32[] 80", "int32[] 400", "int32[] 16000", "float64[] 20", "float64[] 8000"}},
    {"onnx::MelWeightMatrix", NULL, /* more than one launch */
        {"int64[] 600", "int64[] 512", "int64[] 8192", "float16[] 60", "float16[] 4096"}},
    {"onnx::MelWeightMatrix", NULL, /* a launch, and one band more */
        {"int64[] 255", "int64[] 4096", "int64[] 44100", "bfloat16[] 0", "bfloat16[] 20000"}},
    {"onnx::MelWeightMatrix", NULL, /* all corners lie behind the last bin */
        {"int32[] 1", "int32[] 3", "int32[] 8", "float64[] 4", "float64[] 4"}},
    {"onnx::MelWeightMatrix", NULL,
        {"int64[] 0", "int64[] 16", "int64[] 8192", "float32[] 0", "float32[] 4096"}},
    {"onnx::MelWeightMatrix", NULL,
        {"int64[] 4", "int64[] 16", "int64[] 8000", "float32[] 0", "float32[] 4096"}},
    {"onnx::MelWeightMatrix", NULL,
        {"int64[] 4", "int64[] 16", "int64[] 8000", "float32[2] 0 1", "float32[] 400"}},
    {"onnx::MelWeightMatrix", NULL, {"int64[] 4", "int64[] 16", "int64[] 8000", "float32[] 0", "float32[0]"}},
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
    {"Softmax", NULL, {"T[19,256]"}},
    {"Softmax", NULL, {"T[9,257]"}},
    {"LogSoftmax", NULL, {"T[17,32]"}},
    {"onnx::Softmax", "axis=1", {"T[3,40,5]"}},
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
    {"onnx::LayerNormalization", NULL, {"T[3,0]", "T[0]"}},
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

static const CudaKernelCase crosses[] = {
    {"Cross", NULL, {"T[3]", "T[3]"}},
    {"Cross", NULL, {"T[5,37,3]", "T[5,37,3]"}},
    {"Cross", NULL, {"T[0,3]", "T[0,3]"}},
    {"Cross", NULL, {"float32[3] inf nan 1", "float32[3] 0 1 2"}},
    {"Cross", NULL, {"int8[3] 127 -128 3", "int8[3] 100 2 -128"}},
    {"Cross", NULL, {"uint64[3] 18446744073709551615 2 3", "uint64[3] 7 9 1"}},
    {"Cross", NULL, {"T[2]", "T[2]"}},
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

/* Skips of each row, of rows that come again, and of one row for all. */
static const CudaKernelCase skip_norms[] = {
    {"com.microsoft::SkipLayerNormalization", NULL, {"T[3,33]", "T[3,33]", "T[33]"}},
    {"com.microsoft::SkipLayerNormalization", NULL, {"T[2,3,111]", "T[3,111]", "T[111]", "T[111]", "T[111]"}},
    {"com.microsoft::SkipLayerNormalization", "epsilon=0.5",
        {"T[2,3,1025]", "T[1025]", "T[1025]", "T[1025]"}},
    {"com.microsoft::SkipLayerNormalization", NULL, {"T[2,3,5]", "T[1,3,5]", "T[5]", "T[5]", "T[5]"}},
    {"com.microsoft::SkipLayerNormalization", NULL, {"T[0,5]", "T[0,5]", "T[5]"}},
    {"com.microsoft::SkipLayerNormalization", NULL, {"T[3,0]", "T[3,0]", "T[0]"}},
    {"com.microsoft::SkipLayerNormalization", NULL,
        {"float32[2,3] 1 nan 2 3 inf 4", "float32[3] 1 2 3", "float32[3] 1 2 3"}},
    {"com.microsoft::SkipSimplifiedLayerNormalization", NULL, {"T[3,33]", "T[3,33]", "T[33]"}},
    {"com.microsoft::SkipSimplifiedLayerNormalization", NULL,
        {"T[2,3,1025]", "T[3,1025]", "T[1025]", "T[1025]"}},
    {"com.microsoft::SkipSimplifiedLayerNormalization", NULL, {"T[0,5]", "T[5]", "T[5]"}},
    {"com.microsoft::SkipSimplifiedLayerNormalization", NULL, {"T[3,0]", "T[3,0]", "T[0]"}},
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
products_of_vectors(void **state)
{
    (void)state;
    cuda_kernels_compare(crosses, COUNT_OF(crosses));
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
softmax_and_norms(void **state)
{
    (void)state;
    cuda_kernels_compare(lines, COUNT_OF(lines));
    cuda_kernels_compare(ends_of_scores, COUNT_OF(ends_of_scores));
    cuda_kernels_compare(channel_norms, COUNT_OF(channel_norms));
    cuda_kernels_compare(group_norms, COUNT_OF(group_norms));
    cuda_kernels_compare(skip_norms, COUNT_OF(skip_norms));
}

/* Families whose cases are in other programs, here and in tests/unit/worker/cuda. */
static const char *const elsewhere[] = {"affine", "attention", "batch_norm", "blocks", "border", "causal",
    "cells", "chosen", "columns", "convolution", "count", "einsum", "fake_quantize", "fourier", "gather",
    "gradient", "group_query", "interpolate", "linear_attention", "list", "loss", "loss_onnx", "matmul",
    "matrix", "movement", "onnx_attention", "optimise", "order", "pooling", "pooling_gradient", "quantize",
    "quantized_convolution", "random", "recurrent", "regions", "resize", "response", "rotary", "sampling",
    "scatter", "scatter_onnx", "stitch", "suppression", "svd", "unique", "variable"};

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
        cmocka_unit_test(divisions_of_integers),
        cmocka_unit_test(products_of_vectors),
        cmocka_unit_test(special_functions_at_their_edges),
        cmocka_unit_test(tensors_of_few_numbers),
        cmocka_unit_test(sums_and_extremes_along_lines),
        cmocka_unit_test(reductions_of_dimensions),
        cmocka_unit_test(softmax_and_norms),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests(tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
