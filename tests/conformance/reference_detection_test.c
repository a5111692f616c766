/* Boxes chosen among overlapping ones, against TensorFlow's and ONNX Runtime's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

#define CLUSTERS                                                                                             \
    "float32[6,4] 0 0 1 1 0 0.1 1 1.1 0 -0.1 1 0.9 0 10 1 11 0 10.1 1 11.1 0 100 1 101",                     \
        "float32[6] 0.9 0.75 0.6 0.95 0.5 0.3"
#define BATCHED                                                                                              \
    "float32[1,6,4] 0 0 1 1 0 0.1 1 1.1 0 -0.1 1 0.9 0 10 1 11 0 10.1 1 11.1 0 100 1 101",                   \
        "float32[1,1,6] 0.9 0.75 0.6 0.95 0.5 0.3"
#define SHARED                                                                                               \
    "float32[1,6,1,4] 0 0 0.1 0.1 0 0.01 0.1 0.11 0 -0.01 0.1 0.09 0 0.11 0.1 0.2 0 0.12 0.1 0.21 0 0.3 1 "  \
    "0.4",                                                                                                   \
        "float32[1,6,2] 0.1 0.9 0.05 0.75 0.3 0.6 0.6 0.95 0.5 0.5 0.9 0.3"

static void
boxes_that_overlap_a_better_one_are_left_out(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::NonMaxSuppression",
            .inputs = {BATCHED, "int64[1] 3", "float32[1] 0.5", "float32[1] 0"},
            .outputs = {"int64[3,3] 0 0 3 0 0 0 0 0 5"}},
        {.op = "onnx::NonMaxSuppression",
            .inputs = {BATCHED, "int64[1] 3", "float32[1] 0.5", "float32[1] 0.4"},
            .outputs = {"int64[2,3] 0 0 3 0 0 0"}},
        {.op = "onnx::NonMaxSuppression",
            .inputs = {BATCHED, "int64[] 30", "", ""},
            .outputs = {"int64[3,3] 0 0 3 0 0 0 0 0 5"}},
        {.op = "onnx::NonMaxSuppression", .inputs = {BATCHED, "", "", ""}, .outputs = {"int64[0,3]"}},
        {.op = "onnx::NonMaxSuppression",
            .attrs = "center_point_box=1",
            .inputs = {"float32[1,3,4] 0.5 0.5 1 1 0.5 0.6 1 1 0.5 10.5 1 1", "float32[1,2,3] 1 2 3 3 2 1",
                "int64[1] 3", "float32[1] 0.5", ""},
            .outputs = {"int64[4,3] 0 0 2 0 0 1 0 1 0 0 1 2"}},
        {.op = "onnx::NonMaxSuppression",
            .inputs = {"float32[2,2,4] 1 1 0 0 0 0.1 1 1.1 0 0 1 1 5 5 6 6", "float32[2,1,2] 1 1 -1 nan",
                "int64[1] 9", "float32[1] 0.5", ""},
            .outputs = {"int64[3,3] 0 0 0 1 0 0 1 0 1"}},
        {.op = "onnx::NonMaxSuppression",
            .inputs = {"float32[1,0,4]", "float32[1,2,0]", "int64[1] 3", "", ""},
            .outputs = {"int64[0,3]"}},
        {.op = "onnx::NonMaxSuppression",
            .inputs = {BATCHED, "int64[1] -3", "float32[1] 0.5", ""},
            .outputs = {"int64[0,3]"}},
        {.op = "NonMaxSuppression", .inputs = {CLUSTERS, "int32[] 3"}, .outputs = {"int32[3] 3 0 5"}},
        {.op = "NonMaxSuppressionV2",
            .inputs = {CLUSTERS, "int32[] 2", "float32[] 0.5"},
            .outputs = {"int32[2] 3 0"}},
        {.op = "NonMaxSuppressionV2",
            .inputs = {"float16[2,4] 0 0 1 1 0 0 1 0.5", "float16[2] 1 2", "int32[] 2", "float16[] 0.5"},
            .outputs = {"int32[2] 1 0"}},
        {.op = "NonMaxSuppressionV3",
            .inputs = {CLUSTERS, "int32[] 3", "float32[] 0.5", "float32[] 0.4"},
            .outputs = {"int32[2] 3 0"}},
        {.op = "NonMaxSuppressionV3",
            .inputs = {"float32[0,4]", "float32[0]", "int32[] 3", "float32[] 0.5", "float32[] 0.4"},
            .outputs = {"int32[0]"}},
        {.op = "NonMaxSuppressionV4",
            .attrs = "pad_to_max_output_size=true",
            .inputs = {CLUSTERS, "int32[] 5", "float32[] 0.5", "float32[] 0"},
            .outputs = {"int32[5] 3 0 5 0 0", "int32[] 3"}},
        {.op = "NonMaxSuppressionV4",
            .inputs = {CLUSTERS, "int32[] 5", "float32[] 0.5", "float32[] 0"},
            .outputs = {"int32[3] 3 0 5", "int32[] 3"}},
        {.op = "NonMaxSuppressionWithOverlaps",
            .inputs = {"float32[3,3] 1 0.6 0.1 0.6 1 0.2 0.1 0.2 1", "float32[3] 0.5 0.9 0.7", "int32[] 3",
                "float32[] 0.5", "float32[] 0"},
            .outputs = {"int32[2] 1 2"}},
    };
    RUN(cases);
}

static void
soft_suppression_lowers_scores(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "NonMaxSuppressionV5",
            .inputs = {CLUSTERS, "int32[] 6", "float32[] 0.5", "float32[] 0", "float32[] 0.5"},
            .outputs = {"int32[6] 3 0 1 5 4 2", "float32[6] 0.95 0.9 0.384 0.3 0.256 0.197", "int32[] 6"},
            .tolerance = 1e-3},
        {.op = "NonMaxSuppressionV5",
            .attrs = "pad_to_max_output_size=true",
            .inputs = {CLUSTERS, "int32[] 6", "float32[] 0.5", "float32[] 0.29", "float32[] 0.5"},
            .outputs = {"int32[6] 3 0 1 5 0 0", "float32[6] 0.95 0.9 0.384 0.3 0 0", "int32[] 4"},
            .tolerance = 1e-3},
        {.op = "NonMaxSuppressionV5",
            .inputs = {CLUSTERS, "int32[] 6", "float32[] 0.5", "float32[] 0", "float32[] 0"},
            .outputs = {"int32[3] 3 0 5", "float32[3] 0.95 0.9 0.3", "int32[] 3"}},
    };
    RUN(cases);
}

/* TensorFlow leaves such boxes out, too: its queue takes no score that is not above the threshold. */
static void
a_box_whose_overlap_is_no_number_is_left_out(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "NonMaxSuppressionWithOverlaps",
            .inputs = {"float32[3,3] 1 0 0 nan 1 0 0 0 1", "float32[3] 0.9 0.8 0.7", "int32[] 3",
                "float32[] 0.5", "float32[] 0"},
            .outputs = {"int32[2] 0 2"}},
        {.op = "NonMaxSuppressionV5",
            .inputs = {"float32[3,4] 0 0 inf inf 0 0 inf inf 5 5 6 6", "float32[3] 0.9 0.8 0.7", "int32[] 3",
                "float32[] 0.5", "float32[] 0", "float32[] 0.5"},
            .outputs = {"int32[2] 0 2", "float32[2] 0.9 0.7", "int32[] 2"}},
    };
    RUN(cases);
}

