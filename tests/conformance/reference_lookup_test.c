/* Lookup tables: what a session's steps put in, later steps find. */
#include "tests/support/cmocka_all.h"
#include "tests/support/graph_case.h"

#define RUN(cases) graph_cases_run(cases, COUNT_OF(cases))

#define FIXED "t = HashTableV2() key_dtype=string value_dtype=int64\n"
#define MUTABLE "t = MutableHashTableV2() key_dtype=int64 value_dtype=string shared_name='m'\n"
#define ROWS "k = _Arg() T=string index=0\nv = _Arg() T=int64 index=1\n"
#define FIND                                                                                                 \
    "k = _Arg() T=string index=0\nd = _Arg() T=int64 index=1\n"                                              \
    "f = LookupTableFindV2(t, k, d) Tin=string Tout=int64\no = _Retval(f) T=int64 index=0\n"

static void
a_fixed_table_is_filled_once(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = FIXED FIND,
            .feeds = {"string[1] 'a'", "int64[] -1"},
            .error = "table 't' is not initialised",
            .error_code = STATUS_FAILED_PRECONDITION},
        {.graph = FIXED ROWS "i = InitializeTableV2(t, k, v) Tkey=string Tval=int64\n"
                             "s = LookupTableSizeV2(t, ^i)\no = _Retval(s) T=int64 index=0\n",
            .feeds = {"string[3] 'a' 'b' ''", "int64[3] 1 2 3"},
            .fetches = {"int64[] 3"}},
        {.graph = FIXED FIND,
            .feeds = {"string[2,2] 'b' 'c' '' 'a'", "int64[] -1"},
            .fetches = {"int64[2,2] 2 -1 3 1"}},
        {.graph = FIXED FIND, .feeds = {"string[2] 'x' 'y'", "int64[2] 8 9"}, .fetches = {"int64[2] 8 9"}},
        {.graph = FIXED FIND,
            .feeds = {"string[2] 'x' 'y'", "int64[3] 8 9 10"},
            .error = "the values have shape [3], not [2]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = FIXED ROWS "i = LookupTableImportV2(t, k, v) Tin=string Tout=int64\n"
                             "s = LookupTableSizeV2(t, ^i)\no = _Retval(s) T=int64 index=0\n",
            .feeds = {"string[3] 'a' 'b' ''", "int64[3] 1 2 3"},
            .fetches = {"int64[] 3"}},
        {.graph = FIXED ROWS "i = LookupTableImportV2(t, k, v) Tin=string Tout=int64\n"
                             "s = LookupTableSizeV2(t, ^i)\no = _Retval(s) T=int64 index=0\n",
            .feeds = {"string[1] 'z'", "int64[1] 1"},
            .error = "table 't' was filled with other keys already",
            .error_code = STATUS_FAILED_PRECONDITION},
        {.graph = FIXED ROWS "i = LookupTableInsertV2(t, k, v) Tin=string Tout=int64\n"
                             "s = LookupTableSizeV2(t, ^i)\no = _Retval(s) T=int64 index=0\n",
            .feeds = {"string[1] 'z'", "int64[1] 1"},
            .error = "table 't' is fixed: nothing is inserted",
            .error_code = STATUS_UNIMPLEMENTED},
        {.graph = "t = HashTableV2() key_dtype=string value_dtype=float32\n" FIND,
            .feeds = {"string[1] 'a'", "int64[] -1"},
            .error = "table 't' is from string to int64 in this session, and was made otherwise than here",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

#define MUTABLE_ROWS "k = _Arg() T=int64 index=0\nv = _Arg() T=string index=1\n"

static void
a_mutable_table_changes_from_step_to_step(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = MUTABLE MUTABLE_ROWS "i = LookupTableInsertV2(t, k, v) Tin=int64 Tout=string\n"
                                       "s = LookupTableSizeV2(t, ^i)\no = _Retval(s) T=int64 index=0\n",
            .feeds = {"int64[3] 1 2 1", "string[3] 'one' 'two' 'uno'"},
            .fetches = {"int64[] 2"}},
        {.graph = MUTABLE "k = _Arg() T=int64 index=0\nd = _Arg() T=string index=1\n"
                          "f = LookupTableFindV2(t, k, d) Tin=int64 Tout=string\n"
                          "o = _Retval(f) T=string index=0\n",
            .feeds = {"int64[3] 2 1 7", "string[] '?'"},
            .fetches = {"string[3] 'two' 'uno' '?'"}},
        {.graph = MUTABLE "k = _Arg() T=int64 index=0\nr = LookupTableRemoveV2(t, k) Tin=int64\n"
                          "e = LookupTableExportV2(t, ^r) Tkeys=int64 Tvalues=string\n"
                          "o0 = _Retval(e) T=int64 index=0\no1 = _Retval(e:1) T=string index=1\n",
            .feeds = {"int64[2] 1 5"},
            .fetches = {"int64[1] 2", "string[1] 'two'"}},
        {.graph =
                MUTABLE MUTABLE_ROWS "i = LookupTableImportV2(t, k, v) Tin=int64 Tout=string\n"
                                     "e = LookupTableExportV2(t, ^i) Tkeys=int64 Tvalues=string\n"
                                     "o0 = _Retval(e) T=int64 index=0\no1 = _Retval(e:1) T=string index=1\n",
            .feeds = {"int64[1] 9", "string[1] ''"},
            .fetches = {"int64[1] 9", "string[1] ''"}},
        {.graph = MUTABLE "e = LookupTableExportV2(t) Tkeys=string Tvalues=string\n"
                          "o0 = _Retval(e) T=string index=0\no1 = _Retval(e:1) T=string index=1\n",
            .error = "keys of table 'm' are int64, not string",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = MUTABLE "e = LookupTableExportV2(t) Tkeys=int64 Tvalues=int64\n"
                          "o0 = _Retval(e) T=int64 index=0\no1 = _Retval(e:1) T=int64 index=1\n",
            .error = "values of table 'm' are string, not int64",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = MUTABLE MUTABLE_ROWS "i = LookupTableInsertV2(t, k, v) Tin=int64 Tout=string\n"
                                       "s = LookupTableSizeV2(t, ^i)\no = _Retval(s) T=int64 index=0\n",
            .feeds = {"int64[3] 1 2 1", "string[2] 'one' 'two'"},
            .error = "the values have shape [2], not [3]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = "t = MutableHashTableOfTensorsV2() key_dtype=int64 value_dtype=float32 value_shape=<2>\n"
                  "k = _Arg() T=int64 index=0\nv = _Arg() T=float32 index=1\nd = _Arg() T=float32 index=2\n"
                  "i = LookupTableInsertV2(t, k, v) Tin=int64 Tout=float32\n"
                  "f = LookupTableFindV2(t, k, d, ^i) Tin=int64 Tout=float32\n"
                  "o = _Retval(f) T=float32 index=0\n",
            .feeds = {"int64[2] 4 4", "float32[2,2] 1 2 3 4", "float32[2] 0 0"},
            .fetches = {"float32[2,2] 3 4 3 4"}},
    };
    RUN(cases);
}

