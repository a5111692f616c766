/* Element-wise functions of one tensor, against Python's math. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
floats_follow_their_functions(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Abs",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] 2.5 0.75 0 0.5 3.25"}},
        {.op = "Neg",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] 2.5 0.75 -0 -0.5 -3.25"}},
        {.op = "Sign", .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"}, .outputs = {"float32[5] -1 -1 0 1 1"}},
        {.op = "Square",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] 6.25 0.5625 0 0.25 10.5625"}},
        {.op = "Sqrt",
            .inputs = {"float32[5] 0.25 0.5 1 2 9"},
            .outputs = {"float32[5] 0.5 0.70710678118654757 1 1.4142135623730951 3"}},
        {.op = "Rsqrt",
            .inputs = {"float32[5] 0.25 0.5 1 2 9"},
            .outputs = {"float32[5] 2 1.4142135623730949 1 0.70710678118654746 0.33333333333333331"}},
        {.op = "Reciprocal",
            .inputs = {"float32[5] 0.25 0.5 1 2 9"},
            .outputs = {"float32[5] 4 2 1 0.5 0.1111111111111111"}},
        {.op = "Inv",
            .inputs = {"float32[5] 0.25 0.5 1 2 9"},
            .outputs = {"float32[5] 4 2 1 0.5 0.1111111111111111"}},
        {.op = "Exp",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] 0.0820849986238988 0.47236655274101469 1 1.6487212707001282 "
                        "25.790339917193062"}},
        {.op = "Expm1",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -0.91791500137610127 -0.52763344725898531 0 0.64872127070012819 "
                        "24.790339917193062"}},
        {.op = "Log",
            .inputs = {"float32[5] 0.25 0.5 1 2 9"},
            .outputs = {"float32[5] -1.3862943611198906 -0.69314718055994529 0 0.69314718055994529 "
                        "2.1972245773362196"}},
        {.op = "Log1p",
            .inputs = {"float32[5] 0.25 0.5 1 2 9"},
            .outputs = {"float32[5] 0.22314355131420976 0.40546510810816438 0.69314718055994529 "
                        "1.0986122886681096 2.3025850929940459"}},
        {.op = "Floor",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -3 -1 0 0 3"}},
        {.op = "Ceil", .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"}, .outputs = {"float32[5] -2 0 0 1 4"}},
        {.op = "Round",
            .inputs = {"float32[6] -2.5 -1.5 -0.5 0.5 1.5 2.4"},
            .outputs = {"float32[6] -2 -2 0 0 2 2"}},
        {.op = "Rint", .inputs = {"float32[3] -2.5 0.5 1.5"}, .outputs = {"float32[3] -2 0 2"}},
        {.op = "Erf",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -0.99959304798255499 -0.71115563365351508 0 0.52049987781304652 "
                        "0.99999569722053627"}},
        {.op = "Erfc",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs =
                {"float32[5] 1.999593047982555 1.7111556336535152 1 0.47950012218695348 4.30277946e-06"}},
        {.op = "Lgamma",
            .inputs = {"float32[5] 0.25 0.5 1 2 9"},
            .outputs = {"float32[5] 1.2880225246980772 0.57236494292470042 0 0 10.604602902745249"}},
        {.op = "Sin",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -0.59847214410395655 -0.68163876002333412 0 0.47942553860420301 "
                        "-0.10819513453010837"}},
        {.op = "Cos",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -0.8011436155469337 0.7316888688738209 1 0.87758256189037276 "
                        "-0.99412967608054625"}},
        {.op = "Tan",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] 0.74702229723866032 -0.93159645994407247 0 0.54630248984379048 "
                        "0.10883402551332971"}},
        {.op = "Asin",
            .inputs = {"float32[5] -0.75 -0.25 0 0.5 0.9"},
            .outputs = {"float32[5] -0.848062078981481 -0.25268025514207865 0 0.52359877559829893 "
                        "1.1197695149986342"}},
        {.op = "Acos",
            .inputs = {"float32[5] -0.75 -0.25 0 0.5 0.9"},
            .outputs = {"float32[5] 2.4188584057763776 1.8234765819369754 1.5707963267948966 "
                        "1.0471975511965979 0.45102681179626236"}},
        {.op = "Atan",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -1.1902899496825317 -0.64350110879328437 0 0.46364760900080609 "
                        "1.2722973952087173"}},
        {.op = "Sinh",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -6.0502044810397875 -0.82231673193582999 0 0.52109530549374738 "
                        "12.87578285468067"}},
        {.op = "Cosh",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs =
                {"float32[5] 6.1322894796636858 1.2946832846768448 1 1.1276259652063807 12.914557062512392"}},
        {.op = "Tanh",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -0.98661429815143031 -0.6351489523872873 0 0.46211715726000974 "
                        "0.99699763548652598"}},
        {.op = "Asinh",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -1.6472311463710958 -0.69314718055994529 0 0.48121182505960347 "
                        "1.8946721354230409"}},
        {.op = "Acosh",
            .inputs = {"float32[4] 1 1.5 2 4"},
            .outputs = {"float32[4] 0 0.96242365011920694 1.3169578969248166 2.0634370688955608"}},
        {.op = "Atanh",
            .inputs = {"float32[5] -0.75 -0.25 0 0.5 0.9"},
            .outputs = {"float32[5] -0.97295507452765662 -0.25541281188299536 0 0.54930614433405478 "
                        "1.4722194895832204"}},
        {.op = "Sigmoid",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] 0.075858180021243546 0.32082130082460703 0.5 0.62245933120185459 "
                        "0.96267311265587063"}},
        {.op = "Tanh",
            .inputs = {"float64[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float64[5] -0.98661429815143031 -0.6351489523872873 0 0.46211715726000974 "
                        "0.99699763548652598"}},
        {.op = "Exp",
            .inputs = {"float16[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float16[5] 0.0820849986238988 0.47236655274101469 1 1.6487212707001282 "
                        "25.790339917193062"}},
        {.op = "Sqrt",
            .inputs = {"bfloat16[5] 0.25 0.5 1 2 9"},
            .outputs = {"bfloat16[5] 0.5 0.70710678118654757 1 1.4142135623730951 3"}},
        {.op = "onnx::Abs",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] 2.5 0.75 0 0.5 3.25"}},
        {.op = "onnx::Neg",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] 2.5 0.75 -0 -0.5 -3.25"}},
        {.op = "onnx::Sign",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -1 -1 0 1 1"}},
        {.op = "onnx::Sqrt",
            .inputs = {"float32[5] 0.25 0.5 1 2 9"},
            .outputs = {"float32[5] 0.5 0.70710678118654757 1 1.4142135623730951 3"}},
        {.op = "onnx::Reciprocal",
            .inputs = {"float32[5] 0.25 0.5 1 2 9"},
            .outputs = {"float32[5] 4 2 1 0.5 0.1111111111111111"}},
        {.op = "onnx::Exp",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] 0.0820849986238988 0.47236655274101469 1 1.6487212707001282 "
                        "25.790339917193062"}},
        {.op = "onnx::Log",
            .inputs = {"float32[5] 0.25 0.5 1 2 9"},
            .outputs = {"float32[5] -1.3862943611198906 -0.69314718055994529 0 0.69314718055994529 "
                        "2.1972245773362196"}},
        {.op = "onnx::Floor",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -3 -1 0 0 3"}},
        {.op = "onnx::Ceil",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -2 0 0 1 4"}},
        {.op = "onnx::Round", .inputs = {"float32[3] -2.5 0.5 1.5"}, .outputs = {"float32[3] -2 0 2"}},
        {.op = "onnx::Erf",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -0.99959304798255499 -0.71115563365351508 0 0.52049987781304652 "
                        "0.99999569722053627"}},
        {.op = "onnx::Sin",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -0.59847214410395655 -0.68163876002333412 0 0.47942553860420301 "
                        "-0.10819513453010837"}},
        {.op = "onnx::Cos",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -0.8011436155469337 0.7316888688738209 1 0.87758256189037276 "
                        "-0.99412967608054625"}},
        {.op = "onnx::Tan",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] 0.74702229723866032 -0.93159645994407247 0 0.54630248984379048 "
                        "0.10883402551332971"}},
        {.op = "onnx::Asin",
            .inputs = {"float32[5] -0.75 -0.25 0 0.5 0.9"},
            .outputs = {"float32[5] -0.848062078981481 -0.25268025514207865 0 0.52359877559829893 "
                        "1.1197695149986342"}},
        {.op = "onnx::Acos",
            .inputs = {"float32[5] -0.75 -0.25 0 0.5 0.9"},
            .outputs = {"float32[5] 2.4188584057763776 1.8234765819369754 1.5707963267948966 "
                        "1.0471975511965979 0.45102681179626236"}},
        {.op = "onnx::Atan",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -1.1902899496825317 -0.64350110879328437 0 0.46364760900080609 "
                        "1.2722973952087173"}},
        {.op = "onnx::Sinh",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -6.0502044810397875 -0.82231673193582999 0 0.52109530549374738 "
                        "12.87578285468067"}},
        {.op = "onnx::Cosh",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs =
                {"float32[5] 6.1322894796636858 1.2946832846768448 1 1.1276259652063807 12.914557062512392"}},
        {.op = "onnx::Tanh",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -0.98661429815143031 -0.6351489523872873 0 0.46211715726000974 "
                        "0.99699763548652598"}},
        {.op = "onnx::Asinh",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] -1.6472311463710958 -0.69314718055994529 0 0.48121182505960347 "
                        "1.8946721354230409"}},
        {.op = "onnx::Acosh",
            .inputs = {"float32[4] 1 1.5 2 4"},
            .outputs = {"float32[4] 0 0.96242365011920694 1.3169578969248166 2.0634370688955608"}},
        {.op = "onnx::Atanh",
            .inputs = {"float32[5] -0.75 -0.25 0 0.5 0.9"},
            .outputs = {"float32[5] -0.97295507452765662 -0.25541281188299536 0 0.54930614433405478 "
                        "1.4722194895832204"}},
        {.op = "onnx::Sigmoid",
            .inputs = {"float32[5] -2.5 -0.75 0 0.5 3.25"},
            .outputs = {"float32[5] 0.075858180021243546 0.32082130082460703 0.5 0.62245933120185459 "
                        "0.96267311265587063"}},
    };
    RUN(cases);
}

static void
edges_are_ieee_754s(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Sqrt", .inputs = {"float32[1] -1"}, .outputs = {"float32[1] nan"}},
        {.op = "Log", .inputs = {"float32[2] 0 -1"}, .outputs = {"float32[2] -inf nan"}},
        {.op = "Reciprocal", .inputs = {"float32[1] 0"}, .outputs = {"float32[1] inf"}},
        {.op = "Sigmoid", .inputs = {"float32[2] -1000 1000"}, .outputs = {"float32[2] 0 1"}},
        {.op = "Sign", .inputs = {"float32[1] nan"}, .outputs = {"float32[1] nan"}},
        {.op = "Exp", .inputs = {"float32[0]"}, .outputs = {"float32[0]"}},
        {.op = "Neg", .inputs = {"float32[] 3"}, .outputs = {"float32[] -3"}},
        {.op = "IsNan", .inputs = {"float32[3] 1 nan inf"}, .outputs = {"bool[3] 0 1 0"}},
        {.op = "IsInf", .inputs = {"float32[3] 1 nan -inf"}, .outputs = {"bool[3] 0 0 1"}},
        {.op = "IsFinite", .inputs = {"float16[3] 1 nan inf"}, .outputs = {"bool[3] 1 0 0"}},
        {.op = "onnx::IsNaN", .inputs = {"float64[2] 1 nan"}, .outputs = {"bool[2] 0 1"}},
        {.op = "onnx::IsInf", .inputs = {"float32[3] inf -inf nan"}, .outputs = {"bool[3] 1 1 0"}},
        {.op = "onnx::IsInf",
            .attrs = "detect_negative=0",
            .inputs = {"float32[2] inf -inf"},
            .outputs = {"bool[2] 1 0"}},
        {.op = "onnx::IsInf",
            .attrs = "detect_positive=0",
            .inputs = {"float32[2] inf -inf"},
            .outputs = {"bool[2] 0 1"}},
    };
    RUN(cases);
}

static void
integers_wrap_and_keep_their_type(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Abs", .inputs = {"int8[3] -128 -5 5"}, .outputs = {"int8[3] -128 5 5"}},
        {.op = "Abs",
            .inputs = {"int64[1] -9223372036854775808"},
            .outputs = {"int64[1] -9223372036854775808"}},
        {.op = "Neg", .inputs = {"int16[2] -32768 7"}, .outputs = {"int16[2] -32768 -7"}},
        {.op = "Square", .inputs = {"uint8[1] 16"}, .outputs = {"uint8[1] 0"}},
        {.op = "Sign", .inputs = {"uint32[2] 0 9"}, .outputs = {"uint32[2] 0 1"}},
        {.op = "Sign", .inputs = {"int64[2] -9 9"}, .outputs = {"int64[2] -1 1"}},
        {.op = "Floor", .inputs = {"int32[1] 5"}, .outputs = {"int32[1] 5"}},
        {.op = "Invert", .inputs = {"uint8[2] 0 240"}, .outputs = {"uint8[2] 255 15"}},
        {.op = "onnx::BitwiseNot", .inputs = {"int8[2] 0 -1"}, .outputs = {"int8[2] -1 0"}},
    };
    RUN(cases);
}

static void
gradients_use_the_results(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "SigmoidGrad",
            .inputs = {"float32[5] -0.75 -0.25 0 0.5 0.9", "float32[5] 1 2 -1 0.5 3"},
            .outputs = {"float32[5] -1.3125 -0.625 -0 0.125 0.27"}},
        {.op = "TanhGrad",
            .inputs = {"float32[5] -0.75 -0.25 0 0.5 0.9", "float32[5] 1 2 -1 0.5 3"},
            .outputs = {"float32[5] 0.4375 1.875 -1 0.375 0.57"}},
        {.op = "RsqrtGrad",
            .inputs = {"float32[5] 0.25 0.5 1 2 9", "float32[5] 1 2 -1 0.5 3"},
            .outputs = {"float32[5] -0.0078125 -0.125 0.5 -2 -1093.5"}},
        {.op = "SqrtGrad",
            .inputs = {"float32[5] 0.25 0.5 1 2 9", "float32[5] 1 2 -1 0.5 3"},
            .outputs = {"float32[5] 2 2 -0.5 0.125 0.16666666666666666"}},
        {.op = "InvGrad",
            .inputs = {"float32[5] 0.25 0.5 1 2 9", "float32[5] 1 2 -1 0.5 3"},
            .outputs = {"float32[5] -0.0625 -0.5 1 -2 -243"}},
        {.op = "ReciprocalGrad",
            .inputs = {"float32[5] 0.25 0.5 1 2 9", "float32[5] 1 2 -1 0.5 3"},
            .outputs = {"float32[5] -0.0625 -0.5 1 -2 -243"}},
    };
    RUN(cases);
}

static void
casts_truncate_and_round(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Cast",
            .attrs = "DstT=int32",
            .inputs = {"float32[8] 1.9 -1.9 2147483520 nan 0 1e10 -1e10 inf"},
            .outputs = {"int32[8] 1 -1 2147483520 -2147483648 0 -2147483648 -2147483648 -2147483648"}},
        {.op = "Cast",
            .attrs = "DstT=int32",
            .inputs = {"float16[3] inf nan -3.7"},
            .outputs = {"int32[3] -2147483648 -2147483648 -3"}},
        {.op = "Cast",
            .attrs = "DstT=int32",
            .inputs = {"float64[4] 2147483647.9 2147483648 -2147483648.9 -2147483649"},
            .outputs = {"int32[4] 2147483647 -2147483648 -2147483648 -2147483648"}},
        {.op = "Cast",
            .attrs = "DstT=int64",
            .inputs = {"float64[5] 1e30 -1e30 -0.5 nan 1e10"},
            .outputs = {"int64[5] -9223372036854775808 -9223372036854775808 0 -9223372036854775808 "
                        "10000000000"}},
        {.op = "Cast",
            .attrs = "DstT=uint64",
            .inputs = {"float64[5] 1e19 1e30 nan -1e30 -1"},
            .outputs = {"uint64[5] 10000000000000000000 9223372036854775808 9223372036854775808 "
                        "9223372036854775808 18446744073709551615"}},
        {.op = "Cast",
            .attrs = "DstT=uint32",
            .inputs = {"float32[5] 3.7 -3.7 3e9 1e20 nan"},
            .outputs = {"uint32[5] 3 4294967293 3000000000 2147483648 2147483648"}},
        {.op = "Cast",
            .attrs = "DstT=int8",
            .inputs = {"float32[6] 3.7 300 -300 1e10 3e9 nan"},
            .outputs = {"int8[6] 3 44 -44 0 0 0"}},
        {.op = "Cast",
            .attrs = "DstT=uint16",
            .inputs = {"float32[5] -3.7 65536.5 3e9 inf 300"},
            .outputs = {"uint16[5] 65533 0 0 0 300"}},
        {.op = "Cast",
            .attrs = "DstT=int32",
            .inputs = {"complex64[2] 1e10 1 3.5 -1"},
            .outputs = {"int32[2] -2147483648 3"}},
        {.op = "Cast",
            .attrs = "DstT=uint8",
            .inputs = {"int32[3] 255 256 -1"},
            .outputs = {"uint8[3] 255 0 255"}},
        {.op = "Cast",
            .attrs = "DstT=float32",
            .inputs = {"int64[2] 16777217 -3"},
            .outputs = {"float32[2] 16777216 -3"}},
        {.op = "Cast",
            .attrs = "DstT=float32",
            .inputs = {"uint64[1] 18446744073709551615"},
            .outputs = {"float32[1] 18446744073709551616"}},
        {.op = "Cast",
            .attrs = "DstT=bool",
            .inputs = {"float32[3] 0 0.5 nan"},
            .outputs = {"bool[3] 0 1 1"}},
        {.op = "Cast", .attrs = "DstT=float32", .inputs = {"bool[2] 0 1"}, .outputs = {"float32[2] 0 1"}},
        {.op = "Cast",
            .attrs = "DstT=float16",
            .inputs = {"float32[5] 65504 65520 1e-7 0.1 -inf"},
            .outputs = {"float16[5] 65504 inf 1.1920929e-07 0.0999755859 -inf"},
            .tolerance = 1e-09},
        {.op = "Cast",
            .attrs = "DstT=bfloat16",
            .inputs = {"float32[3] 1.00390625 1.01171875 3.4e38"},
            .outputs = {"bfloat16[3] 1 1.015625 3.4e38"},
            .tolerance = 1e-09},
        {.op = "Cast",
            .attrs = "DstT=float32",
            .inputs = {"float16[3] 5.9604645e-08 -65504 nan"},
            .outputs = {"float32[3] 5.96046448e-08 -65504 nan"},
            .tolerance = 1e-12},
        {.op = "Cast", .attrs = "DstT=float32", .inputs = {"float32[1] 7"}, .outputs = {"float32[1] 7"}},
        {.op = "Cast", .attrs = "DstT=int8", .inputs = {"bfloat16[1] -3.5"}, .outputs = {"int8[1] -3"}},
        {.op = "onnx::Cast",
            .attrs = "to=int64",
            .inputs = {"float32[2] -1.5 3"},
            .outputs = {"int64[2] -1 3"}},
        {.op = "onnx::CastLike", .inputs = {"int32[1] 3", "float32[1] 0"}, .outputs = {"float32[1] 3"}},
        {.op = "Cast", .attrs = "DstT=int32", .inputs = {"float32[0]"}, .outputs = {"int32[0]"}},
        {.op = "Cast",
            .attrs = "DstT=int16",
            .inputs = {"float32[300] 7.5 ..."},
            .outputs = {"int16[300] 7 ..."}},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(floats_follow_their_functions),
        cmocka_unit_test(edges_are_ieee_754s),
        cmocka_unit_test(integers_wrap_and_keep_their_type),
        cmocka_unit_test(gradients_use_the_results),
        cmocka_unit_test(casts_truncate_and_round),
    };
    return cmocka_run_group_tests_name("reference/math", tests, NULL, NULL);
}