static void
the_best_boxes_of_all_classes_are_combined(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "CombinedNonMaxSuppression",
            .inputs = {SHARED, "int32[] 3", "int32[] 4", "float32[] 0.5", "float32[] 0.2"},
            .outputs = {"float32[1,4,4] 0 0.11 0.1 0.2 0 0.3 1 0.4 0 0 0.1 0.1 0 0.11 0.1 0.2",
                "float32[1,4] 0.95 0.9 0.9 0.6", "float32[1,4] 1 0 1 0", "int32[1] 4"}},
        {.op = "CombinedNonMaxSuppression",
            .attrs = "clip_boxes=false; pad_per_class=true",
            .inputs = {"float32[1,2,2,4] 0 0 2 2 0 0 1 1 5 5 6 6 -1 -1 0 0", "float32[1,2,2] 0.5 0.6 0.7 0.8",
                "int32[] 1", "int32[] 9", "float32[] 0.5", "float32[] 0.2"},
            .outputs = {"float32[1,2,4] -1 -1 0 0 5 5 6 6", "float32[1,2] 0.8 0.7", "float32[1,2] 1 0",
                "int32[1] 2"}},
        {.op = "CombinedNonMaxSuppression",
            .inputs = {"float32[2,1,1,4] 0 0 2 2 0 0 1 1", "float32[2,1,1] 0.5 0.1", "int32[] 1", "int32[] 2",
                "float32[] 0.5", "float32[] 0.2"},
            .outputs = {"float32[2,2,4] 0 0 1 1 0 0 0 0 0 0 0 0 0 0 0 0", "float32[2,2] 0.5 0 0 0",
                "float32[2,2] 0 ...", "int32[2] 1 0"}},
    };
    RUN(cases);
}

static void
what_does_not_fit_is_refused(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::NonMaxSuppression",
            .inputs = {BATCHED, "int64[1] 3", "float32[1] 1.5", ""},
            .error = "the threshold of overlaps is 1.5, not 0 to 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::NonMaxSuppression",
            .inputs = {BATCHED, "int64[1] 3", "float32[2] 0 1", ""},
            .error = "input 3 has shape [2], not one value",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::NonMaxSuppression",
            .inputs = {"float32[1,2,3] 0 ...", "float32[1,1,2] 1 2", "", "", ""},
            .error = "the number of a box's coordinates is 3 on one side and 4 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::NonMaxSuppression",
            .inputs = {"float32[1,2,4] 0 ...", "float32[1,1,3] 1 2 3", "", "", ""},
            .error = "the number of boxes is 2 on one side and 3 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "NonMaxSuppressionV2",
            .inputs = {CLUSTERS, "int32[] -1", "float32[] 0.5"},
            .error = "input 2 is -1, not a size of at least 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "NonMaxSuppressionV2",
            .inputs = {CLUSTERS, "int32[] 1", "float32[] nan"},
            .error = "the threshold of overlaps is nan, not 0 to 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "NonMaxSuppressionV5",
            .inputs = {CLUSTERS, "int32[] 6", "float32[] 0.5", "float32[] 0", "float32[] -1"},
            .error = "the sigma of soft suppression is -1, not at least 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "CombinedNonMaxSuppression",
            .inputs = {"float32[1,1,3,4] 0 ...", "float32[1,1,2] 0 0", "int32[] 1", "int32[] 2",
                "float32[] 0.5", "float32[] 0.2"},
            .error = "the number of classes is 3 on one side and 2 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_that_overlap_a_better_one_are_left_out),
        cmocka_unit_test(soft_suppression_lowers_scores),
        cmocka_unit_test(a_box_whose_overlap_is_no_number_is_left_out),
        cmocka_unit_test(the_best_boxes_of_all_classes_are_combined),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests_name("reference/detection", tests, NULL, NULL);
}
