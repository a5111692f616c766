/* Boxes that are chosen among overlapping ones, on the card. */
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"

#define CLUSTERS                                                                                             \
    "float32[6,4] 0 0 1 1 0 0.1 1 1.1 0 -0.1 1 0.9 0 10 1 11 0 10.1 1 11.1 0 100 1 101",                     \
        "float32[6] 0.9 0.75 0.6 0.95 0.5 0.3"
#define HALVES                                                                                               \
    "float16[6,4] 0 0 1 1 0 0.1 1 1.1 0 -0.1 1 0.9 0 10 1 11 0 10.1 1 11.1 0 100 1 101",                     \
        "float16[6] 0.9 0.75 0.6 0.95 0.5 0.3"
#define ODD                                                                                                  \
    "float32[6,4] 1 1 0 0 0 0 0 5 0 0 nan 1 0 0 inf inf -0 0 1 1 0 0 1 1",                                   \
        "float32[6] 0.5 nan 0.9 inf 0.5 -inf"

static void
boxes_of_batches_and_classes(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"onnx::NonMaxSuppression", NULL,
            {"float32[1,7,4]", "float32[1,1,7]", "int64[1] 3", "float32[1] 0.5", "float32[1] 0"}},
        {"onnx::NonMaxSuppression", NULL,
            {"float32[2,333,4]", "float32[2,3,333]", "int64[] 40", "float32[] 0.25", ""}},
        {"onnx::NonMaxSuppression", "center_point_box=1",
            {"float32[2,9,4]", "float32[2,2,9]", "int64[1] 30", "float32[1] 0", "float32[1] -1"}},
        {"onnx::NonMaxSuppression", NULL, {"float32[1,0,4]", "float32[1,2,0]", "int64[1] 3", "", ""}},
        {"onnx::NonMaxSuppression", NULL, {"float32[0,3,4]", "float32[0,2,3]", "int64[1] 3", "", ""}},
        {"onnx::NonMaxSuppression", NULL, {"float32[2,3,4]", "float32[2,0,3]", "int64[1] 3", "", ""}},
        {"onnx::NonMaxSuppression", NULL, {"float32[1,3,4]", "float32[1,2,3]", "", "", ""}},
        {"onnx::NonMaxSuppression", NULL, {"float32[1,3,4]", "float32[1,2,3]", "int64[1] -1", "", ""}},
        {"onnx::NonMaxSuppression", NULL,
            {"float32[1,3,4]", "float32[1,2,3] 1 nan -0 0 nan nan", "int64[1] 3", "", ""}},
        {"onnx::NonMaxSuppression", NULL,
            {"float32[1,3,4]", "float32[1,2,3]", "int64[1] 3", "float32[1] 1.5", ""}},
        {"onnx::NonMaxSuppression", NULL,
            {"float32[1,3,4]", "float32[1,2,3]", "int64[1] 3", "float32[2] 0 0", ""}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
boxes_of_one_set(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"NonMaxSuppression", NULL, {CLUSTERS, "int32[] 3"}},
        {"NonMaxSuppression", "iou_threshold=0.2", {"float32[333,4]", "float32[333]", "int32[] 50"}},
        {"NonMaxSuppression", NULL, {"float32[0,4]", "float32[0]", "int32[] 3"}},
        {"NonMaxSuppression", NULL, {ODD, "int32[] 9"}},
        {"NonMaxSuppression", NULL, {CLUSTERS, "int32[] 0"}},
        {"NonMaxSuppressionV2", NULL, {CLUSTERS, "int32[] 2", "float32[] 0.5"}},
        {"NonMaxSuppressionV2", NULL, {HALVES, "int32[] 2", "float16[] 0.5"}},
        {"NonMaxSuppressionV2", NULL, {HALVES, "int32[] 2", "float32[] 0.5"}},
        {"NonMaxSuppressionV2", NULL, {"T[300,4]", "T[300]", "int32[] 20", "float32[] 0.25"}},
        {"NonMaxSuppressionV2", NULL, {"T[0,4]", "T[0]", "int32[] 20", "float32[] 0.25"}},
        {"NonMaxSuppressionV3", NULL, {CLUSTERS, "int32[] 3", "float32[] 0.5", "float32[] 0.4"}},
        {"NonMaxSuppressionV3", NULL, {ODD, "int32[] 6", "float32[] 0.5", "float32[] 0.4"}},
        {"NonMaxSuppressionV3", NULL, {"T[300,4]", "T[300]", "int32[] 20", "T[] 1", "T[] 0"}},
        {"NonMaxSuppressionV3", NULL, {"T[0,4]", "T[0]", "int32[] 20", "T[] 1", "T[] 0"}},
        {"NonMaxSuppressionV4", NULL, {CLUSTERS, "int32[] 5", "float32[] 0.5", "float32[] 0"}},
        {"NonMaxSuppressionV4", "pad_to_max_output_size=true",
            {CLUSTERS, "int32[] 9", "float32[] 0.5", "float32[] 0"}},
        {"NonMaxSuppressionV4", NULL, {"T[300,4]", "T[300]", "int32[] 20", "T[] 0", "T[] 0"}},
        {"NonMaxSuppressionV4", "pad_to_max_output_size=true",
            {"T[0,4]", "T[0]", "int32[] 2", "T[] 0", "T[] 0"}},
        {"NonMaxSuppressionV4", NULL, {CLUSTERS, "int32[] 5", "float32[] nan", "float32[] 0"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

/* Numbers are drawn coarsely, so that overlaps do not lie beside a threshold. */
static void
scores_that_are_lowered(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"NonMaxSuppressionV5", NULL,
            {CLUSTERS, "int32[] 6", "float32[] 0.5", "float32[] 0", "float32[] 0.5"}},
        {"NonMaxSuppressionV5", "pad_to_max_output_size=true",
            {CLUSTERS, "int32[] 6", "float32[] 0.5", "float32[] 0.29", "float32[] 0.5"}},
        {"NonMaxSuppressionV5", NULL, {CLUSTERS, "int32[] 6", "float32[] 0.5", "float32[] 0", "float32[] 0"}},
        {"NonMaxSuppressionV5", NULL, {HALVES, "int32[] 6", "float16[] 0.5", "float16[] 0", "float16[] 0.5"}},
        {"NonMaxSuppressionV5", NULL, {ODD, "int32[] 6", "float32[] 0.5", "float32[] 0", "float32[] 0.5"}},
        {"NonMaxSuppressionV5", NULL,
            {CLUSTERS, "int32[] 6", "float32[] 0.5", "float32[] 0", "float32[] -1"}},
        {"NonMaxSuppressionV5", NULL, {"T[300,4]", "T[300]", "int32[] 20", "T[] 1", "T[] 0", "T[] 1"}},
        {"NonMaxSuppressionV5", NULL, {"T[0,4]", "T[0]", "int32[] 20", "T[] 1", "T[] 0", "T[] 1"}},
        {"NonMaxSuppressionWithOverlaps", NULL,
            {"float32[3,3] 1 0.6 0.1 0.6 1 0.2 0.1 0.2 1", "float32[3] 0.5 0.9 0.7", "int32[] 3",
                "float32[] 0.5", "float32[] 0"}},
        {"NonMaxSuppressionWithOverlaps", NULL,
            {"float32[3,3] 1 inf 0 nan 1 0 -inf 0 1", "float32[3] 0.5 0.9 0.7", "int32[] 3", "float32[] 0.5",
                "float32[] 0"}},
        {"NonMaxSuppressionWithOverlaps", NULL,
            {"float32[40,40]", "float32[40]", "int32[] 30", "float32[] 1.5", "float32[] -2"}},
        {"NonMaxSuppressionWithOverlaps", NULL,
            {"float32[0,0]", "float32[0]", "int32[] 3", "float32[] 0.5", "float32[] 0"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_cases("suppression");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_of_batches_and_classes),
        cmocka_unit_test(boxes_of_one_set),
        cmocka_unit_test(scores_that_are_lowered),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/suppression", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
