/* Operators of ONNX Runtime: models of one node give what onnxruntime 1.31.1 gives for them. */
#include <ctype.h>

#include "gateway/formats/onnx.h"
#include "shared/ops/registry.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/protobuf_writer.h"
#include "tests/support/reference_run.h"
#include "tests/support/tensor_literals.h"

enum { TENSORS_MAX = 16, TEXT_SIZE = 64, VALUE_SIZE = 128, LIST_MAX = 16, ARENA_SIZE = 1 << 24 };
enum { GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };

typedef struct ContribCase {
    const char *type;
    const char *attributes; /* "name=2; name=0.5": an int, a float with a point, a text, a list in brackets */
    const char *inputs[TENSORS_MAX];
    const char *outputs[TENSORS_MAX]; /* "": nobody asks for it */
} ContribCase;

/* Inputs of several cases: of attention to other tokens and to their own, and of embeddings. */
#define CROSS_QUERY "float32[1,2,4] 0 0.3 -0.27 -0.89 -0.45 -0.99 0.06 1.34"
#define CROSS_KEYS "float32[1,3,4] -0.49 -0.62 0.49 0.36 0.11 -0.93 -0.03 0.7 -1.34 -0.46 -1.9 -1.29"
#define CROSS_VALUES "float32[1,3,4] -1.84 -0.24 -1.27 0.27 0.16 -0.19 -2.52 -0.54 -0.05 0.11 -1.53 -0.48"
#define SELF_INPUT "float32[2,2,3] -0.46 -0.1 1.26 0.69 -0.33 -0.37 -0.25 1.52 -0.43 -0.3 0.35 -0.12"
#define SELF_WEIGHTS                                                                                         \
    "float32[3,12] -0.2 -1.11 -0.01 -0.44 1.17 0.65 -0.02 0.67 -0.34 1.05 -0.01 0.58 -1.29 0.35 "            \
    "-1.69 -2.04 -0.3 -0.9 0.16 2.24 -0.83 -0.62 0.21 0.49 -0.18 -0.21 0.7 0.52 -1.03 -0.08 0.04 "           \
    "-1.05 0.26 -0.86 0.97 0.19"
#define SELF_BIASES "float32[12] 0.09 -0.59 -0.12 -2 -1.13 0.36 -2.13 0.85 -1.75 0.76 -0.85 0.78"
#define WORD_ROWS "float32[4,3] -0.63 -1.76 0.73 -0.02 0.07 -0.75 0.45 -0.54 -0.14 -1.11 -1.22 1.34"
#define PLACE_ROWS "float32[3,3] -0.51 0.29 -0.03 -0.44 -0.51 0.63 -0.3 -0.15 0.02"

