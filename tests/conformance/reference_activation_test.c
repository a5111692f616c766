/* Activation functions, against Python's math; softmax. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
activations_follow_their_formulas(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Relu",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] 0 0 0 0.5 3.25"}},
        {.op = "Relu6",
            .inputs = {"float32[6] -2.5 -0.75 0 0.5 3.25 7"},
            .outputs = {"float32[6] 0 0 0 0.5 3.25 6"}},
        {.op = "Elu",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -0.91791500137610127 -0.52763344725898531 0 0.5 3.25"}},
        {.op = "Selu",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -1.6137857588732425 -0.92763201583505117 0 0.52535049367774023 "
                        "3.4147782089053114"}},
        {.op = "LeakyRelu",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -0.5 -0.15 0 0.5 3.25"}},
        {.op = "LeakyRelu",
            .attrs = "alpha=0.5",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -1.25 -0.375 0 0.5 3.25"}},
        {.op = "Softplus",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] 0.078889734292549626 0.38687100611489994 0.69314718055994529 "
                        "0.97407698418010669 3.288041371687783"}},
        {.op = "Softsign",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -0.7142857142857143 -0.42857142857142855 0 0.33333333333333331 "
                        "0.76470588235294112"}},
        {.op = "onnx::Relu",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] 0 0 0 0.5 3.25"}},
        {.op = "onnx::Elu",
            .attrs = "alpha=2",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -1.8358300027522025 -1.0552668945179706 0 0.5 3.25"}},
        {.op = "onnx::Selu",
            .attrs = "alpha=2; gamma=3",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -5.5074900082566076 -3.1658006835539121 0 1.5 9.75"}},
        {.op = "onnx::Celu",
            .attrs = "alpha=2",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -1.4269904062796197 -0.62542144241805553 0 0.5 3.25"}},
        {.op = "onnx::LeakyRelu",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -0.025 -0.0075 0 0.5 3.25"}},
        {.op = "onnx::Softplus",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] 0.078889734292549626 0.38687100611489994 0.69314718055994529 "
                        "0.97407698418010669 3.288041371687783"}},
        {.op = "onnx::Softsign",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -0.7142857142857143 -0.42857142857142855 0 0.33333333333333331 "
                        "0.76470588235294112"}},
        {.op = "onnx::HardSigmoid",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] 0 0.35 0.5 0.6 1"}},
        {.op = "onnx::HardSwish",
            .inputs = {"float32[7] -2.5 -0.75 0 0.5 3.25 4 -4"},
            .outputs = {"float32[7] -0.20833333333333329 -0.28125 0 0.29166666666666669 3.25 4 -0"}},
        {.op = "onnx::ThresholdedRelu",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] 0 0 0 0 3.25"}},
        {.op = "onnx::Shrink",
            .attrs = "lambd=1.5; bias=0.5",
            .inputs = {"float32[6] -2.5 -1.5 0 1.5 3.25 nan"},
            .outputs = {"float32[6] -2 0 0 0 2.75 0"}},
        {.op = "onnx::Swish",
            .attrs = "alpha=1.5",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -0.057443424775064034 -0.18381375984927878 0 0.3395893495876965 "
                        "3.2253739658794527"}},
        {.op = "onnx::Mish",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -0.19681620390653337 -0.27649471450546514 0 0.37524521130489508 "
                        "3.2409561733599657"}},
        {.op = "onnx::Gelu",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -0.015524163314440398 -0.16997051428265114 0 0.34573123063700656 "
                        "3.2481246686122298"}},
        {.op = "onnx::Gelu",
            .attrs = "approximate=tanh",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -0.015084266089998577 -0.17003944483437966 0 0.34571400982514394 "
                        "3.2484313728552525"}},
        {.op = "Relu", .inputs = {"int32[3] -1 0 5"}, .outputs = {"int32[3] 0 0 5"}},
        {.op = "Relu", .inputs = {"uint8[2] 0 200"}, .outputs = {"uint8[2] 0 200"}},
        {.op = "Relu6", .inputs = {"uint8[2] 3 200"}, .outputs = {"uint8[2] 3 6"}},
        {.op = "Relu", .inputs = {"float32[1] nan"}, .outputs = {"float32[1] nan"}},
        {.op = "Softplus", .inputs = {"float32[2] 1000 -1000"}, .outputs = {"float32[2] 1000 0"}},
        {.op = "Relu", .inputs = {"float16[2] -1 2"}, .outputs = {"float16[2] 0 2"}},
    };
    RUN(cases);
}

static void
gradients_take_the_output_or_the_input(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "ReluGrad",
            .inputs = {"float32[5] 1 2 -1 0.5 3", "float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] 0 0 0 0.5 3"}},
        {.op = "Relu6Grad",
            .inputs = {"float32[5] 1 2 -1 0.5 3", "float32[5] -1 0 3 6 7"},
            .outputs = {"float32[5] 0 0 -1 0 0"}},
        {.op = "EluGrad",
            .inputs = {"float32[5] 1 2 -1 0.5 3", "float32[5] -0.75 -0.25 0 0.5 0.9"},
            .outputs = {"float32[5] 0.25 1.5 -1 0.5 3"}},
        {.op = "SeluGrad",
            .inputs = {"float32[5] 1 2 -1 0.5 3", "float32[5] -0.75 -0.25 0 0.5 0.9"},
            .outputs = {"float32[5] 1.0080993408473766 3.0161986816947532 -1.0507009873554805 "
                        "0.52535049367774023 3.1521029620664414"}},
        {.op = "SoftplusGrad",
            .inputs = {"float32[5] 1 2 -1 0.5 3", "float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] 0.075858180021243546 0.64164260164921405 -0.5 0.3112296656009273 "
                        "2.888019337967612"}},
        {.op = "SoftsignGrad",
            .inputs = {"float32[5] 1 2 -1 0.5 3", "float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] 0.081632653061224483 0.65306122448979587 -1 0.22222222222222221 "
                        "0.16608996539792387"}},
        {.op = "LeakyReluGrad",
            .inputs = {"float32[5] 1 2 -1 0.5 3", "float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] 0.2 0.4 -0.2 0.5 3"}},
    };
    RUN(cases);
}

static void
softmax_subtracts_the_largest(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Softmax",
            .inputs = {"float32[2,2] 0 0 1000 1000"},
            .outputs = {"float32[2,2] 0.5 0.5 0.5 0.5"}},
        {.op = "Softmax",
            .inputs = {"float32[3] 1 2 3"},
            .outputs = {"float32[3] 0.0900305732 0.244728471 0.665240956"}},
        {.op = "LogSoftmax",
            .inputs = {"float32[1,3] 1 2 3"},
            .outputs = {"float32[1,3] -2.40760596 -1.40760596 -0.407605964"}},
        {.op = "onnx::Softmax",
            .attrs = "axis=0",
            .inputs = {"float32[2,2] 0 1 0 1"},
            .outputs = {"float32[2,2] 0.5 0.5 0.5 0.5"}},
        {.op = "onnx::Softmax", .inputs = {"float16[2] 0 0"}, .outputs = {"float16[2] 0.5 0.5"}},
        {.op = "onnx::LogSoftmax",
            .attrs = "axis=1",
            .inputs = {"float32[1,2,1] 0 0"},
            .outputs = {"float32[1,2,1] -0.693147181 -0.693147181"}},
        {.op = "onnx::Hardmax",
            .inputs = {"float32[2,3] 1 3 3 2 1 0"},
            .outputs = {"float32[2,3] 0 1 0 1 0 0"}},
        {.op = "Softmax",
            .inputs = {"float32[] 1"},
            .error = "a scalar has no dimension to normalise",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::Softmax",
            .attrs = "axis=2",
            .inputs = {"float32[1,1] 1"},
            .error = "axis 2 is not within a tensor of rank 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Softmax", .inputs = {"float32[2,0]"}, .outputs = {"float32[2,0]"}},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(activations_follow_their_formulas),
        cmocka_unit_test(gradients_take_the_output_or_the_input),
        cmocka_unit_test(softmax_subtracts_the_largest),
    };
    return cmocka_run_group_tests_name("reference/activation", tests, NULL, NULL);
}
