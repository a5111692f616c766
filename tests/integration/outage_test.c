/* PostgreSQL stops and starts again under a running gateway. The server is this test's own: the program
 * runs itself again under tools/with_postgres. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/base/atomic.h"
#include "tests/support/await.h"
#include "tests/support/cluster.h"

static const char graph[] =
    "{\"node\":[{\"name\":\"x\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"}}},"
    "{\"name\":\"y\",\"op\":\"Neg\",\"input\":[\"x\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}}]}";
static const char step[] = "{\"feeds\":{\"x\":2},\"fetches\":[\"y\"]}";

#define SETTLED_ROUNDS "sluice_pool_rounds_total{outcome=\"settled\"}"

static int
run_tool(const char *verb)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)execl("tools/postgres_control", "postgres_control", verb, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
expect_step(Cluster *cluster, int status)
{
    AUTO_REST response = {0};
    cluster_step(cluster, step, &response);
    cluster_expect(&response, status, NULL);
}

static bool
takes_sessions(Cluster *cluster)
{
    AUTO_REST session;
    cluster_send(cluster, "POST", "/api/v1/sessions", "{}", &session);
    return session.status == 201;
}

static void
cached_graphs_serve_while_postgres_is_gone_and_all_works_when_it_is_back(void **state)
{
    Cluster *cluster = *state;
    AUTO_REST ready = {0};
    AUTO_REST session = {0};
    AUTO_REST alive = {0};
    cluster_session(cluster, "{}");
    cluster_graph(cluster, graph);
    expect_step(cluster, 200);

    assert_int_equal(run_tool("stop"), 0);
    expect_step(cluster, 200);
    AWAIT(cluster_metric(cluster, "sluice_pool_rounds_total{outcome=\"failed\"}") > 0);
    (void)sleep(3); /* longer than a cached session counts as fresh (2 s) */
    expect_step(cluster, 200);
    expect_step(cluster, 200);
    cluster_send(cluster, "POST", "/api/v1/sessions", "{}", &session);
    cluster_expect(&session, 503, NULL);
    assert_string_equal(rest_header(&session, "Content-Type"), "application/problem+json");
    cluster_send(cluster, "GET", "/readyz", NULL, &ready);
    cluster_expect(&ready, 503, NULL);
    cluster_send(cluster, "GET", "/livez", NULL, &alive);
    cluster_expect(&alive, 200, NULL);

    assert_int_equal(run_tool("start"), 0);
    AWAIT(takes_sessions(cluster));
    double settled = cluster_metric(cluster, SETTLED_ROUNDS);
    AWAIT(cluster_metric(cluster, SETTLED_ROUNDS) > settled);
    expect_step(cluster, 200);
}

/* The end of a queued step is tried again and again, until the gateway ends; then that waits for the record
 * of the other one, for longer than a pause between two tries. */
static void
a_gateway_that_ends_while_the_end_of_a_step_cannot_be_written_ends_well(void **state)
{
    static const char *const arguments[] = {"--grace", "1s", "--queue-lease", "1s", NULL};
    static const char *const later[] = {"Prefer: respond-async", NULL};
    static const char state_of_queued[] = "select state from sluice.steps where is_async";
    Cluster cluster = {0};
    char path[128];
    AUTO_REST accepted = {0};
    (void)state;
    assert_true(
        cluster_start(&cluster, &(ClusterOptions){.worker_count = 1, .gateway_arguments = arguments}));
    cluster_session(&cluster, "{}");
    cluster_graph(&cluster, graph);
    expect_step(&cluster, 200);
    cluster_signal_workers(&cluster, SIGSTOP);
    (void)snprintf(path, sizeof path, "/api/v1/sessions/%s/steps", cluster.session);
    cluster_send_with(&cluster, "POST", path, later, step, &accepted);
    cluster_expect(&accepted, 202, NULL);
    AWAIT(database_says(cluster.database, state_of_queued, "running"));
    assert_int_equal(run_tool("stop"), 0);
    cluster_signal_workers(&cluster, SIGCONT);
    expect_step(&cluster, 200);
    AWAIT(cluster_worker_running(&cluster, 0) == 0);
    assert_int_equal(process_stop(&cluster.gateway, SIGTERM), 0);

    assert_int_equal(run_tool("start"), 0);
    PQreset(cluster.database->admin);
    assert_true(cluster_restart_gateway(&cluster));
    AWAIT(database_says(cluster.database, state_of_queued, "succeeded"));
    cluster_stop(&cluster);
}