#define DENSE                                                                                                \
    "e = Const() dtype=int64 value=int64<>(-1)\nx = Const() dtype=int64 value=int64<>(-2)\n"                 \
    "t = MutableDenseHashTableV2(e, x) key_dtype=int64 value_dtype=float32 value_shape=<2> "                 \
    "shared_name='d'\n"
#define DENSE_ROWS "k = _Arg() T=int64 index=0\nv = _Arg() T=float32 index=1\n"
#define SIZE "s = LookupTableSizeV2(t, ^i)\no = _Retval(s) T=int64 index=0\n"
#define IMPORT "i = LookupTableImportV2(t, k, v) Tin=int64 Tout=float32\n"

/* A checkpoint has a dense table's buckets, in which the reserved keys stand for no row. */
static void
a_dense_table_has_two_keys_that_are_no_rows(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = DENSE DENSE_ROWS IMPORT SIZE,
            .feeds = {"int64[4,1] 7 -1 -2 8", "float32[4,2] 1 2 0 0 9 9 3 4"},
            .fetches = {"int64[] 2"}},
        {.graph = DENSE DENSE_ROWS "f = LookupTableFindV2(t, k, v) Tin=int64 Tout=float32\n"
                                   "o = _Retval(f) T=float32 index=0\n",
            .feeds = {"int64[2] 8 5", "float32[2] 0 -1"},
            .fetches = {"float32[2,2] 3 4 0 -1"}},
        {.graph = DENSE DENSE_ROWS "f = LookupTableFindV2(t, k, v) Tin=int64 Tout=float32\n"
                                   "o = _Retval(f) T=float32 index=0\n",
            .feeds = {"int64[2] 8 -2", "float32[2] 0 -1"},
            .error = "key 1 is the empty or the deleted key of table 'd'",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = DENSE DENSE_ROWS "i = LookupTableInsertV2(t, k, v) Tin=int64 Tout=float32\n" SIZE,
            .feeds = {"int64[1] -1", "float32[1,2] 1 2"},
            .error = "key 0 is the empty or the deleted key of table 'd'",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = DENSE "k = _Arg() T=int64 index=0\ni = LookupTableRemoveV2(t, k) Tin=int64\n" SIZE,
            .feeds = {"int64[1] -2"},
            .error = "key 0 is the empty or the deleted key of table 'd'",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = DENSE "k = _Arg() T=int64 index=0\ni = LookupTableRemoveV2(t, k) Tin=int64\n"
                        "e2 = LookupTableExportV2(t, ^i) Tkeys=int64 Tvalues=float32\n"
                        "o0 = _Retval(e2) T=int64 index=0\no1 = _Retval(e2:1) T=float32 index=1\n",
            .feeds = {"int64[1] 8"},
            .fetches = {"int64[1] 7", "float32[1,2] 1 2"}},
        {.graph = DENSE DENSE_ROWS IMPORT SIZE,
            .feeds = {"int64[2,2] 7 8 9 10", "float32[2,2] 1 2 3 4"},
            .error = "the values have shape [2,2], not [2,2,2]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = DENSE DENSE_ROWS IMPORT SIZE,
            .feeds = {"int64[0,1]", "float32[0,2]"},
            .fetches = {"int64[] 0"}},
        {.graph = "e = Const() dtype=int64 value=int64<2>(1;2)\n"
                  "t = MutableDenseHashTableV2(e, e) key_dtype=int64 value_dtype=float32 value_shape=<2>\n"
                  "s = LookupTableSizeV2(t)\no = _Retval(s) T=int64 index=0\n",
            .error = "table 't': keys of a dense table are scalars here, its empty key is of rank 1 and its "
                     "deleted key of rank 1",
            .error_code = STATUS_UNIMPLEMENTED},
        {.graph = "e = Const() dtype=int64 value=int64<>(1)\n"
                  "t = MutableDenseHashTableV2(e, e) key_dtype=int64 value_dtype=float32 value_shape=<2>\n"
                  "s = LookupTableSizeV2(t)\no = _Retval(s) T=int64 index=0\n",
            .error = "the empty and the deleted key of table 't' are the same",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

#define FIRST_KEYS "ck = Const() dtype=int64 value=int64<2>(1;2)\n"
#define FIRST_VALUES "cv = Const() dtype=float32 value=float32<2>(10;20)\n"
#define RESTORED(name)                                                                                       \
    FIRST_KEYS FIRST_VALUES "t = _RestoredMutableHashTableV2(ck, cv) key_dtype=int64 value_dtype=float32 "   \
                            "N=1 shared_name='" name "'\n"
#define WAITING "t = _RestoredMutableHashTableV2() key_dtype=int64 value_dtype=float32 N=0 shared_name='w'\n"
#define SIZE_ALONE "s = LookupTableSizeV2(t)\no = _Retval(s) T=int64 index=0\n"

static void
a_restored_table_begins_with_its_rows_or_waits_for_them(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = RESTORED("r") SIZE_ALONE, .fetches = {"int64[] 2"}},
        {.graph = RESTORED("r") DENSE_ROWS "i = LookupTableInsertV2(t, k, v) Tin=int64 Tout=float32\n" SIZE,
            .feeds = {"int64[1] 3", "float32[1] 30"},
            .fetches = {"int64[] 3"}},
        {.graph = RESTORED("r") SIZE_ALONE, .fetches = {"int64[] 3"}},
        {.graph = "cv = Const() dtype=float32 value=float32<3>(1;2;3)\n" FIRST_KEYS
                  "t = _RestoredMutableHashTableV2(ck, cv) key_dtype=int64 value_dtype=float32 "
                  "N=1\n" SIZE_ALONE,
            .error = "the values have shape [3], not [2]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = WAITING SIZE_ALONE,
            .error = "table 'w' is not initialised",
            .error_code = STATUS_FAILED_PRECONDITION},
        {.graph = WAITING DENSE_ROWS "i = LookupTableInsertV2(t, k, v) Tin=int64 Tout=float32\n" SIZE,
            .feeds = {"int64[1] 3", "float32[1] 30"},
            .error = "table 'w' is not initialised",
            .error_code = STATUS_FAILED_PRECONDITION},
        {.graph = WAITING DENSE_ROWS IMPORT SIZE,
            .feeds = {"int64[1] 3", "float32[1] 30"},
            .fetches = {"int64[] 1"}},
        {.graph = WAITING SIZE_ALONE, .fetches = {"int64[] 1"}},
    };
    RUN(cases);
}

