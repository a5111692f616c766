/* Strings cut, joined and hashed, against TensorFlow's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

/* Texts of every length that hashes treat in their own way. */
#define OF_EVERY_LENGTH                                                                                      \
    "string[13] '' 'a' 'abcd' 'hello' '12345678' '0123456789abcdef' '0123456789abcdefg' "                    \
    "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy' "                                \
    "'zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz' "                                    \
    "'wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww' 'The quick brown "                  \
    "fox jumps over the lazy dog, and does it again until the line is long enough.' 'é'"

static void
strings_are_spread_as_tensorflow_does(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "StringToHashBucketFast",
            .attrs = "num_buckets=1000003",
            .inputs = {OF_EVERY_LENGTH},
            .outputs = {"int64[13] 377723 291400 267500 497363 470335 128007 663110 750362 904239 375874 "
                        "913695 981036 47472"}},
        {.op = "StringToHashBucket",
            .attrs = "num_buckets=1000003",
            .inputs = {OF_EVERY_LENGTH},
            .outputs = {"int64[13] 598820 789371 813845 546981 866643 14460 496984 763069 346136 128061 "
                        "203205 420884 164913"}},
        {.op = "StringToHashBucketStrong",
            .attrs = "num_buckets=1000003; key=[123,456]",
            .inputs = {OF_EVERY_LENGTH},
            .outputs = {"int64[13] 804547 12304 285597 395997 340353 862801 40241 710272 426444 221102 "
                        "410365 143403 469031"}},
        {.op = "StringToHashBucketFast",
            .attrs = "num_buckets=1",
            .inputs = {"string[1] 'a'"},
            .outputs = {"int64[1] 0"}},
    };
    RUN(cases);
}

