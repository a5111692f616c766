/* Strings matched by regular expressions, as RE2 does, and cut by them, as ONNX Runtime does. */
#include "tests/support/cmocka_all.h"
#include "tests/support/op_case.h"

#define RUN(cases) op_cases_run(cases, COUNT_OF(cases))

static void
whole_texts_match_patterns(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=a*b|c+",
            .inputs = {"string[6] 'b' 'aab' 'c' 'cc' 'ab_' 'aac'"},
            .outputs = {"bool[6] 1 1 1 1 0 0"}},
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=(ab|a)(bc)?",
            .inputs = {"string[4] 'ab' 'abc' 'a' 'abbc'"},
            .outputs = {"bool[4] 1 1 1 1"}},
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=[^a-c]+",
            .inputs = {"string[4] 'xyz' 'a' 'é€' 'd-'"},
            .outputs = {"bool[4] 1 0 1 1"}},
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=x{2}",
            .inputs = {"string[3] 'x' 'xx' 'xxx'"},
            .outputs = {"bool[3] 0 1 0"}},
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=x{2,}y?",
            .inputs = {"string[4] 'xx' 'xxxy' 'x' 'y'"},
            .outputs = {"bool[4] 1 1 0 0"}},
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=(a|b){1,3}?",
            .inputs = {"string[3] 'a' 'abab' 'aba'"},
            .outputs = {"bool[3] 1 0 1"}},
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=\\\\w+@\\\\w+\\\\.com",
            .inputs = {"string[3] 'me@a.com' 'me@acom' '@a.com'"},
            .outputs = {"bool[3] 1 0 0"}},
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=\\\\d\\\\D\\\\S",
            .inputs = {"string[3] '1a2' '12a' '1é_'"},
            .outputs = {"bool[3] 1 0 1"}},
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=[\\\\w.-]+",
            .inputs = {"string[2] 'a.b-c' 'a+b'"},
            .outputs = {"bool[2] 1 0"}},
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=^a$",
            .inputs = {"string[2] 'a' 'aa'"},
            .outputs = {"bool[2] 1 0"}},
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=\\\\bab\\\\b",
            .inputs = {"string[2] 'ab' 'a'"},
            .outputs = {"bool[2] 1 0"}},
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=\\\\x41\\\\x{e9}",
            .inputs = {"string[2] 'Aé' 'Ae'"},
            .outputs = {"bool[2] 1 0"}},
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=(?:a|())b",
            .inputs = {"string[3] 'ab' 'b' 'bb'"},
            .outputs = {"bool[3] 1 1 0"}},
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=((a+)+)+",
            .inputs = {"string[2] 'aaaa' 'aab'"},
            .outputs = {"bool[2] 1 0"}},
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=.é?",
            .inputs = {"string[4] 'xé' 'x' 'é' 'éé'"},
            .outputs = {"bool[4] 1 1 1 1"}},
    };
    RUN(cases);
}

static void
patterns_that_cannot_be_read_are_refused(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=a(",
            .inputs = {"string[1] 'a'"},
            .error = "pattern 'a(': a group is not closed at byte 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=a)",
            .inputs = {"string[1] 'a'"},
            .error = "pattern 'a)': a group is closed that was not opened at byte 1",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=*a",
            .inputs = {"string[1] 'a'"},
            .error = "pattern '*a': there is nothing to repeat at byte 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=[a",
            .inputs = {"string[1] 'a'"},
            .error = "pattern '[a': a class is not closed at byte 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=[b-a]",
            .inputs = {"string[1] 'a'"},
            .error = "pattern '[b-a]': a range of characters ends before it begins at byte 4",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=a{2,1}",
            .inputs = {"string[1] 'a'"},
            .error = "pattern 'a{2,1}': the number of repetitions is wrong at byte 6",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=a\\",
            .inputs = {"string[1] 'a'"},
            .error = "pattern 'a\\': a backslash ends it at byte 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=(?i)a",
            .inputs = {"string[1] 'a'"},
            .error = "pattern '(?i)a': a flag cannot be matched (byte 1)",
            .error_code = STATUS_UNIMPLEMENTED},
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=\\\\pL",
            .inputs = {"string[1] 'a'"},
            .error = "pattern '\\pL': this escape cannot be matched (byte 1)",
            .error_code = STATUS_UNIMPLEMENTED},
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=[[:digit:]]",
            .inputs = {"string[1] 'a'"},
            .error = "pattern '[[:digit:]]': a named class cannot be matched (byte 1)",
            .error_code = STATUS_UNIMPLEMENTED},
        {.op = "onnx::RegexFullMatch",
            .attrs = "pattern=((a{1000}){1000}){1000}",
            .inputs = {"string[1] 'a'"},
            .error = "pattern '((a{1000}){1000}){1000}' is larger than 20000 instructions",
            .error_code = STATUS_RESOURCE_EXHAUSTED},
    };
    RUN(cases);
}