#define TEXT(types, columns)                                                                                 \
    "t = HashTableV2() " types "\nf = _Arg() T=string index=0\n"                                             \
    "i = InitializeTableFromTextFileV2(t, f) " columns " delimiter='|'\n"                                    \
    "e = LookupTableExportV2(t, ^i) Tkeys=string Tvalues=int64\n"                                            \
    "o0 = _Retval(e) T=string index=0\no1 = _Retval(e:1) T=int64 index=1\n"
#define STRINGS_TO_NUMBERS "key_dtype=string value_dtype=int64"

static void
a_table_is_filled_from_an_assets_lines(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = TEXT(STRINGS_TO_NUMBERS, "key_index=-2 value_index=-1 vocab_size=1"),
            .feeds = {"string[] '\001asset:the word\nother'"},
            .fetches = {"string[1] 'the word'", "int64[1] 0"}},
        {.graph = TEXT(STRINGS_TO_NUMBERS " shared_name='b'", "key_index=1 value_index=0 vocab_size=-1"),
            .feeds = {"string[] '\001asset:7|word\r\n'"},
            .fetches = {"string[1] 'word'", "int64[1] 7"}},
        {.graph = TEXT(STRINGS_TO_NUMBERS " shared_name='c'", "key_index=1 value_index=0 vocab_size=-1"),
            .feeds = {"string[] '\001asset:7|word\n8'"},
            .error = "line 2 of the table's text has no key of type string or no value of type int64",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = TEXT(STRINGS_TO_NUMBERS " shared_name='d'", "key_index=-2 value_index=-1 vocab_size=3"),
            .feeds = {"string[] '\001asset:a\nb\n'"},
            .error = "the table's text has 2 lines, 'vocab_size' is 3",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = TEXT(STRINGS_TO_NUMBERS " shared_name='e'", "key_index=-2 value_index=-1 vocab_size=-1"),
            .feeds = {"string[] '/etc/passwd'"},
            .error = "a worker reads no files: a table's text comes as an asset of a SavedModel",
            .error_code = STATUS_UNIMPLEMENTED},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fixed_table_is_filled_once),
        cmocka_unit_test(a_table_is_filled_from_an_assets_lines),
        cmocka_unit_test(a_mutable_table_changes_from_step_to_step),
        cmocka_unit_test(a_dense_table_has_two_keys_that_are_no_rows),
        cmocka_unit_test(a_restored_table_begins_with_its_rows_or_waits_for_them),
    };
    return cmocka_run_group_tests_name("reference/lookup", tests, NULL, NULL);
}
