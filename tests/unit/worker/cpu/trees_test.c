/* Ensembles of trees beside the reference kernel, with its bits: all modes, NaN on either way, thresholds
 * that are met exactly, blocks of rows and single ones, every way to aggregate. */
#include "tests/support/cmocka_all.h"

#include "shared/base/compiler.h"
#include "tests/support/near_reference.h"

#define ROWS(rows, features)                                                                                 \
    {                                                                                                        \
        .rank = 2, .dims = { rows, features }                                                                \
    }
#define TABLE(name, dtype, shape, items)                                                                     \
    name " = Const() dtype=" dtype " value=" dtype "<" shape ">(" items ")\n"

/* A tree of one question, and its leaves. */
#define STUMP(tree, feature, mode, missing)                                                                  \
    tree ";0;" feature ";" mode ";1;2;" missing ";" tree ";1;0;6;0;0;0;" tree ";2;0;6;0;0;0"
#define STUMP_LEAVES(tree, target) tree ";1;" target ";" tree ";2;" target

/* Six trees of all modes: LEQ, LT, GTE, GT, EQ, NEQ. */
#define STUMPS(missing)                                                                                      \
    TABLE("nodes", "int32", "18,7",                                                                          \
        STUMP("0", "0", "0", missing) ";" STUMP("1", "1", "1", missing) ";" STUMP(                           \
            "2", "2", "2", missing) ";" STUMP("3", "0", "3", missing) ";" STUMP("4", "1", "4",               \
            missing) ";" STUMP("5", "2", "5", missing))
#define STUMP_VALUES(dtype, value)                                                                           \
    TABLE("values", dtype, "18",                                                                             \
        value ";0;0;" value ";0;0;" value ";0;0;" value ";0;0;" value ";0;0;" value ";0;0")                  \
    TABLE("weights", dtype, "12", "1;2;4;8;16;32;64;128;256;512;1024;2048")                                  \
    TABLE("bases", dtype, "2", "0.5;-3")
#define STUMPS_LEAVES                                                                                        \
    TABLE("leaves", "int32", "12,3",                                                                         \
        STUMP_LEAVES("0", "0") ";" STUMP_LEAVES("1", "1") ";" STUMP_LEAVES("2", "0") ";" STUMP_LEAVES(       \
            "3", "1") ";" STUMP_LEAVES("4", "0") ";" STUMP_LEAVES("5", "1"))
#define TREES(input, types, attributes)                                                                      \
    "y = ai.onnx.ml::_Trees(" input ", nodes, values, leaves, weights, bases) " types                        \
    " n_targets=2 " attributes
#define WHOLE "r = Rint(x) T=float32\n" /* numbers that meet thresholds */
#define FLOATS "T=float32 V=float32"

/* A tree of three levels, one leaf on the first, and a tree that is a leaf with two weights. */
#define DEEP                                                                                                 \
    TABLE("nodes", "int32", "8,7",                                                                           \
        "7;0;0;0;4;1;0;7;4;0;6;0;0;0;7;1;1;1;2;3;1;7;2;0;6;0;0;0;7;3;2;2;5;6;0;7;5;0;6;0;0;0;7;6;0;6;0;0;0;" \
        "9;0;0;6;0;0;0")                                                                                     \
    TABLE("values", "float32", "8", "0.25;0;-1.5;0;3;0;0;0")                                                 \
    TABLE("leaves", "int32", "6,3", "9;0;1;9;0;0;7;2;0;7;4;1;7;5;0;7;6;1")                                   \
    TABLE("weights", "float32", "6", "1e30;0.1;0.2;-1e30;0.3;7")                                             \
    TABLE("bases", "float32", "0", "0")