typedef struct Creation {
    Cluster *cluster;
    int status;
    char detail[256];
} Creation;

/* Asks for a session with an idempotency key. */
static void *
create_session(void *context)
{
    static const char *const keyed[] = {"Idempotency-Key: one", NULL};
    Creation *creation = context;
    AUTO_REST response = {0};
    cluster_send_with(creation->cluster, "POST", "/api/v1/sessions", keyed, "{}", &response);
    creation->status = response.status;
    (void)snprintf(creation->detail, sizeof creation->detail, "%s", "");
    (void)rest_member(&response, "detail", creation->detail, sizeof creation->detail);
    return NULL;
}

static bool
is_created(Creation *creation)
{
    (void)create_session(creation);
    return creation->status == 201;
}

/* The commit lingers, and PostgreSQL is stopped in it. */
static void
a_commit_that_went_with_postgres_is_made_once_by_its_key(void **state)
{
    Cluster *cluster = *state;
    Creation creation = {.cluster = cluster};
    pthread_t thread;
    (void)database_ask(cluster->database, "create function linger() returns trigger language plpgsql as "
                                          "$$begin perform pg_sleep(600); return null; "
                                          "end$$; create constraint trigger late after insert on "
                                          "sluice.sessions deferrable initially deferred for "
                                          "each row execute function linger()");
    assert_int_equal(pthread_create(&thread, NULL, create_session, &creation), 0);
    AWAIT(database_says(
        cluster->database, "select count(*) from pg_stat_activity where wait_event = 'PgSleep'", "1"));
    assert_int_equal(run_tool("stop"), 0);
    (void)pthread_join(thread, NULL);
    assert_int_equal(creation.status, 503);
    assert_string_equal(creation.detail,
        "PostgreSQL was lost during a commit, which may have happened: send the "
        "request again with its idempotency key");
    assert_int_equal(run_tool("start"), 0);
    PQreset(cluster->database->admin);
    (void)database_ask(cluster->database, "drop trigger late on sluice.sessions");
    AWAIT(is_created(&creation));
    assert_string_equal(database_ask(cluster->database, "select count(*) from sluice.sessions"), "1");
}

static uint64_t
milliseconds_since(uint64_t since_ns)
{
    return (clock_monotonic_ns() - since_ns) / CLOCK_NS_PER_MS;
}

/* Returns what /readyz says of the database; the text is valid until the next call. */
static const char *
database_readiness(Cluster *cluster)
{
    static char line[256];
    AUTO_REST ready = {0};
    cluster_send(cluster, "GET", "/readyz", NULL, &ready);
    const char *found = strstr(rest_text(&ready), "]database ");
    (void)sscanf(found == NULL ? "]database nothing" : found, "]database %255[^\n]", line);
    return line;
}

/* Statements that hang have 30 s otherwise; the step's session is no longer fresh, so it is looked up. */
static void
a_postgres_that_hangs_is_as_one_that_is_gone(void **state)
{
    enum { LATE_MS = 25000 };
    Cluster *cluster = *state;
    AUTO_REST session = {0};
    cluster_session(cluster, "{}");
    cluster_graph(cluster, graph);
    expect_step(cluster, 200);
    pause_ms(2500);
    assert_int_equal(run_tool("hang"), 0);
    uint64_t since_ns = clock_monotonic_ns();
    expect_step(cluster, 200);
    expect_step(cluster, 200);
    cluster_send(cluster, "POST", "/api/v1/sessions", "{}", &session);
    cluster_expect(&session, 503, "PostgreSQL does not answer");
    assert_string_equal(database_readiness(cluster), "PostgreSQL does not answer");
    uint64_t took_ms = milliseconds_since(since_ns);
    assert_int_equal(run_tool("resume"), 0);
    assert_in_range(took_ms, 0, LATE_MS);
    AWAIT(takes_sessions(cluster));
    AWAIT(strcmp(database_readiness(cluster), "ok") == 0);
    expect_step(cluster, 200);
}

