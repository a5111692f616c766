/* Losses of classifiers, against TensorFlow's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
losses_and_their_gradients_are_computed(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "SoftmaxCrossEntropyWithLogits",
            .inputs = {"float32[2,3] 1.11 -0.17 -1.1 1.75 -0.2 -0.77",
                "float32[2,3] 0.20670392 0.11731844 0.6759777 0.3553719 0.47520658 0.16942148"},
            .outputs = {"float32[2] 1.9717534 1.5546842",
                "float32[2,3] 0.51389325 0.083034456 -0.59692776 0.46246773 -0.35884923 -0.10361842"}},
        {.op = "SparseSoftmaxCrossEntropyWithLogits",
            .inputs = {"float32[2,3] 0.05 -0.8 -0.92 0.65 1.18 -0.36", "int64[2] 2 0"},
            .outputs = {"float32[2] 1.5613902 1.1194441",
                "float32[2,3] 0.5535572 0.23659863 -0.7901558 -0.6735388 0.55463547 0.11890337"}},
        {.op = "SoftmaxCrossEntropyWithLogits",
            .inputs = {"float64[2,3] -1.19 -1.85 0.8 0.97 -1.04 -1.31",
                "float64[2,3] 0.7351351351351352 0.05405405405405406 0.2108108108108108 0.10924369747899161 "
                "0.43697478991596644 0.45378151260504207"},
            .outputs = {"float64[2] 1.7945872531921383 2.1250422889572986",
                "float64[2,3] -0.6219154341098527 0.004463699511614384 0.6174517345982383 0.6996392077904575 "
                "-0.3285936414766604 -0.37104556631379726"}},
        {.op = "SparseSoftmaxCrossEntropyWithLogits",
            .inputs = {"float64[2,3] 0.32 1.68 -0.98 0.16 -0.94 0.97", "int64[2] 2 0"},
            .outputs = {"float64[2] 2.942626061365531 1.2755803941604311",
                "float64[2,3] 0.19347130707345925 0.753801610709177 -0.9472729177826361 -0.7207311648257038 "
                "0.09296051980756834 0.6277706450181355"}},
        {.op = "SoftmaxCrossEntropyWithLogits",
            .inputs = {"float16[2,3] 1.83008 1.2002 0.049988 0.64014 -1.4297 -0.3501",
                "float16[2,3] 0.105652 0.39014 0.50391 0.077881 0.71875 0.203613"},
            .outputs = {"float16[2] 1.6748 2.09375",
                "float16[2,3] 0.48169 -0.077148 -0.404785 0.58984 -0.63477 0.044434"}},
        {.op = "SparseSoftmaxCrossEntropyWithLogits",
            .inputs = {"float16[2,3] 1.58008 -1.25 1.9297 1.38965 0.74023 -0.50977", "int64[2] 2 0"},
            .outputs = {"float16[2] 0.55762 0.51416",
                "float16[2,3] 0.40381 0.023819 -0.42725 -0.401855 0.3125 0.089539"}},
        {.op = "SoftmaxCrossEntropyWithLogits",
            .inputs = {"float32[2,3] -1.63 -0.82 0.96 -0.31 1.21 -1.14", "float32[1,3] 0 1 0"},
            .outputs = {"float32[2] 1.9980571 0.27313763",
                "float32[2,3] 0.060322076 -0.8644015 0.8040795 0.16643715 -0.23901194 0.072574794"}},
        {.op = "SoftmaxCrossEntropyWithLogits",
            .inputs = {"float32[1,3] 1e+03 -1e+03 0", "float32[1,3] 1 0 0"},
            .outputs = {"float32[1] 0", "float32[1,3] 0 ..."}},
        {.op = "SoftmaxCrossEntropyWithLogits",
            .inputs = {"float32[0,3]", "float32[0,3]"},
            .outputs = {"float32[0]", "float32[0,3]"}},
        {.op = "SparseSoftmaxCrossEntropyWithLogits",
            .inputs = {"float32[1,2] 1.29 1.44", "int32[1] 1"},
            .outputs = {"float32[1] 0.620957", "float32[1,2] 0.46257013 -0.46257013"}},
        {.op = "SparseSoftmaxCrossEntropyWithLogits",
            .inputs = {"float32[0,2]", "int32[0]"},
            .outputs = {"float32[0]", "float32[0,2]"}},
        {.op = "SparseSoftmaxCrossEntropyWithLogits",
            .inputs = {"float32[1,2] 0.89 -1.18", "int32[1] 2"},
            .error = "label 2 at 0 is not within 2 classes",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "SparseSoftmaxCrossEntropyWithLogits",
            .inputs = {"float32[1,2] -1.11 -1.74", "int32[1] -1"},
            .error = "label -1 at 0 is not within 2 classes",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "SoftmaxCrossEntropyWithLogits",
            .inputs = {"float32[2,3] -1.79 0.96 -0.03 1.05 -0.87 -0.62", "float32[2,2] 1.58 1.99 -1.59 1.12"},
            .error = "are no [batch,classes]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "SparseSoftmaxCrossEntropyWithLogits",
            .inputs = {"float32[2,2] 0.22 -1.98 0.47 -0.88", "int32[1] 1"},
            .error = "the batch is 2 on one side and 1 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "InTopK",
            .attrs = "k=2",
            .inputs = {"float32[5,4] 0.1 0.3 0.2 0.4 0.1 0.2 0.3 0.4 1 1 1 1 nan 1 2 3 0.5 inf 0 1",
                "int32[5] 3 1 0 1 0"},
            .outputs = {"bool[5] 1 0 1 0 0"}},
        {.op = "InTopKV2",
            .inputs = {"float32[5,4] 0.1 0.3 0.2 0.4 0.1 0.2 0.3 0.4 1 1 1 1 nan 1 2 3 0.5 inf 0 1",
                "int64[5] 1 2 9 3 1", "int64[] 2"},
            .outputs = {"bool[5] 1 1 0 0 0"}},
        {.op = "InTopK",
            .attrs = "k=1",
            .inputs = {"float32[5,4] 0.1 0.3 0.2 0.4 0.1 0.2 0.3 0.4 1 1 1 1 nan 1 2 3 0.5 inf 0 1",
                "int32[5] -1 3 2 1 0"},
            .outputs = {"bool[5] 0 1 1 0 0"}},
        {.op = "InTopKV2",
            .inputs = {"float32[1,2] -0.6 1.88", "int32[2] 0 1", "int32[] 1"},
            .error = "the batch is 1 on one side and 2 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

#define LOGITS "float32[2,2] 0 1.0986123 0 0" /* shares of ¼ and ¾, ½ and ½ */

