/* Stacks and lists of tensors. A list is a value: whoever holds it sees no change. */
#include "tests/support/cmocka_all.h"
#include "tests/support/graph_case.h"

#define RUN(cases) graph_cases_run(cases, COUNT_OF(cases))

#define X "x = _Arg() T=float32 index=0\n"
#define NUMBERS                                                                                              \
    "any = Const() dtype=int32 value=int32(-1)\n"                                                            \
    "zero = Const() dtype=int32 value=int32(0)\n"                                                            \
    "one = Const() dtype=int32 value=int32(1)\n"                                                             \
    "two = Const() dtype=int32 value=int32(2)\n"                                                             \
    "pair = Const() dtype=int32 value=int32<1>(2)\n"
#define LIST NUMBERS X "l = TensorListFromTensor(x, any) element_dtype=float32 shape_type=int32\n"

static void
what_was_pushed_last_is_popped_first(void **state)
{
    (void)state;
#define STACK "m = Const() dtype=int32 value=int32(2)\ns = StackV2(m) elem_type=float32\n" X
    const GraphCase cases[] = {
        {.graph = STACK "y = Neg(x) T=float32\n"
                        "p = StackPushV2(s, x) T=float32\n"
                        "q = StackPushV2(s, y, ^p) T=float32\n"
                        "a = StackPopV2(s, ^q) elem_type=float32\n"
                        "b = StackPopV2(s, ^a) elem_type=float32\n"
                        "o0 = _Retval(a) T=float32 index=0\no1 = _Retval(b) T=float32 index=1\n"
                        "o2 = _Retval(p) T=float32 index=2\n",
            .feeds = {"float32[2] 1 2"},
            .fetches = {"float32[2] -1 -2", "float32[2] 1 2", "float32[2] 1 2"}},
        {.graph = STACK "p = StackPushV2(s, x) T=float32\nq = StackPushV2(s, p) T=float32\n"
                        "r = StackPushV2(s, q) T=float32\n",
            .feeds = {"float32[] 1"},
            .error = "the stack is full: it takes 2 elements",
            .error_code = STATUS_RESOURCE_EXHAUSTED},
        {.graph = STACK "a = StackPopV2(s) elem_type=float32\no = _Retval(a) T=float32 index=0\n",
            .feeds = {"float32[] 1"},
            .error = "nothing is left on the stack",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = STACK "c = StackCloseV2(s)\np = StackPushV2(s, x, ^c) T=float32\n",
            .feeds = {"float32[] 1"},
            .error = "the stack has been closed",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = STACK "a = TensorArrayReadV3(s, m, x) dtype=float32\no = _Retval(a) T=float32 index=0\n",
            .feeds = {"float32[] 1"},
            .error = "input 0 is no handle of a tensor array",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
a_changed_list_leaves_the_one_before_as_it_was(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = LIST "y = _Arg() T=float32 index=1\n"
                       "s = TensorListSetItem(l, one, y) element_dtype=float32\n"
                       "p = TensorListPushBack(s, y) element_dtype=float32\n"
                       "t0 = TensorListStack(l, any, ^p) element_dtype=float32\n"
                       "t1 = TensorListStack(s, any, ^p) element_dtype=float32\n"
                       "t2 = TensorListStack(p, any) element_dtype=float32 num_elements=3\n"
                       "n = TensorListLength(p)\n"
                       "o0 = _Retval(t0) T=float32 index=0\no1 = _Retval(t1) T=float32 index=1\n"
                       "o2 = _Retval(t2) T=float32 index=2\no3 = _Retval(n) T=int32 index=3\n",
            .feeds = {"float32[2,2] 1 2 3 4", "float32[2] 8 9"},
            .fetches = {"float32[2,2] 1 2 3 4", "float32[2,2] 1 2 8 9", "float32[3,2] 1 2 8 9 8 9",
                "int32[] 3"}},
        {.graph = LIST "p = TensorListPopBack(l, any) element_dtype=float32\n"
                       "n = TensorListLength(p)\nm = TensorListLength(l, ^n)\n"
                       "o0 = _Retval(p:1) T=float32 index=0\no1 = _Retval(n) T=int32 index=1\n"
                       "o2 = _Retval(m) T=int32 index=2\n",
            .feeds = {"float32[2,2] 1 2 3 4"},
            .fetches = {"float32[2] 3 4", "int32[] 1", "int32[] 2"}},
    };
    RUN(cases);
}

static void
what_was_never_set_reads_as_zeros_of_a_known_shape(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = NUMBERS X "r = TensorListReserve(any, one) element_dtype=float32 shape_type=int32\n"
                            "s = TensorListSetItem(r, two, x) element_dtype=float32 "
                            "resize_if_index_out_of_bounds=true\n"
                            "t = TensorListStack(s, any) element_dtype=float32\n"
                            "o = _Retval(t) T=float32 index=0\n",
            .feeds = {"float32[2] 1 2"},
            .fetches = {"float32[3,2] 0 0 0 0 1 2"}},
        {.graph = NUMBERS X "r = TensorListReserve(any, two) element_dtype=float32 shape_type=int32\n"
                            "s = TensorListSetItem(r, one, x) element_dtype=float32\n"
                            "g = TensorListGetItem(s, zero, pair) element_dtype=float32\n"
                            "t = TensorListStack(s, any) element_dtype=float32\n"
                            "o0 = _Retval(g) T=float32 index=0\no1 = _Retval(t) T=float32 index=1\n",
            .feeds = {"float32[2] 1 2"},
            .fetches = {"float32[2] 0 0", "float32[2,2] 0 0 1 2"}},
        {.graph = NUMBERS "r = TensorListReserve(any, two) element_dtype=float32 shape_type=int32\n"
                          "g = TensorListGetItem(r, zero, any) element_dtype=float32\n"
                          "o0 = _Retval(g) T=float32 index=0\n",
            .error = "element 0 was never set, and zeros in its place have no known shape",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = NUMBERS "r = EmptyTensorList(pair, any) element_dtype=float32 shape_type=int32\n"
                          "t = TensorListStack(r, any) element_dtype=float32\n"
                          "e = TensorListElementShape(r) shape_type=int64\n"
                          "o0 = _Retval(t) T=float32 index=0\no1 = _Retval(e) T=int64 index=1\n",
            .fetches = {"float32[0,2]", "int64[1] 2"}},
    };
    RUN(cases);
}