static void
strings_become_tokens(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "com.microsoft::Tokenizer",
            .attrs = "mark=0; mincharnum=1; pad_value=#; tokenexp=\\\\w+",
            .inputs = {"string[3] 'the cat, 2 dogs' '' 'a-b'"},
            .outputs = {"string[3,4] 'the' 'cat' '2' 'dogs' '#' '#' '#' '#' 'a' 'b' '#' '#'"}},
        {.op = "com.microsoft::Tokenizer",
            .attrs = "mark=1; mincharnum=2; pad_value=#; tokenexp=[a-z]+",
            .inputs = {"string[3] 'the cat, 2 dogs' '' 'a-b'"},
            .outputs = {"string[3,5] '\x02' 'the' 'cat' 'dogs' '\x03' '\x02' '\x03' '#' '#' '#' '\x02' "
                        "'\x03' '#' '#' '#'"}},
        {.op = "com.microsoft::Tokenizer", /* the first alternative of several */
            .attrs = "mark=0; mincharnum=1; pad_value=; tokenexp=a|ab|b?",
            .inputs = {"string[2] 'abxb' 'xx'"},
            .outputs = {"string[2,3] 'a' 'b' 'b' '' '' ''"}},
        {.op = "com.microsoft::Tokenizer",
            .attrs = "mark=0; mincharnum=2; pad_value=#; separators=[1+,x]",
            .inputs = {"string[1,2] 'ab11éàxc' '1xdd1'"},
            .outputs = {"string[1,2,2] 'ab' 'éà' 'dd' '#'"}},
        {.op = "com.microsoft::Tokenizer",
            .attrs = "mark=0; mincharnum=1; pad_value=#; tokenexp=.",
            .inputs = {"string[2] 'aé€' 'b'"},
            .outputs = {"string[2,3] 'a' 'é' '€' 'b' '#' '#'"}},
        {.op = "com.microsoft::Tokenizer",
            .attrs = "mark=0; mincharnum=1; pad_value=#; tokenexp=a",
            .inputs = {"string[0]"},
            .outputs = {"string[0,0]"}},
        {.op = "com.microsoft::Tokenizer",
            .attrs = "mark=0; mincharnum=1; pad_value=#",
            .inputs = {"string[1] 'a'"},
            .error = "a Tokenizer has either separators or a tokenexp",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "com.microsoft::Tokenizer",
            .attrs = "mark=0; mincharnum=1; pad_value=#; tokenexp=a",
            .inputs = {"string[] 'a'"},
            .error = "strings of rank 0 are neither [C] nor [N,C]",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
strings_are_cut_and_joined_pairwise(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "onnx::StringSplit",
            .inputs = {"string[3] ' hello  world ' 'a' ''"},
            .outputs = {"string[3,2] 'hello' 'world' 'a' '' '' ''", "int64[3] 2 1 0"}},
        {.op = "onnx::StringSplit",
            .attrs = "delimiter=<>; maxsplit=1",
            .inputs = {"string[2,1] 'a<>b<>c' ''"},
            .outputs = {"string[2,1,2] 'a' 'b<>c' '' ''", "int64[2,1] 2 1"}},
        {.op = "onnx::StringSplit",
            .attrs = "maxsplit=1",
            .inputs = {"string[] ' a b  c '"},
            .outputs = {"string[2] 'a' 'b  c '", "int64[] 2"}},
        {.op = "onnx::StringSplit",
            .attrs = "delimiter=-",
            .inputs = {"string[1] '--'"},
            .outputs = {"string[1,3] '' '' ''", "int64[1] 3"}},
        {.op = "onnx::StringSplit", .inputs = {"string[0]"}, .outputs = {"string[0,0]", "int64[0]"}},
        {.op = "onnx::StringConcat",
            .inputs = {"string[2,1] 'a' 'b'", "string[3] 'x' '' 'é'"},
            .outputs = {"string[2,3] 'ax' 'a' 'aé' 'bx' 'b' 'bé'"}},
        {.op = "onnx::StringConcat", .inputs = {"string[0]", "string[] 'x'"}, .outputs = {"string[0]"}},
        {.op = "onnx::StringConcat",
            .inputs = {"string[2] 'a' 'b'", "string[3] 'x' '' 'y'"},
            .error = "shapes [2] and [3] do not broadcast",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

/* TensorFlow's results. An empty match just behind another one is none. */
static void
matches_are_replaced_as_in_tensorflow(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "StaticRegexReplace",
            .attrs = "pattern=[0-9]+; rewrite=<\\\\0>",
            .inputs = {"string[4] 'a1b22c333' '' 'xyz' 'café 99'"},
            .outputs = {"string[4] 'a<1>b<22>c<333>' '' 'xyz' 'café <99>'"}},
        {.op = "StaticRegexReplace",
            .attrs = "pattern=[aeiou]; rewrite=_; replace_global=false",
            .inputs = {"string[1,3] 'a1b' 'café' 'aaa'"},
            .outputs = {"string[1,3] '_1b' 'c_fé' '_aa'"}},
        {.op = "StaticRegexReplace",
            .attrs = "pattern=x*; rewrite=-",
            .inputs = {"string[4] 'a1b2' '' 'xyz' 'café'"},
            .outputs = {"string[4] '-a-1-b-2-' '-' '-y-z-' '-c-a-f-é-'"}},
        {.op = "StaticRegexReplace",
            .attrs = "pattern=é|$; rewrite=E",
            .inputs = {"string[3] '' 'xyz' 'café 99'"},
            .outputs = {"string[3] 'E' 'xyzE' 'cafE 99E'"}},
        {.op = "StaticRegexReplace",
            .attrs = "pattern=[0-9]+$; rewrite=",
            .inputs = {"string[] 'a1b22c333'"},
            .outputs = {"string[] 'a1b22c'"}},
        {.op = "RegexReplace",
            .inputs = {"string[2] 'a1b' 'aaa'", "string[] 'a'", "string[] '_'"},
            .outputs = {"string[2] '_1b' '___'"}},
        {.op = "RegexReplace",
            .inputs = {"string[0]", "string[] 'a'", "string[] '_'"},
            .outputs = {"string[0]"}},
        {.op = "StaticRegexFullMatch",
            .attrs = "pattern=[a-z0-9]*",
            .inputs = {"string[4] 'a1b22c333' '' 'xyz' 'café 99'"},
            .outputs = {"bool[4] 1 1 1 0"}},
        {.op = "RegexFullMatch",
            .inputs = {"string[1,2] 'ab' 'b'", "string[] 'a.*'"},
            .outputs = {"bool[1,2] 1 0"}},
    };
    RUN(cases);
}

