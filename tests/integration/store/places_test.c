#include "gateway/store/places.h"

#include "gateway/domain/tenant.h"
#include "gateway/store/sessions.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/database.h"

static SessionId
add_session(Database *database)
{
    Session session = {.id = {uuid_new()}, .name = "", .options = "{}"};
    Session stored;
    assert_status(&database->call, STATUS_OK,
        sessions_create(&database->call, database->app, TENANT_DEFAULT, &session, &stored));
    return stored.id;
}

static SessionPlaces
list(Database *database, TenantId tenant, SessionId session)
{
    SessionPlaces places;
    assert_status(
        &database->call, STATUS_OK, places_list(&database->call, database->app, tenant, session, &places));
    return places;
}

static void
the_first_to_bind_a_place_has_it(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    SessionId session = add_session(database);
    SessionPlace first = {.task = PLACE_TASK_NONE, .worker = "w0", .incarnation = "aa"};
    SessionPlace second = {.task = PLACE_TASK_NONE, .worker = "w1", .incarnation = "bb"};
    SessionPlace other = {.task = 3, .worker = "w3", .incarnation = "cc"};
    assert_int_equal(list(database, TENANT_DEFAULT, session).count, 0);
    assert_status(call, STATUS_OK, places_bind(call, database->app, TENANT_DEFAULT, session, &first));
    assert_status(call, STATUS_OK, places_bind(call, database->app, TENANT_DEFAULT, session, &second));
    assert_status(call, STATUS_OK, places_bind(call, database->app, TENANT_DEFAULT, session, &other));
    SessionPlaces places = list(database, TENANT_DEFAULT, session);
    assert_int_equal(places.count, 2);
    assert_int_equal(places.items[0].task, PLACE_TASK_NONE);
    assert_string_equal(places.items[0].worker, "w0");
    assert_string_equal(places.items[0].incarnation, "aa");
    assert_string_equal(places.items[0].lost_worker, "");
    assert_int_equal(places.items[0].epoch, 1);
    assert_int_equal(places.items[1].task, 3);
    Session found;
    assert_status(call, STATUS_OK, sessions_find(call, database->app, TENANT_DEFAULT, session, &found));
    assert_int_equal(found.version, 3);
}

static void
a_place_is_bound_anew_once_an_epoch(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    SessionId session = add_session(database);
    SessionPlace first = {.task = 0, .worker = "w0", .incarnation = "aa"};
    SessionPlace second = {.task = 0, .worker = "w1", .incarnation = "bb"};
    SessionPlace third = {.task = 0, .worker = "w2", .incarnation = "cc"};
    assert_status(call, STATUS_OK, places_bind(call, database->app, TENANT_DEFAULT, session, &first));
    assert_status(call, STATUS_OK, places_rebind(call, database->app, TENANT_DEFAULT, session, &second, 1));
    assert_status(call, STATUS_OK, places_rebind(call, database->app, TENANT_DEFAULT, session, &third, 1));
    SessionPlaces places = list(database, TENANT_DEFAULT, session);
    assert_int_equal(places.count, 1);
    assert_string_equal(places.items[0].worker, "w1");
    assert_string_equal(places.items[0].lost_worker, "w0");
    assert_int_equal(places.items[0].epoch, 2);
}

static void
places_go_with_their_session_and_are_nobody_elses(void **state)
{
    Database *database = *state;
    Call *call = &database->call;
    TenantId other = database_add_tenant(database, "other");
    SessionId session = add_session(database);
    SessionPlace place = {.task = 0, .worker = "w0", .incarnation = "aa"};
    assert_status(call, STATUS_OK, places_bind(call, database->app, TENANT_DEFAULT, session, &place));
    assert_int_equal(list(database, other, session).count, 0);
    assert_status(call, STATUS_OK, sessions_delete(call, database->app, TENANT_DEFAULT, session, 0));
    assert_int_equal(list(database, TENANT_DEFAULT, session).count, 0);
    assert_status(
        call, STATUS_FAILED_PRECONDITION, places_bind(call, database->app, TENANT_DEFAULT, session, &place));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DATABASE_TEST(the_first_to_bind_a_place_has_it),
        DATABASE_TEST(a_place_is_bound_anew_once_an_epoch),
        DATABASE_TEST(places_go_with_their_session_and_are_nobody_elses),
    };
    return cmocka_run_group_tests_name("store/places", tests, NULL, NULL);
}