static const ContribCase cases[] = {
    {.type = "com.microsoft::QLinearAdd", /* without a zero point of the result */
        .attributes = "",
        .inputs = {"int8[4] -100 -7 5 90", "float32[] 0.5", "int8[] 3", "int8[4] -50 8 2 -120",
            "float32[] 0.25", "int8[] -1", "float32[] 0.5"},
        .outputs = {"int8[4] -128 -6 4 28"}},
    {.type = "ai.onnx.ml::LabelEncoder",
        .attributes = "keys_strings=[a,b]; values_int64s=[5,6]",
        .inputs = {"string[3] 'a' 'z' 'b'"},
        .outputs = {"int64[3] 5 -1 6"}},
    {.type = "ai.onnx.ml::LabelEncoder",
        .attributes = "keys_int64s=[1,2]; values_strings=[x,y]; default_string=none",
        .inputs = {"int64[2,2] 2 1 7 2"},
        .outputs = {"string[2,2] 'y' 'x' 'none' 'y'"}},
    {.type = "ai.onnx.ml::LabelEncoder",
        .attributes = "keys_floats=[1.5,2.5]; values_floats=[0.5,1.5]",
        .inputs = {"float32[3] 2.5 1.5 7"},
        .outputs = {"float32[3] 1.5 0.5 -0"}},
    {.type = "ai.onnx.ml::CategoryMapper",
        .attributes = "cats_strings=[a,b]; cats_int64s=[3,4]; default_int64=9",
        .inputs = {"string[3] 'a' 'z' 'b'"},
        .outputs = {"int64[3] 3 9 4"}},
    {.type = "ai.onnx.ml::CategoryMapper",
        .attributes = "cats_strings=[a,b]; cats_int64s=[3,4]; default_string=q",
        .inputs = {"int64[2] 3 5"},
        .outputs = {"string[2] 'a' 'q'"}},
    {.type = "ai.onnx.ml::FeatureVectorizer",
        .attributes = "inputdimensions=[2,1]",
        .inputs = {"int64[2,2] 1 2 3 4", "float32[2,1] 0.5 1.5"},
        .outputs = {"float32[2,3] 1 2 0.5 3 4 1.5"}},
    {.type = "ai.onnx.ml::SVMClassifier",
        .attributes = "kernel_type=LINEAR; vectors_per_class=[1,1]; coefficients=[1.0,-1.0]; rho=[0.5]; "
                      "support_vectors=[1.0,0.0,0.0,1.0]; classlabels_strings=[cat,dog]",
        .inputs = {"float32[2,2] 3 1 1 3"},
        .outputs = {"string[2] 'cat' 'dog'", "float32[2,2] -2.5 2.5 1.5 -1.5"}},
    {.type = "com.microsoft::Gelu",
        .attributes = "",
        .inputs = {"float32[4] -1.66 -1.05 1.21 0.33"},
        .outputs = {"float32[4] -0.08043901 -0.154202 1.073101 0.207669"}},
    {.type = "com.microsoft::BiasGelu",
        .attributes = "",
        .inputs = {"float32[2,3] -1.62 -0.27 -0.08 -1.36 0.94 -1.55", "float32[3] -0.44 0.07 -0.28"},
        .outputs = {"float32[2,3] -0.04058051 -0.08414806 -0.1293925 -0.0646746 0.8521899 -0.0615337"}},
    {.type = "com.microsoft::FastGelu",
        .attributes = "",
        .inputs = {"float32[4] 0.35 0.95 1.83 -0.86"},
        .outputs = {"float32[4] 0.2228862 0.7873617 1.768423 -0.1677129"}},
    {.type = "com.microsoft::FastGelu",
        .attributes = "",
        .inputs = {"float32[2,2] 0.59 0.78 -0.83 -1.99", "float32[2] 1.89 -0.81"},
        .outputs = {"float32[2,2] 2.464141 -0.01464102 0.90658 -0.006688904"}},
    {.type = "com.microsoft::QuickGelu",
        .attributes = "",
        .inputs = {"float32[4] -0.74 1.57 0.34 -0.11"},
        .outputs = {"float32[4] -0.1635869 1.468519 0.2178596 -0.04986643"}},
    {.type = "com.microsoft::QuickGelu",
        .attributes = "alpha=1.0",
        .inputs = {"float32[4] 1.09 -1.88 0.83 -0.5"},
        .outputs = {"float32[4] 0.8157361 -0.2488911 0.5779746 -0.1887704"}},
    {.type = "com.microsoft::FusedMatMul",
        .attributes = "",
        .inputs = {"float32[2,3] -1.64 0.64 1.73 -1.17 0.52 -0.81", "float32[3,1] 0.97 0.89 -1.13"},
        .outputs = {"float32[2,1] -2.9761 0.2432"}},
    {.type = "com.microsoft::FusedMatMul",
        .attributes = "transA=1; transB=1; alpha=0.5",
        .inputs = {"float32[2,3,2] 1.32 0.63 0.73 1.28 -0.29 1.03 1.51 -1.59 1.4 -0.42 -0.08 -1.41",
            "float32[2,3] 0.79 -0.83 1.48 -0.9 0.25 -0.4"},
        .outputs =
            {"float32[2,2,2] 0.003850043 -0.44475 0.47985 -0.3295 -0.04374995 -0.4885 -1.49715 0.945"}},
    {.type = "SimplifiedLayerNormalization",
        .attributes = "epsilon=0.001; axis=-1",
        .inputs = {"float32[2,3] 0.45 -1.21 -1.28 0.99 1.01 0.27", "float32[3] 1.68 -1.18 1.4"},
        .outputs = {"float32[2,3] 0.7199455 1.359707 -1.706538 1.999314 -1.432649 0.4543895"}},
    {.type = "com.microsoft::SkipLayerNormalization",
        .attributes = "epsilon=0.001",
        .inputs = {"float32[1,2,3] -1.32 1.86 0.49 0.43 1.88 1.15",
            "float32[1,2,3] 1.16 -1.78 -0.52 -1.66 -1.23 -1.14", "float32[3] 1.43 -1.49 -0.81"},
        .outputs = {"float32[1,2,3] -1.711232 -1.686652 -0.05239479 -1.90406 -1.602422 -0.2074084"}},
    {.type = "com.microsoft::SkipLayerNormalization",
        .attributes = "epsilon=0.001",
        .inputs = {"float32[2,2,3] -0.03 1.4 1.86 0.83 -1.15 0.18 0.82 -1.79 0.72 -0.53 0.36 0.68",
            "float32[2,3] 0.68 0.09 0.22 -1.21 -0.02 -1.5", "float32[3] -0.08 0.14 1.1",
            "float32[3] -0.43 -1.92 0.11", "float32[3] -1.18 0.97 -0.45"},
        .outputs = {"float32[2,2,3] -0.3210632 -1.778594 0.4968312 -0.3859783 -1.723721 -0.8268957 "
                    "-0.4734204 -2.116009 1.053037 -0.3399386 -1.737465 -0.08586055",
            "", "",
            "float32[2,2,3] -0.5299999 2.46 1.63 -1.56 -0.1999999 -1.77 0.3200001 -0.7299999 0.4900001 -2.92 "
            "1.31 -1.27"}},
    {.type = "com.microsoft::SkipSimplifiedLayerNormalization",
        .attributes = "epsilon=0.001",
        .inputs = {"float32[1,2,3] -0.48 1.64 -0.43 -0.6 -0.61 -0.08",
            "float32[1,2,3] -1.63 0.19 1.69 0.25 0.98 1.79", "float32[3] 1.37 0.98 1.25",
            "float32[3] 1.28 -0.98 -0.07"},
        .outputs = {"float32[1,2,3] -1.170652 0.8575788 1.531391 1.113243 -0.5223269 1.791184", "", "",
            "float32[1,2,3] -0.8299999 0.8499999 1.19 0.9299999 -0.61 1.64"}},
    {.type = "com.microsoft::RotaryEmbedding",
        .attributes = "",
        .inputs = {"float32[1,2,2,4] -0.63 -0.95 0.29 -0.73 0.47 0.33 -1.58 -0.23 -0.44 0.83 -1.65 -1.32 "
                   "0.05 -0.38 0.66 -0.67",
            "int64[1,2] 1 0", "float32[3,2] -1.21 1.73 -1.02 -1.41 -0.88 -0.64",
            "float32[3,2] -1.1 0.15 1.75 -1.5 -0.34 0.67"},
        .outputs = {"float32[1,2,2,4] 0.1351 0.2444999 -1.3983 2.4543 -2.3067 0.6054 1.3948 -0.3484 3.3363 "
                    "-3.1503 0.913 0.6162 0.6655 -0.5569 -0.8536001 -1.2161"}},
    {.type = "com.microsoft::MultiHeadAttention",
        .attributes = "num_heads=2",
        .inputs = {"float32[1,2,4] 1.54 2 -1.43 0.15 1.52 -1.79 0.35 -1.3",
            "float32[1,3,4] 1.07 1.75 0.15 -1.96 -1.74 -0.34 1.39 -1.05 0.68 -0.38 -0.94 0.82",
            "float32[1,3,4] -0.77 -0.51 1.06 -0.02 1.14 0.07 -1.36 -0.23 1.49 0.26 1.86 -2"},
        .outputs = {"float32[1,2,4] -0.6952393 -0.4846953 1.521758 -1.526578 1.271283 0.1812273 0.224184 "
                    "-0.1662611"}},
    {.type = "com.microsoft::MultiHeadAttention",
        .attributes = "num_heads=2; scale=0.25",
        .inputs = {"float32[1,2,4] -0.64 1.08 0.74 0.24 0.65 1.51 0.73 0.19",
            "float32[1,2,4] 0.25 0.67 -0.7 0.68 0.46 1.14 -0.08 -1.89",
            "float32[1,2,4] 0.15 1.43 0.56 0.57 -0.44 -0.57 0.88 -1.69",
            "float32[12] 1.47 1.51 1.85 -1.46 -1.54 1.58 -0.4 -0.92 -0.47 0.64 -1.35 -0.05"},
        .outputs = {"float32[1,2,4] -0.6658038 0.8977835 -0.5449122 -1.210933 -0.6825385 0.8410557 "
                    "-0.5431723 -1.223221"}},
    {.type = "com.microsoft::MultiHeadAttention",
        .attributes = "num_heads=2; unidirectional=1",
        .inputs = {"float32[1,2,4] 0.64 0.88 -1.95 1.24 -0.26 -0.26 0.25 -0.88",
            "float32[1,2,4] 1.55 -1.15 0.17 -1.33 0.46 1.61 1.53 -1.46",
            "float32[1,2,4] 0.5 1.57 -1.2 -0.34 0.85 0.95 -0.2 0.55"},
        .outputs = {"float32[1,2,4] 0.5 1.57 -1.2 -0.34 0.6483443 1.307219 -0.6203567 0.1758826"}},
    {.type = "com.microsoft::MultiHeadAttention",
        .attributes = "num_heads=2",
        .inputs = {"float32[1,1,4] 0.68 -0.59 0.61 0.31", "float32[1,1,4] 0.79 0.05 -0.65 -0.26",
            "float32[1,1,4] 1.69 -1.25 -1.41 -1.95", "", "",
            "float32[1,2,1,3] 1.41 1.95 -1.05 -0.94 -1.21 0.4",
            "float32[1,2,2,2] -0.06 1.28 -1.16 1.51 -0.14 1.23 1.21 1.64",
            "float32[1,2,2,2] -0 0.44 0.24 -1.24 0.01 1.71 1.64 -1.91"},
        .outputs = {"float32[1,1,4] 0.2734815 -0.4535353 -0.139284 -1.15956",
            "float32[1,2,3,2] -0.06 1.28 -1.16 1.51 0.79 0.05 -0.14 1.23 1.21 1.64 -0.65 -0.26",
            "float32[1,2,3,2] -0 0.44 0.24 -1.24 1.69 -1.25 0.01 1.71 1.64 -1.91 -1.41 -1.95"}},
    {.type = "com.microsoft::MultiHeadAttention",
        .attributes = "num_heads=2",
        .inputs = {CROSS_QUERY, CROSS_KEYS, CROSS_VALUES, "", "int32[1,3] 1 0 1"},
        .outputs = {"float32[1,2,4] -0.9298128 -0.06203044 -1.482363 -0.342585 -0.874236 -0.05116345 "
                    "-1.31137 0.1506622"}},
    {.type = "com.microsoft::MultiHeadAttention",
        .attributes = "num_heads=2; mask_filter_value=-2.0",
        .inputs = {CROSS_QUERY, CROSS_KEYS, CROSS_VALUES, "", "int32[1] 2"},
        .outputs = {"float32[1,2,4] -0.8173833 -0.1938518 -1.779593 -0.2008359 -0.7705684 -0.1911112 "
                    "-1.983144 -0.1983864"}},
    {.type = "com.microsoft::MultiHeadAttention",
        .attributes = "num_heads=2",
        .inputs = {CROSS_QUERY, CROSS_KEYS, CROSS_VALUES, "", "int32[1,2,3] 1 0 1 0 1 1",
            "float32[1,2,2,3] -0.98 -0.81 1.06 -0.81 -0.03 0.88 -0.58 -0.11 0.11 0.06 -1.23 0.08"},
        .outputs = {"float32[1,2,4] -0.2498634 0.07092056 -1.503705 -0.4041491 0.004745513 0.03179213 "
                    "-2.181534 -0.5194869"}},
    {.type = "com.microsoft::MultiHeadAttention",
        .attributes = "num_heads=1",
        .inputs = {"float32[1,2,1,3,2] 1.36 -1.55 0.86 0.12 -0.64 2 0.76 -1.2 0.07 0.58 -0.19 0.68"},
        .outputs = {"float32[1,2,2] -0.5408622 1.709196 -0.5019158 1.594953"}},
    {.type = "com.microsoft::MultiHeadAttention",
        .attributes = "num_heads=1",
        .inputs = {"float32[1,2,2] -1.32 -0.79 0.65 -1.99",
            "float32[1,3,1,2,2] -0.07 0.67 1.44 -0.68 0.2 -0.46 0.13 -1.19 -0.58 -0.2 0.9 1.15"},
        .outputs = {"float32[1,2,2] 0.7847835 0.1163336 0.4958916 -0.4536107"}},
    {.type = "com.microsoft::Attention",
        .attributes = "num_heads=2",
        .inputs = {SELF_INPUT, SELF_WEIGHTS, SELF_BIASES, "int32[2,2] 1 1 1 0"},
        .outputs = {"float32[2,2,4] -1.478343 0.5581018 0.02800578 0.7524624 -1.479783 0.564451 0.2369799 "
                    "0.7213119 -3.0384 -0.0751 -0.9454001 1.2981 -3.0384 -0.0751 -0.9454001 1.2981"}},
    {.type = "com.microsoft::Attention",
        .attributes = "num_heads=2; unidirectional=1",
        .inputs = {SELF_INPUT, SELF_WEIGHTS, SELF_BIASES, "int32[4] 2 1 0 1"},
        .outputs = {"float32[2,2,4] -1.183 -0.7445999 0.3558 0.7036 -1.479783 0.564451 0.2369799 0.7213119 "
                    "-3.0384 -0.0751 -0.9454001 1.2981 -2.523349 0.1207128 -0.8900909 0.7565691"}},
    {.type = "com.microsoft::Attention",
        .attributes = "num_heads=2",
        .inputs = {SELF_INPUT, SELF_WEIGHTS, SELF_BIASES, "",
            "float32[2,2,2,1,2] 0.13 -1.54 1.25 1.44 -0.07 -0.27 -0.16 -0.98 1.1 -0.54 -0.05 -0.79 -0.63 "
            "-1.28 1.26 -0.15"},
        .outputs = {"float32[2,2,4] -0.2101662 0.01799224 -0.01797863 -0.1568193 0.7598556 -0.3943782 "
                    "0.2208594 0.6364173 -2.275629 0.02520358 1.249544 -0.1456001 -2.012233 -0.2572801 "
                    "1.206702 -0.1275273",
            "float32[2,2,2,3,2] 0.13 -1.54 -2.936 0.05020002 0.1574 1.1351 1.25 1.44 -2.0864 -1.0052 -2.2114 "
            "0.9616 -0.07 -0.27 -1.4356 -1.1361 -1.4624 -0.1404 -0.16 -0.98 -1.899 4.5388 -2.0728 1.559 1.1 "
            "-0.54 -1.183 -0.7445999 -1.8069 2.0073 -0.05 -0.79 0.3558 0.7036 -1.2851 0.9481999 -0.63 -1.28 "
            "-3.0384 -0.0751 -1.9697 0.3312 1.26 -0.15 -0.9454001 1.2981 -0.8899 0.7547"}},
    {.type = "com.microsoft::QAttention",
        .attributes = "num_heads=1",
        .inputs = {"uint8[1,2,3] 54 95 74 25 78 80",
            "int8[3,6] 17 17 -19 21 -37 12 42 47 -21 -17 11 -11 23 -30 -34 -45 -4 -29",
            "float32[6] -0.67 -1.05 0.34 1.41 -1.45 -0.21", "float32[] 0.02", "float32[] 0.01", "",
            "uint8[] 50", "int8[] 3"},
        .outputs = {"float32[1,2,2] -1.343997 -0.5042071 -1.344201 -0.5041625"}},
    {.type = "com.microsoft::EmbedLayerNormalization",
        .attributes = "epsilon=0.001",
        .inputs = {"int32[1,2] 3 1", "int32[1,2] 0 1", WORD_ROWS, PLACE_ROWS,
            "float32[2,3] 1.18 0.68 0.38 -0.56 -1.38 0.95", "float32[3] 0.97 -0.14 0.54",
            "float32[3] 0.78 0.83 0.92", "int32[1,2] 1 0"},
        .outputs = {"float32[1,2,3] 0.00101167 0.9148081 1.680781 0.4742144 0.9750116 1.649562",
            "int32[1] 1"}},
    {.type = "com.microsoft::EmbedLayerNormalization",
        .attributes = "epsilon=0.001",
        .inputs = {"int32[1,2] 3 1", "", WORD_ROWS, PLACE_ROWS, "", "float32[3] 0.97 -0.14 0.54",
            "float32[3] 0.78 0.83 0.92"},
        .outputs = {"float32[1,2,3] -0.1555387 0.8878151 1.663817 0.04771686 0.9180753 1.667382",
            "int32[1] 0"}},
    {.type = "com.microsoft::FusedConv",
        .attributes = "activation=Relu",
        .inputs = {"float32[1,1,3,3] -0.46 1.51 -1.25 0.86 0.49 0.87 1.88 1.48 -1.15",
            "float32[1,1,2,2] -1.69 0.82 -1.02 -0.01", "float32[1] 0.84",
            "float32[1,1,2,2] -1.64 -2.11 0.26 0.04"},
        .outputs = {"float32[1,1,2,2] 0.3335 0 0 0"}},
    {.type = "com.microsoft::FusedGemm",
        .attributes = "activation=LeakyRelu; activation_alpha=0.5; transB=1; alpha=2.0",
        .inputs = {"float32[1,2] 1 -2", "float32[2,2] 3 1 -0.5 4", "float32[2] 1 -2"},
        .outputs = {"float32[1,2] 3 -9.5"}},
    {.type = "com.microsoft::QLinearWhere",
        .attributes = "",
        .inputs = {"bool[2] 1 0", "uint8[2] 3 90", "float32[] 0.05", "uint8[] 100", "uint8[2] 30 9",
            "float32[] 0.03", "uint8[] 10", "float32[] 0.05", "uint8[] 90"},
        .outputs = {"uint8[2] 0 89"}},
    {.type = "Det",
        .attributes = "",
        .inputs = {"float32[2,2,2] -0.25 0.04 -0.86 -1.51 -0.17 -0.97 -1.64 0.51"},
        .outputs = {"float32[2] 0.4119 -1.6775"}},
    {.type = "ReverseSequence",
        .attributes = "",
        .inputs = {"float32[3,2] -0.06 0.41 -0.99 -0.66 -1 -0.89", "int64[2] 1 3"},
        .outputs = {"float32[3,2] -0.06 -0.89 -0.99 -0.66 -1 0.41"}},
    {.type = "Dropout",
        .attributes = "seed=3",
        .inputs = {"float32[2,2] 0.2 -0.78 0.36 0.34", "float32[] 0", "bool[] 1"},
        .outputs = {"float32[2,2] 0.2 -0.78 0.36 0.34", "bool[2,2] 1 1 1 1"}},
    {.type = "Bernoulli",
        .attributes = "",
        .inputs = {"float32[1,3] 0 1 1"},
        .outputs = {"float32[1,3] 0 1 1"}},
    {.type = "Bernoulli",
        .attributes = "seed=0.0",
        .inputs = {"float32[1,3] 0 1 1"},
        .outputs = {"float32[1,3] 0 1 1"}},
    {.type = "Multinomial",
        .attributes = "sample_size=4; seed=1.0",
        .inputs = {"float32[2,3] -50 3 -50 1 -70 -70"},
        .outputs = {"int32[2,4] 1 1 1 1 0 0 0 0"}},
    {.type = "RandomNormalLike",
        .attributes = "scale=0.0; mean=3.0",
        .inputs = {"float32[1,3] 0 1 1"},
        .outputs = {"float32[1,3] 3 3 3"}},
    {.type = "RandomUniformLike",
        .attributes = "low=2.0; high=2.0; seed=4.0",
        .inputs = {"float32[1,3] 0 1 1"},
        .outputs = {"float32[1,3] 2 2 2"}},
    {.type = "ai.onnx.ml::LinearClassifier",
        .attributes = "coefficients=[0.5,-1.25,0.25,1.0,-0.5,0.75]; intercepts=[0.5,0.0,-0.25]; "
                      "classlabels_ints=[4,5,6]; post_transform=SOFTMAX",
        .inputs = {"float32[3,2] 0 0.3 -0.27 -0.89 -0.45 -0.99"},
        .outputs = {"int64[3] 5 4 4", "float32[3,3] 0.3276589 0.3903224 0.2820186 0.8389627 0.07349124 "
                                      "0.08754616 0.8507366 0.06224651 0.0870169"}},
    {.type = "ai.onnx.ml::LinearClassifier",
        .attributes =
            "coefficients=[0.5,-1.25]; intercepts=[0.5]; classlabels_ints=[0,1]; post_transform=LOGISTIC",
        .inputs = {"float32[3,2] 0 0.3 -0.27 -0.89 -0.45 -0.99"},
        .outputs = {"int64[3] 1 1 1",
            "float32[3,2] 0.4687906 0.5312094 0.1858053 0.8141947 0.1805686 0.8194314"}},
    {.type = "ai.onnx.ml::LinearClassifier",
        .attributes =
            "coefficients=[0.5,-1.25]; intercepts=[0.5]; classlabels_ints=[0,1]; post_transform=NONE",
        .inputs = {"float32[3,2] 0 0.3 -0.27 -0.89 -0.45 -0.99"},
        .outputs = {"int64[3] 1 1 1", "float32[3,2] 0.875 0.125 -0.4775 1.4775 -0.5125 1.5125"}},
    {.type = "ai.onnx.ml::LinearRegressor",
        .attributes = "coefficients=[0.5,-1.25,2.0,3.0]; intercepts=[0.5,1.0]; targets=2",
        .inputs = {"float32[3,2] 0 0.3 -0.27 -0.89 -0.45 -0.99"},
        .outputs = {"float32[3,2] 0.125 1.9 1.4775 -2.21 1.5125 -2.87"}},
    {.type = "ai.onnx.ml::Scaler",
        .attributes = "offset=[0.5,1.0]; scale=[2.0,0.25]",
        .inputs = {"float32[3,2] 0 0.3 -0.27 -0.89 -0.45 -0.99"},
        .outputs = {"float32[3,2] -1 -0.175 -1.54 -0.4725 -1.9 -0.4975"}},
    {.type = "ai.onnx.ml::Binarizer",
        .attributes = "threshold=0.5",
        .inputs = {"float32[3,2] 0 0.3 -0.27 -0.89 -0.45 -0.99"},
        .outputs = {"float32[3,2] 0 0 0 0 0 0"}},
    {.type = "ai.onnx.ml::ArrayFeatureExtractor",
        .attributes = "",
        .inputs = {"float32[3,2] 0 0.3 -0.27 -0.89 -0.45 -0.99", "int64[1] 1"},
        .outputs = {"float32[3,1] 0.3 -0.89 -0.99"}},
    {.type = "ai.onnx.ml::Normalizer",
        .attributes = "norm=L2",
        .inputs = {"float32[3,2] 1 -2 0 0 3 4"},
        .outputs = {"float32[3,2] 0.4472136 -0.8944272 0 0 0.6 0.8"}},
    {.type = "ai.onnx.ml::Normalizer",
        .attributes = "norm=L1",
        .inputs = {"float32[3,2] 1 -2 0 0 3 4"},
        .outputs = {"float32[3,2] 0.3333333 -0.6666667 0 0 0.4285714 0.5714286"}},
    {.type = "ai.onnx.ml::Normalizer",
        .attributes = "",
        .inputs = {"float32[3,2] 1 -2 0 0 3 4"},
        .outputs = {"float32[3,2] 1 -2 0 0 0.75 1"}},
    {.type = "ai.onnx.ml::Imputer",
        .attributes = "imputed_value_floats=[7.0,8.0]; replaced_value_float=0.0",
        .inputs = {"float32[3,2] 1 -2 0 0 3 4"},
        .outputs = {"float32[3,2] 1 -2 7 8 3 4"}},
    {.type = "ai.onnx.ml::ZipMap",
        .attributes = "",
        .inputs = {"float32[1,2] 0.25 0.75"},
        .outputs = {"float32[1,2] 0.25 0.75"}},
    {.type = "ai.onnx.ml::TreeEnsembleClassifier",
        .attributes =
            "nodes_treeids=[0,0,0]; nodes_nodeids=[0,1,2]; nodes_featureids=[1,0,0]; "
            "nodes_values=[0.25,0.0,0.0]; nodes_modes=[BRANCH_LEQ,LEAF,LEAF]; nodes_truenodeids=[1,0,0]; "
            "nodes_falsenodeids=[2,0,0]; class_treeids=[0,0]; class_nodeids=[1,2]; class_ids=[0,0]; "
            "class_weights=[0.25,0.75]; classlabels_int64s=[0,1]; post_transform=NONE",
        .inputs = {"float32[3,2] 0 0.3 -0.27 -0.89 -0.45 -0.99"},
        .outputs = {"int64[3] 1 0 0", "float32[3,2] 0.25 0.75 0.75 0.25 0.75 0.25"}},
    {.type = "ai.onnx.ml::TreeEnsembleClassifier",
        .attributes =
            "nodes_treeids=[0,0,0]; nodes_nodeids=[0,1,2]; nodes_featureids=[1,0,0]; "
            "nodes_values=[0.25,0.0,0.0]; nodes_modes=[BRANCH_LEQ,LEAF,LEAF]; nodes_truenodeids=[1,0,0]; "
            "nodes_falsenodeids=[2,0,0]; class_treeids=[0,0]; class_nodeids=[1,2]; class_ids=[0,0]; "
            "class_weights=[-0.25,0.75]; classlabels_int64s=[3,7]; post_transform=LOGISTIC",
        .inputs = {"float32[3,2] 0 0.3 -0.27 -0.89 -0.45 -0.99"},
        .outputs = {"int64[3] 7 3 3",
            "float32[3,2] 0.3208213 0.6791787 0.5621765 0.4378235 0.5621765 0.4378235"}},
    {.type = "ai.onnx.ml::TreeEnsembleClassifier",
        .attributes = "nodes_treeids=[0,0,0]; nodes_nodeids=[0,1,2]; nodes_featureids=[1,0,0]; "
                      "nodes_values=[0.25,0.0,0.0]; nodes_modes=[BRANCH_LEQ,LEAF,LEAF]; "
                      "nodes_truenodeids=[1,0,0]; nodes_falsenodeids=[2,0,0]; class_treeids=[0,0,0,0]; "
                      "class_nodeids=[1,1,2,2]; class_ids=[0,2,1,2]; class_weights=[0.25,0.75,0.5,0.125]; "
                      "classlabels_int64s=[3,7,9]; post_transform=SOFTMAX",
        .inputs = {"float32[3,2] 0 0.3 -0.27 -0.89 -0.45 -0.99"},
        .outputs = {"int64[3] 7 9 9", "float32[3,3] 0.2644195 0.435954 0.2996265 0.291756 0.2272198 "
                                      "0.4810243 0.291756 0.2272198 0.4810243"}},
    {.type = "ai.onnx.ml::TreeEnsembleRegressor",
        .attributes =
            "nodes_treeids=[0,0,0,0,0,1]; nodes_nodeids=[0,1,2,3,4,0]; nodes_featureids=[0,0,1,0,0,0]; "
            "nodes_values=[0.5,0.0,2.0,0.0,0.0,0.0]; "
            "nodes_modes=[BRANCH_LEQ,LEAF,BRANCH_GT,LEAF,LEAF,LEAF]; nodes_truenodeids=[1,0,3,0,0,0]; "
            "nodes_falsenodeids=[2,0,4,0,0,0]; nodes_missing_value_tracks_true=[1,0,0,0,0,0]; "
            "target_treeids=[0,0,0,1]; target_nodeids=[1,3,4,0]; target_ids=[0,0,0,0]; "
            "target_weights=[1.0,10.0,20.0,100.0]; base_values=[5.0]; n_targets=1",
        .inputs = {"float32[4,2] 0.5 0 1 3 1 2 nan 0"},
        .outputs = {"float32[4,1] 106 115 125 106"}},
    {.type = "ai.onnx.ml::TreeEnsembleRegressor",
        .attributes = "nodes_treeids=[0,1]; nodes_nodeids=[0,0]; nodes_featureids=[0,0]; "
                      "nodes_values=[0.0,0.0]; nodes_modes=[LEAF,LEAF]; nodes_truenodeids=[0,0]; "
                      "nodes_falsenodeids=[0,0]; target_treeids=[0,1]; target_nodeids=[0,0]; "
                      "target_ids=[0,1]; target_weights=[1.0,3.0]; n_targets=2; aggregate_function=AVERAGE",
        .inputs = {"int64[1,2] 0 0"},
        .outputs = {"float32[1,2] 0.5 1.5"}},
    {.type = "ai.onnx.ml::LinearClassifier",
        .attributes = "coefficients=[1.0,-1.0]; classlabels_strings=[cat,dog]; post_transform=NONE",
        .inputs = {"float32[2,1] 2 -2"},
        .outputs = {"string[2] 'cat' 'dog'", "float32[2,2] 2 -2 -2 2"}},
};

