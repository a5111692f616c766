/* Strings that hold bytes. Expected values are TensorFlow 2.21.0's. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
bytes_become_base64_and_back(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "EncodeBase64",
            .attrs = "pad=false",
            .inputs = {"string[5] '' 'a' 'ab' 'abc' '\373\377\376'"},
            .outputs = {"string[5] '' 'YQ' 'YWI' 'YWJj' '-__-'"}},
        {.op = "EncodeBase64",
            .attrs = "pad=true",
            .inputs = {"string[5] '' 'a' 'ab' 'abc' '\373\377\376'"},
            .outputs = {"string[5] '' 'YQ==' 'YWI=' 'YWJj' '-__-'"}},
        {.op = "DecodeBase64",
            .inputs = {"string[6] '' 'YQ==' 'YQ' 'YWI=' 'YWJj' '-_-_'"},
            .outputs = {"string[6] '' 'a' 'a' 'ab' 'abc' '\373\377\277'"}},
        {.op = "EncodeBase64", .inputs = {"string[0,2]"}, .outputs = {"string[0,2]"}},
        {.op = "DecodeBase64", .inputs = {"string[0]"}, .outputs = {"string[0]"}},
    };
    RUN(cases);
}

static const OpCase decoded_cases[] = {
    {.op = "DecodeRaw",
        .attrs = "out_type=uint8",
        .inputs = {"string[2] '\001\002\003\004\005\006\007\010' '\010\007\006\005\004\003\002\001'"},
        .outputs = {"uint8[2,8] 1 2 3 4 5 6 7 8 8 7 6 5 4 3 2 1"}},
    {.op = "DecodeRaw",
        .attrs = "out_type=int8",
        .inputs = {"string[2] '\001\002\003\004\005\006\007\010' '\010\007\006\005\004\003\002\001'"},
        .outputs = {"int8[2,8] 1 2 3 4 5 6 7 8 8 7 6 5 4 3 2 1"}},
    {.op = "DecodeRaw",
        .attrs = "out_type=int16",
        .inputs = {"string[2] '\001\002\003\004\005\006\007\010' '\010\007\006\005\004\003\002\001'"},
        .outputs = {"int16[2,4] 513 1027 1541 2055 1800 1286 772 258"}},
    {.op = "DecodeRaw",
        .attrs = "out_type=uint16",
        .inputs = {"string[2] '\001\002\003\004\005\006\007\010' '\010\007\006\005\004\003\002\001'"},
        .outputs = {"uint16[2,4] 513 1027 1541 2055 1800 1286 772 258"}},
    {.op = "DecodeRaw",
        .attrs = "out_type=int32",
        .inputs = {"string[2] '\001\002\003\004\005\006\007\010' '\010\007\006\005\004\003\002\001'"},
        .outputs = {"int32[2,2] 67305985 134678021 84281096 16909060"}},
    {.op = "DecodeRaw",
        .attrs = "out_type=int64",
        .inputs = {"string[2] '\001\002\003\004\005\006\007\010' '\010\007\006\005\004\003\002\001'"},
        .outputs = {"int64[2,1] 578437695752307201 72623859790382856"}},
    {.op = "DecodeRaw",
        .attrs = "out_type=float32",
        .inputs = {"string[2] '\001\002\003\004\005\006\007\010' '\010\007\006\005\004\003\002\001'"},
        .outputs = {"float32[2,2] 1.53998961e-36 4.06321607e-34 6.30194116e-36 2.38793926e-38"}},
    {.op = "DecodeRaw",
        .attrs = "out_type=float64",
        .inputs = {"string[2] '\001\002\003\004\005\006\007\010' '\010\007\006\005\004\003\002\001'"},
        .outputs = {"float64[2,1] 5.447603722011605e-270 8.2078803991318393e-304"}},
    {.op = "DecodeRaw",
        .attrs = "out_type=float16",
        .inputs = {"string[2] '\001\002\003\004\005\006\007\010' '\010\007\006\005\004\003\002\001'"},
        .outputs = {"float16[2,4] 3.05771828e-05 6.12139702e-05 9.18507576e-05 0.000122904778 "
                    "0.000107288361 7.66515732e-05 4.60147858e-05 1.53779984e-05"}},
    {.op = "DecodeRaw",
        .attrs = "out_type=int16; little_endian=false",
        .inputs = {"string[1] '\001\002\003\004\005\006\007\010'"},
        .outputs = {"int16[1,4] 258 772 1286 1800"}},
    {.op = "DecodeRaw",
        .attrs = "out_type=complex64; little_endian=false",
        .inputs = {"string[1] '\001\002\003\004\005\006\007\010'"},
        .outputs = {"complex64[1,1] 2.38793926e-38 6.30194116e-36"}},
    {.op = "DecodeRaw",
        .attrs = "out_type=bool",
        .inputs = {"string[] '\001\001'"},
        .outputs = {"bool[2] 1 1"}},
    {.op = "DecodeRaw", .attrs = "out_type=int32", .inputs = {"string[2] '' ''"}, .outputs = {"int32[2,0]"}},
    {.op = "DecodePaddedRaw",
        .attrs = "out_type=int16",
        .inputs = {"string[3] '\001\002\003\004\005\006\007\010' '\001\002\003' ''", "int32[] 4"},
        .outputs = {"int16[3,2] 513 1027 513 3 0 0"}},
    {.op = "DecodePaddedRaw",
        .attrs = "out_type=int16",
        .inputs = {"string[3] '\001\002\003\004\005\006\007\010' '\001\002\003' ''", "int32[] 8"},
        .outputs = {"int16[3,4] 513 1027 1541 2055 513 3 0 0 0 0 0 0"}},
    {.op = "DecodePaddedRaw",
        .attrs = "out_type=int16",
        .inputs = {"string[3] '\001\002\003\004\005\006\007\010' '\001\002\003' ''", "int32[] 12"},
        .outputs = {"int16[3,6] 513 1027 1541 2055 0 0 513 3 0 0 0 0 0 0 0 0 0 0"}},
    {.op = "DecodePaddedRaw",
        .attrs = "out_type=int32; little_endian=false",
        .inputs = {"string[1] '\001\002\003\004\005\006\007\010'", "int32[] 4"},
        .outputs = {"int32[1,1] 16909060"}},
};

static void
bytes_become_elements(void **state)
{
    (void)state;
    RUN(decoded_cases);
}

static void
texts_that_are_no_base64_are_refused(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "DecodeBase64",
            .inputs = {"string[2] 'YQ' 'Y*=='"},
            .error = "string 1 is no URL-safe base64",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "DecodeBase64",
            .inputs = {"string[1] 'ab+/'"},
            .error = "string 0 is no URL-safe base64",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "DecodeBase64",
            .inputs = {"string[1] 'Y'"},
            .error = "string 0 is no URL-safe base64",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
strings_that_do_not_fit_elements_are_refused(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "DecodeRaw",
            .attrs = "out_type=int16",
            .inputs = {"string[2] 'abcd' 'ab'"},
            .error = "string 1 has 2 bytes, the first one 4",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "DecodeRaw",
            .attrs = "out_type=int16",
            .inputs = {"string[1] 'abc'"},
            .error = "strings of 3 bytes are no elements of 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "DecodePaddedRaw",
            .attrs = "out_type=int16",
            .inputs = {"string[1] 'abc'", "int32[] 3"},
            .error = "the fixed length 3 is not a positive multiple of an element's 2 bytes",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "DecodePaddedRaw",
            .attrs = "out_type=int16",
            .inputs = {"string[1] 'abc'", "int32[] 0"},
            .error = "the fixed length 0 is not a positive multiple of an element's 2 bytes",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_become_base64_and_back),
        cmocka_unit_test(bytes_become_elements),
        cmocka_unit_test(texts_that_are_no_base64_are_refused),
        cmocka_unit_test(strings_that_do_not_fit_elements_are_refused),
    };
    return cmocka_run_group_tests_name("reference/strings_codec", tests, NULL, NULL);
}
