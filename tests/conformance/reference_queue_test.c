/* Queues: what a session's steps put in, later steps take out, and wait for. */
#include "tests/support/cmocka_all.h"
#include "tests/support/graph_case.h"

#define RUN(cases) graph_cases_run(cases, COUNT_OF(cases))

#define QUEUE "q = FIFOQueueV2() component_types=[int32,string] capacity=4\n"
#define TUPLE "x = _Arg() T=int32 index=0\ns = _Arg() T=string index=1\n"
#define SIZE "z = QueueSizeV2(q, ^e)\no = _Retval(z) T=int32 index=0\n"
#define ONE_OUT                                                                                              \
    "d = QueueDequeueV2(q) component_types=[int32,string]\n"                                                 \
    "o0 = _Retval(d) T=int32 index=0\no1 = _Retval(d:1) T=string index=1\n"

static void
tuples_come_out_in_the_order_they_went_in(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = QUEUE TUPLE "e = QueueEnqueueV2(q, x, s) Tcomponents=[int32,string]\n" SIZE,
            .feeds = {"int32[2] 1 2", "string[] 'a'"},
            .fetches = {"int32[] 1"}},
        {.graph = QUEUE TUPLE "e = QueueEnqueueV2(q, x, s) Tcomponents=[int32,string]\n" SIZE,
            .feeds = {"int32[] 3", "string[] 'b'"},
            .fetches = {"int32[] 2"}},
        {.graph = QUEUE ONE_OUT, .fetches = {"int32[2] 1 2", "string[] 'a'"}},
        {.graph = QUEUE ONE_OUT, .fetches = {"int32[] 3", "string[] 'b'"}},
        {.graph = QUEUE TUPLE "e = QueueEnqueueV2(q, s, x) Tcomponents=[string,int32]\n" SIZE,
            .feeds = {"int32[] 3", "string[] 'b'"},
            .error = "component 0 of queue 'q' is int32 of shape ?, not string of shape []",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

#define ROWS "q = FIFOQueueV2() component_types=[float32] shapes=[<2>] shared_name='rows'\n"
#define MANY                                                                                                 \
    "x = _Arg() T=float32 index=0\ne = QueueEnqueueManyV2(q, x) Tcomponents=[float32]\n"                     \
    "z = QueueSizeV2(q, ^e)\no = _Retval(z) T=int32 index=0\n"
#define MANY_OUT(op)                                                                                         \
    "n = _Arg() T=int32 index=0\nd = " op                                                                    \
    "(q, n) component_types=[float32]\no = _Retval(d) T=float32 index=0\n"

static void
rows_go_in_and_come_out_together(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = ROWS MANY, .feeds = {"float32[3,2] 1 2 3 4 5 6"}, .fetches = {"int32[] 3"}},
        {.graph = ROWS MANY_OUT("QueueDequeueManyV2"),
            .feeds = {"int32[] 2"},
            .fetches = {"float32[2,2] 1 2 3 4"}},
        {.graph = ROWS MANY_OUT("QueueDequeueManyV2"), .feeds = {"int32[] 0"}, .fetches = {"float32[0,2]"}},
        {.graph = ROWS MANY,
            .feeds = {"float32[1,3] 1 2 3"},
            .error = "component 0 of queue 'rows' is float32 of shape [2], not float32 of shape [3]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = ROWS MANY_OUT("QueueDequeueManyV2"),
            .feeds = {"int32[] -1"},
            .error = "queue 'rows' is asked for a negative number of elements",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = "q = PaddingFIFOQueueV2() component_types=[float32] shapes=[<2>] shared_name='rows'\n" MANY,
            .feeds = {"float32[1,2] 1 2"},
            .error = "queue 'rows' was made otherwise in this session",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

/* Both in one step: whichever starts first waits for the other. */
static void
who_takes_waits_for_who_puts(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = ROWS "x = _Arg() T=float32 index=0\nn = _Arg() T=int32 index=1\n"
                       "d = QueueDequeueManyV2(q, n) component_types=[float32]\n"
                       "e = QueueEnqueueManyV2(q, x) Tcomponents=[float32]\n"
                       "o = _Retval(d) T=float32 index=0\nz = QueueSizeV2(q, ^d, ^e)\n"
                       "p = _Retval(z) T=int32 index=1\n",
            .feeds = {"float32[3,2] 1 2 3 4 5 6", "int32[] 2"},
            .fetches = {"float32[2,2] 1 2 3 4", "int32[] 1"}},
        {.graph = "q = FIFOQueueV2() component_types=[float32] capacity=1 shapes=[<>] shared_name='narrow'\n"
                  "x = _Arg() T=float32 index=0\nn = _Arg() T=int32 index=1\n"
                  "d = QueueDequeueManyV2(q, n) component_types=[float32]\n"
                  "e = QueueEnqueueManyV2(q, x) Tcomponents=[float32]\n"
                  "o = _Retval(d, ^e) T=float32 index=0\n",
            .feeds = {"float32[5] 1 2 3 4 5", "int32[] 4"},
            .fetches = {"float32[4] 1 2 3 4"}},
    };
    RUN(cases);
}

#define CLOSE "c = QueueCloseV2(q)\n"