/* Puts a list: of texts, of floats when it has a point, else of ints. */
static void
put_list(Buffer *attributes, const char *name, const char *text)
{
    char texts[VALUE_SIZE];
    float floats[LIST_MAX];
    int64_t ints[LIST_MAX];
    size_t count = 0;
    if (isalpha((unsigned char)text[1])) {
        (void)snprintf(texts, sizeof texts, "%.*s", (int)strcspn(text + 1, "]"), text + 1);
        onnx_put_strings(attributes, name, texts);
        return;
    }
    for (const char *next = text + 1; *next != ']' && count < LIST_MAX; count++) {
        char *end = NULL;
        floats[count] = strtof(next, &end);
        ints[count] = (int64_t)floats[count];
        next = *end == ',' ? end + 1 : end;
    }
    if (strchr(text, '.') != NULL) {
        onnx_put_floats(attributes, name, floats, count);
    } else {
        onnx_put_ints(attributes, name, ints, count);
    }
}

static void
put_attributes(Buffer *attributes, const char *text)
{
    char name[TEXT_SIZE];
    char value[VALUE_SIZE];
    int length = 0;
    while (sscanf(text, " %63[^=]=%127[^;]%n", name, value, &length) == 2) {
        if (value[0] == '[') {
            put_list(attributes, name, value);
        } else if (isalpha((unsigned char)value[0])) {
            onnx_put_string(attributes, name, value);
        } else if (strchr(value, '.') != NULL) {
            onnx_put_float(attributes, name, strtof(value, NULL));
        } else {
            onnx_put_int(attributes, name, strtoll(value, NULL, 10));
        }
        text += length;
        text += *text == ';' ? 1 : 0;
    }
}

