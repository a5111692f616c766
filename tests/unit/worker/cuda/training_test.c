/* The kernels of training: losses, batch normalisation by the batch's own statistics, and gradients that go
 * back through it and through pools. */
#include "tests/support/cmocka_all.h"
#include "tests/support/cuda_kernels.h"

static void
losses_of_classifiers(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"SoftmaxCrossEntropyWithLogits", NULL, {"T[3,10]", "T[3,10]"}},
        {"SoftmaxCrossEntropyWithLogits", NULL, {"T[3,333]", "T[1,333]"}},
        {"SoftmaxCrossEntropyWithLogits", NULL, {"T[1,5]", "T[3,1]"}},
        {"SoftmaxCrossEntropyWithLogits", NULL, {"T[0,5]", "T[0,5]"}},
        {"SoftmaxCrossEntropyWithLogits", NULL, {"T[2,0]", "T[2,0]"}},
        {"SoftmaxCrossEntropyWithLogits", NULL, {"T[2,3] 1 nan 2 inf 1 2", "T[2,3] 1 0 0 1 0 0"}},
        {"SoftmaxCrossEntropyWithLogits", NULL, {"T[2,2] -inf -inf 1 -inf", "T[2,2] 1 0 1 0"}},
        {"SparseSoftmaxCrossEntropyWithLogits", NULL, {"T[3,10]", "int32[3] 0 9 4"}},
        {"SparseSoftmaxCrossEntropyWithLogits", NULL, {"T[3,333]", "int64[3] 0 332 4"}},
        {"SparseSoftmaxCrossEntropyWithLogits", NULL, {"T[0,5]", "int32[0]"}},
        {"SparseSoftmaxCrossEntropyWithLogits", NULL, {"T[1,3] 1 -inf 2", "uint8[1] 0"}},
        {"SparseSoftmaxCrossEntropyWithLogits", NULL, {"T[2,3] 1 -inf 2 nan 0 1", "int16[2] 1 2"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

/* The first label in the order of rows is told, whichever block finds one first. */
static void
labels_that_are_no_class_are_refused(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"SparseSoftmaxCrossEntropyWithLogits", NULL, {"T[4,5]", "int32[4] 0 4 5 -1"}},
        {"SparseSoftmaxCrossEntropyWithLogits", NULL, {"T[2,5]", "int64[2] -1 7"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
targets_among_the_likeliest(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"InTopK", "k=2; T=int32", {"float32[3,5]", "int32[3] 0 4 2"}},
        {"InTopK", "k=1; T=int64", {"float32[4,3] 1 2 3 3 2 1 1 1 1 0 0 1", "int64[4] 2 1 1 -1"}},
        {"InTopK", "k=3; T=int32", {"float32[4,3] 1 nan 3 3 inf 1 1 1 -inf 0 0 1", "int32[4] 2 0 1 3"}},
        {"InTopK", "k=40; T=int32", {"float32[3,333]", "int32[3] 7 332 100"}},
        {"InTopK", "k=0; T=int32", {"float32[0,3]", "int32[0]"}},
        {"InTopKV2", "T=int32", {"float32[3,333]", "int32[3] 7 332 100", "int32[] 50"}},
        {"InTopKV2", "T=int64", {"float32[3,5]", "int64[3] 7 -9 4", "int64[] -1"}},
        {"InTopKV2", "T=int32", {"float32[0,5]", "int32[0]", "int32[] 1"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

#define VECTORS(size) "T[" size "]", "T[" size "]", "T[" size "]", "T[" size "] 1 2 3"
#define FLOATS(size) "float32[" size "]", "float32[" size "]", "float32[" size "]", "float32[" size "] 1 2 3"

/* A channel with thousands of elements has several chunks. */
static void
batches_are_normalised(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"FusedBatchNorm", NULL, {"T[2,3,2,3]", VECTORS("3")}},
        {"FusedBatchNorm", "data_format=NCHW", {"T[2,3,5,4]", VECTORS("3")}},
        {"FusedBatchNorm", "exponential_avg_factor=0.25; epsilon=0.5", {"T[3,8,7,3]", VECTORS("3")}},
        {"FusedBatchNorm", "exponential_avg_factor=0.25", {"T[0,8,7,3]", VECTORS("3")}},
        {"FusedBatchNorm", NULL, {"T[1,1,1,3]", "T[3]", "T[3]", "T[0]", "T[0]"}},
        {"FusedBatchNorm", NULL, {"T[2,2,2,0]", "T[0]", "T[0]", "T[0]", "T[0]"}},
        {"FusedBatchNorm", NULL, {"T[1,2,2,3] 1 nan 2 inf 1 4 5 6 7 8 9 -inf", VECTORS("3")}},
        {"FusedBatchNormV2", NULL, {"T[3,40,33,3]", FLOATS("3")}},
        {"FusedBatchNormV2", "data_format=NCHW; exponential_avg_factor=0.5", {"T[3,3,33,40]", FLOATS("3")}},
        {"FusedBatchNormV2", NULL, {"T[0,2,2,3]", FLOATS("3")}},
        {"FusedBatchNormV2", "is_training=false", {"float16[2,9,8,3]", FLOATS("3")}},
        {"FusedBatchNormV3", "exponential_avg_factor=0.5", {"T[2,9,8,3]", FLOATS("3")}},
        {"FusedBatchNormV3", NULL, {"T[2,9,8,3]", VECTORS("3")}},
        {"FusedBatchNormV3", "data_format=NCHW", {"T[0,3,2,2]", FLOATS("3")}},
        {"FusedBatchNormV3", "is_training=false", {"bfloat16[2,9,8,3]", FLOATS("3")}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

#define SCALED(size) "float32[" size "]", "float32[" size "]", "float32[" size "] 1 2 3"

static void
gradients_through_normalised_batches(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"FusedBatchNormGrad", NULL, {"T[2,3,2,3]", "T[2,3,2,3]", "T[3]", "T[3]", "T[3] 1 2 3"}},
        {"FusedBatchNormGrad", "data_format=NCHW; epsilon=0.25",
            {"T[2,3,12,13]", "T[2,3,12,13]", "T[3]", "T[3]", "T[3] 1 2 3"}},
        {"FusedBatchNormGrad", "is_training=false",
            {"T[2,3,20,3]", "T[2,3,20,3]", "T[3]", "T[3]", "T[3] 1 2 3"}},
        {"FusedBatchNormGrad", NULL, {"T[0,3,2,3]", "T[0,3,2,3]", "T[3]", "T[3]", "T[3] 1 2 3"}},
        {"FusedBatchNormGrad", NULL, {"T[2,3,2,0]", "T[2,3,2,0]", "T[0]", "T[0]", "T[0]"}},
        {"FusedBatchNormGrad", "is_training=false",
            {"T[1,1,2,3] 1 inf 2 3 4 5", "T[1,1,2,3] 1 2 3 nan 5 inf", "T[3]", "T[3]", "T[3] 1 2 3"}},
        {"FusedBatchNormGradV2", NULL, {"T[3,40,33,3]", "T[3,40,33,3]", SCALED("3")}},
        {"FusedBatchNormGradV2", NULL, {"T[0,4,3,3]", "T[0,4,3,3]", SCALED("3")}},
        {"FusedBatchNormGradV3", NULL, {"T[2,9,8,3]", "T[2,9,8,3]", SCALED("3"), "float32[] 0"}},
        {"FusedBatchNormGradV3", "data_format=NCHW; is_training=false",
            {"T[2,3,9,8]", "T[2,3,9,8]", SCALED("3"), "float32[] 0"}},
        {"FusedBatchNormGradV3", NULL, {"T[0,9,8,3]", "T[0,9,8,3]", SCALED("3"), "float32[] 0"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

#define HALVES "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=VALID"
#define OVERLAPPING "ksize=[1,3,3,1]; strides=[1,2,2,1]; padding=SAME"
#define LARGE "ksize=[1,17,16,1]; strides=[1,1,1,1]; padding=VALID"

static void
gradients_of_the_largest(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"MaxPoolGrad", HALVES, {"T[2,5,4,3]", "T[2,2,2,3]", "T[2,2,2,3]"}},
        {"MaxPoolGrad", HALVES, {"T[1,2,4,1] 1 1 2 0 1 1 2 2", "T[1,1,2,1]", "T[1,1,2,1]"}},
        {"MaxPoolGrad", HALVES, {"T[1,2,4,1] nan 3 1 nan 1 2 inf 2", "T[1,1,2,1]", "T[1,1,2,1] inf nan"}},
        {"MaxPoolGrad", OVERLAPPING, {"T[2,6,7,3]", "T[2,3,4,3]", "T[2,3,4,3]"}},
        {"MaxPoolGrad", "ksize=[1,1,3,2]; strides=[1,1,2,1]; padding=SAME; data_format=NCHW",
            {"T[2,3,9,8]", "T[2,3,5,8]", "T[2,3,5,8]"}},
        {"MaxPoolGrad", LARGE, {"T[1,18,17,2]", "T[1,2,2,2]", "T[1,2,2,2]"}},
        {"MaxPoolGrad", "ksize=[1,1,1,1]; strides=[1,3,3,1]; padding=VALID",
            {"T[1,5,5,1]", "T[1,2,2,1]", "T[1,2,2,1]"}},
        {"MaxPoolGrad", HALVES, {"T[0,4,4,3]", "T[0,2,2,3]", "T[0,2,2,3]"}},
        {"MaxPoolGrad", HALVES, {"T[2,1,4,3]", "T[2,0,2,3]", "T[2,0,2,3]"}},
        {"MaxPool3DGrad", "ksize=[1,2,2,2,1]; strides=[1,1,2,1,1]; padding=SAME",
            {"T[1,3,4,3,2]", "T[1,3,2,3,2]", "T[1,3,2,3,2]"}},
        {"MaxPool3DGrad", "ksize=[1,1,2,2,1]; strides=[1,1,2,2,1]; padding=VALID",
            {"T[1,1,2,4,1] 1 1 nan nan 1 0 nan nan", "T[1,1,1,2,1]", "T[1,1,1,2,1]"}},
        {"MaxPool3DGrad", "ksize=[1,7,7,7,1]; strides=[1,1,1,1,1]; padding=SAME",
            {"T[1,7,7,8,1]", "T[1,7,7,8,1]", "T[1,7,7,8,1]"}},
        {"MaxPool3DGrad", "ksize=[1,1,1,1,1]; strides=[1,1,1,1,1]; padding=SAME",
            {"T[0,1,1,1,1]", "T[0,1,1,1,1]", "T[0,1,1,1,1]"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
gradients_of_means(void **state)
{
    (void)state;
    static const CudaKernelCase cases[] = {
        {"AvgPoolGrad", HALVES, {"int32[4] 2 5 4 3", "T[2,2,2,3]"}},
        {"AvgPoolGrad", OVERLAPPING, {"int32[4] 2 6 7 3", "T[2,3,4,3]"}},
        {"AvgPoolGrad", OVERLAPPING, {"int32[4] 1 3 4 1", "T[1,2,2,1] inf 1 nan 2"}},
        {"AvgPoolGrad", LARGE, {"int32[4] 1 18 17 2", "T[1,2,2,2]"}},
        {"AvgPoolGrad", OVERLAPPING, {"int32[4] 0 3 4 1", "T[0,2,2,1]"}},
        {"AvgPool3DGrad", "ksize=[1,1,2,2,2]; strides=[1,1,1,1,1]; padding=SAME; data_format=NCDHW",
            {"int32[5] 2 2 5 6 7", "T[2,2,5,6,7]"}},
        {"AvgPool3DGrad", "ksize=[1,2,2,2,1]; strides=[1,2,2,2,1]; padding=VALID",
            {"int32[5] 0 2 2 2 1", "T[0,1,1,1,1]"}},
    };
    cuda_kernels_compare(cases, COUNT_OF(cases));
}

static void
every_kernel_has_a_case_in_each_of_its_dtypes(void **state)
{
    (void)state;
    cuda_kernels_expect_cases("loss");
    cuda_kernels_expect_cases("batch_norm");
    cuda_kernels_expect_cases("pooling_gradient");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_of_classifiers),
        cmocka_unit_test(labels_that_are_no_class_are_refused),
        cmocka_unit_test(targets_among_the_likeliest),
        cmocka_unit_test(batches_are_normalised),
        cmocka_unit_test(gradients_through_normalised_batches),
        cmocka_unit_test(gradients_of_the_largest),
        cmocka_unit_test(gradients_of_means),
        cmocka_unit_test(every_kernel_has_a_case_in_each_of_its_dtypes),
    };
    return cmocka_run_group_tests_name(
        "worker/cuda/kernels/training", tests, cuda_kernels_set_up, cuda_kernels_tear_down);
}