static void
strings_are_cut_and_joined(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "StringSplitV2",
            .inputs = {"string[3] 'hello world' ' a  b ' ''", "string[] ''"},
            .outputs = {"int64[4,2] 0 0 0 1 1 0 1 1", "string[4] 'hello' 'world' 'a' 'b'", "int64[2] 3 2"}},
        {.op = "StringSplitV2",
            .inputs = {"string[3] 'a,,b,' ',' ''", "string[] ','"},
            .outputs = {"int64[7,2] 0 0 0 1 0 2 0 3 1 0 1 1 2 0", "string[7] 'a' '' 'b' '' '' '' ''",
                "int64[2] 3 4"}},
        {.op = "StringSplitV2",
            .inputs = {"string[2] 'a<>b<>c' '<>'", "string[] '<>'"},
            .outputs = {"int64[5,2] 0 0 0 1 0 2 1 0 1 1", "string[5] 'a' 'b' 'c' '' ''", "int64[2] 2 3"}},
        {.op = "StringSplitV2",
            .attrs = "maxsplit=1",
            .inputs = {"string[2] 'a b c d' ' x  y z '", "string[] ''"},
            .outputs = {"int64[4,2] 0 0 0 1 1 0 1 1", "string[4] 'a' 'b c d' 'x' 'y z '", "int64[2] 2 2"}},
        {.op = "StringSplitV2",
            .attrs = "maxsplit=1",
            .inputs = {"string[2] 'a,b,c' 'd'", "string[] ','"},
            .outputs = {"int64[3,2] 0 0 0 1 1 0", "string[3] 'a' 'b,c' 'd'", "int64[2] 2 2"}},
        {.op = "StringSplitV2",
            .attrs = "maxsplit=0",
            .inputs = {"string[1] 'a,b,c'", "string[] ','"},
            .outputs = {"int64[1,2] 0 0", "string[1] 'a,b,c'", "int64[2] 1 1"}},
        {.op = "StringSplit",
            .inputs = {"string[2] 'a,b;;c' ''", "string[] ',;'"},
            .outputs = {"int64[3,2] 0 0 0 1 0 2", "string[3] 'a' 'b' 'c'", "int64[2] 2 3"}},
        {.op = "StringSplit",
            .attrs = "skip_empty=false",
            .inputs = {"string[2] 'a,b;;c' ''", "string[] ',;'"},
            .outputs = {"int64[4,2] 0 0 0 1 0 2 0 3", "string[4] 'a' 'b' '' 'c'", "int64[2] 2 4"}},
        {.op = "StringSplit",
            .inputs = {"string[2] 'abc' ''", "string[] ''"},
            .outputs = {"int64[3,2] 0 0 0 1 0 2", "string[3] 'a' 'b' 'c'", "int64[2] 2 3"}},
        {.op = "Substr",
            .inputs = {"string[2] 'Hello' 'World'", "int32[] 1", "int32[] 3"},
            .outputs = {"string[2] 'ell' 'orl'"}},
        {.op = "Substr",
            .inputs = {"string[2] 'Hello' 'World'", "int64[2] 1 -2", "int64[2] 9 1"},
            .outputs = {"string[2] 'ello' 'l'"}},
        {.op = "Substr",
            .inputs = {"string[2,2] 'ab' 'cd' 'ef' 'gh'", "int32[2] 0 1", "int32[2] 1 1"},
            .outputs = {"string[2,2] 'a' 'd' 'e' 'h'"}},
        {.op = "Substr",
            .inputs = {"string[2] 'Hello' 'World'", "int32[2] 2 -2", "int32[2] -1 -9"},
            .outputs = {"string[2] 'llo' 'ld'"}},
        {.op = "Substr",
            .attrs = "unit=UTF8_CHAR",
            .inputs = {"string[1] 'Hello'", "int32[1] 2", "int32[1] -1"},
            .outputs = {"string[1] ''"}},
        {.op = "Substr",
            .attrs = "unit=UTF8_CHAR",
            .inputs = {"string[1] 'héllo'", "int32[1] 1", "int32[1] 2"},
            .outputs = {"string[1] 'él'"}},
        {.op = "Substr",
            .attrs = "unit=UTF8_CHAR",
            .inputs = {"string[1] 'héllo'", "int32[1] -1", "int32[1] 2"},
            .outputs = {"string[1] 'o'"}},
        {.op = "ReduceJoin",
            .inputs = {"string[2,2] 'a' 'b' 'c' 'd'", "int32[1] 0"},
            .outputs = {"string[2] 'ac' 'bd'"}},
        {.op = "ReduceJoin",
            .inputs = {"string[2,2] 'a' 'b' 'c' 'd'", "int32[1] 1"},
            .outputs = {"string[2] 'ab' 'cd'"}},
        {.op = "ReduceJoin",
            .inputs = {"string[2,2] 'a' 'b' 'c' 'd'", "int32[2] 0 1"},
            .outputs = {"string[] 'acbd'"}},
        {.op = "ReduceJoin",
            .inputs = {"string[2,2] 'a' 'b' 'c' 'd'", "int32[2] 1 0"},
            .outputs = {"string[] 'abcd'"}},
        {.op = "ReduceJoin",
            .inputs = {"string[2,2] 'a' 'b' 'c' 'd'", "int32[0]"},
            .outputs = {"string[2,2] 'a' 'b' 'c' 'd'"}},
        {.op = "ReduceJoin",
            .inputs = {"string[2,2] 'a' 'b' 'c' 'd'", "int32[1] -1"},
            .outputs = {"string[2] 'ab' 'cd'"}},
        {.op = "ReduceJoin",
            .attrs = "keep_dims=true; separator=-",
            .inputs = {"string[2,2] 'a' 'b' 'c' 'd'", "int32[1] 1"},
            .outputs = {"string[2,1] 'a-b' 'c-d'"}},
    };
    RUN(cases);
}

