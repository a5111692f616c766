/* Words normalised and counted, against ONNX Runtime's results. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
stop_words_are_dropped_and_letters_change_their_case(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::StringNormalizer",
            .attrs = "case_change_action=LOWER; stopwords=[monday]",
            .inputs = {"string[6] 'Monday' 'tuesday' 'WEDNESDAY' 'École' 'ÄÖÜŒŽŸ' 'ñ€ß×'"},
            .outputs = {"string[5] 'tuesday' 'wednesday' 'école' 'äöüœžÿ' 'ñ€ß×'"}},
        {.op = "onnx::StringNormalizer",
            .attrs = "case_change_action=UPPER; stopwords=[monday]; is_case_sensitive=1",
            .inputs = {"string[5] 'monday' 'Monday' 'éŷÿ' 'дёλ' '÷'"},
            .outputs = {"string[4] 'MONDAY' 'ÉŶŸ' 'ДЁΛ' '÷'"}},
        {.op = "onnx::StringNormalizer",
            .attrs = "stopwords=[A,B]",
            .inputs = {"string[1,2] 'a' 'b'"},
            .outputs = {"string[1,1] ''"}},
        {.op = "onnx::StringNormalizer",
            .inputs = {"string[3] 'A' '' 'b'"},
            .outputs = {"string[3] 'A' '' 'b'"}},
        {.op = "onnx::StringNormalizer", .inputs = {"string[0]"}, .outputs = {"string[1] ''"}},
        {.op = "onnx::StringNormalizer",
            .inputs = {"string[2,1] 'a' 'b'"},
            .error = "strings of shape [2,1] are neither [C] nor [1,C]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::StringNormalizer",
            .attrs = "case_change_action=TITLE",
            .inputs = {"string[1] 'a'"},
            .error = "case_change_action is 'TITLE', not 'NONE', 'LOWER' or 'UPPER'",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

#define POOL                                                                                                 \
    "ngram_counts=[0,3]; ngram_indexes=[1,0,3,2,5]; min_gram_length=1; max_gram_length=2; "                  \
    "pool_strings=[a,b,d,a,b,b,a]"
#define NUMBERS                                                                                              \
    "ngram_counts=[0,3]; ngram_indexes=[1,0,3,2,4]; min_gram_length=1; max_gram_length=2; "                  \
    "pool_int64s=[1,2,3,1,2,2,1]; weights=[0.5,2,3,4,5]"

static void
n_grams_of_a_pool_are_counted(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::TfIdfVectorizer",
            .attrs = "mode=TF; max_skip_count=0; " POOL,
            .inputs = {"string[5] 'a' 'b' 'a' 'c' 'b'"},
            .outputs = {"float32[6] 2 2 1 0 0 1"}},
        {.op = "onnx::TfIdfVectorizer",
            .attrs = "mode=TF; max_skip_count=2; " POOL,
            .inputs = {"string[5] 'a' 'b' 'a' 'c' 'b'"},
            .outputs = {"float32[6] 2 2 2 0 0 1"}},
        {.op = "onnx::TfIdfVectorizer",
            .attrs = "mode=TFIDF; max_skip_count=1; " NUMBERS,
            .inputs = {"int64[2,3] 1 2 1 2 2 3"},
            .outputs = {"float32[2,5] 2 1 4 0 5 4 0 0 3 0"}},
        {.op = "onnx::TfIdfVectorizer",
            .attrs = "mode=IDF; max_skip_count=1; " NUMBERS,
            .inputs = {"int32[2,3] 1 2 1 2 2 3"},
            .outputs = {"float32[2,5] 2 0.5 4 0 5 2 0 0 3 0"}},
        {.op = "onnx::TfIdfVectorizer",
            .attrs = "mode=TF; max_skip_count=0; " POOL,
            .inputs = {"string[0,2]"},
            .outputs = {"float32[0,6]"}},
        {.op = "onnx::TfIdfVectorizer",
            .attrs = "mode=TF; max_skip_count=0; " POOL,
            .inputs = {"string[] 'b'"},
            .outputs = {"float32[6] 1 0 0 0 0 0"}},
    };
    RUN(cases);
}

static void
pools_that_hold_no_n_grams_are_refused(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::TfIdfVectorizer",
            .attrs = "mode=TOP; max_skip_count=0; " POOL,
            .inputs = {"string[1] 'b'"},
            .error = "mode is 'TOP', not 'TF', 'IDF' or 'TFIDF'",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::TfIdfVectorizer",
            .attrs = "mode=TF; max_skip_count=-1; " POOL,
            .inputs = {"string[1] 'b'"},
            .error = "n-grams of 1 to 2 items with up to -1 skipped are not to be had",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::TfIdfVectorizer",
            .attrs = "mode=TF; max_skip_count=0; min_gram_length=1; max_gram_length=2; ngram_counts=[0,2]; "
                     "ngram_indexes=[0,1,2]; pool_int64s=[1,2,3]",
            .inputs = {"int64[1] 1"},
            .error = "items 2 to 3 of a pool of 3 are no n-grams of 2 items",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::TfIdfVectorizer",
            .attrs = "mode=TF; max_skip_count=0; min_gram_length=1; max_gram_length=1; ngram_counts=[0]; "
                     "ngram_indexes=[0,1]; pool_int64s=[1,2,3]",
            .inputs = {"int64[1] 1"},
            .error = "the pool has more n-grams than ngram_indexes, 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::TfIdfVectorizer",
            .attrs = "mode=TF; max_skip_count=0; min_gram_length=1; max_gram_length=1; ngram_counts=[0]; "
                     "ngram_indexes=[0,-1]; pool_int64s=[1,2]",
            .inputs = {"int64[1] 1"},
            .error = "index -1 of n-gram 1 is not from 0 to 2147483646",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::TfIdfVectorizer",
            .attrs = "mode=IDF; max_skip_count=0; min_gram_length=1; max_gram_length=1; ngram_counts=[0]; "
                     "ngram_indexes=[0,1]; pool_int64s=[1,2]; weights=[1]",
            .inputs = {"int64[1] 1"},
            .error = "there are 1 weights for 2 n-grams",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::TfIdfVectorizer",
            .attrs = "mode=TF; max_skip_count=0; " POOL,
            .inputs = {"string[1,1,1] 'b'"},
            .error = "an input of rank 3 is neither [C] nor [N,C]",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stop_words_are_dropped_and_letters_change_their_case),
        cmocka_unit_test(n_grams_of_a_pool_are_counted),
        cmocka_unit_test(pools_that_hold_no_n_grams_are_refused),
    };
    return cmocka_run_group_tests_name("reference/strings_onnx", tests, NULL, NULL);
}
