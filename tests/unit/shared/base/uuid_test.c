#include <time.h>

#include "shared/base/clock.h"
#include "shared/base/uuid.h"
#include "tests/support/cmocka_all.h"

static void
ids_survive_both_forms(void **state)
{
    (void)state;
    Uuid uuid = uuid_new();
    Uuid read;
    char id[ID_TEXT_SIZE];
    char text[UUID_TEXT_SIZE];
    id_to_text("ses", uuid, id);
    assert_true(id_from_text("ses", slice_from_string(id), &read) && uuid_equal(uuid, read));
    uuid_to_text(uuid, text);
    assert_int_equal(text[14], '7');
    assert_true(uuid_from_text(slice_from_string(text), &read) && uuid_equal(uuid, read));
}

static void
an_id_tells_when_it_was_made(void **state)
{
    (void)state;
    Uuid written = {{0x01, 0x9a, 0xa5, 0x00, 0x12, 0x34, 0x70}};
    assert_true(uuid_time_ms(written) == UINT64_C(0x019aa5001234));
    uint64_t before_ms = clock_wall_us() / 1000;
    uint64_t made_ms = uuid_time_ms(uuid_new());
    assert_true(made_ms >= before_ms && made_ms <= clock_wall_us() / 1000 + 1);
}

static void
wrong_ids_are_refused(void **state)
{
    (void)state;
    Uuid read;
    char id[ID_TEXT_SIZE];
    id_to_text("ses", uuid_new(), id);
    assert_false(id_from_text("grf", slice_from_string(id), &read));
    assert_false(id_from_text("ses", slice_part(slice_from_string(id), 0, 20), &read));
    assert_false(id_from_text("ses", SLICE("ses_0123456789ABCDEF0123456789ABCDEF"), &read));
    assert_false(id_from_text("ses", SLICE(""), &read));
    assert_false(id_from_text("ses", SLICE("ses_00000000000000000000000000000000"), &read));
}

static void
newer_ids_sort_behind_older_ones(void **state)
{
    (void)state;
    Uuid older = uuid_new();
    struct timespec pause = {.tv_nsec = 2000000};
    (void)nanosleep(&pause, NULL);
    Uuid newer = uuid_new();
    assert_true(memcmp(older.bytes, newer.bytes, 6) < 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_survive_both_forms),
        cmocka_unit_test(an_id_tells_when_it_was_made),
        cmocka_unit_test(wrong_ids_are_refused),
        cmocka_unit_test(newer_ids_sort_behind_older_ones),
    };
    return cmocka_run_group_tests_name("shared/base/uuid", tests, NULL, NULL);
}