/* Appends names like "i0,,i2" for the texts that are there. */
static void
list_names(Buffer *list, const char *const *texts, const char *prefix)
{
    for (int index = 0; index < TENSORS_MAX && texts[index] != NULL; index++) {
        buffer_append_string(list, index == 0 ? "" : ",");
        if (texts[index][0] != '\0') {
            buffer_append_format(list, "%s%d", prefix, index);
        }
    }
}

/* ONNX's numbers of dtypes. */
static const int element_types[DTYPE_COUNT] = {[DTYPE_FLOAT32] = 1,
    [DTYPE_UINT8] = 2,
    [DTYPE_INT8] = 3,
    [DTYPE_INT32] = 6,
    [DTYPE_INT64] = 7,
    [DTYPE_STRING] = 8,
    [DTYPE_BOOL] = 9};

static void
put_inputs(Buffer *graph, const ContribCase *one, Tensor *ret_tensors)
{
    for (int index = 0; index < TENSORS_MAX && one->inputs[index] != NULL; index++) {
        char name[TEXT_SIZE];
        (void)snprintf(name, sizeof name, "i%d", index);
        if (one->inputs[index][0] != '\0') {
            ret_tensors[index] = tensor_literal(one->inputs[index]);
            const Shape *shape = &ret_tensors[index].shape;
            onnx_put_value(graph, GRAPH_INPUT, name, element_types[ret_tensors[index].dtype], shape->dims,
                (size_t)shape->rank);
        }
    }
}

