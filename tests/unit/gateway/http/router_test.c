#include "gateway/http/router.h"
#include "tests/support/cmocka_all.h"

static Status
run(Call *call, const Request *request, Response *response)
{
    (void)call;
    (void)request;
    (void)response;
    return STATUS_OK;
}

#define ROUTE(name, verb, where)                                                                             \
    static const Handler name = {.operation_id = #name, .method = verb, .path = where, .run = run}

ROUTE(root, "GET", "/");
ROUTE(list_graphs, "GET", "/graphs");
ROUTE(create_graph, "POST", "/graphs");
ROUTE(get_graph, "GET", "/graphs/{graph}");
ROUTE(delete_graph, "DELETE", "/graphs/{graph}");
ROUTE(plan_graph, "POST", "/graphs/{graph}:plan");
ROUTE(newest_graph, "GET", "/graphs/newest");
ROUTE(get_output, "GET", "/graphs/{graph}/outputs/{name}");
ROUTE(get_newest_log, "GET", "/graphs/newest/log");
ROUTE(reset, "POST", "/containers:reset");

static const Handler *const handlers[] = {&root, &list_graphs, &create_graph, &get_graph, &delete_graph,
    &plan_graph, &newest_graph, &get_output, &get_newest_log, &reset, NULL};

typedef struct Fixture {
    Arena *arena;
    Call call;
    Router *router;
    Field parameters[REQUEST_PARAMETERS_MAX];
    size_t parameter_count;
} Fixture;

static int
setup(void **state)
{
    static Fixture fixture;
    fixture = (Fixture){.arena = arena_new(64 * 1024)};
    fixture.call.arena = fixture.arena;
    assert_status(&fixture.call, STATUS_OK, router_new(&fixture.call, handlers, &fixture.router));
    *state = &fixture;
    return 0;
}

static int
teardown(void **state)
{
    Fixture *fixture = *state;
    router_free(fixture->router);
    arena_free(fixture->arena);
    return 0;
}

static const Route *
find(Fixture *fixture, const char *path)
{
    Target target;
    assert_status(&fixture->call, STATUS_OK, target_parse(&fixture->call, slice_from_string(path), &target));
    return router_find(fixture->router, target.segments, target.segment_count, fixture->parameters,
        &fixture->parameter_count);
}

static void
assert_found(Fixture *fixture, const char *method, const char *path, const Handler *expected)
{
    const Route *route = find(fixture, path);
    assert_non_null(route);
    assert_ptr_equal(route_handler(route, method), expected);
}

static void
literals_come_before_verbs_and_verbs_before_parameters(void **state)
{
    assert_found(*state, "GET", "/", &root);
    assert_found(*state, "GET", "/graphs", &list_graphs);
    assert_found(*state, "POST", "/graphs", &create_graph);
    assert_found(*state, "GET", "/graphs/newest", &newest_graph);
    assert_found(*state, "POST", "/graphs/g1:plan", &plan_graph);
    assert_found(*state, "GET", "/graphs/g1", &get_graph);
    assert_found(*state, "GET", "/graphs/g1:other", &get_graph);
    assert_found(*state, "POST", "/containers:reset", &reset);
}

static void
a_branch_that_leads_nowhere_is_left_again(void **state)
{
    assert_found(*state, "GET", "/graphs/newest/log", &get_newest_log);
    assert_found(*state, "GET", "/graphs/newest/outputs/y", &get_output);
}

static void
parameters_are_decoded_and_named(void **state)
{
    Fixture *fixture = *state;
    assert_found(fixture, "GET", "/graphs/g%201/outputs/probs:0", &get_output);
    assert_int_equal(fixture->parameter_count, 2);
    assert_true(slice_equals_string(fixture->parameters[0].name, "graph"));
    assert_true(slice_equals_string(fixture->parameters[0].value, "g 1"));
    assert_true(slice_equals_string(fixture->parameters[1].name, "name"));
    assert_true(slice_equals_string(fixture->parameters[1].value, "probs:0"));
    assert_found(fixture, "POST", "/graphs/a:b:plan", &plan_graph);
    assert_true(slice_equals_string(fixture->parameters[0].value, "a:b"));
}

static void
what_no_route_names_is_not_found(void **state)
{
    static const char *const paths[] = {"/graph", "/graphs/", "/graphs/g/", "/graphs/g/outputs",
        "/containers", "/graphs/g/outputs/y/z", "/graphs/newest/lo"};
    for (size_t index = 0; index < COUNT_OF(paths); index++) {
        assert_null(find(*state, paths[index]));
    }
    assert_found(*state, "GET", "/graphs/:plan", &get_graph); /* a verb needs a segment before it */
}

static void
methods_are_listed_for_allow(void **state)
{
    char allow[ROUTE_ALLOW_SIZE];
    const Route *route = find(*state, "/graphs/g");
    route_allow(route, allow);
    assert_string_equal(allow, "GET, HEAD, DELETE, OPTIONS");
    assert_ptr_equal(route_handler(route, "HEAD"), &get_graph);
    assert_null(route_handler(route, "POST"));
    assert_null(route_handler(route, "BREW"));
}

static void
clashing_routes_are_refused(void **state)
{
    Fixture *fixture = *state;
    ROUTE(twin, "GET", "/graphs/{graph}");
    ROUTE(other_name, "GET", "/graphs/{id}/more");
    ROUTE(no_method, "FETCH", "/fetch");
    const Handler *const twins[] = {&get_graph, &twin, NULL};
    const Handler *const names[] = {&get_graph, &other_name, NULL};
    const Handler *const unknown[] = {&no_method, NULL};
    Router *router = NULL;
    assert_status(&fixture->call, STATUS_INVALID_ARGUMENT, router_new(&fixture->call, twins, &router));
    assert_string_equal(fixture->call.error.message, "'get_graph' and 'twin' both serve GET /graphs/{graph}");
    assert_status(&fixture->call, STATUS_INVALID_ARGUMENT, router_new(&fixture->call, names, &router));
    assert_string_equal(fixture->call.error.message,
        "route '/graphs/{id}/more' of 'other_name' names the parameter 'id', another route 'graph'");
    assert_status(&fixture->call, STATUS_INVALID_ARGUMENT, router_new(&fixture->call, unknown, &router));
    assert_null(router);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            literals_come_before_verbs_and_verbs_before_parameters, setup, teardown),
        cmocka_unit_test_setup_teardown(a_branch_that_leads_nowhere_is_left_again, setup, teardown),
        cmocka_unit_test_setup_teardown(parameters_are_decoded_and_named, setup, teardown),
        cmocka_unit_test_setup_teardown(what_no_route_names_is_not_found, setup, teardown),
        cmocka_unit_test_setup_teardown(methods_are_listed_for_allow, setup, teardown),
        cmocka_unit_test_setup_teardown(clashing_routes_are_refused, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
