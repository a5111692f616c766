/* Tensor arrays: TensorFlow's rules for what may be written and read, and how often. */
#include "tests/support/cmocka_all.h"
#include "tests/support/graph_case.h"

#define RUN(cases) graph_cases_run(cases, COUNT_OF(cases))

#define ARRAY "n = Const() dtype=int32 value=int32(3)\n"
#define INDEX                                                                                                \
    "i0 = Const() dtype=int32 value=int32(0)\n"                                                              \
    "i1 = Const() dtype=int32 value=int32(1)\n"                                                              \
    "i3 = Const() dtype=int32 value=int32(3)\n"
#define FEED "x = _Arg() T=float32 index=0\n"

static void
rows_are_scattered_and_read_one_by_one(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = ARRAY INDEX FEED "i = _Arg() T=int32 index=1\n"
                                   "a = TensorArrayV3(n) dtype=float32\n"
                                   "s = TensorArrayScatterV3(a, i, x, a:1) T=float32\n"
                                   "r = TensorArrayReadV3(a, i1, s) dtype=float32\n"
                                   "z = TensorArraySizeV3(a, s)\n"
                                   "o0 = _Retval(r) T=float32 index=0\n"
                                   "o1 = _Retval(z) T=int32 index=1\n",
            .feeds = {"float32[3,2] 1 2 3 4 5 6", "int32[3] 2 1 0"},
            .fetches = {"float32[2] 3 4", "int32[] 3"}},
        {.graph = ARRAY INDEX FEED "i = _Arg() T=int32 index=1\n"
                                   "a = TensorArrayV3(n) dtype=float32\n"
                                   "s = TensorArrayScatterV3(a, i, x, a:1) T=float32\n"
                                   "g = TensorArrayGatherV3(a, i, s) dtype=float32\n"
                                   "o0 = _Retval(g) T=float32 index=0\n",
            .feeds = {"float32[3,2] 1 2 3 4 5 6", "int32[3] 2 0 1"},
            .fetches = {"float32[3,2] 1 2 3 4 5 6"}},
        {.graph = ARRAY INDEX FEED "i = _Arg() T=int32 index=1\n"
                                   "a = TensorArrayV3(n) dtype=float32\n"
                                   "s = TensorArrayScatterV3(a, i, x, a:1) T=float32\n"
                                   "g = TensorArrayGatherV3(a, i, s) dtype=int8\n"
                                   "o0 = _Retval(g) T=int8 index=0\n",
            .feeds = {"float32[3,2] 1 2 3 4 5 6", "int32[3] 2 0 1"},
            .error = "an element is float32, not int8",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = ARRAY INDEX FEED "i = _Arg() T=int32 index=1\n"
                                   "a = TensorArrayV3(n) dtype=float32\n"
                                   "s = TensorArrayScatterV3(a, i, x, a:1) T=float32\n"
                                   "o0 = _Retval(s) T=float32 index=0\n",
            .feeds = {"float32[2,2] 1 2 3 4", "int32[3] 2 0 1"},
            .error = "3 indices do not fit a value of shape [2,2]",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
a_flow_is_a_scalar(void **state)
{
    (void)state;
#define NOT_A_FLOW(feed, writes)                                                                             \
    {                                                                                                        \
        .graph = ARRAY INDEX FEED "f = _Arg() T=float32 index=1\n"                                           \
                                  "a = TensorArrayV3(n) dtype=float32\n" writes                              \
                                  "o0 = _Retval(s) T=float32 index=0\n",                                     \
        .feeds = {"float32[1] 1", "float32[2] 0 0", feed},                                                   \
        .error = "the flow has shape [2], not that of a scalar", .error_code = STATUS_INVALID_ARGUMENT       \
    }
    const GraphCase cases[] = {
        NOT_A_FLOW(NULL, "s = TensorArrayWriteV3(a, i0, x, f) T=float32\n"),
        NOT_A_FLOW("int32[1] 0", "i = _Arg() T=int32 index=2\n"
                                 "s = TensorArrayScatterV3(a, i, x, f) T=float32\n"),
        NOT_A_FLOW("int64[3] 1 0 0", "l = _Arg() T=int64 index=2\n"
                                     "s = TensorArraySplitV3(a, x, l, f) T=float32\n"),
        NOT_A_FLOW(NULL, "g = TensorArrayGradV3(a, f) source='g'\n"
                         "s = Identity(g:1) T=float32\n"),
    };
    RUN(cases);
#undef NOT_A_FLOW
}

static void
an_index_is_written_once_and_read_once(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = ARRAY INDEX FEED "a = TensorArrayV3(n) dtype=float32\n"
                                   "w = TensorArrayWriteV3(a, i0, x, a:1) T=float32\n"
                                   "v = TensorArrayWriteV3(a, i0, x, w) T=float32\n"
                                   "o0 = _Retval(v) T=float32 index=0\n",
            .feeds = {"float32[] 1"},
            .error = "index 0 of the tensor array has been written already",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = ARRAY INDEX FEED "a = TensorArrayV3(n) dtype=float32\n"
                                   "w = TensorArrayWriteV3(a, i0, x, a:1) T=float32\n"
                                   "r = TensorArrayReadV3(a, i0, w) dtype=float32\n"
                                   "s = TensorArrayReadV3(a, i0, w, ^r) dtype=float32\n"
                                   "o0 = _Retval(s) T=float32 index=0\n",
            .feeds = {"float32[] 1"},
            .error = "index 0 of the tensor array was cleared by a read before (clear_after_read)",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = ARRAY INDEX FEED "a = TensorArrayV3(n) dtype=float32 clear_after_read=false\n"
                                   "w = TensorArrayWriteV3(a, i0, x, a:1) T=float32\n"
                                   "r = TensorArrayReadV3(a, i0, w) dtype=float32\n"
                                   "s = TensorArrayReadV3(a, i0, w, ^r) dtype=float32\n"
                                   "o0 = _Retval(s) T=float32 index=0\n",
            .feeds = {"float32[] 1"},
            .fetches = {"float32[] 1"}},
        {.graph = ARRAY INDEX FEED "a = TensorArrayV3(n) dtype=float32 clear_after_read=false\n"
                                   "w = TensorArrayWriteV3(a, i0, x, a:1) T=float32\n"
                                   "r = TensorArrayReadV3(a, i0, w) dtype=float32\n"
                                   "v = TensorArrayWriteV3(a, i0, r, w) T=float32\n"
                                   "o0 = _Retval(v) T=float32 index=0\n",
            .feeds = {"float32[] 1"},
            .error = "index 0 of the tensor array cannot be written: it has been read",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
what_was_not_written_reads_as_zeros_of_a_known_shape(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = ARRAY INDEX "a = TensorArrayV3(n) dtype=float32 element_shape=<2>\n"
                              "r = TensorArrayReadV3(a, i0, a:1) dtype=float32\n"
                              "o0 = _Retval(r) T=float32 index=0\n",
            .fetches = {"float32[2] 0 0"}},
        {.graph = ARRAY INDEX "a = TensorArrayV3(n) dtype=float32\n"
                              "r = TensorArrayReadV3(a, i0, a:1) dtype=float32\n"
                              "o0 = _Retval(r) T=float32 index=0\n",
            .error = "index 0 of the tensor array has not been written, and zeros in its place have no known "
                     "shape",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = ARRAY INDEX "a = TensorArrayV3(n) dtype=float32\n"
                              "r = TensorArrayReadV3(a, i3, a:1) dtype=float32\n"
                              "o0 = _Retval(r) T=float32 index=0\n",
            .error = "index 3 cannot be read from a tensor array of 3 elements",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
only_a_dynamic_array_grows(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = ARRAY INDEX FEED "a = TensorArrayV3(n) dtype=float32\n"
                                   "w = TensorArrayWriteV3(a, i3, x, a:1) T=float32\n"
                                   "o0 = _Retval(w) T=float32 index=0\n",
            .feeds = {"float32[] 1"},
            .error = "index 3 cannot be written in a tensor array of 3 elements that does not grow",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = ARRAY INDEX FEED "a = TensorArrayV3(n) dtype=float32 dynamic_size=true\n"
                                   "w = TensorArrayWriteV3(a, i3, x, a:1) T=float32\n"
                                   "z = TensorArraySizeV3(a, w)\n"
                                   "o0 = _Retval(z) T=int32 index=0\n",
            .feeds = {"float32[] 1"},
            .fetches = {"int32[] 4"}},
        {.graph = FEED "i = Const() dtype=int32 value=int32(1048576)\n"
                       "n = Const() dtype=int32 value=int32(0)\n"
                       "a = TensorArrayV3(n) dtype=float32 dynamic_size=true\n"
                       "w = TensorArrayWriteV3(a, i, x, a:1) T=float32\n"
                       "o0 = _Retval(w) T=float32 index=0\n",
            .feeds = {"float32[] 1"},
            .error = "a tensor array of 1048577 elements passes the limit of 1048576",
            .error_code = STATUS_RESOURCE_EXHAUSTED},
    };
    RUN(cases);
}

static void
values_must_be_what_was_declared(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = ARRAY INDEX FEED "a = TensorArrayV3(n) dtype=int32\n"
                                   "w = TensorArrayWriteV3(a, i0, x, a:1) T=float32\n"
                                   "o0 = _Retval(w) T=float32 index=0\n",
            .feeds = {"float32[] 1"},
            .error = "a float32 tensor cannot go into a tensor array of int32",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = ARRAY INDEX FEED "a = TensorArrayV3(n) dtype=float32 element_shape=<2>\n"
                                   "w = TensorArrayWriteV3(a, i0, x, a:1) T=float32\n"
                                   "o0 = _Retval(w) T=float32 index=0\n",
            .feeds = {"float32[] 1"},
            .error = "a tensor of shape [] cannot go into a tensor array with elements of shape [2]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = ARRAY INDEX FEED "y = _Arg() T=float32 index=1\n"
                                   "a = TensorArrayV3(n) dtype=float32 identical_element_shapes=true\n"
                                   "w = TensorArrayWriteV3(a, i0, x, a:1) T=float32\n"
                                   "v = TensorArrayWriteV3(a, i1, y, w) T=float32\n"
                                   "o0 = _Retval(v) T=float32 index=0\n",
            .feeds = {"float32[1] 1", "float32[2] 1 2"},
            .error = "a tensor of shape [2] cannot go into a tensor array with elements of shape [1]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = ARRAY INDEX FEED "a = TensorArrayV3(n) dtype=float32\n"
                                   "c = TensorArrayCloseV3(a)\n"
                                   "w = TensorArrayWriteV3(a, i0, x, a:1, ^c) T=float32\n"
                                   "o0 = _Retval(w) T=float32 index=0\n",
            .feeds = {"float32[] 1"},
            .error = "the tensor array has been closed",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
elements_of_different_lengths_are_split_and_joined(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = ARRAY INDEX FEED "l = _Arg() T=int64 index=1\n"
                                   "a = TensorArrayV3(n) dtype=float32\n"
                                   "s = TensorArraySplitV3(a, x, l, a:1) T=float32\n"
                                   "c = TensorArrayConcatV3(a, s) dtype=float32\n"
                                   "o0 = _Retval(c) T=float32 index=0\n"
                                   "o1 = _Retval(c:1) T=int64 index=1\n",
            .feeds = {"float32[3,2] 1 2 3 4 5 6", "int64[3] 2 0 1"},
            .fetches = {"float32[3,2] 1 2 3 4 5 6", "int64[3] 2 0 1"}},
        {.graph = ARRAY INDEX FEED "l = _Arg() T=int64 index=1\n"
                                   "a = TensorArrayV3(n) dtype=float32\n"
                                   "s = TensorArraySplitV3(a, x, l, a:1) T=float32\n"
                                   "r = TensorArrayReadV3(a, i0, s) dtype=float32\n"
                                   "o0 = _Retval(r) T=float32 index=0\n",
            .feeds = {"float32[3,2] 1 2 3 4 5 6", "int64[3] 2 0 1"},
            .fetches = {"float32[2,2] 1 2 3 4"}},
        {.graph = ARRAY INDEX FEED "l = _Arg() T=int64 index=1\n"
                                   "a = TensorArrayV3(n) dtype=float32\n"
                                   "s = TensorArraySplitV3(a, x, l, a:1) T=float32\n"
                                   "o0 = _Retval(s) T=float32 index=0\n",
            .feeds = {"float32[3] 1 2 3", "int64[3] 2 2 -1"},
            .error = "the lengths do not add up to the first dimension of shape [3]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = "n = Const() dtype=int32 value=int32(0)\n"
                  "a = TensorArrayV3(n) dtype=float32 element_shape=<4,2>\n"
                  "c = TensorArrayConcatV3(a, a:1) dtype=float32\n"
                  "o0 = _Retval(c) T=float32 index=0\n"
                  "o1 = _Retval(c:1) T=int64 index=1\n",
            .fetches = {"float32[0,2]", "int64[0]"}},
    };
    RUN(cases);
}

