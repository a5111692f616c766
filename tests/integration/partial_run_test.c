/* Partial runs: the stages of one step in several requests, and what is refused. */
#include "tests/support/cmocka_all.h"
#include "tests/support/partial_runs.h"

static void
each_request_gives_feeds_and_gets_fetches(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    partial_run_start(cluster, "{}", TWO_STAGES, path);
    partial_run_expect_view(cluster, path, 200, "\"state\":\"open\"");
    partial_run_expect_view(cluster, path, 200, "\"feeds\":[\"x\",\"y\"],\"fetches\":[\"a\",\"c\"]");
    partial_run_expect(cluster, path, "{\"feeds\":{\"x\":[1,2]},\"fetches\":[\"a:0\"]}", 200,
        "\"outputs\":{\"a:0\":{\"dtype\":\"float32\",\"shape\":[2],\"data\":[-1,-2]}}");
    partial_run_expect_view(cluster, path, 200, "\"feeds\":[\"y\"],\"fetches\":[\"c\"]");
    partial_run_expect(
        cluster, path, "{\"feeds\":{\"y\":[10,100]},\"fetches\":[\"c\"]}", 200, "\"data\":[-9,-198]");
    partial_run_expect_view(cluster, path, 404, "it may be complete, have failed, or have expired");
    partial_run_await_slots(cluster, 0);
}

static void
feeds_and_fetches_need_not_come_together(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    partial_run_start(cluster, "{}", TWO_STAGES, path);
    partial_run_expect(cluster, path, "{\"feeds\":{\"y\":[3]}}", 200, "\"outputs\":{}");
    partial_run_expect(cluster, path, "{\"feeds\":{\"x\":[2]}}", 200, "\"state\":\"open\"");
    partial_run_await_slots(cluster, 0);
    partial_run_expect(cluster, path, "{\"fetches\":[\"c\"]}", 200, "\"data\":[-4]");
    partial_run_expect(cluster, path, "{\"fetches\":[\"a\"]}", 200, "\"state\":\"complete\"");
    partial_run_expect_view(cluster, path, 404, NULL);
}

static void
one_output_under_two_names_is_asked_for_by_each(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    partial_run_start(cluster, "{}", "{\"feeds\":[\"x\",\"y\"],\"fetches\":[\"a\",\"a:0\",\"c\"]}", path);
    partial_run_expect(
        cluster, path, "{\"feeds\":{\"x:0\":1},\"fetches\":[\"a:0\"]}", 200, "\"outputs\":{\"a:0\":");
    partial_run_expect(cluster, path, "{\"fetches\":[\"a\"]}", 200, "\"fetches\":[\"c\"]");
    partial_run_expect(
        cluster, path, "{\"feeds\":{\"y\":1},\"fetches\":[\"c:0\"]}", 200, "\"state\":\"complete\"");
}

static void
stages_on_two_slots_meet(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    partial_run_start(cluster, "{\"slots\":2,\"placement\":\"spread\"}",
        "{\"feeds\":[\"x\",\"y\",\"z\"],\"fetches\":[\"a\",\"b\",\"c\",\"d\"]}", path);
    partial_run_await_slots(cluster, 2);
    partial_run_expect(cluster, path, "{\"feeds\":{\"x\":5},\"fetches\":[\"a\"]}", 200, "\"data\":[-5]");
    partial_run_expect(
        cluster, path, "{\"feeds\":{\"y\":2},\"fetches\":[\"c\",\"b\"]}", 200, "\"data\":[-5]");
    partial_run_expect(cluster, path, "{\"feeds\":{\"z\":1},\"fetches\":[\"d\"]}", 200, "\"data\":[-4]");
    partial_run_await_slots(cluster, 0);
}

