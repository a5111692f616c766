#include "gateway/dispatch/directory.h"

#include <pthread.h>

#include "tests/support/cmocka_all.h"
#include "tests/support/fail_alloc.h"

static Roster *
roster_of(const char *address, const char *incarnation, size_t count)
{
    Roster *roster = roster_new(count, 0);
    assert_non_null(roster);
    for (size_t index = 0; index < count; index++) {
        WorkerInfo *worker = &roster->workers[index];
        worker->task = (int32_t)index;
        (void)snprintf(worker->address, sizeof worker->address, "%s%zu", address, index);
        (void)snprintf(worker->incarnation, sizeof worker->incarnation, "%s", incarnation);
    }
    return roster;
}

static void
a_directory_begins_with_an_empty_list(void **state)
{
    (void)state;
    Directory *directory = directory_new();
    Roster *roster = directory_take(directory);
    assert_non_null(roster);
    assert_int_equal(roster->count, 0);
    assert_null(roster_find(roster, "anything"));
    roster_unref(roster);
    directory_free(directory);
}

static void
a_publication_moves_the_version_and_leaves_old_snapshots_alone(void **state)
{
    (void)state;
    Directory *directory = directory_new();
    uint64_t before = directory_version(directory);
    Roster *old = directory_take(directory);
    directory_publish(directory, roster_of("w", "a", 2));
    assert_true(directory_version(directory) > before);
    Roster *present = directory_take(directory);
    assert_int_equal(old->count, 0);
    assert_int_equal(present->count, 2);
    directory_free(directory);
    assert_int_equal(roster_find(present, "w1")->task, 1);
    assert_null(roster_find(present, "w"));
    roster_unref(old);
    roster_unref(present);
}

/* Expects these incarnations of the workers w0 and w1. */
static void
expect_incarnations(Directory *directory, const char *first, const char *second)
{
    Roster *roster = directory_take(directory);
    assert_string_equal(roster_find(roster, "w0")->incarnation, first);
    assert_string_equal(roster_find(roster, "w1")->incarnation, second);
    roster_unref(roster);
}

static void
note_restart(Directory *directory, const char *address, const char *incarnation)
{
    Roster *roster = directory_take(directory);
    directory_note_restart(directory, roster_find(roster, address), slice_from_string(incarnation));
    roster_unref(roster);
}

static void
a_restart_is_not_undone_by_a_list_that_is_older(void **state)
{
    (void)state;
    Directory *directory = directory_new();
    directory_publish(directory, roster_of("w", "a", 2));
    note_restart(directory, "w1", "b");
    expect_incarnations(directory, "a", "b");
    directory_publish(directory, roster_of("w", "a", 2));
    expect_incarnations(directory, "a", "b");
    note_restart(directory, "w1", "c");
    directory_publish(directory, roster_of("w", "a", 2));
    expect_incarnations(directory, "a", "c");
    directory_publish(directory, roster_of("w", "b", 2));
    expect_incarnations(directory, "b", "c");
    directory_publish(directory, roster_of("w", "d", 2));
    expect_incarnations(directory, "d", "d");
    directory_publish(directory, roster_of("w", "a", 2)); /* the poller has caught up: nothing is kept */
    expect_incarnations(directory, "a", "a");
    directory_free(directory);
}

/* Another release may have taken its place, which the next poll tells. */
static void
a_worker_that_lives_anew_is_asked_what_every_release_can(void **state)
{
    (void)state;
    Directory *directory = directory_new();
    Roster *roster = roster_of("w", "a", 1);
    roster->workers[0].version = WIRE_VERSION_NEWEST;
    directory_publish(directory, roster);
    note_restart(directory, "w0", "b");
    roster = directory_take(directory);
    assert_int_equal(roster->workers[0].version, WIRE_VERSION_OLDEST);
    roster_unref(roster);
    directory_free(directory);
}

static void
a_restart_that_is_known_changes_nothing(void **state)
{
    (void)state;
    Directory *directory = directory_new();
    directory_publish(directory, roster_of("w", "a", 2));
    Roster *old = directory_take(directory);
    directory_note_restart(directory, roster_find(old, "w0"), SLICE("b"));
    uint64_t version = directory_version(directory);
    directory_note_restart(directory, roster_find(old, "w0"), SLICE("b"));
    assert_int_equal(directory_version(directory), version);
    expect_incarnations(directory, "b", "a");
    assert_string_equal(roster_find(old, "w0")->incarnation, "a");
    roster_unref(old);
    directory_free(directory);
}

enum { PUBLICATIONS = 2000 };

static void *
publish_many(void *context)
{
    for (size_t index = 0; index < PUBLICATIONS; index++) {
        Roster *roster = roster_of("w", "a", 1 + index % 3);
        directory_publish(context, roster);
    }
    return NULL;
}

/* A list that a reader holds stays whole, whatever is published meanwhile. */
static void
lists_are_read_while_others_are_published(void **state)
{
    (void)state;
    Directory *directory = directory_new();
    uint64_t first = directory_version(directory);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, publish_many, directory), 0);
    uint64_t version = first;
    while (version < first + PUBLICATIONS) {
        uint64_t now = directory_version(directory);
        assert_true(now >= version);
        version = now;
        Roster *roster = directory_take(directory);
        for (size_t index = 0; index < roster->count; index++) {
            assert_int_equal(roster->workers[index].task, index);
        }
        roster_unref(roster);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    directory_free(directory);
}

static void
without_memory_there_is_no_directory(void **state)
{
    (void)state;
    for (size_t at = 1; at <= 2; at++) {
        fail_alloc_count = 0;
        fail_alloc_at = at;
        assert_null(directory_new());
        fail_alloc_at = 0;
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directory_begins_with_an_empty_list),
        cmocka_unit_test(a_publication_moves_the_version_and_leaves_old_snapshots_alone),
        cmocka_unit_test(a_restart_is_not_undone_by_a_list_that_is_older),
        cmocka_unit_test(a_worker_that_lives_anew_is_asked_what_every_release_can),
        cmocka_unit_test(a_restart_that_is_known_changes_nothing),
        cmocka_unit_test(lists_are_read_while_others_are_published),
        cmocka_unit_test(without_memory_there_is_no_directory),
    };
    return cmocka_run_group_tests_name("dispatch/directory", tests, NULL, NULL);
}
