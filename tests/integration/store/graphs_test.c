#include "gateway/store/graphs.h"

#include "gateway/domain/tenant.h"
#include "gateway/store/blobs.h"
#include "gateway/store/tenants.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/database.h"

static StoredGraph
example(Database *database, TenantId tenant, SessionId session, const char *source)
{
    StoredGraph graph = {.id = {uuid_new()},
        .session = session,
        .version = 1,
        .media_type = "application/json",
        .summary = "{\"nodes\": 3}"};
    Slice bytes = slice_from_string(source);
    sha256(bytes, &graph.source);
    graph.digest = graph.source;
    assert_status(
        &database->call, STATUS_OK, blobs_put(&database->call, database->app, tenant, &graph.source, bytes));
    return graph;
}

static StoredGraph
create(Database *database, TenantId tenant, SessionId session, const char *source)
{
    StoredGraph graph = example(database, tenant, session, source);
    StoredGraph stored;
    bool is_new = false;
    assert_status(&database->call, STATUS_OK,
        graphs_create(&database->call, database->app, tenant, &graph, &stored, &is_new));
    assert_true(is_new);
    return stored;
}

static void
a_graph_is_found_as_it_was_created(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    SessionId session = database_add_session(database, TENANT_DEFAULT);
    StoredGraph created = create(database, TENANT_DEFAULT, session, "{}");
    StoredGraph found;
    assert_status(
        call, STATUS_OK, graphs_find(call, database->app, TENANT_DEFAULT, session, created.id, &found));
    assert_true(
        uuid_equal(found.id.value, created.id.value) && uuid_equal(found.session.value, session.value));
    assert_true(uuid_is_zero(found.parent.value));
    assert_true(sha256_equal(&found.digest, &created.digest) && sha256_equal(&found.source, &created.source));
    assert_string_equal(found.media_type, "application/json");
    assert_string_equal(found.summary, "{\"nodes\": 3}");
}

static void
the_same_bytes_are_one_graph_in_a_session(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    SessionId session = database_add_session(database, TENANT_DEFAULT);
    StoredGraph first = create(database, TENANT_DEFAULT, session, "{}");
    StoredGraph again = example(database, TENANT_DEFAULT, session, "{}");
    StoredGraph stored;
    bool is_new = true;
    assert_status(
        call, STATUS_OK, graphs_create(call, database->app, TENANT_DEFAULT, &again, &stored, &is_new));
    assert_false(is_new);
    assert_true(uuid_equal(stored.id.value, first.id.value));
    (void)create(database, TENANT_DEFAULT, database_add_session(database, TENANT_DEFAULT), "{}");
}

static uint64_t
collect(Database *database)
{
    uint64_t removed = 0;
    (void)database_ask(database, "update blobs set used_at = now() - interval '2 hours' returning size");
    assert_status(&database->call, STATUS_OK,
        blobs_collect(&database->call, database->app, TENANT_DEFAULT, 3600, 10, &removed));
    return removed;
}

/* A graph keeps its files as long as it lives, and those of the graph that it extends. */
static void
files_stay_as_long_as_a_graph_needs_them(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    SessionId session = database_add_session(database, TENANT_DEFAULT);
    StoredGraph graph = create(database, TENANT_DEFAULT, session, "{}");
    StoredGraph extended = example(database, TENANT_DEFAULT, session, "more");
    StoredGraph stored;
    bool is_new = false;
    Sha256 missing = {{1}};
    Sha256 file;
    sha256(SLICE("weights"), &file);
    assert_status(call, STATUS_OK, blobs_put(call, database->app, TENANT_DEFAULT, &file, SLICE("weights")));
    assert_status(call, STATUS_OK, graphs_keep_files(call, database->app, TENANT_DEFAULT, &graph, &file, 1));
    extended.parent = graph.id;
    extended.version = 2;
    assert_status(
        call, STATUS_OK, graphs_create(call, database->app, TENANT_DEFAULT, &extended, &stored, &is_new));
    assert_status(call, STATUS_OK, graphs_keep_files(call, database->app, TENANT_DEFAULT, &stored, NULL, 0));
    assert_status(
        call, STATUS_NOT_FOUND, graphs_keep_files(call, database->app, TENANT_DEFAULT, &graph, &missing, 1));
    assert_string_equal(call->error.message, "a file of the graph was removed at this moment");
    assert_int_equal(collect(database), 0);
    assert_status(call, STATUS_OK, graphs_delete(call, database->app, TENANT_DEFAULT, session, graph.id));
    assert_int_equal(collect(database), 0);
    assert_status(call, STATUS_OK, graphs_delete(call, database->app, TENANT_DEFAULT, session, stored.id));
    assert_int_equal(collect(database), 3);
}

