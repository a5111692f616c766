/* Functions that call themselves, over REST. */
#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"

#define SMALL                                                                                                \
    "one = Const() dtype=int32 value=int32(1)\n"                                                             \
    "is_small = LessEqual(n, one:output:0) T=int32\n"
#define ARGUMENT "n = Placeholder() dtype=int32 shape=<>\n"

/* n!, by a stateless If and calls by name. */
static const char factorial[] = "function base(n:int32) -> (y:int32) y=one:output:0\n"
                                "one = Const() dtype=int32 value=int32(1)\n"
                                "end\n"
                                "function step(n:int32) -> (y:int32) y=product:z:0\n"
                                "one = Const() dtype=int32 value=int32(1)\n"
                                "less = Sub(n, one:output:0) T=int32\n"
                                "rest = factorial(less:z:0)\n"
                                "product = Mul(n, rest:y:0) T=int32\n"
                                "end\n"
                                "function factorial(n:int32) -> (y:int32) y=if:output:0\n" SMALL
                                "if = StatelessIf(is_small:z:0, n) Tcond=bool Tin=[int32] Tout=[int32] "
                                "then_branch=@base else_branch=@step\n"
                                "end\n" ARGUMENT "y = factorial(n)\n";

/* Two calls of itself, which may run at the same time. */
static const char fibonacci[] =
    "function base(n:int32) -> (y:int32) y=n\n"
    "end\n"
    "function step(n:int32) -> (y:int32) y=sum:z:0\n"
    "one = Const() dtype=int32 value=int32(1)\n"
    "two = Const() dtype=int32 value=int32(2)\n"
    "first = Sub(n, one:output:0) T=int32\n"
    "second = Sub(n, two:output:0) T=int32\n"
    "left = PartitionedCall(first:z:0) Tin=[int32] Tout=[int32] f=@fibonacci\n"
    "right = PartitionedCall(second:z:0) Tin=[int32] Tout=[int32] f=@fibonacci\n"
    "sum = AddV2(left:output:0, right:output:0) T=int32\n"
    "end\n"
    "function fibonacci(n:int32) -> (y:int32) y=if:output:0\n" SMALL
    "if = If(is_small:z:0, n) Tcond=bool Tin=[int32] Tout=[int32] "
    "then_branch=@base else_branch=@step\n"
    "end\n" ARGUMENT "y = PartitionedCall(n) Tin=[int32] Tout=[int32] f=@fibonacci\n";

/* Two functions that call each other say whether n is even. */
static const char parity[] = "function yes(n:int32) -> (y:bool) y=c:output:0\n"
                             "c = Const() dtype=bool value=bool(1)\n"
                             "end\n"
                             "function no(n:int32) -> (y:bool) y=c:output:0\n"
                             "c = Const() dtype=bool value=bool(0)\n"
                             "end\n"
                             "function ask_odd(n:int32) -> (y:bool) y=odd:y:0\n"
                             "one = Const() dtype=int32 value=int32(1)\n"
                             "less = Sub(n, one:output:0) T=int32\n"
                             "odd = is_odd(less:z:0)\n"
                             "end\n"
                             "function ask_even(n:int32) -> (y:bool) y=even:y:0\n"
                             "one = Const() dtype=int32 value=int32(1)\n"
                             "less = Sub(n, one:output:0) T=int32\n"
                             "even = is_even(less:z:0)\n"
                             "end\n"
                             "function is_even(n:int32) -> (y:bool) y=if:output:0\n"
                             "zero = Const() dtype=int32 value=int32(0)\n"
                             "is_zero = Equal(n, zero:output:0) T=int32\n"
                             "if = If(is_zero:z:0, n) Tcond=bool Tin=[int32] Tout=[bool] then_branch=@yes "
                             "else_branch=@ask_odd\n"
                             "end\n"
                             "function is_odd(n:int32) -> (y:bool) y=if:output:0\n"
                             "zero = Const() dtype=int32 value=int32(0)\n"
                             "is_zero = Equal(n, zero:output:0) T=int32\n"
                             "if = If(is_zero:z:0, n) Tcond=bool Tin=[int32] Tout=[bool] then_branch=@no "
                             "else_branch=@ask_even\n"
                             "end\n" ARGUMENT "even = is_even(n)\nodd = is_odd(n)\n";