static void
what_does_not_fit_is_refused(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "Substr",
            .inputs = {"string[1] 'abc'", "int32[] 4", "int32[] 1"},
            .error = "position 4 lies outside of a string of length 3",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "Substr",
            .inputs = {"string[1] 'abc'", "int32[] -4", "int32[] 1"},
            .error = "position -4 lies outside of a string of length 3",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ReduceJoin",
            .inputs = {"string[1] 'a'", "int32[2] 0 0"},
            .error = "dimension 0 is joined twice",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "ReduceJoin",
            .inputs = {"string[1] 'a'", "int32[1] 1"},
            .error = "axis 1 is not within a tensor of rank 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "StringSplitV2",
            .inputs = {"string[1] 'a'", "string[2] 'a' 'b'"},
            .error = "input 1 has shape [2], not rank 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "StringToHashBucketFast",
            .attrs = "num_buckets=0",
            .inputs = {"string[1] 'a'"},
            .error = "num_buckets is 0, not at least 1",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

#define NGRAMS(widths, pad, keeps_short)                                                                     \
    "separator=|; left_pad=LP; right_pad=RP; ngram_widths=" widths "; pad_width=" pad                        \
    "; preserve_short_sequences=" keeps_short
#define FOUR_AND_TWO "string[6] 'a' 'b' 'c' 'd' 'e' 'f'", "int64[3] 0 4 6"

/* The cases of TensorFlow's string_ngrams_op_test.cc. */
static void
neighbours_are_joined(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "StringNGrams",
            .attrs = NGRAMS("[3]", "-1", "false"),
            .inputs = {FOUR_AND_TWO},
            .outputs = {"string[10] 'LP|LP|a' 'LP|a|b' 'a|b|c' 'b|c|d' 'c|d|RP' 'd|RP|RP' 'LP|LP|e' 'LP|e|f' "
                        "'e|f|RP' 'f|RP|RP'",
                "int64[3] 0 6 10"}},
        {.op = "StringNGrams",
            .attrs = NGRAMS("[2,3]", "-1", "false"),
            .inputs = {FOUR_AND_TWO},
            .outputs =
                {"string[18] 'LP|a' 'a|b' 'b|c' 'c|d' 'd|RP' 'LP|LP|a' 'LP|a|b' 'a|b|c' 'b|c|d' 'c|d|RP' "
                 "'d|RP|RP' 'LP|e' 'e|f' 'f|RP' 'LP|LP|e' 'LP|e|f' 'e|f|RP' 'f|RP|RP'",
                    "int64[3] 0 11 18"}},
        {.op = "StringNGrams",
            .attrs = NGRAMS("[3]", "1", "false"),
            .inputs = {FOUR_AND_TWO},
            .outputs = {"string[6] 'LP|a|b' 'a|b|c' 'b|c|d' 'c|d|RP' 'LP|e|f' 'e|f|RP'", "int64[3] 0 4 6"}},
        {.op = "StringNGrams",
            .attrs = NGRAMS("[3]", "0", "false"),
            .inputs = {FOUR_AND_TWO},
            .outputs = {"string[2] 'a|b|c' 'b|c|d'", "int64[3] 0 2 2"}},
        {.op = "StringNGrams", /* what is too short for any width is one n-gram */
            .attrs = NGRAMS("[3]", "0", "true"),
            .inputs = {FOUR_AND_TWO},
            .outputs = {"string[3] 'a|b|c' 'b|c|d' 'e|f'", "int64[3] 0 2 3"}},
        {.op = "StringNGrams",
            .attrs = NGRAMS("[1]", "0", "false") "; Tsplits=int32",
            .inputs = {"string[2] 'x' 'y'", "int32[3] 0 0 2"},
            .outputs = {"string[2] 'x' 'y'", "int32[3] 0 0 2"}},
        {.op = "StringNGrams", /* padding alone ends without a separator */
            .attrs = NGRAMS("[3]", "-1", "false"),
            .inputs = {"string[1] 'x'", "int64[3] 0 1 1"},
            .outputs = {"string[5] 'LP|LP|x' 'LP|x|RP' 'x|RP|RP' 'LP|LP|RP' 'LP|RP|RP'", "int64[3] 0 3 5"}},
        {.op = "StringNGrams",
            .attrs = NGRAMS("[3]", "-1", "false"),
            .inputs = {"string[0]", "int64[2] 0 0"},
            .outputs = {"string[0]", "int64[2] 0 0"}},
        {.op = "StringNGrams",
            .attrs = NGRAMS("[3]", "0", "false"),
            .inputs = {"string[2] 'x' 'y'", "int64[2] 0 1"},
            .error = "data_splits[1] is 1: splits go from 0 up to 2, the number of strings",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "StringNGrams",
            .attrs = NGRAMS("[0]", "0", "false"),
            .inputs = {"string[1] 'x'", "int64[2] 0 1"},
            .error = "ngram_widths[0] is 0, not 1 to 1048576",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "StringNGrams",
            .attrs = NGRAMS("[]", "4611686018427387904", "true"),
            .inputs = {"string[1] 'x'", "int64[2] 0 1"},
            .error = "pad_width is 4611686018427387904, not 1048576 at most",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "StringNGrams",
            .attrs = NGRAMS("[1]", "0", "false") "; Tsplits=uint8",
            .inputs = {"string[2] 'x' 'y'", "uint8[3] 0 0 2"},
            .error = "no reference kernel for 'StringNGrams' of string",
            .error_code = STATUS_UNIMPLEMENTED},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_spread_as_tensorflow_does),
        cmocka_unit_test(strings_are_cut_and_joined),
        cmocka_unit_test(neighbours_are_joined),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests_name("reference/strings_parts", tests, NULL, NULL);
}