static TensorBuffer *
model_of(const ContribCase *one, Tensor *ret_tensors)
{
    AUTO_BUFFER graph = {0};
    AUTO_BUFFER attributes = {0};
    AUTO_BUFFER inputs = {0};
    AUTO_BUFFER outputs = {0};
    list_names(&inputs, one->inputs, "i");
    list_names(&outputs, one->outputs, "o");
    put_inputs(&graph, one, ret_tensors);
    put_attributes(&attributes, one->attributes);
    onnx_put_node(&graph, one->type, buffer_string(&inputs), buffer_string(&outputs), &attributes);
    for (int index = 0; index < TENSORS_MAX && one->outputs[index] != NULL; index++) {
        char name[TEXT_SIZE];
        (void)snprintf(name, sizeof name, "o%d", index);
        if (one->outputs[index][0] != '\0') {
            onnx_put_value(&graph, GRAPH_OUTPUT, name, 1, NULL, 0);
        }
    }
    return onnx_model(&graph, 17);
}

/* Runs the model and compares its outputs, of which `expected` skips those that nobody asks for. */
static void
run_model(Call *call, const ContribCase *one, const Graph *graph, const Tensor *tensors)
{
    const GraphDef *def = graph->def;
    ReferenceFeed feeds[TENSORS_MAX];
    Endpoint fetches[TENSORS_MAX];
    Tensor outputs[TENSORS_MAX] = {0};
    size_t feed = 0;
    for (int index = 0; index < TENSORS_MAX; index++) {
        if (tensors[index].dtype != DTYPE_INVALID) {
            feeds[feed].tensor = tensors[index];
            assert_status(call, STATUS_OK,
                graph_endpoint(call, graph, def->inputs[feed].tensor, &feeds[feed].endpoint));
            feed++;
        }
    }
    for (size_t index = 0; index < def->output_count; index++) {
        assert_status(
            call, STATUS_OK, graph_endpoint(call, graph, def->outputs[index].tensor, &fetches[index]));
    }
    assert_status(
        call, STATUS_OK, reference_run(call, graph, feeds, feed, fetches, def->output_count, outputs));
    size_t found = 0;
    for (int index = 0; index < TENSORS_MAX && one->outputs[index] != NULL; index++) {
        if (one->outputs[index][0] != '\0') {
            AUTO_TENSOR expected = tensor_literal(one->outputs[index]);
            if (!tensor_is_near(&outputs[found], &expected, 1e-4)) {
                fail_msg("output %d of %s {%s}", index, one->type, one->attributes);
            }
            tensor_unref(&outputs[found++]);
        }
    }
    assert_int_equal(found, def->output_count);
}