/* Counts down and adds to a variable: every addition must happen, and once. */
static const char counting[] = "function stop(v:resource, n:int32) -> (y:int32) y=n\n"
                               "end\n"
                               "function go_on(v:resource, n:int32) -> (y:int32) y=rest:y:0\n"
                               "one = Const() dtype=int32 value=int32(1)\n"
                               "add = AssignAddVariableOp(v, n) dtype=int32\n"
                               "less = Sub(n, one:output:0, ^add) T=int32\n"
                               "rest = count(v, less:z:0)\n"
                               "end\n"
                               "function count(v:resource, n:int32) -> (y:int32) y=if:output:0\n"
                               "zero = Const() dtype=int32 value=int32(0)\n"
                               "is_zero = Equal(n, zero:output:0) T=int32\n"
                               "if = If(is_zero:z:0, v, n) Tcond=bool Tin=[resource,int32] Tout=[int32] "
                               "then_branch=@stop else_branch=@go_on\n"
                               "end\n" ARGUMENT "v = VarHandleOp() dtype=int32 shape=<>\n"
                               "zero = Const() dtype=int32 value=int32(0)\n"
                               "init = AssignVariableOp(v, zero) dtype=int32\n"
                               "y = count(v, n)\n"
                               "sum = ReadVariableOp(v, ^y) dtype=int32\n";

static const char endless[] = "function f(n:int32) -> (y:int32) y=rest:y:0\n"
                              "one = Const() dtype=int32 value=int32(1)\n"
                              "more = AddV2(n, one:output:0) T=int32\n"
                              "rest = f(more:z:0)\n"
                              "end\n" ARGUMENT "y = f(n)\n";

static const char endless_twice[] = "function f(n:int32) -> (y:int32) y=sum:z:0\n"
                                    "one = Const() dtype=int32 value=int32(1)\n"
                                    "more = AddV2(n, one:output:0) T=int32\n"
                                    "left = f(more:z:0)\n"
                                    "right = f(more:z:0)\n"
                                    "sum = AddV2(left:y:0, right:y:0) T=int32\n"
                                    "end\n" ARGUMENT "y = f(n)\n";

static void
expect(Cluster *cluster, int n, const char *fetch, int status, const char *part)
{
    char body[128];
    (void)snprintf(body, sizeof body, "{\"feeds\":{\"n\":%d},\"fetches\":[\"%s\"]}", n, fetch);
    cluster_expect_step(cluster, body, status, part);
}

static void
begin(Cluster *cluster, const char *graph)
{
    cluster_session(cluster, "{\"slots\":2,\"placement\":\"spread\"}");
    cluster_graph_literal(cluster, graph);
}

static void
a_function_calls_itself_until_its_data_say_so(void **state)
{
    begin(*state, factorial);
    expect(*state, 0, "y", 200, "\"data\":[1]");
    expect(*state, 1, "y", 200, "\"data\":[1]");
    expect(*state, 5, "y", 200, "\"data\":[120]");
    expect(*state, 12, "y", 200, "\"data\":[479001600]");
}

static void
it_may_call_itself_twice(void **state)
{
    begin(*state, fibonacci);
    expect(*state, 0, "y", 200, "\"data\":[0]");
    expect(*state, 2, "y", 200, "\"data\":[1]");
    expect(*state, 15, "y", 200, "\"data\":[610]");
    expect(*state, 15, "y", 200, "\"data\":[610]");
}

static void
functions_call_each_other(void **state)
{
    begin(*state, parity);
    expect(*state, 10, "even", 200, "\"data\":[true]");
    expect(*state, 10, "odd", 200, "\"data\":[false]");
    expect(*state, 301, "odd", 200, "\"data\":[true]");
    cluster_expect_step(
        *state, "{\"feeds\":{\"n\":7},\"fetches\":[\"even\",\"odd\"]}", 200, "\"data\":[true]");
}

static void
what_they_do_happens_once_each(void **state)
{
    begin(*state, counting);
    cluster_expect_step(*state, "{\"targets\":[\"init\"]}", 200, NULL);
    expect(*state, 10, "sum", 200, "\"data\":[55]");
    expect(*state, 3, "sum", 200, "\"data\":[61]");
}

static void
one_without_end_is_an_error_and_the_worker_lives(void **state)
{
    begin(*state, endless);
    expect(*state, 0, "y", 429, "functions call each other more than 1000 deep");
    begin(*state, endless_twice);
    expect(*state, 0, "y", 429, "calls of functions are under way already");
    begin(*state, factorial);
    expect(*state, 5, "y", 200, "\"data\":[120]");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(a_function_calls_itself_until_its_data_say_so),
        CLUSTER_TEST(it_may_call_itself_twice),
        CLUSTER_TEST(functions_call_each_other),
        CLUSTER_TEST(what_they_do_happens_once_each),
        CLUSTER_TEST(one_without_end_is_an_error_and_the_worker_lives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