static void *
start_late(void *context)
{
    int *code = context;
    pause_ms(1500);
    *code = run_tool("start");
    return NULL;
}

static void
a_gateway_that_starts_before_postgres_waits_for_it(void **state)
{
    Process gateway = {0};
    pthread_t thread;
    int code = -1;
    assert_int_equal(run_tool("stop"), 0);
    assert_int_equal(pthread_create(&thread, NULL, start_late, &code), 0);
    bool is_up = cluster_add_gateway(*state, &gateway);
    (void)pthread_join(thread, NULL);
    assert_int_equal(code, 0);
    assert_true(is_up);
    assert_int_equal(process_stop(&gateway, SIGTERM), 0);
}

/* Ends the program that process_capture() waits for, once it waits for PostgreSQL. */
static void *
end_waiting_gateway(void *unused)
{
    (void)unused;
    pid_t pid = 0;
    pause_ms(5000); /* for the gateway to start */
    pid = atomic_load_seq_cst(&process_captured);
    if (pid > 0) {
        (void)kill(pid, SIGTERM);
    }
    return NULL;
}

static void
a_gateway_that_is_stopped_while_it_waits_for_postgres_ends_well(void **state)
{
    const Cluster *cluster = *state;
    char log[4096];
    char out[256];
    ProcessOutput output = {.out = out, .out_size = sizeof out, .error = log, .error_size = sizeof log};
    pthread_t thread;
    const char *const arguments[] = {"--listen", "127.0.0.1:0", "--auth", "off", "--database",
        cluster->conninfo, "--workers", cluster->workers[0].address, NULL};
    assert_int_equal(run_tool("stop"), 0);
    assert_int_equal(pthread_create(&thread, NULL, end_waiting_gateway, NULL), 0);
    int code = process_capture("sluice-gateway", arguments, &output);
    (void)pthread_join(thread, NULL);
    assert_int_equal(run_tool("start"), 0);
    assert_int_equal(code, 0);
    assert_non_null(strstr(log, "waiting for PostgreSQL"));
    assert_non_null(strstr(log, "ended while it waited for PostgreSQL"));
}

static int
readiness(Cluster *cluster)
{
    AUTO_REST ready = {0};
    cluster_send(cluster, "GET", "/readyz", NULL, &ready);
    return ready.status;
}

static void
a_gateway_may_stay_ready_while_postgres_is_gone(void **state)
{
    static const char *const arguments[] = {"--database-outage", "ready", NULL};
    (void)state;
    Cluster cluster = {0};
    assert_true(cluster_start(&cluster, &(ClusterOptions){.gateway_arguments = arguments}));
    cluster_session(&cluster, "{}");
    cluster_graph(&cluster, graph);
    expect_step(&cluster, 200);
    assert_int_equal(run_tool("stop"), 0);
    AWAIT(strcmp(database_readiness(&cluster), "ok") != 0);
    assert_int_equal(readiness(&cluster), 200);
    expect_step(&cluster, 200);
    assert_int_equal(run_tool("start"), 0);
    AWAIT(strcmp(database_readiness(&cluster), "ok") == 0);
    cluster_stop(&cluster);
}

/* Runs a command of the shell, in which $1 is a folder of PostgreSQL's for a small disk. */
static bool
run_shell(const char *command)
{
    char text[512];
    (void)snprintf(text, sizeof text, "set -eu; set -- \"$PGHOST/small\"; %s", command);
    return system(text) == 0;
}

static bool
has_no_room(Cluster *cluster)
{
    AUTO_REST session = {0};
    cluster_send(cluster, "POST", "/api/v1/sessions", "{}", &session);
    if (session.status == 503) {
        cluster_expect(&session, 503, "\"detail\":\"PostgreSQL's disk is full\"");
    }
    return session.status == 503;
}

