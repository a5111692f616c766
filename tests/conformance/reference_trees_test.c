/* Ensembles of trees, against ONNX Runtime's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

/* Two trees: x0 <= 0.5 ? 1 : (x1 > 2 ? 10 : 20), and 100. */
#define NODES                                                                                                \
    "nodes_treeids=[0,0,0,0,0,1]; nodes_nodeids=[0,1,2,3,4,0]; nodes_featureids=[0,0,1,0,0,0]; "             \
    "nodes_values=[0.5,0,2,0,0,0]; nodes_modes=[BRANCH_LEQ,LEAF,BRANCH_GT,LEAF,LEAF,LEAF]; "                 \
    "nodes_truenodeids=[1,0,3,0,0,0]; nodes_falsenodeids=[2,0,4,0,0,0]; "
#define LEAVES                                                                                               \
    "target_treeids=[0,0,0,1]; target_nodeids=[1,3,4,0]; target_ids=[0,0,0,0]; "                             \
    "target_weights=[1,10,20,100]; "

static void
a_row_goes_down_each_tree(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "ai.onnx.ml::TreeEnsembleRegressor",
            .attrs = NODES LEAVES "n_targets=1",
            .inputs = {"float32[4,2] 0.5 0 1 3 1 2 nan nan"},
            .outputs = {"float32[4,1] 101 110 120 120"}},
        {.op = "ai.onnx.ml::TreeEnsembleRegressor",
            .attrs =
                NODES LEAVES "n_targets=1; nodes_missing_value_tracks_true=[1,0,0,0,0,0]; base_values=[5]",
            .inputs = {"float64[1,2] nan 0"},
            .outputs = {"float32[1,1] 106"}},
        {.op = "ai.onnx.ml::TreeEnsembleRegressor",
            .attrs = NODES LEAVES "n_targets=2; aggregate_function=AVERAGE",
            .inputs = {"int64[1,2] 0 0"},
            .outputs = {"float32[1,2] 50.5 0"}},
        {.op = "ai.onnx.ml::TreeEnsembleRegressor",
            .attrs = NODES LEAVES "n_targets=2; aggregate_function=MIN",
            .inputs = {"float32[2] 0 0"},
            .outputs = {"float32[1,2] 1 0"}},
        {.op = "ai.onnx.ml::TreeEnsembleRegressor", /* a weight that is NaN stays in the sum */
            .attrs =
                "n_targets=1; nodes_treeids=[0,1]; nodes_nodeids=[0,0]; nodes_featureids=[0,0]; "
                "nodes_values=[0,0]; nodes_modes=[LEAF,LEAF]; nodes_truenodeids=[0,0]; "
                "nodes_falsenodeids=[0,0]; target_treeids=[0,1]; target_nodeids=[0,0]; target_ids=[0,0]; "
                "target_weights=[nan,1]",
            .inputs = {"float32[1,1] 0"},
            .outputs = {"float32[1,1] nan"}},
        {.op = "ai.onnx.ml::TreeEnsembleRegressor",
            .attrs = NODES LEAVES "n_targets=1; aggregate_function=MAX",
            .inputs = {"float32[0,2]"},
            .outputs = {"float32[0,1]"}},
        {.op = "ai.onnx.ml::TreeEnsembleRegressor",
            .attrs = NODES LEAVES "n_targets=1",
            .inputs = {"float32[1,1] 0"},
            .error = "feature 1 is asked of rows of 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ai.onnx.ml::TreeEnsembleRegressor",
            .attrs = NODES LEAVES "n_targets=1",
            .inputs = {"float32[] 0"},
            .error = "an input of rank 0 is no rows of features",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

/* The same two trees as tables. */
#define TABLES                                                                                               \
    "int32[6,7] 0 0 0 0 1 2 0 0 1 0 6 0 0 0 0 2 1 3 3 4 0 0 3 0 6 0 0 0 0 4 0 6 0 0 0 1 0 0 6 0 0 0",        \
        "float32[6] 0.5 0 2 0 0 0", "int32[4,3] 0 1 0 0 3 0 0 4 0 1 0 0", "float32[4] 1 10 20 100"

static void
a_forest_may_be_told_by_tables(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "ai.onnx.ml::_Trees",
            .attrs = "n_targets=1",
            .inputs = {"float32[4,2] 0.5 0 1 3 1 2 nan nan", TABLES, "float32[1] 0"},
            .outputs = {"float32[4,1] 101 110 120 120"}},
        {.op = "ai.onnx.ml::_Trees",
            .attrs = "n_targets=2; aggregate_function=AVERAGE",
            .inputs = {"int64[1,2] 0 0", TABLES, "float32[2] 1 -1"},
            .outputs = {"float32[1,2] 51.5 -1"}},
        {.op = "ai.onnx.ml::_Trees",
            .attrs = "n_targets=1",
            .inputs = {"float32[1,1] 0", TABLES, "float32[1] 0"},
            .error = "feature 1 is asked of rows of 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ai.onnx.ml::_Trees",
            .attrs = "n_targets=2",
            .inputs = {"float32[1,2] 0 0", TABLES, "float32[1] 0"},
            .error = "'base_values' has 1 items, not 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ai.onnx.ml::_Trees",
            .attrs = "n_targets=1",
            .inputs = {"float32[1,2] 0 0", "int32[1,7] 0 0 0 9 0 0 0", "float32[1] 0", "int32[1,3] 0 0 0",
                "float32[1] 0", "float32[1] 0"},
            .error = "there is no mode 9",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ai.onnx.ml::_Trees",
            .attrs = "n_targets=1",
            .inputs = {"float32[1,2] 0 0", "int32[1,6] 0 0 0 6 0 0", "float32[1] 0", "int32[1,3] 0 0 0",
                "float32[1] 0", "float32[1] 0"},
            .error = "nodes of shape [1,6] with numbers of shape [1] are no table of 7 columns",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ai.onnx.ml::_Trees",
            .attrs = "n_targets=1",
            .inputs = {"float32[1,2] 0 0", "int32[1,7] 0 0 0 6 0 0 0", "float32[1] 0", "int32[1,3] 0 0 0",
                "float32[2] 0 0", "float32[1] 0"},
            .error = "leaves of shape [1,3] with numbers of shape [2] are no table of 3 columns",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ai.onnx.ml::_Trees",
            .attrs = "n_targets=1",
            .inputs = {"float32[1,2] 0 0", TABLES, "float32[] 0"},
            .error = "bases have rank 0, not 1",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
what_is_no_forest_is_refused(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "ai.onnx.ml::TreeEnsembleRegressor",
            .attrs = "n_targets=1; nodes_treeids=[0,0]; nodes_nodeids=[0,1]; nodes_featureids=[0,0]; "
                     "nodes_values=[0,0]; nodes_modes=[BRANCH_LT,LEAF]; nodes_truenodeids=[0,0]; "
                     "nodes_falsenodeids=[1,0]",
            .inputs = {"float32[1,1] 0"},
            .error = "node 0 of tree 0 has two parents",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ai.onnx.ml::TreeEnsembleRegressor",
            .attrs = "n_targets=1; nodes_treeids=[0]; nodes_nodeids=[0]; nodes_featureids=[0]; "
                     "nodes_values=[0]; nodes_modes=[BRANCH_LT]; nodes_truenodeids=[7]; "
                     "nodes_falsenodeids=[1]",
            .inputs = {"float32[1,1] 0"},
            .error = "tree 0 has no node 7",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ai.onnx.ml::TreeEnsembleRegressor",
            .attrs = "n_targets=1; nodes_treeids=[0]; nodes_nodeids=[0]; nodes_featureids=[0]; "
                     "nodes_values=[]; nodes_modes=[LEAF]; nodes_truenodeids=[0]; nodes_falsenodeids=[0]",
            .inputs = {"float32[1,1] 0"},
            .error = "'nodes_values' has 0 items, not 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ai.onnx.ml::TreeEnsembleRegressor",
            .attrs = NODES LEAVES "n_targets=1; aggregate_function=MEDIAN",
            .inputs = {"float32[1,2] 0 0"},
            .error = "there is no aggregate_function 'MEDIAN'",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
classes_are_named(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "ai.onnx.ml::_ClassNames",
            .attrs = "names=[cat,dog]",
            .inputs = {"int64[3] 1 0 1"},
            .outputs = {"string[3] 'dog' 'cat' 'dog'"}},
        {.op = "ai.onnx.ml::_ClassNames",
            .attrs = "names=[cat,dog]",
            .inputs = {"int64[1] 2"},
            .error = "there is no class 2 of 2",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_goes_down_each_tree),
        cmocka_unit_test(a_forest_may_be_told_by_tables),
        cmocka_unit_test(what_is_no_forest_is_refused),
        cmocka_unit_test(classes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
