/* Strings taken apart into characters. Expected values are TensorFlow 2.21.0's. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static const OpCase decoded_cases[] = {
    {.op = "UnicodeDecode",
        .attrs = "input_encoding=UTF-8",
        .inputs = {"string[3] 'a\303\251\342\202\254\360\237\230\200' '' '\001x\011y'"},
        .outputs = {"int64[4] 0 4 4 8", "int32[8] 97 233 8364 128512 1 120 9 121"}},
    {.op = "UnicodeTranscode",
        .attrs = "input_encoding=UTF-8; output_encoding=UTF-8",
        .inputs = {"string[3] 'a\303\251\342\202\254\360\237\230\200' '' '\001x\011y'"},
        .outputs = {"string[3] 'a\303\251\342\202\254\360\237\230\200' '' '\001x\011y'"}},
    {.op = "UnicodeDecode",
        .attrs = "input_encoding=UTF-8; errors=ignore",
        .inputs = {"string[3] 'a\303\251\342\202\254\360\237\230\200' '' '\001x\011y'"},
        .outputs = {"int64[4] 0 4 4 8", "int32[8] 97 233 8364 128512 1 120 9 121"}},
    {.op = "UnicodeTranscode",
        .attrs = "input_encoding=UTF-8; output_encoding=UTF-8; errors=ignore",
        .inputs = {"string[3] 'a\303\251\342\202\254\360\237\230\200' '' '\001x\011y'"},
        .outputs = {"string[3] 'a\303\251\342\202\254\360\237\230\200' '' '\001x\011y'"}},
    {.op = "UnicodeDecode",
        .attrs = "input_encoding=UTF-8; replacement_char=42; replace_control_characters=true",
        .inputs = {"string[3] 'a\303\251\342\202\254\360\237\230\200' '' '\001x\011y'"},
        .outputs = {"int64[4] 0 4 4 8", "int32[8] 97 233 8364 128512 42 120 42 121"}},
    {.op = "UnicodeTranscode",
        .attrs = "input_encoding=UTF-8; output_encoding=UTF-8; replacement_char=42; "
                 "replace_control_characters=true",
        .inputs = {"string[3] 'a\303\251\342\202\254\360\237\230\200' '' '\001x\011y'"},
        .outputs = {"string[3] 'a\303\251\342\202\254\360\237\230\200' '' '*x*y'"}},
    {.op = "UnicodeDecode",
        .attrs = "input_encoding=UTF-8",
        .inputs = {"string[12] 'a\377b' '\342\202' '\342\202a' '\360\237\230' '\300\200' '\355\240\200' "
                   "'\365\200\200\200' '\200\200' '\340\200\200' '\364\220\200\200' 'ok' '\303'"},
        .outputs = {"int64[13] 0 3 4 6 7 9 12 16 18 21 25 27 28",
            "int32[28] 97 65533 98 65533 65533 97 65533 65533 65533 65533 65533 65533 65533 65533 65533 "
            "65533 65533 65533 65533 65533 65533 65533 65533 65533 65533 111 107 65533"}},
    {.op = "UnicodeTranscode",
        .attrs = "input_encoding=UTF-8; output_encoding=UTF-8",
        .inputs = {"string[12] 'a\377b' '\342\202' '\342\202a' '\360\237\230' '\300\200' '\355\240\200' "
                   "'\365\200\200\200' '\200\200' '\340\200\200' '\364\220\200\200' 'ok' '\303'"},
        .outputs = {"string[12] 'a\357\277\275b' '\357\277\275' '\357\277\275a' '\357\277\275' "
                    "'\357\277\275\357\277\275' '\357\277\275\357\277\275\357\277\275' "
                    "'\357\277\275\357\277\275\357\277\275\357\277\275' '\357\277\275\357\277\275' "
                    "'\357\277\275\357\277\275\357\277\275' "
                    "'\357\277\275\357\277\275\357\277\275\357\277\275' 'ok' '\357\277\275'"}},
    {.op = "UnicodeDecode",
        .attrs = "input_encoding=UTF-8; errors=ignore",
        .inputs = {"string[12] 'a\377b' '\342\202' '\342\202a' '\360\237\230' '\300\200' '\355\240\200' "
                   "'\365\200\200\200' '\200\200' '\340\200\200' '\364\220\200\200' 'ok' '\303'"},
        .outputs = {"int64[13] 0 2 2 3 3 3 3 3 3 3 3 5 5", "int32[5] 97 98 97 111 107"}},
    {.op = "UnicodeTranscode",
        .attrs = "input_encoding=UTF-8; output_encoding=UTF-8; errors=ignore",
        .inputs = {"string[12] 'a\377b' '\342\202' '\342\202a' '\360\237\230' '\300\200' '\355\240\200' "
                   "'\365\200\200\200' '\200\200' '\340\200\200' '\364\220\200\200' 'ok' '\303'"},
        .outputs = {"string[12] 'ab' '' 'a' '' '' '' '' '' '' '' 'ok' ''"}},
    {.op = "UnicodeDecode",
        .attrs = "input_encoding=UTF-8; replacement_char=42; replace_control_characters=true",
        .inputs = {"string[12] 'a\377b' '\342\202' '\342\202a' '\360\237\230' '\300\200' '\355\240\200' "
                   "'\365\200\200\200' '\200\200' '\340\200\200' '\364\220\200\200' 'ok' '\303'"},
        .outputs = {"int64[13] 0 3 4 6 7 9 12 16 18 21 25 27 28",
            "int32[28] 97 42 98 42 42 97 42 42 42 42 42 42 42 42 42 42 42 42 42 42 42 42 42 42 42 111 "
            "107 42"}},
    {.op = "UnicodeTranscode",
        .attrs = "input_encoding=UTF-8; output_encoding=UTF-8; replacement_char=42; "
                 "replace_control_characters=true",
        .inputs = {"string[12] 'a\377b' '\342\202' '\342\202a' '\360\237\230' '\300\200' '\355\240\200' "
                   "'\365\200\200\200' '\200\200' '\340\200\200' '\364\220\200\200' 'ok' '\303'"},
        .outputs = {"string[12] 'a*b' '*' '*a' '*' '**' '***' '****' '**' '***' '****' 'ok' '*'"}},
    {.op = "UnicodeDecode",
        .attrs = "input_encoding=UTF-8; Tsplits=int32",
        .inputs = {"string[3] 'a\303\251\342\202\254\360\237\230\200' '' '\001x\011y'"},
        .outputs = {"int32[4] 0 4 4 8", "int32[8] 97 233 8364 128512 1 120 9 121"}},
    {.op = "UnicodeDecode",
        .attrs = "input_encoding=UTF-8",
        .inputs = {"string[0]"},
        .outputs = {"int64[1] 0", "int32[0]"}},
    {.op = "UnicodeDecode",
        .attrs = "input_encoding=UTF-8",
        .inputs = {"string[2,1] 'ab' 'c'"},
        .outputs = {"int64[3] 0 2 3", "int32[3] 97 98 99"}},
    {.op = "UnicodeTranscode",
        .attrs = "input_encoding=UTF-8; output_encoding=UTF-8; errors=strict",
        .inputs = {"string[] 'ab'"},
        .outputs = {"string[] 'ab'"}},
};

static void
strings_are_taken_apart_into_characters(void **state)
{
    (void)state;
    RUN(decoded_cases);
}

static void
characters_are_put_together(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "UnicodeEncode",
            .attrs = "output_encoding=UTF-8",
            .inputs = {"int32[8] 97 233 8364 128512 55296 1114112 -1 98", "int64[5] 0 3 3 6 8"},
            .outputs = {"string[4] 'a\303\251\342\202\254' '' '\360\237\230\200\357\277\275\357\277\275' "
                        "'\357\277\275b'"}},
        {.op = "UnicodeEncode",
            .attrs = "output_encoding=UTF-8; errors=ignore",
            .inputs = {"int32[8] 97 233 8364 128512 55296 1114112 -1 98", "int64[5] 0 3 3 6 8"},
            .outputs = {"string[4] 'a\303\251\342\202\254' '' '\360\237\230\200' 'b'"}},
        {.op = "UnicodeEncode",
            .attrs = "output_encoding=UTF-8; replacement_char=42",
            .inputs = {"int32[8] 97 233 8364 128512 55296 1114112 -1 98", "int64[5] 0 3 3 6 8"},
            .outputs = {"string[4] 'a\303\251\342\202\254' '' '\360\237\230\200**' '*b'"}},
        {.op = "UnicodeEncode",
            .attrs = "output_encoding=UTF-8",
            .inputs = {"int32[0]", "int32[1] 0"},
            .outputs = {"string[0]"}},
    };
    RUN(cases);
}

static void
what_is_no_text_is_refused(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "UnicodeDecode",
            .attrs = "input_encoding=UTF-8; errors=strict",
            .inputs = {"string[2] 'a' 'a\377'"},
            .error = "string 1 is no UTF-8",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "UnicodeEncode",
            .attrs = "output_encoding=UTF-8; errors=strict",
            .inputs = {"int32[1] -1", "int64[2] 0 1"},
            .error = "string 0 is no UTF-8",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "UnicodeEncode",
            .attrs = "output_encoding=UTF-8",
            .inputs = {"int32[2] 97 98", "int64[3] 0 2 1"},
            .error = "split 2 is 1; splits go up from 0 to 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "UnicodeEncode",
            .attrs = "output_encoding=UTF-8",
            .inputs = {"int32[2] 97 98", "int64[2] 1 2"},
            .error = "split 0 is 1; splits go up from 0 to 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "UnicodeEncode",
            .attrs = "output_encoding=UTF-8",
            .inputs = {"int32[2] 97 98", "int64[3] 0 9 2"},
            .error = "split 1 is 9; splits go up from 0 to 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "UnicodeEncode",
            .attrs = "output_encoding=UTF-8",
            .inputs = {"int32[2] 97 98", "int64[0]"},
            .error = "the splits have no element, not at least 1",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_taken_apart_into_characters),
        cmocka_unit_test(characters_are_put_together),
        cmocka_unit_test(what_is_no_text_is_refused),
    };
    return cmocka_run_group_tests_name("reference/strings_unicode", tests, NULL, NULL);
}
