/* Tenants share a gateway's job threads: whoever's requests take long leaves one to the others. A row lock of
 * the test stands for what takes long. */
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

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tenant_whose_requests_take_long_leaves_a_thread_to_the_others),
    };
    return cmocka_run_group_tests_name("job shares", tests, set_up, tear_down);
}