/* A conflicting row that is gone when it is looked for means that the graph was just deleted. Here the
 * conflict is with another graph, so that the look finds nothing. */
static void
one_whose_like_has_just_gone_was_deleted(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    SessionId session = database_add_session(database, TENANT_DEFAULT);
    StoredGraph graph = example(database, TENANT_DEFAULT, session, "other");
    StoredGraph stored;
    bool is_new = false;
    graph.id = create(database, TENANT_DEFAULT, session, "{}").id;
    assert_status(
        call, STATUS_ABORTED, graphs_create(call, database->app, TENANT_DEFAULT, &graph, &stored, &is_new));
    assert_string_equal(call->error.message, "the same graph was deleted at this moment");
}

static void
of_two_that_extend_a_graph_one_loses(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    SessionId session = database_add_session(database, TENANT_DEFAULT);
    StoredGraph base = create(database, TENANT_DEFAULT, session, "base");
    StoredGraph winner = example(database, TENANT_DEFAULT, session, "winner");
    StoredGraph loser = example(database, TENANT_DEFAULT, session, "loser");
    StoredGraph stored;
    bool is_new = false;
    winner.parent = base.id;
    winner.version = 2;
    loser.parent = base.id;
    loser.version = 2;
    assert_status(
        call, STATUS_OK, graphs_create(call, database->app, TENANT_DEFAULT, &winner, &stored, &is_new));
    assert_status(
        call, STATUS_ABORTED, graphs_create(call, database->app, TENANT_DEFAULT, &loser, &stored, &is_new));
    assert_string_equal(call->error.message, "the graph has been extended by another request");
    assert_status(call, STATUS_OK, graphs_find_newest(call, database->app, TENANT_DEFAULT, session, &stored));
    assert_true(uuid_equal(stored.id.value, winner.id.value));
}

/* The sources of a version's parents stay as long as the version does. */
static void
an_extended_graph_keeps_the_parts_of_a_deleted_parent(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    SessionId session = database_add_session(database, TENANT_DEFAULT);
    StoredGraph base = create(database, TENANT_DEFAULT, session, "base");
    StoredGraph child = example(database, TENANT_DEFAULT, session, "child");
    const GraphPart *parts = NULL;
    StoredGraph stored;
    bool is_new = false;
    uint64_t removed = 9;
    child.parent = base.id;
    child.version = 2;
    assert_status(
        call, STATUS_OK, graphs_create(call, database->app, TENANT_DEFAULT, &child, &stored, &is_new));
    assert_status(call, STATUS_OK, graphs_delete(call, database->app, TENANT_DEFAULT, session, base.id));
    (void)database_ask(database, "update blobs set used_at = now() - interval '1 day'");
    assert_status(call, STATUS_OK, blobs_collect(call, database->app, TENANT_DEFAULT, 3600, 10, &removed));
    assert_int_equal(removed, 0);
    assert_status(call, STATUS_OK, graphs_parts(call, database->app, TENANT_DEFAULT, &stored, &parts));
    assert_true(sha256_equal(&parts[0].source, &base.source));
    assert_true(sha256_equal(&parts[1].source, &child.source));
}

static void
a_parent_that_is_gone_cannot_be_extended(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    SessionId session = database_add_session(database, TENANT_DEFAULT);
    StoredGraph base = create(database, TENANT_DEFAULT, session, "base");
    StoredGraph child = example(database, TENANT_DEFAULT, session, "child");
    StoredGraph stored;
    bool is_new = false;
    child.parent = base.id;
    child.version = 2;
    assert_status(call, STATUS_OK, graphs_delete(call, database->app, TENANT_DEFAULT, session, base.id));
    assert_status(
        call, STATUS_NOT_FOUND, graphs_create(call, database->app, TENANT_DEFAULT, &child, &stored, &is_new));
}