static void
onnx_chooses_scores_by_labels(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::NegativeLogLikelihoodLoss",
            .inputs = {"float32[2,2] 1 2 3 4", "int64[2] 1 0"},
            .outputs = {"float32[] -2.5"}},
        {.op = "onnx::NegativeLogLikelihoodLoss",
            .attrs = "reduction=sum",
            .inputs = {"float16[2,2] 1 2 3 4", "int32[2] 1 0", "float16[2] 2 1"},
            .outputs = {"float16[] -8"}},
        {.op = "onnx::NegativeLogLikelihoodLoss", /* the mean is that of the weights */
            .inputs = {"float64[2,2] 1 2 3 4", "int64[2] 1 0", "float64[2] 2 1"},
            .outputs = {"float64[] -2.6666666666666665"}},
        {.op = "onnx::NegativeLogLikelihoodLoss",
            .attrs = "reduction=none; has_ignore_index=1; ignore_index=-1",
            .inputs = {"float32[1,2,3] 1 2 3 4 5 6", "int64[1,3] 1 -1 0"},
            .outputs = {"float32[1,3] -4 0 -3"}},
        {.op = "onnx::NegativeLogLikelihoodLoss", /* nothing counts: 0 / 0 */
            .attrs = "has_ignore_index=1; ignore_index=9",
            .inputs = {"float32[1,2] 1 2", "int64[1] 9"},
            .outputs = {"float32[] nan"}},
        {.op = "onnx::NegativeLogLikelihoodLoss",
            .inputs = {"float32[1,2] 1 2", "int64[1] 2"},
            .error = "the label of place 0 is 2, not within 0 to 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::NegativeLogLikelihoodLoss",
            .inputs = {"float32[1,2] 1 2", "int32[1] -1"},
            .error = "the label of place 0 is -1, not within 0 to 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::NegativeLogLikelihoodLoss",
            .inputs = {"float32[2] 1 2", "int64[] 0"},
            .error = "scores of rank 1 have no classes",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::NegativeLogLikelihoodLoss",
            .inputs = {"float32[1,2,3] 1 ...", "int64[1,2] 0 0"},
            .error = "a dimension of the labels is 3 on one side and 2 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::NegativeLogLikelihoodLoss",
            .inputs = {"float32[1,2] 1 2", "int64[1] 0", "float32[3] 1 1 1"},
            .error = "the number of classes is 2 on one side and 3 on the other",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::NegativeLogLikelihoodLoss",
            .attrs = "reduction=all",
            .inputs = {"float32[1,2] 1 2", "int64[1] 0"},
            .error = "reduction is 'all', not none, sum or mean",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::SoftmaxCrossEntropyLoss",
            .attrs = "reduction=none",
            .inputs = {LOGITS, "int64[2] 1 0"},
            .outputs = {"float32[2] 0.2876821 0.6931472",
                "float32[2,2] -1.3862944 -0.2876821 -0.6931472 -0.6931472"}},
        {.op = "onnx::SoftmaxCrossEntropyLoss",
            .attrs = "has_ignore_index=1",
            .inputs = {LOGITS, "int32[2] 1 0", "float32[2] 5 3"},
            .outputs = {"float32[] 0.2876821", "float32[2,2] -1.3862944 -0.2876821 -0.6931472 -0.6931472"}},
        {.op = "onnx::SoftmaxCrossEntropyLoss", /* large scores do not overflow; classes are the second
                                                   dimension */
            .attrs = "reduction=sum",
            .inputs = {"float64[1,2,2] 1000 0 0 0", "int64[1,2] 0 1"},
            .outputs = {"float64[] 0.6931471805599453",
                "float64[1,2,2] 0 -0.6931471805599453 -1000 -0.6931471805599453"}},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_and_their_gradients_are_computed),
        cmocka_unit_test(onnx_chooses_scores_by_labels),
    };
    return cmocka_run_group_tests_name("reference/loss", tests, NULL, NULL);
}