static void
what_a_stage_has_done_to_a_variable_is_seen_at_once(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    partial_run_ready(cluster, "{}");
    cluster_expect_step(cluster, "{\"targets\":[\"init\"]}", 200, NULL);
    partial_run_begun(cluster, "{\"feeds\":[\"x\",\"y\"],\"fetches\":[\"bump\",\"late\"]}", path);
    cluster_expect_step(cluster, "{\"fetches\":[\"read\"]}", 200, "\"data\":[0]");
    partial_run_expect(cluster, path, "{\"feeds\":{\"x\":1},\"fetches\":[\"bump\"]}", 200, "\"data\":[1]");
    cluster_expect_step(cluster, "{\"fetches\":[\"read\"]}", 200, "\"data\":[1]");
    cluster_expect_step(cluster, "{\"feeds\":{\"x\":1},\"fetches\":[\"bump\"]}", 200, "\"data\":[2]");
    partial_run_expect(cluster, path, "{\"feeds\":{\"y\":1},\"fetches\":[\"late\"]}", 200, "\"data\":[2]");
}

static void
the_same_key_is_the_same_run(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    const char *const headers[] = {"Idempotency-Key: one", NULL};
    AUTO_REST first = {0};
    AUTO_REST second = {0};
    partial_run_ready(cluster, "{}");
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/partial-runs", cluster->session);
    cluster_send_with(cluster, "POST", path, headers, TWO_STAGES, &first);
    cluster_expect(&first, 201, "\"state\":\"open\"");
    cluster_send_with(cluster, "POST", path, headers, TWO_STAGES, &second);
    cluster_expect(&second, 201, NULL);
    assert_string_equal(rest_header(&second, "Idempotent-Replayed"), "true");
    assert_string_equal(rest_text(&first), rest_text(&second));
    partial_run_await_slots(cluster, 1);
}

static void
a_request_that_is_refused_changes_nothing(void **state)
{
    static const struct {
        const char *body;
        const char *message;
    } cases[] = {
        {"{\"feeds\":{\"y\":1},\"fetches\":[\"c\"]}",
            "fetch 'c' needs feed 'x', which has not been given yet"},
        {"{\"feeds\":{\"x\":1},\"fetches\":[\"a\",\"c\"]}", "fetch 'c' needs feed 'y'"},
        {"{\"feeds\":{\"z\":1}}", "feed 'z' is none of those that the partial run was made with"},
        {"{\"feeds\":{\"x\":1},\"fetches\":[\"b\"]}",
            "fetch 'b' is none of those that the partial run was made with"},
        {"{\"feeds\":{\"x\":1,\"x:0\":1}}", "feed 'x:0' has been given already"},
        {"{\"feeds\":{\"x\":1},\"fetches\":[\"a\",\"a:0\"]}", "fetch 'a:0' has been asked for already"},
        {"{}", "gives feeds or asks for fetches"},
        {"{\"feeds\":{\"x\":{\"dtype\":\"int32\",\"shape\":[],\"data\":[1]}}}", "feed 'x'"},
        {"{\"feeds\":{\"nowhere\":1}}", "nowhere"},
        {"{\"targets\":[\"init\"]}", "unknown member"},
        {"{\"feeds\":[1]}", "does not continue a partial run"},
        {"{\"feeds\":", "does not continue a partial run"},
        {"", NULL},
    };
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    partial_run_start(cluster, "{}", TWO_STAGES, path);
    for (size_t index = 0; index < sizeof cases / sizeof cases[0]; index++) {
        partial_run_expect(cluster, path, cases[index].body, 400, cases[index].message);
    }
    partial_run_expect_view(cluster, path, 200, "\"feeds\":[\"x\",\"y\"],\"fetches\":[\"a\",\"c\"]");
    partial_run_expect(cluster, path, "{\"feeds\":{\"x\":1},\"fetches\":[\"a\"]}", 200, "\"data\":[-1]");
    partial_run_expect(cluster, path, "{\"feeds\":{\"x\":1}}", 400, "feed 'x' has been given already");
    partial_run_expect(cluster, path, "{\"fetches\":[\"a\"]}", 400, "fetch 'a' has been asked for already");
    partial_run_expect(cluster, path, "{\"feeds\":{\"y\":4},\"fetches\":[\"c\"]}", 200, "\"data\":[-3]");
}