static void
a_closed_queue_gives_what_it_has(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = ROWS MANY, .feeds = {"float32[3,2] 1 2 3 4 5 6"}, .fetches = {"int32[] 3"}},
        {.graph = ROWS CLOSE "z = QueueIsClosedV2(q, ^c)\no = _Retval(z) T=bool index=0\n",
            .fetches = {"bool[] 1"}},
        {.graph = ROWS MANY,
            .feeds = {"float32[1,2] 1 2"},
            .error = "queue 'rows' is closed",
            .error_code = STATUS_CANCELLED},
        {.graph = ROWS MANY_OUT("QueueDequeueManyV2"),
            .feeds = {"int32[] 4"},
            .error = "queue 'rows' is closed and has not enough elements",
            .error_code = STATUS_OUT_OF_RANGE},
        {.graph = ROWS MANY_OUT("QueueDequeueManyV2"),
            .feeds = {"int32[] 1"},
            .fetches = {"float32[1,2] 1 2"}},
        {.graph = ROWS MANY_OUT("QueueDequeueUpToV2"),
            .feeds = {"int32[] 4"},
            .fetches = {"float32[2,2] 3 4 5 6"}},
        {.graph = ROWS MANY_OUT("QueueDequeueUpToV2"),
            .feeds = {"int32[] 4"},
            .error = "queue 'rows' is closed and has not enough elements",
            .error_code = STATUS_OUT_OF_RANGE},
    };
    RUN(cases);
}

/* The taker has one of the two it wants when its step fails: the queue has it back. */
static void
a_step_that_fails_leaves_the_queue_as_it_was(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = ROWS MANY, .feeds = {"float32[1,2] 1 2"}, .fetches = {"int32[] 1"}},
        {.graph =
                ROWS "n = _Arg() T=int32 index=0\nx = _Arg() T=float32 index=1\ns = _Arg() T=int32 index=2\n"
                     "d = QueueDequeueManyV2(q, n) component_types=[float32]\n"
                     "r = Reshape(x, s) T=float32 Tshape=int32\n"
                     "o0 = _Retval(d) T=float32 index=0\no1 = _Retval(r) T=float32 index=1\n",
            .feeds = {"int32[] 2", "float32[3] 1 2 3", "int32[1] 4"},
            .error = "3 elements of [3] do not fill [4]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = ROWS "z = QueueSizeV2(q)\no = _Retval(z) T=int32 index=0\n", .fetches = {"int32[] 1"}},
        {.graph = ROWS MANY_OUT("QueueDequeueManyV2"),
            .feeds = {"int32[] 1"},
            .fetches = {"float32[1,2] 1 2"}},
    };
    RUN(cases);
}

#define PADDING "q = PaddingFIFOQueueV2() component_types=[int32] shapes=[<-1>]\n"

static void
tuples_of_several_sizes_are_filled_up(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = PADDING "x = _Arg() T=int32 index=0\ne = QueueEnqueueV2(q, x) Tcomponents=[int32]\n" SIZE,
            .feeds = {"int32[1] 7"},
            .fetches = {"int32[] 1"}},
        {.graph = PADDING "x = _Arg() T=int32 index=0\ne = QueueEnqueueV2(q, x) Tcomponents=[int32]\n" SIZE,
            .feeds = {"int32[3] 1 2 3"},
            .fetches = {"int32[] 2"}},
        {.graph = PADDING "x = _Arg() T=int32 index=0\ne = QueueEnqueueV2(q, x) Tcomponents=[int32]\n" SIZE,
            .feeds = {"int32[0]"},
            .fetches = {"int32[] 3"}},
        {.graph = PADDING
            "n = _Arg() T=int32 index=0\n"
            "d = QueueDequeueManyV2(q, n) component_types=[int32]\no = _Retval(d) T=int32 index=0\n",
            .feeds = {"int32[] 3"},
            .fetches = {"int32[3,3] 7 0 0 1 2 3 0 0 0"}},
    };
    RUN(cases);
}

#define SHUFFLE                                                                                              \
    "q = RandomShuffleQueueV2() component_types=[int32] shapes=[<>] min_after_dequeue=2 seed=1 seed2=2\n"

static void
a_shuffled_queue_gives_each_tuple_once(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = SHUFFLE "x = _Arg() T=int32 index=0\ne = QueueEnqueueManyV2(q, x) Tcomponents=[int32]\n"
                          "n = _Arg() T=int32 index=1\n"
                          "d = QueueDequeueManyV2(q, n, ^e) component_types=[int32]\n"
                          "c = QueueCloseV2(q, ^d)\n"
                          "r = QueueDequeueManyV2(q, n, ^c) component_types=[int32]\n"
                          "s = Add(d, r) T=int32\na = Const() dtype=int32 value=int32(0)\n"
                          "t = Sum(s, a) T=int32 Tidx=int32\no = _Retval(t) T=int32 index=0\n",
            .feeds = {"int32[4] 1 20 300 4000", "int32[] 2"},
            .fetches = {"int32[] 4321"}},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tuples_come_out_in_the_order_they_went_in),
        cmocka_unit_test(rows_go_in_and_come_out_together),
        cmocka_unit_test(who_takes_waits_for_who_puts),
        cmocka_unit_test(a_closed_queue_gives_what_it_has),
        cmocka_unit_test(a_step_that_fails_leaves_the_queue_as_it_was),
        cmocka_unit_test(tuples_of_several_sizes_are_filled_up),
        cmocka_unit_test(a_shuffled_queue_gives_each_tuple_once),
    };
    return cmocka_run_group_tests_name("reference/queue", tests, NULL, NULL);
}