static const NearCase CASES[] = {
    {STUMPS("0") STUMP_VALUES("float32", "2") STUMPS_LEAVES WHOLE TREES("r", FLOATS, ""), ROWS(16, 3), 0},
    {STUMPS("1") STUMP_VALUES("float32", "2") STUMPS_LEAVES WHOLE TREES("r", FLOATS, ""), ROWS(13, 3), 0},
    {STUMPS("0") STUMP_VALUES("float32", "0") STUMPS_LEAVES WHOLE TREES("r", FLOATS, ""), ROWS(64, 3), 0},
    {STUMPS("1") STUMP_VALUES("float32", "-0.0") STUMPS_LEAVES WHOLE TREES("r", FLOATS, ""), ROWS(9, 4), 0},
    {STUMPS("0") STUMP_VALUES("float32", "inf") STUMPS_LEAVES TREES("x", FLOATS, ""), ROWS(24, 3), 0},
    {STUMPS("1") STUMP_VALUES("float32", "-inf") STUMPS_LEAVES TREES("x", FLOATS, ""), ROWS(24, 3), 0},
    {STUMPS("0") STUMP_VALUES("float32", "nan") STUMPS_LEAVES TREES("x", FLOATS, ""), ROWS(24, 3), 0},
    {STUMPS("1") STUMP_VALUES("float32", "nan") STUMPS_LEAVES TREES("x", FLOATS, ""), ROWS(24, 3), 0},
    {STUMPS("1") STUMP_VALUES("float32", "1e-45") STUMPS_LEAVES TREES("x", FLOATS, ""), ROWS(24, 3), 0},
    {STUMPS("1") STUMP_VALUES("float64", "0.1") STUMPS_LEAVES TREES("x", "T=float32 V=float64", ""),
        ROWS(24, 3), 0},
    {STUMPS("0") STUMP_VALUES("float64", "-3") STUMPS_LEAVES WHOLE
        "d = Cast(r) SrcT=float32 DstT=float64\n" TREES("d", "T=float64 V=float64", ""),
        ROWS(21, 3), 0},
    {STUMPS("0") STUMP_VALUES("float64", "nan") STUMPS_LEAVES
        "d = Cast(x) SrcT=float32 DstT=float64\n" TREES("d", "T=float64 V=float64", ""),
        ROWS(21, 3), 0},
    {STUMPS("0") STUMP_VALUES("float32", "5") STUMPS_LEAVES
        "i = Cast(x) SrcT=float32 DstT=int64\n" TREES("i", "T=int64 V=float32", ""),
        ROWS(40, 3), 0},
    {STUMPS("1") STUMP_VALUES("float32", "5") STUMPS_LEAVES
        "i = Cast(x) SrcT=float32 DstT=float16\n" TREES("i", "T=float16 V=float32", ""),
        ROWS(40, 3), 0},
    {STUMPS("1") STUMP_VALUES("float32", "1") STUMPS_LEAVES TREES("x", FLOATS, "aggregate_function='MIN'"),
        ROWS(17, 3), 0},
    {STUMPS("1") STUMP_VALUES("float32", "1") STUMPS_LEAVES TREES("x", FLOATS, "aggregate_function='MAX'"),
        ROWS(17, 3), 0},
    {STUMPS("1") STUMP_VALUES("float32", "1")
            STUMPS_LEAVES TREES("x", FLOATS, "aggregate_function='AVERAGE'"),
        ROWS(17, 3), 0},
    {DEEP TREES("x", FLOATS, ""), ROWS(1, 3), 0},
    {DEEP TREES("x", FLOATS, ""), ROWS(3001, 3), 0},
    {DEEP TREES("x", FLOATS, "aggregate_function='MIN'"), ROWS(5, 3), 0},
    {DEEP TREES("x", FLOATS, ""), ROWS(0, 3), 0},
    {DEEP TREES("x", FLOATS, ""), {.rank = 1, .dims = {3}}, 0},
    /* No tree, and trees that ask nothing of rows without features. */
    {TABLE("nodes", "int32", "0,7", "0") TABLE("values", "float32", "0", "0")
            TABLE("leaves", "int32", "0,3", "0") TABLE("weights", "float32", "0", "0")
                TABLE("bases", "float32", "2", "1;2") TREES("x", FLOATS, ""),
        ROWS(11, 2), 0},
    {TABLE("nodes", "int32", "1,7", "0;0;0;6;0;0;0") TABLE("values", "float32", "1", "0")
            TABLE("leaves", "int32", "1,3", "0;0;1") TABLE("weights", "float32", "1", "3")
                TABLE("bases", "float32", "0", "0") TREES("x", FLOATS, "aggregate_function='MAX'"),
        ROWS(11, 0), 0},
    /* Lists that are attributes. */
    {"y = ai.onnx.ml::TreeEnsembleRegressor(x) T=float32 n_targets=1 nodes_treeids=[0,0,0] "
     "nodes_nodeids=[0,1,2] nodes_featureids=[1,0,0] nodes_values=[0.5,0.0,0.0] "
     "nodes_modes=['BRANCH_LT','LEAF','LEAF'] nodes_truenodeids=[1,0,0] nodes_falsenodeids=[2,0,0] "
     "target_treeids=[0,0] target_nodeids=[1,2] target_ids=[0,0] target_weights=[1.0,2.0]",
        ROWS(20, 2), 0},
};

int
main(void)
{
    const struct CMUnitTest tests[] = {
        NEAR_TEST(results_are_near_the_reference_kernels, CASES),
        NEAR_TEST(bits_depend_neither_on_threads_nor_on_the_instruction_set, CASES),
        NEAR_TEST(infinities_and_nan_are_the_references, CASES),
    };
    return cmocka_run_group_tests_name("worker/cpu/trees", tests, NULL, NULL);
}