static void
a_full_disk_is_told_without_naming_a_file(void **state)
{
    Cluster *cluster = *state;
    char sql[256];
    if (!run_shell("[ $(id -u) = 0 ]; mkdir -p $1; mount -t tmpfs -o size=1m none $1; chown postgres $1") ||
        !run_shell("mkdir $1/space; chown postgres $1/space")) {
        print_message("skipped: no small disk can be mounted\n");
        skip();
    }
    (void)snprintf(sql, sizeof sql, "create tablespace small location '%s/small/space'", getenv("PGHOST"));
    (void)database_ask(cluster->database, sql);
    (void)database_ask(cluster->database, "alter table sluice.sessions set tablespace small");
    (void)run_shell("dd if=/dev/zero of=$1/filler bs=4096 2>/dev/null");
    AWAIT(has_no_room(cluster));
    assert_string_equal(database_readiness(cluster), "PostgreSQL's disk is full");
    assert_true(run_shell("rm $1/filler"));
    AWAIT(takes_sessions(cluster));
    AWAIT(strcmp(database_readiness(cluster), "ok") == 0);
    (void)database_ask(cluster->database, "alter table sluice.sessions set tablespace pg_default");
    (void)database_ask(cluster->database, "drop tablespace small");
}

/* Returns the answer to a request with the cluster's key. */
static int
ask_with_key(Cluster *cluster)
{
    AUTO_REST response = {0};
    cluster_send(cluster, "GET", "/api/v1/limits", NULL, &response);
    return response.status;
}

static void
a_key_that_was_found_revoked_is_refused_while_postgres_is_gone(void **state)
{
    (void)state;
    Cluster cluster = {0};
    char sql[256];
    assert_true(cluster_start(&cluster, &(ClusterOptions){.has_keys = true}));
    cluster_make_key(&cluster, "owner", NULL, cluster.key);
    assert_int_equal(ask_with_key(&cluster), 200);
    (void)snprintf(sql, sizeof sql,
        "update sluice.api_keys set revoked_at = now() where id = '%.12s' returning id",
        cluster.key + sizeof "Authorization: Bearer slk_" - 1);
    assert_int_equal(strlen(database_ask(cluster.database, sql)), 12);
    AWAIT(ask_with_key(&cluster) == 401);

    assert_int_equal(run_tool("stop"), 0);
    assert_int_equal(ask_with_key(&cluster), 503);
    assert_int_equal(run_tool("start"), 0);
    AWAIT(ask_with_key(&cluster) == 401);
    cluster_stop(&cluster);
}

int
main(void)
{
    if (getenv("OUTAGE_TEST_OWN_POSTGRES") == NULL) {
        (void)setenv("OUTAGE_TEST_OWN_POSTGRES", "1", 1);
        char path[256];
        ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
        path[size > 0 ? size : 0] = '\0';
        (void)execl("tools/with_postgres", "with_postgres", path, (char *)NULL);
        return EXIT_FAILURE;
    }
    const struct CMUnitTest tests[] = {
        CLUSTER_TEST(cached_graphs_serve_while_postgres_is_gone_and_all_works_when_it_is_back),
        CLUSTER_TEST(a_postgres_that_hangs_is_as_one_that_is_gone),
        cmocka_unit_test(a_gateway_that_ends_while_the_end_of_a_step_cannot_be_written_ends_well),
        CLUSTER_TEST(a_gateway_that_starts_before_postgres_waits_for_it),
        CLUSTER_TEST(a_gateway_that_is_stopped_while_it_waits_for_postgres_ends_well),
        cmocka_unit_test(a_gateway_may_stay_ready_while_postgres_is_gone),
        CLUSTER_TEST(a_full_disk_is_told_without_naming_a_file),
        CLUSTER_TEST(a_commit_that_went_with_postgres_is_made_once_by_its_key),
        cmocka_unit_test(a_key_that_was_found_revoked_is_refused_while_postgres_is_gone),
    };
    int failures = cmocka_run_group_tests_name("outage", tests, NULL, NULL);
    (void)run_shell("if mountpoint -q $1; then umount -l $1; fi");
    return failures;
}