static void
nodes_of_onnx_runtime_give_its_results(void **state)
{
    (void)state;
    for (size_t index = 0; index < COUNT_OF(cases); index++) {
        AUTO_ARENA arena = arena_new(ARENA_SIZE);
        Call call = {.arena = arena};
        Tensor tensors[TENSORS_MAX] = {0};
        AUTO_GRAPH_DEF def = NULL;
        AUTO_GRAPH graph = NULL;
        TensorBuffer *model = model_of(&cases[index], tensors);
        assert_status(&call, STATUS_OK, onnx_read(&call, model, &def));
        assert_status(&call, STATUS_OK, graph_link(&call, def, op_find, (GraphLimits){0}, &graph));
        run_model(&call, &cases[index], graph, tensors);
        tensor_buffer_unref(model);
        for (int tensor = 0; tensor < TENSORS_MAX; tensor++) {
            tensor_unref(&tensors[tensor]);
        }
    }
}

/* The outputs of such a case are not compared. */
static const struct {
    ContribCase model;
    Status code;
    const char *message;
} refused[] = {
    {{.type = "com.microsoft::FusedMatMul",
         .attributes = "transBatchA=1",
         .inputs = {"float32[1,1] 1", "float32[1,1] 1"},
         .outputs = {"o"}},
        STATUS_UNIMPLEMENTED, "node 'o0' (FusedMatMul): transBatchA or transBatchB cannot be imported"},
    {{.type = "com.microsoft::FusedMatMul", .attributes = "", .inputs = {"float32[1,1] 1"}, .outputs = {"o"}},
        STATUS_INVALID_ARGUMENT, "node 'o0' (FusedMatMul): input 1 is absent"},
    {{.type = "com.microsoft::RotaryEmbedding",
         .attributes = "scale=0.5",
         .inputs = {"float32[1] 1", "float32[1] 1", "float32[1] 1", "float32[1] 1"},
         .outputs = {"o"}},
        STATUS_UNIMPLEMENTED, "node 'o0' (RotaryEmbedding): packed batching or a scale cannot be imported"},
    {{.type = "SimplifiedLayerNormalization",
         .attributes = "",
         .inputs = {"float32[1] 1", "float32[1] 1"},
         .outputs = {"o", "o"}},
        STATUS_UNIMPLEMENTED,
        "node 'o0' (SimplifiedLayerNormalization): only the first 1 of its outputs can be imported"},
    {{.type = "com.microsoft::Attention",
         .attributes = "num_heads=1; do_rotary=1",
         .inputs = {"float32[1,1,1] 1", "float32[1,3] 1 1 1"},
         .outputs = {"o"}},
        STATUS_UNIMPLEMENTED,
        "node 'o0' (Attention): do_rotary or past_present_share_buffer cannot be imported"},
    {{.type = "com.microsoft::FusedConv",
         .attributes = "activation=Cosh",
         .inputs = {"float32[1,1,1] 1", "float32[1,1,1] 1"},
         .outputs = {"o"}},
        STATUS_UNIMPLEMENTED, "node 'o0' (FusedConv): activation 'Cosh' cannot be imported"},
    {{.type = "com.microsoft::FusedGemm",
         .attributes = "",
         .inputs = {"float32[1,1] 1", "float32[1,1] 1"},
         .outputs = {"o"}},
        STATUS_UNIMPLEMENTED, "node 'o0' (FusedGemm): activation '' cannot be imported"},
    {{.type = "com.microsoft::EmbedLayerNormalization",
         .attributes = "",
         .inputs = {"int32[1,1] 1"},
         .outputs = {"o"}},
        STATUS_INVALID_ARGUMENT, "node 'o0' (EmbedLayerNormalization): inputs 2, 3, 5 and 6 must be present"},
    {{.type = "com.microsoft::EmbedLayerNormalization",
         .attributes = "",
         .inputs = {"int32[1,1] 1", "", "float32[2,1] 1 1", "float32[1,1] 1", "", "", "float32[1] 1"},
         .outputs = {"o"}},
        STATUS_INVALID_ARGUMENT, "node 'o0' (EmbedLayerNormalization): inputs 2, 3, 5 and 6 must be present"},
    {{.type = "Multinomial", .attributes = "sample_size=0", .inputs = {"float32[1,1] 1"}, .outputs = {"o"}},
        STATUS_INVALID_ARGUMENT, "node 'o0' (Multinomial): sample_size is 0, not 1 to 2147483647"},
    {{.type = "RandomNormal", .attributes = "shape=3", .inputs = {NULL}, .outputs = {"o"}},
        STATUS_INVALID_ARGUMENT,
        "node 'o0' (RandomNormal): attribute 'shape' is not a list of at most 16 ints"},
    {{.type = "ai.onnx.ml::LinearClassifier",
         .attributes = "coefficients=[1.0,2.0,3.0]; classlabels_ints=[1,2]",
         .inputs = {"float32[1,1] 1"},
         .outputs = {"o"}},
        STATUS_INVALID_ARGUMENT, "node 'o0' (LinearClassifier): 3 coefficients cannot be cut into 2 rows"},
    {{.type = "ai.onnx.ml::Normalizer",
         .attributes = "norm=L3",
         .inputs = {"float32[1,1] 1"},
         .outputs = {"o"}},
        STATUS_INVALID_ARGUMENT, "node 'o0' (Normalizer): there is no norm 'L3'"},
    {{.type = "ai.onnx.ml::Imputer", .attributes = "", .inputs = {"float32[1,1] 1"}, .outputs = {"o"}},
        STATUS_UNIMPLEMENTED,
        "node 'o0' (Imputer): an Imputer without imputed_value_floats cannot be imported"},
    {{.type = "ai.onnx.ml::TreeEnsembleClassifier",
         .attributes = "",
         .inputs = {"float32[1,1] 1"},
         .outputs = {"o"}},
        STATUS_INVALID_ARGUMENT, "node 'o0' (TreeEnsembleClassifier): there are no class labels"},
    {{.type = "ai.onnx.ml::TreeEnsembleRegressor",
         .attributes = "n_targets=0",
         .inputs = {"float32[1,1] 1"},
         .outputs = {"o"}},
        STATUS_INVALID_ARGUMENT, "node 'o0' (TreeEnsembleRegressor): n_targets is 0, not at least 1"},
    {{.type = "ai.onnx.ml::TreeEnsembleRegressor",
         .attributes = "n_targets=1; nodes_modes=[BRANCH_LESS]",
         .inputs = {"float32[1,1] 1"},
         .outputs = {"o"}},
        STATUS_INVALID_ARGUMENT,
        "node 'o0' (TreeEnsembleRegressor): attribute 'nodes_modes': there is no mode 'BRANCH_LESS'"},
    {{.type = "ai.onnx.ml::TreeEnsembleRegressor",
         .attributes = "n_targets=1; nodes_treeids=[0]; nodes_values=[1.0,2.0]",
         .inputs = {"float32[1,1] 1"},
         .outputs = {"o"}},
        STATUS_INVALID_ARGUMENT, "node 'o0' (TreeEnsembleRegressor): 'nodes_values' has 2 items, not 1"},
    {{.type = "ai.onnx.ml::TreeEnsembleRegressor",
         .attributes = "n_targets=1; nodes_treeids=[0]; nodes_values=[1.0]; nodes_nodeids=[1,2]",
         .inputs = {"float32[1,1] 1"},
         .outputs = {"o"}},
        STATUS_INVALID_ARGUMENT, "node 'o0' (TreeEnsembleRegressor): 'nodes_nodeids' has 2 items, not 1"},
    {{.type = "ai.onnx.ml::TreeEnsembleRegressor",
         .attributes = "n_targets=1; nodes_treeids=[4294967296]; nodes_values=[1.0]",
         .inputs = {"float32[1,1] 1"},
         .outputs = {"o"}},
        STATUS_UNIMPLEMENTED,
        "node 'o0' (TreeEnsembleRegressor): 4294967296 in 'nodes_treeids' does not fit 32 bits"},
    {{.type = "ai.onnx.ml::LinearRegressor",
         .attributes = "coefficients=[1.0]; post_transform=PROBIT",
         .inputs = {"float32[1,1] 1"},
         .outputs = {"o"}},
        STATUS_UNIMPLEMENTED, "node 'o0' (LinearRegressor): post_transform 'PROBIT' cannot be imported"},
    {{.type = "com.microsoft::MultiHeadAttention",
         .attributes = "",
         .inputs = {"float32[1,1,1] 1", "float32[1,1,1] 1", "float32[1,1,1] 1"},
         .outputs = {"o"}},
        STATUS_INVALID_ARGUMENT, "node 'o0' (MultiHeadAttention): num_heads is 0, not at least 1"},
};

static void
forms_that_cannot_be_imported_are_refused_by_name(void **state)
{
    (void)state;
    for (size_t index = 0; index < COUNT_OF(refused); index++) {
        AUTO_ARENA arena = arena_new(ARENA_SIZE);
        Call call = {.arena = arena};
        Tensor tensors[TENSORS_MAX] = {0};
        AUTO_GRAPH_DEF def = NULL;
        TensorBuffer *model = model_of(&refused[index].model, tensors);
        assert_int_equal(onnx_read(&call, model, &def), refused[index].code);
        assert_string_equal(call.error.message, refused[index].message);
        tensor_buffer_unref(model);
        for (int tensor = 0; tensor < TENSORS_MAX; tensor++) {
            tensor_unref(&tensors[tensor]);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_of_onnx_runtime_give_its_results),
        cmocka_unit_test(forms_that_cannot_be_imported_are_refused_by_name),
    };
    return cmocka_run_group_tests_name("onnx contrib", tests, NULL, NULL);
}
