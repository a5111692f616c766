#include "gateway/store/sessions.h"

#include "gateway/domain/tenant.h"
#include "gateway/store/tenants.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/database.h"

static Session
create(Database *database, TenantId tenant, const char *name)
{
    Session session = {.id = {uuid_new()}, .name = name, .options = "{\"slots\": 2}"};
    Session stored;
    assert_status(&database->call, STATUS_OK,
        sessions_create(&database->call, database->app, tenant, &session, &stored));
    return stored;
}

static void
a_session_is_found_as_it_was_created(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    Session created = create(database, TENANT_DEFAULT, "résumé 'x'; --");
    Session found;
    assert_status(call, STATUS_OK, sessions_find(call, database->app, TENANT_DEFAULT, created.id, &found));
    assert_true(uuid_equal(found.id.value, created.id.value));
    assert_string_equal(found.name, "résumé 'x'; --");
    assert_string_equal(found.options, "{\"slots\": 2}");
    assert_int_equal(found.version, 1);
    assert_true(found.created_us > UINT64_C(1700000000000000) && found.created_us == found.updated_us);
}

static void
another_tenant_sees_and_changes_nothing(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    TenantId other = database_add_tenant(database, "other");
    Session session = create(database, TENANT_DEFAULT, "mine");
    Session found;
    SessionPage page;
    assert_status(call, STATUS_NOT_FOUND, sessions_find(call, database->app, other, session.id, &found));
    assert_status(call, STATUS_NOT_FOUND, sessions_update(call, database->app, other, &session, &found));
    assert_status(call, STATUS_NOT_FOUND, sessions_delete(call, database->app, other, session.id, 0));
    assert_status(call, STATUS_OK, sessions_list(call, database->app, other, &(Page){.size = 10}, &page));
    assert_int_equal(page.count, 0);
    assert_status(call, STATUS_OK, sessions_find(call, database->app, TENANT_DEFAULT, session.id, &found));
}

static void
the_same_id_may_serve_two_tenants(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    TenantId other = database_add_tenant(database, "other");
    Session session = create(database, TENANT_DEFAULT, "mine");
    Session stored;
    assert_status(
        call, STATUS_ALREADY_EXISTS, sessions_create(call, database->app, TENANT_DEFAULT, &session, &stored));
    assert_status(call, STATUS_OK, sessions_create(call, database->app, other, &session, &stored));
}

static void
pages_follow_each_other_without_gap_or_repeat(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    for (int index = 0; index < 5; index++) {
        (void)create(database, TENANT_DEFAULT, "s");
    }
    SessionPage page = {.has_more = true};
    Page asked = {.size = 2};
    size_t seen = 0;
    Uuid last = {{0}};
    while (page.has_more) {
        assert_status(call, STATUS_OK, sessions_list(call, database->app, TENANT_DEFAULT, &asked, &page));
        for (size_t index = 0; index < page.count; index++, seen++) {
            Uuid id = page.items[index].id.value;
            assert_true(seen == 0 || memcmp(id.bytes, last.bytes, sizeof id.bytes) < 0);
            last = id;
        }
        asked.before = last;
    }
    assert_int_equal(seen, 5);
}

static void
an_update_needs_the_version_it_saw(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    Session session = create(database, TENANT_DEFAULT, "old");
    Session updated;
    session.name = "new";
    session.options = NULL;
    assert_status(call, STATUS_OK, sessions_update(call, database->app, TENANT_DEFAULT, &session, &updated));
    assert_string_equal(updated.name, "new");
    assert_string_equal(updated.options, "{\"slots\": 2}");
    assert_int_equal(updated.version, 2);
    assert_status(
        call, STATUS_ABORTED, sessions_update(call, database->app, TENANT_DEFAULT, &session, &updated));
    assert_string_equal(call->error.message, "the session has version 2, not 1");
    assert_status(call, STATUS_ABORTED, sessions_delete(call, database->app, TENANT_DEFAULT, session.id, 1));
    assert_status(call, STATUS_OK, sessions_delete(call, database->app, TENANT_DEFAULT, session.id, 2));
    assert_status(
        call, STATUS_NOT_FOUND, sessions_delete(call, database->app, TENANT_DEFAULT, session.id, 0));
}

static void
the_quota_of_sessions_is_kept(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    Session session = {.id = {uuid_new()}, .name = "", .options = "{}"};
    Session stored;
    Quota quota;
    assert_status(call, STATUS_OK, quotas_find(call, database->app, TENANT_DEFAULT, &quota));
    quota.sessions_max = 1;
    assert_status(call, STATUS_OK, quotas_update(call, database->app, TENANT_DEFAULT, &quota));
    (void)create(database, TENANT_DEFAULT, "the one");
    assert_status(call, STATUS_RESOURCE_EXHAUSTED,
        sessions_create(call, database->app, TENANT_DEFAULT, &session, &stored));
    assert_string_equal(call->error.message, "the quota 'sessions_max' is used up");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DATABASE_TEST(a_session_is_found_as_it_was_created),
        DATABASE_TEST(another_tenant_sees_and_changes_nothing),
        DATABASE_TEST(the_same_id_may_serve_two_tenants),
        DATABASE_TEST(pages_follow_each_other_without_gap_or_repeat),
        DATABASE_TEST(an_update_needs_the_version_it_saw),
        DATABASE_TEST(the_quota_of_sessions_is_kept),
    };
    return cmocka_run_group_tests_name("gateway/store/sessions", tests, NULL, NULL);
}