static void
what_cannot_be_replaced_is_refused(void **state)
{
    (void)state;
    const OpCase cases[] = {
        {.op = "StaticRegexReplace",
            .attrs = "pattern=(a)b; rewrite=\\\\1",
            .inputs = {"string[1] 'ab'"},
            .error = "rewrite '\\1' names group 1; only \\0, the whole match, is known",
            .error_code = STATUS_UNIMPLEMENTED},
        {.op = "StaticRegexReplace",
            .attrs = "pattern=a; rewrite=\\\\n",
            .inputs = {"string[1] 'ab'"},
            .error = "rewrite '\\n' has a backslash before neither a digit nor a backslash",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "RegexReplace",
            .inputs = {"string[1] 'ab'", "string[] 'a('", "string[] ''"},
            .error = "pattern 'a(': a group is not closed at byte 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.op = "RegexFullMatch",
            .inputs = {"string[1] 'ab'", "string[1] 'a'"},
            .error = "input 1 has shape [1], not rank 0",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_texts_match_patterns),
        cmocka_unit_test(patterns_that_cannot_be_read_are_refused),
        cmocka_unit_test(matches_are_replaced_as_in_tensorflow),
        cmocka_unit_test(what_cannot_be_replaced_is_refused),
        cmocka_unit_test(strings_become_tokens),
        cmocka_unit_test(strings_are_cut_and_joined_pairwise),
    };
    return cmocka_run_group_tests_name("reference/strings_patterns", tests, NULL, NULL);
}
