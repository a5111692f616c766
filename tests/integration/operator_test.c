/* The commands of an operator, given to sluice-gateway, and their effects on tenants. */
#include <stdio.h>
#include <string.h>

#include "tests/support/await.h"
#include "tests/support/cluster.h"

enum { KEY_SIZE = 128, TEXT_SIZE = 2048 };

static Cluster cluster;

static int
set_up(void **state)
{
    (void)state;
    return cluster_start(&cluster, &(ClusterOptions){.worker_count = 1, .has_keys = true}) ? 0 : -1;
}

static int
tear_down(void **state)
{
    (void)state;
    cluster_stop(&cluster);
    return 0;
}

/* The outputs and the exit code of sluice-gateway, run with up to four words. */
typedef struct Told {
    int exit_code;
    char out[TEXT_SIZE];
    char error[TEXT_SIZE];
} Told;

static Told
tell(const char *first, const char *second, const char *third, const char *fourth)
{
    Told told = {0};
    const char *const arguments[] = {"--database", cluster.conninfo, first, second, third, fourth, NULL};
    ProcessOutput output = {told.out, sizeof told.out, told.error, sizeof told.error};
    told.exit_code = process_capture("sluice-gateway", arguments, &output);
    return told;
}

static int
ask(RestResponse *response)
{
    cluster_send(&cluster, "GET", "/api/v1/sessions", NULL, response);
    return response->status;
}

static void
above_its_rate_a_tenant_is_told_when_to_come_again_and_others_go_on(void **state)
{
    char other[KEY_SIZE];
    int passed = 0;
    AUTO_REST refused = {0};
    AUTO_REST later = {0};
    (void)state;
    cluster_make_key(&cluster, "quiet", NULL, cluster.key);
    (void)snprintf(other, sizeof other, "%s", cluster.key);
    cluster_make_key(&cluster, "loud", NULL, cluster.key);
    assert_int_equal(tell("quota", "loud", "requests_per_second=1", NULL).exit_code, 0);
    uint64_t begin_ns = clock_monotonic_ns();
    while (ask(&refused) == 200 && passed < 1000) {
        rest_response_done(&refused);
        passed++;
    }
    uint64_t elapsed_ms = (clock_monotonic_ns() - begin_ns) / CLOCK_NS_PER_MS;
    /* The burst of one second, and what the rate allowed meanwhile. */
    assert_in_range(passed, 1, 1 + elapsed_ms / 1000 + 1);
    cluster_expect(&refused, 429, NULL);
    assert_string_equal(rest_header(&refused, "Retry-After"), "1");
    assert_string_equal(rest_header(&refused, "RateLimit-Policy"), "\"requests\";q=1;w=1");
    assert_string_equal(rest_header(&refused, "RateLimit"), "\"requests\";r=0;t=1");
    assert_non_null(strstr(rest_text(&refused), "\"code\":\"RESOURCE_EXHAUSTED\""));
    assert_non_null(strstr(rest_text(&refused),
        "the quota 'requests_per_second' is used up: the tenant 'loud' may send 1 a second"));
    pause_ms(1000);
    assert_int_equal(ask(&later), 200);
    (void)snprintf(cluster.key, sizeof cluster.key, "%s", other);
    for (int index = 0; index < 20; index++) {
        AUTO_REST response = {0};
        assert_int_equal(ask(&response), 200);
    }
}

static void
quotas_are_shown_and_set_by_name(void **state)
{
    (void)state;
    cluster_make_key(&cluster, "held", NULL, cluster.key);
    Told shown = tell("quota", "held", NULL, NULL);
    assert_string_equal(shown.out,
        "weight=1\nsessions_max=1000\ngraphs_max=10000\nqueued_steps_max=10000\nrunning_steps_max=64\n"
        "stored_bytes_max=274877906944\nrequests_per_second=10000\n");
    assert_non_null(
        strstr(tell("quota", "held", "weight=3", "graphs_max=1").out, "weight=3\nsessions_max=1000\n"
                                                                      "graphs_max=1\n"));
    assert_non_null(strstr(tell("quota", "held", "speed=1", NULL).error, "'speed' is no quota"));
    assert_non_null(strstr(
        tell("quota", "held", "weight=0", NULL).error, "'weight=0' is not NAME=VALUE with a number above 0"));
    assert_non_null(strstr(tell("quota", "nobody", NULL, NULL).error, "there is no tenant 'nobody'"));
}

static void
keys_are_listed_and_revoked_by_their_id_or_themselves(void **state)
{
    char id[13];
    (void)state;
    cluster_make_key(&cluster, "holder", NULL, cluster.key);
    const char *key = strstr(cluster.key, "slk_");
    (void)snprintf(id, sizeof id, "%.12s", key + strlen("slk_"));
    Told listed = tell("key", "list", "holder", NULL);
    assert_non_null(strstr(listed.out, id));
    assert_non_null(strstr(listed.out, " valid "));
    assert_null(strstr(listed.out, key));
    assert_int_equal(tell("key", "revoke", "holder", id).exit_code, 0);
    assert_int_equal(tell("key", "revoke", "holder", key).exit_code, 0);
    assert_non_null(strstr(tell("key", "list", "holder", NULL).out, " revoked "));
    AUTO_REST response = {0};
    assert_int_equal(ask(&response), 401);
    assert_non_null(strstr(tell("key", "revoke", "holder", "nothing").error, "there is no key 'nothing'"));
    assert_non_null(strstr(tell("key", "revoke", "quiet", id).error, "there is no key"));
    assert_non_null(strstr(tell("key", "list", "nobody", NULL).error, "there is no tenant 'nobody'"));
    assert_non_null(strstr(tell("key", "create", "Vision", NULL).error,
        "'Vision' is no name of a tenant: expected 1 to 63 of a-z, 0-9 and '-', which may not be at an end"));
    assert_non_null(strstr(
        tell("key", "create", "holder", "oprator").error, "there is no scope 'oprator', only 'operator'"));
    assert_non_null(strstr(tell("key", "lose", NULL, NULL).error, "usage: sluice-gateway key create"));
    assert_non_null(strstr(tell("key", "revoke", "holder", NULL).error, "key revoke TENANT KEY"));
}

static void
a_gateway_that_wants_more_connections_than_there_are_says_so_and_does_not_start(void **state)
{
    char out[TEXT_SIZE] = "";
    char error[TEXT_SIZE] = "";
    ProcessOutput output = {out, sizeof out, error, sizeof error};
    const char *const arguments[] = {
        "--database", cluster.conninfo, "--listen", "127.0.0.1:0", "--job-threads", "256", NULL};
    (void)state;
    assert_int_equal(process_capture("sluice-gateway", arguments, &output), 1);
    assert_non_null(
        strstr(error, "with 256 job threads the gateway may open 776 connections, PostgreSQL allows "));
    assert_non_null(strstr(error, ": lower --job-threads or raise max_connections"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(above_its_rate_a_tenant_is_told_when_to_come_again_and_others_go_on),
        cmocka_unit_test(quotas_are_shown_and_set_by_name),
        cmocka_unit_test(a_gateway_that_wants_more_connections_than_there_are_says_so_and_does_not_start),
        cmocka_unit_test(keys_are_listed_and_revoked_by_their_id_or_themselves),
    };
    return cmocka_run_group_tests_name("operator", tests, set_up, tear_down);
}