static void
what_does_not_fit_is_refused(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = LIST "g = TensorListGetItem(l, two, any) element_dtype=float32\n"
                       "o = _Retval(g) T=float32 index=0\n",
            .feeds = {"float32[2,2] 1 2 3 4"},
            .error = "a list of 2 tensors has no element 2",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = NUMBERS X "r = EmptyTensorList(pair, one) element_dtype=float32 shape_type=int32\n"
                            "p = TensorListPushBack(r, x) element_dtype=float32\n"
                            "q = TensorListPushBack(p, x) element_dtype=float32\n"
                            "n = TensorListLength(q)\no = _Retval(n) T=int32 index=0\n",
            .feeds = {"float32[2] 1 2"},
            .error = "a list of 2 tensors is not possible, the limit is 1",
            .error_code = STATUS_RESOURCE_EXHAUSTED},
        {.graph = NUMBERS X "r = EmptyTensorList(pair, any) element_dtype=float32 shape_type=int32\n"
                            "p = TensorListPushBack(r, x) element_dtype=float32\n"
                            "n = TensorListLength(p)\no = _Retval(n) T=int32 index=0\n",
            .feeds = {"float32[3] 1 2 3"},
            .error = "a tensor of shape [3] cannot go into a list with elements of shape [2]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = NUMBERS "r = EmptyTensorList(pair, any) element_dtype=float32 shape_type=int32\n"
                          "p = TensorListPopBack(r, any) element_dtype=float32\n"
                          "o = _Retval(p:1) T=float32 index=0\n",
            .error = "nothing is left in the list",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
rows_are_scattered_gathered_split_and_joined(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = NUMBERS X "i = _Arg() T=int32 index=1\n"
                            "l = TensorListScatterV2(x, i, any, any) element_dtype=float32 shape_type=int32\n"
                            "m = TensorListScatterIntoExistingList(l, x, i) element_dtype=float32\n"
                            "g = TensorListGather(m, i, any) element_dtype=float32\n"
                            "t = TensorListStack(l, any) element_dtype=float32\n"
                            "o0 = _Retval(g) T=float32 index=0\no1 = _Retval(t) T=float32 index=1\n",
            .feeds = {"float32[2,1] 5 6", "int32[2] 2 0"},
            .fetches = {"float32[2,1] 5 6", "float32[3,1] 6 0 5"}},
        {.graph = NUMBERS X "i = _Arg() T=int32 index=1\n"
                            "l = TensorListScatter(x, i, any) element_dtype=float32 shape_type=int32\n"
                            "t = TensorListStack(l, any) element_dtype=float32\n"
                            "o = _Retval(t) T=float32 index=0\n",
            .feeds = {"float32[2,1] 5 6", "int32[2] 1 0"},
            .fetches = {"float32[2,1] 6 5"}},
        {.graph = NUMBERS X "n = _Arg() T=int64 index=1\n"
                            "l = TensorListSplit(x, any, n) element_dtype=float32 shape_type=int32\n"
                            "c = TensorListConcat(l) element_dtype=float32\n"
                            "j = TensorListConcatLists(l, l) element_dtype=float32\n"
                            "d = TensorListConcatV2(j, any, n) element_dtype=float32 shape_type=int32\n"
                            "o0 = _Retval(c) T=float32 index=0\no1 = _Retval(c:1) T=int64 index=1\n"
                            "o2 = _Retval(d) T=float32 index=2\n",
            .feeds = {"float32[3] 1 2 3", "int64[2] 1 2"},
            .fetches = {"float32[3] 1 2 3", "int64[2] 1 2", "float32[6] 1 2 3 1 2 3"}},
        {.graph = LIST "r = TensorListResize(l, one)\n"
                       "t = TensorListStack(r, any) element_dtype=float32\n"
                       "o0 = _Retval(t) T=float32 index=0\n",
            .feeds = {"float32[2,2] 1 2 3 4"},
            .fetches = {"float32[1,2] 1 2"}},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_pushed_last_is_popped_first),
        cmocka_unit_test(a_changed_list_leaves_the_one_before_as_it_was),
        cmocka_unit_test(what_was_never_set_reads_as_zeros_of_a_known_shape),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(rows_are_scattered_gathered_split_and_joined),
    };
    return cmocka_run_group_tests_name("reference/tensor_list", tests, NULL, NULL);
}