static void
a_setup_that_makes_no_sense_is_refused(void **state)
{
    static const struct {
        const char *body;
        int status;
        const char *message;
    } cases[] = {
        {"{\"feeds\":{\"x\":1},\"fetches\":[\"a\"]}", 400, "the request is no partial run"},
        {"{\"feeds\":[\"x\"]}", 400, NULL},
        {"{\"feeds\":[\"x\",\"x:0\"],\"fetches\":[\"a\"]}", 400, "'x:0'"},
        {"{\"feeds\":[\"x\"],\"fetches\":[\"nothing\"]}", 404, "nothing"},
        {"{\"feeds\":[\"nothing\"],\"fetches\":[\"a\"]}", 404, "nothing"},
        {"{\"feeds\":[\"y\"],\"fetches\":[\"a\"]}", 400, "placeholder 'x' must be fed"},
        {"{\"feeds\":[\"x\"],\"fetches\":[\"a\"],\"options\":{\"trace\":\"node\"}}", 400,
            "\"/options/trace\""},
        {"{\"feeds\":[\"x\"],\"fetches\":[\"a\"],\"options\":{\"timeout_ms\":0}}", 400, "step_timeout_ms"},
        {"{\"graph\":\"grf_none\",\"feeds\":[\"x\"],\"fetches\":[\"a\"]}", 404, "graph 'grf_none'"},
    };
    Cluster *cluster = *state;
    partial_run_ready(cluster, "{}");
    for (size_t index = 0; index < sizeof cases / sizeof cases[0]; index++) {
        AUTO_REST response;
        partial_run_create(cluster, cases[index].body, &response);
        cluster_expect(&response, cases[index].status, cases[index].message);
    }
    partial_run_await_slots(cluster, 0);
}

static void
ids_of_other_gateways_and_of_nobody_are_told_apart(void **state)
{
    Cluster *cluster = *state;
    char path[PARTIAL_RUN_PATH_SIZE];
    partial_run_start(cluster, "{}", TWO_STAGES, path);
    char *id = strstr(path, "prt_") + 4;
    char *time = &id[11];
    *time = *time == '0' ? '1' : '0';
    partial_run_expect_view(cluster, path, 404, "does not exist");
    char *gateway = &id[20];
    *gateway = *gateway == '0' ? '1' : '0';
    partial_run_expect(cluster, path, "{\"fetches\":[\"a\"]}", 409, "was made by another gateway");
    (void)snprintf(id, 8, "nothing");
    partial_run_expect_view(cluster, path, 404, "partial run 'prt_nothing' does not exist");
}

static void
many_are_open_at_once(void **state)
{
    enum { COUNT = 64 };
    static char paths[COUNT][PARTIAL_RUN_PATH_SIZE];
    Cluster *cluster = *state;
    AUTO_REST response = {0};
    partial_run_ready(cluster, "{}");
    for (int index = 0; index < COUNT; index++) {
        partial_run_begun(cluster, TWO_STAGES, paths[index]);
    }
    partial_run_create(cluster, TWO_STAGES, &response);
    cluster_expect(&response, 429, "the limit partial_runs is 64 runs");
    for (int index = 0; index < COUNT; index++) {
        partial_run_expect(
            cluster, paths[index], "{\"feeds\":{\"x\":1},\"fetches\":[\"a\"]}", 200, "\"data\":[-1]");
    }
    for (int index = COUNT; index-- > 0;) {
        partial_run_expect(
            cluster, paths[index], "{\"feeds\":{\"y\":1},\"fetches\":[\"c\"]}", 200, "\"data\":[0]");
    }
    partial_run_begun(cluster, TWO_STAGES, paths[0]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(each_request_gives_feeds_and_gets_fetches),
        CLUSTER_TEST(feeds_and_fetches_need_not_come_together),
        CLUSTER_TEST(one_output_under_two_names_is_asked_for_by_each),
        CLUSTER_TEST(stages_on_two_slots_meet),
        CLUSTER_TEST(what_a_stage_has_done_to_a_variable_is_seen_at_once),
        CLUSTER_TEST(the_same_key_is_the_same_run),
        CLUSTER_TEST(a_request_that_is_refused_changes_nothing),
        CLUSTER_TEST(a_setup_that_makes_no_sense_is_refused),
        CLUSTER_TEST(ids_of_other_gateways_and_of_nobody_are_told_apart),
        CLUSTER_TEST(many_are_open_at_once),
    };
    return cmocka_run_group_tests_name("partial run", tests, NULL, NULL);
}
