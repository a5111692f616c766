/* Quotas are kept when two gateways take of them at once: the second waits for the first's transaction, and
 * counts what it took. */
#include <pthread.h>
#include <string.h>

#include "gateway/domain/tenant.h"
#include "gateway/store/blobs.h"
#include "gateway/store/graphs.h"
#include "gateway/store/sessions.h"
#include "gateway/store/tenants.h"
#include "shared/base/atomic.h"
#include "shared/crypto/digest.h"
#include "tests/support/await.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/database.h"

/* Takes the whole of a quota, as the `number`-th of those that try. */
typedef Status (*Take)(Call *call, Store *store, int number);

/* Another gateway, which takes in a transaction of its own. */
typedef struct Rival {
    const Database *database;
    Take take;
    bool has_ended; /* atomic */
    Status status;
    char message[ERROR_MESSAGE_SIZE];
} Rival;

static SessionId session; /* of the graphs */

static Status
take_and_commit(Call *call, const Rival *rival)
{
    AUTO_STORE store = NULL;
    StoreOptions options = {.conninfo = rival->database->conninfo, .role = STORE_ROLE_APP};
    TRY(store_open(call, &options, &store));
    TRY(store_begin(call, store, TENANT_DEFAULT));
    AUTO_TRANSACTION transaction = store;
    TRY(rival->take(call, store, 2));
    return store_commit(call, TAKE(transaction));
}

static void *
run_rival(void *argument)
{
    Rival *rival = argument;
    AUTO_ARENA arena = arena_new((size_t)1 << 20);
    Call call = {.arena = arena};
    rival->status = take_and_commit(&call, rival);
    (void)snprintf(rival->message, sizeof rival->message, "%s", call.error.message);
    atomic_store_release(&rival->has_ended, true);
    return NULL;
}

static void
set_quota(Database *database, size_t member, int64_t value)
{
    Quota quota;
    assert_status(
        &database->call, STATUS_OK, quotas_find(&database->call, database->app, TENANT_DEFAULT, &quota));
    memcpy((char *)&quota + member, &value, sizeof value);
    assert_status(
        &database->call, STATUS_OK, quotas_update(&database->call, database->app, TENANT_DEFAULT, &quota));
}

/* Two take at once of what is enough for one: the second one is refused, once the first has committed. */
static void
expect_one_winner(Database *database, Take take, const char *message)
{
    static const char waiting[] = "select count(*) from pg_stat_activity where datname = current_database() "
                                  "and wait_event_type = 'Lock'";
    Call *call = &database->call;
    Rival rival = {.database = database, .take = take};
    pthread_t thread;
    assert_status(call, STATUS_OK, store_begin(call, database->app, TENANT_DEFAULT));
    assert_status(call, STATUS_OK, take(call, database->app, 1));
    assert_int_equal(pthread_create(&thread, NULL, run_rival, &rival), 0);
    AWAIT(atomic_load_acquire(&rival.has_ended) || database_says(database, waiting, "1"));
    assert_status(call, STATUS_OK, store_commit(call, database->app));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(rival.status, STATUS_RESOURCE_EXHAUSTED);
    assert_non_null(strstr(rival.message, message));
}

static Status
take_session(Call *call, Store *store, int number)
{
    Session wanted = {.id = {uuid_new()}, .name = number == 1 ? "first" : "second", .options = "{}"};
    Session stored;
    return sessions_create(call, store, TENANT_DEFAULT, &wanted, &stored);
}

static void
of_two_sessions_at_once_one_is_refused(void **state)
{
    set_quota(*state, offsetof(Quota, sessions_max), 1);
    expect_one_winner(*state, take_session, "the quota 'sessions_max' is used up");
}

static Status
put_blob(Call *call, Store *store, int number, Sha256 *ret_digest)
{
    Slice bytes = number == 1 ? SLICE("first!") : SLICE("second");
    sha256(bytes, ret_digest);
    return blobs_put(call, store, TENANT_DEFAULT, ret_digest, bytes);
}

static Status
take_bytes(Call *call, Store *store, int number)
{
    Sha256 digest;
    return put_blob(call, store, number, &digest);
}

static void
of_two_blobs_at_once_one_is_refused(void **state)
{
    set_quota(*state, offsetof(Quota, stored_bytes_max), 11);
    expect_one_winner(*state, take_bytes, "the quota 'stored_bytes_max' is used up");
}

static Status
take_graph(Call *call, Store *store, int number)
{
    StoredGraph graph = {.id = {uuid_new()},
        .session = session,
        .version = 1,
        .media_type = "application/json",
        .summary = "{}"};
    StoredGraph stored;
    bool is_new = false;
    TRY(put_blob(call, store, number, &graph.source));
    graph.digest = graph.source;
    return graphs_create(call, store, TENANT_DEFAULT, &graph, &stored, &is_new);
}

static void
of_two_graphs_at_once_one_is_refused(void **state)
{
    Database *database = *state;
    Sha256 digest;
    session = database_add_session(database, TENANT_DEFAULT);
    for (int number = 1; number <= 2; number++) { /* ahead, because storing them waits for one another */
        assert_status(&database->call, STATUS_OK, put_blob(&database->call, database->app, number, &digest));
    }
    set_quota(database, offsetof(Quota, graphs_max), 1);
    expect_one_winner(database, take_graph, "the quota 'graphs_max' is used up");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DATABASE_TEST(of_two_sessions_at_once_one_is_refused),
        DATABASE_TEST(of_two_blobs_at_once_one_is_refused),
        DATABASE_TEST(of_two_graphs_at_once_one_is_refused),
    };
    return cmocka_run_group_tests_name("gateway/store/quotas", tests, NULL, NULL);
}