static void
gradients_add_up_and_are_zero_where_nothing_was_written(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = ARRAY INDEX FEED "i = _Arg() T=int32 index=1\n"
                                   "a = TensorArrayV3(n) dtype=float32\n"
                                   "s = TensorArrayScatterV3(a, i, x, a:1) T=float32\n"
                                   "g = TensorArrayGradV3(a, s) source='gradients'\n"
                                   "same = TensorArrayGradV3(a, s) source='gradients'\n"
                                   "y = TensorArrayReadV3(a, i0, s) dtype=float32\n"
                                   "w = TensorArrayWriteV3(g, i0, y, g:1) T=float32\n"
                                   "v = TensorArrayWriteV3(same, i0, y, w) T=float32\n"
                                   "r0 = TensorArrayReadV3(g, i0, v) dtype=float32\n"
                                   "r1 = TensorArrayReadV3(g, i1, v) dtype=float32\n"
                                   "o0 = _Retval(r0) T=float32 index=0\n"
                                   "o1 = _Retval(r1) T=float32 index=1\n"
                                   "o2 = _Retval(y) T=float32 index=2\n",
            .feeds = {"float32[3,2] 1 2 3 4 5 6", "int32[3] 0 1 2"},
            .fetches = {"float32[2] 2 4", "float32[2] 0 0", "float32[2] 1 2"}},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_scattered_and_read_one_by_one),
        cmocka_unit_test(a_flow_is_a_scalar),
        cmocka_unit_test(an_index_is_written_once_and_read_once),
        cmocka_unit_test(what_was_not_written_reads_as_zeros_of_a_known_shape),
        cmocka_unit_test(only_a_dynamic_array_grows),
        cmocka_unit_test(values_must_be_what_was_declared),
        cmocka_unit_test(elements_of_different_lengths_are_split_and_joined),
        cmocka_unit_test(gradients_add_up_and_are_zero_where_nothing_was_written),
    };
    return cmocka_run_group_tests_name("reference/tensor_array", tests, NULL, NULL);
}
