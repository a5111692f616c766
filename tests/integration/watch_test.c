/* Tensors are watched by fetching them: whatever the optimiser made of the node, its value is there, and
 * fetching it changes no bit of anything else. */
#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"

enum { BODY_SIZE = 256 };

/* Constants to fold, an Identity to drop, twins to merge, a chain to fuse, arithmetic to simplify. */
static const char graph[] = "x = Placeholder() dtype=float32\n"
                            "two = Const() dtype=float32 value=float32(2)\n"
                            "three = Const() dtype=float32 value=float32(3)\n"
                            "folded = Div(two, three) T=float32\n"
                            "same = Identity(x) T=float32\n"
                            "scaled = Mul(same, folded) T=float32\n"
                            "grown = Exp(scaled) T=float32\n"
                            "shifted = Add(grown, same) T=float32\n"
                            "minus = Neg(shifted) T=float32\n"
                            "twin = Neg(shifted) T=float32\n"
                            "square = Mul(minus, twin) T=float32\n"
                            "back = Neg(minus) T=float32\n"
                            "sum = Add(square, back) T=float32\n"
                            "y = Sqrt(sum) T=float32\n";

static const char *const watched[] = {
    "folded", "same", "scaled", "grown", "shifted", "minus", "twin", "square", "back", "sum"};

/* Runs a step with these fetches; returns its outputs as text. */
static void
outputs_of(Cluster *cluster, const char *fetches, RestResponse *response, const char **ret_outputs)
{
    char body[BODY_SIZE];
    (void)snprintf(body, sizeof body, "{\"feeds\":{\"x\":[0.1,-0.7,1.3,0.9]},\"fetches\":[%s]}", fetches);
    cluster_step(cluster, body, response);
    assert_int_equal(response->status, 200);
    *ret_outputs = strstr(rest_text(response), "\"outputs\":{");
    assert_non_null(*ret_outputs);
}

/* Finds one output, "name":{…}, up to its end. */
static Slice
output_find(const char *outputs, const char *name)
{
    char key[64];
    (void)snprintf(key, sizeof key, "\"%s\":{", name);
    const char *start = strstr(outputs, key);
    assert_non_null(start);
    const char *end = strchr(start, '}');
    assert_non_null(end);
    return slice_of(start, (size_t)(end - start));
}

static void
assert_watching_changes_nothing(Cluster *cluster, const char *options)
{
    AUTO_REST plain = {0};
    const char *unwatched = NULL;
    cluster_session(cluster, options);
    cluster_graph_literal(cluster, graph);
    outputs_of(cluster, "\"y\"", &plain, &unwatched);
    for (size_t index = 0; index < COUNT_OF(watched); index++) {
        char fetches[64];
        AUTO_REST both = {0};
        AUTO_REST alone = {0};
        const char *with = NULL;
        const char *only = NULL;
        (void)snprintf(fetches, sizeof fetches, "\"y\",\"%s\"", watched[index]);
        outputs_of(cluster, fetches, &both, &with);
        outputs_of(cluster, fetches + 4, &alone, &only);
        assert_true(slice_equal(output_find(with, "y"), output_find(unwatched, "y")));
        assert_true(slice_equal(output_find(with, watched[index]), output_find(only, watched[index])));
    }
}

static void
any_tensor_can_be_watched_and_none_changes_by_it(void **state)
{
    assert_watching_changes_nothing(*state, "{}");
    assert_watching_changes_nothing(*state, "{\"slots\":2,\"placement\":\"spread\"}");
}

/* The values of all tensors, fetched in one step without any pass, are those of each one alone with all
 * passes. */
static void
watched_tensors_are_those_of_the_graph_as_it_was_sent(void **state)
{
    static const char all[] =
        "\"folded\",\"same\",\"scaled\",\"grown\",\"shifted\",\"minus\",\"twin\",\"square\","
        "\"back\",\"sum\",\"y\"";
    Cluster *cluster = *state;
    AUTO_REST unchanged = {0};
    const char *expected = NULL;
    cluster_session(cluster, "{\"passes_off\":[\"*\"]}");
    cluster_graph_literal(cluster, graph);
    outputs_of(cluster, all, &unchanged, &expected);
    cluster_session(cluster, "{}");
    cluster_graph_literal(cluster, graph);
    for (size_t index = 0; index < COUNT_OF(watched); index++) {
        char fetch[32];
        AUTO_REST alone = {0};
        const char *outputs = NULL;
        (void)snprintf(fetch, sizeof fetch, "\"%s\"", watched[index]);
        outputs_of(cluster, fetch, &alone, &outputs);
        assert_true(slice_equal(output_find(outputs, watched[index]), output_find(expected, watched[index])));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(any_tensor_can_be_watched_and_none_changes_by_it),
        CLUSTER_TEST(watched_tensors_are_those_of_the_graph_as_it_was_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