static void
another_tenant_sees_and_changes_nothing(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    TenantId other = database_add_tenant(database, "other");
    SessionId session = database_add_session(database, TENANT_DEFAULT);
    StoredGraph graph = create(database, TENANT_DEFAULT, session, "{}");
    StoredGraph stolen = example(database, other, session, "{}");
    StoredGraph found;
    GraphPage page;
    bool is_new = false;
    assert_status(call, STATUS_NOT_FOUND, graphs_find(call, database->app, other, session, graph.id, &found));
    assert_status(call, STATUS_NOT_FOUND, graphs_find_newest(call, database->app, other, session, &found));
    assert_status(call, STATUS_NOT_FOUND, graphs_delete(call, database->app, other, session, graph.id));
    assert_status(call, STATUS_OK, graphs_list(call, database->app, other, session, &(Page){0}, &page));
    assert_int_equal(page.count, 0);
    assert_status(
        call, STATUS_NOT_FOUND, graphs_create(call, database->app, other, &stolen, &found, &is_new));
}

static void
lists_are_of_one_session_and_newest_first(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    SessionId session = database_add_session(database, TENANT_DEFAULT);
    GraphPage page;
    (void)create(database, TENANT_DEFAULT, session, "1");
    (void)create(database, TENANT_DEFAULT, session, "2");
    (void)create(database, TENANT_DEFAULT, database_add_session(database, TENANT_DEFAULT), "3");
    assert_status(call, STATUS_OK,
        graphs_list(call, database->app, TENANT_DEFAULT, session, &(Page){.size = 1}, &page));
    assert_true(page.count == 1 && page.has_more);
    Page rest = {.before = page.items[0].id.value, .size = 1};
    assert_status(call, STATUS_OK, graphs_list(call, database->app, TENANT_DEFAULT, session, &rest, &page));
    assert_true(page.count == 1 && !page.has_more);
    assert_true(memcmp(page.items[0].id.value.bytes, rest.before.bytes, sizeof rest.before.bytes) < 0);
}

static void
a_deleted_graph_is_gone_and_its_source_may_go(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    SessionId session = database_add_session(database, TENANT_DEFAULT);
    StoredGraph graph = create(database, TENANT_DEFAULT, session, "{}");
    uint64_t removed = 9;
    (void)database_ask(database, "update blobs set used_at = now() - interval '1 day'");
    assert_status(call, STATUS_OK, blobs_collect(call, database->app, TENANT_DEFAULT, 3600, 10, &removed));
    assert_int_equal(removed, 0);
    assert_status(call, STATUS_OK, graphs_delete(call, database->app, TENANT_DEFAULT, session, graph.id));
    assert_status(
        call, STATUS_NOT_FOUND, graphs_delete(call, database->app, TENANT_DEFAULT, session, graph.id));
    assert_status(call, STATUS_OK, blobs_collect(call, database->app, TENANT_DEFAULT, 3600, 10, &removed));
    assert_int_equal(removed, 1);
}

static void
the_quota_of_graphs_is_kept(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    SessionId session = database_add_session(database, TENANT_DEFAULT);
    Quota quota;
    StoredGraph stored;
    bool is_new = false;
    assert_status(call, STATUS_OK, quotas_find(call, database->app, TENANT_DEFAULT, &quota));
    quota.graphs_max = 1;
    assert_status(call, STATUS_OK, quotas_update(call, database->app, TENANT_DEFAULT, &quota));
    (void)create(database, TENANT_DEFAULT, session, "1");
    StoredGraph second = example(database, TENANT_DEFAULT, session, "2");
    assert_status(call, STATUS_RESOURCE_EXHAUSTED,
        graphs_create(call, database->app, TENANT_DEFAULT, &second, &stored, &is_new));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DATABASE_TEST(a_graph_is_found_as_it_was_created),
        DATABASE_TEST(the_same_bytes_are_one_graph_in_a_session),
        DATABASE_TEST(files_stay_as_long_as_a_graph_needs_them),
        DATABASE_TEST(one_whose_like_has_just_gone_was_deleted),
        DATABASE_TEST(of_two_that_extend_a_graph_one_loses),
        DATABASE_TEST(an_extended_graph_keeps_the_parts_of_a_deleted_parent),
        DATABASE_TEST(a_parent_that_is_gone_cannot_be_extended),
        DATABASE_TEST(another_tenant_sees_and_changes_nothing),
        DATABASE_TEST(lists_are_of_one_session_and_newest_first),
        DATABASE_TEST(a_deleted_graph_is_gone_and_its_source_may_go),
        DATABASE_TEST(the_quota_of_graphs_is_kept),
    };
    return cmocka_run_group_tests_name("gateway/store/graphs", tests, NULL, NULL);
}
