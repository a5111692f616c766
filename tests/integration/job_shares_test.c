/* Tenants share a gateway's job threads: whoever's requests take long leaves one to the others. A row lock of
 * the test stands for what takes long. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/await.h"
#include "tests/support/cluster.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/raw_http.h"

enum { THREADS = 3, HELD = 3 * THREADS, TEXT_SIZE = 512 };

static const char *const arguments[] = {"--job-threads", "3", NULL};
static Cluster cluster;

static int
set_up(void **state)
{
    (void)state;
    ClusterOptions options = {.worker_count = 1, .has_keys = true, .gateway_arguments = arguments};
    return cluster_start(&cluster, &options) ? 0 : -1;
}

static int
tear_down(void **state)
{
    (void)state;
    cluster_stop(&cluster);
    return 0;
}

/* Counts the transactions in this test's database that wait for another one's end. */
static int
waiting_count(void)
{
    return atoi(database_ask(cluster.database,
        "select count(distinct pid) from pg_locks where not granted and locktype in ('transactionid', "
        "'tuple') "
        "and pid in (select pid from pg_locks join pg_database on pg_database.oid = pg_locks.database "
        "where datname = current_database())"));
}

static int
list_status(const char *key)
{
    const char *const headers[] = {key, NULL};
    AUTO_REST response = {0};
    cluster_send_with(&cluster, "GET", "/api/v1/sessions", headers, NULL, &response);
    return response.status;
}

static void
make_session(const char *key)
{
    memcpy(cluster.key, key, CLUSTER_KEY_SIZE);
    cluster_session(&cluster, "{}");
    cluster.key[0] = '\0';
}

static int
begin_delete(const char *key)
{
    char request[TEXT_SIZE];
    int fd = raw_open(cluster.gateway.address);
    (void)snprintf(request, sizeof request,
        "DELETE /api/v1/sessions/%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", cluster.session, key);
    raw_send_text(fd, request);
    return fd;
}

static void
a_tenant_whose_requests_take_long_leaves_a_thread_to_the_others(void **state)
{
    (void)state;
    char quiet[CLUSTER_KEY_SIZE];
    char noisy[CLUSTER_KEY_SIZE];
    char reply[RAW_REPLY_SIZE];
    int held[HELD];
    cluster_make_key(&cluster, "quiet", NULL, quiet);
    cluster_make_key(&cluster, "noisy", NULL, noisy);
    make_session(noisy);
    (void)database_ask(cluster.database, "begin");
    (void)database_ask(cluster.database, "select id from sessions for update");
    for (int index = 0; index < HELD; index++) {
        held[index] = begin_delete(noisy);
    }
    AWAIT(waiting_count() == THREADS - 1);
    assert_int_equal(list_status(quiet), 200);
    assert_int_equal(list_status(quiet), 200);
    assert_int_equal(waiting_count(), THREADS - 1);
    (void)database_ask(cluster.database, "rollback");
    for (int index = 0; index < HELD; index++) {
        int status = raw_reply(held[index], reply, AWAIT_MS);
        assert_true(status == 204 || status == 404);
        (void)close(held[index]);
    }
}

/* Counts the transactions that wait for the table of graphs. */
static int
waiting_for_graphs(void)
{
    return atoi(database_ask(cluster.database,
        "select count(*) from pg_locks where not granted and relation = 'sluice.graphs'::regclass"));
}

/* Queues a step of the tenant `count` times, while no worker could run it. */
static void
queue_steps(const char *key, int count)
{
    static const char later[] = "Prefer: respond-async";
    const char *const headers[] = {later, NULL};
    memcpy(cluster.key, key, CLUSTER_KEY_SIZE);
    cluster_session(&cluster, "{}");
    cluster_graph_literal(&cluster, "y = Const() dtype=int32 value=int32(1)");
    for (int index = 0; index < count; index++) {
        AUTO_REST accepted = {0};
        char path[TEXT_SIZE];
        char body[TEXT_SIZE];
        (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/steps", cluster.session);
        (void)snprintf(body, sizeof body, "{\"graph\":\"%s\",\"fetches\":[\"y\"]}", cluster.graph);
        cluster_send_with(&cluster, "POST", path, headers, body, &accepted);
        cluster_expect(&accepted, 202, NULL);
    }
    cluster.key[0] = '\0';
}

/* Counts the steps in the queue that some gateway has claimed, or that have succeeded. */
static int
count_steps(const char *states)
{
    char query[TEXT_SIZE];
    (void)snprintf(query, sizeof query, "select count(*) from steps where state in (%s)", states);
    return atoi(database_ask(cluster.database, query));
}

/* Has another gateway instead of the cluster's, which knows no session and no graph; nobody needs a key
 * there. */
static void
replace_gateway(void)
{
    Process other;
    assert_int_equal(process_stop(&cluster.gateway, SIGTERM), 0);
    assert_true(cluster_add_gateway(&cluster, &other));
    cluster.gateway = other;
}

/* The test locks the table of graphs, which a gateway reads that has just started. */
static void
claimed_steps_that_prepare_for_long_leave_threads_to_others(void **state)
{
    (void)state;
    enum { CLAIMED = 3 };
    char noisy[CLUSTER_KEY_SIZE];
    cluster_make_key(&cluster, "claimed", NULL, noisy);
    assert_int_equal(process_stop(&cluster.workers[0], SIGTERM), 0);
    queue_steps(noisy, HELD);
    (void)database_ask(cluster.database, "begin");
    (void)database_ask(cluster.database, "lock table graphs in access exclusive mode");
    replace_gateway();
    assert_true(cluster_restart_worker(&cluster, 0));
    AWAIT(count_steps("'running'") >= CLAIMED && waiting_for_graphs() > 0);
    assert_int_equal(list_status(noisy), 200);
    assert_int_equal(waiting_for_graphs(), 1);
    (void)database_ask(cluster.database, "rollback");
    AWAIT(count_steps("'succeeded'") == HELD);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tenant_whose_requests_take_long_leaves_a_thread_to_the_others),
        cmocka_unit_test(claimed_steps_that_prepare_for_long_leave_threads_to_others),
    };
    return cmocka_run_group_tests_name("job shares", tests, set_up, tear_down);
}
