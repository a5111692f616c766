#include "shared/base/clock.h"
#include "tests/support/call_fixture.h"
#include "tests/support/fail_alloc.h"
#include "worker/runtime/variable.h"
#include "worker/serve/state_table.h"

enum { START_NS = 1000 };

static StatePlace
place_of(const char *session, int64_t place, int64_t epoch)
{
    return (StatePlace){
        .tenant = SLICE("t"), .session = slice_from_string(session), .place = place, .epoch = epoch};
}

static ResourceContainer *
obtain(Call *call, StateTable *table, StatePlace place, uint64_t now_ns)
{
    ResourceContainer *container = NULL;
    assert_status(call, STATUS_OK, state_table_obtain(call, table, &place, now_ns, &container));
    container_unref(container);
    return container;
}

static void
a_place_keeps_its_container_until_a_later_epoch(void **state)
{
    Call *call = *state;
    StateTable *table = state_table_new();
    ResourceContainer *first = obtain(call, table, place_of("s", -1, 1), START_NS);
    assert_ptr_equal(obtain(call, table, place_of("s", -1, 1), START_NS), first);
    assert_ptr_not_equal(obtain(call, table, place_of("s", 0, 1), START_NS), first);
    assert_ptr_not_equal(obtain(call, table, place_of("other", -1, 1), START_NS), first);
    assert_int_equal(state_table_count(table), 3);
    (void)obtain(call, table, place_of("s", -1, 2), START_NS);
    ResourceContainer *container = NULL;
    StatePlace past = place_of("s", -1, 1);
    assert_status(call, STATUS_ABORTED, state_table_obtain(call, table, &past, START_NS, &container));
    assert_string_equal(call->error.message, "epoch 1 of what the session keeps is over, 2 has begun");
    assert_int_equal(state_table_count(table), 3);
    state_table_free(table);
}

static void
a_session_that_ends_takes_its_places_along(void **state)
{
    Call *call = *state;
    StateTable *table = state_table_new();
    (void)obtain(call, table, place_of("s", -1, 1), START_NS);
    (void)obtain(call, table, place_of("s", 7, 1), START_NS);
    (void)obtain(call, table, place_of("s2", -1, 1), START_NS);
    state_table_remove(table, SLICE("u"), SLICE("s"));
    assert_int_equal(state_table_count(table), 3);
    state_table_remove(table, SLICE("t"), SLICE("s"));
    assert_int_equal(state_table_count(table), 1);
    state_table_clear(table);
    assert_int_equal(state_table_count(table), 0);
    state_table_free(table);
}

static void
variable_make_in(Call *call, StateTable *table, StatePlace place, const char *name)
{
    ResourceContainer *container = NULL;
    VariableDeclaration declaration = {
        .name = slice_from_string(name), .dtype = DTYPE_FLOAT32, .shape = shape_scalar()};
    KernelContext context = {.call = call};
    Variable *variable = NULL;
    assert_status(call, STATUS_OK, state_table_obtain(call, table, &place, START_NS, &container));
    context.container = container;
    assert_status(call, STATUS_OK, variable_obtain(&context, &declaration, &variable));
    resource_unref(variable_resource(variable));
    container_unref(container);
}

static void
a_reset_reaches_one_session_or_all_of_one_tenant(void **state)
{
    Call *call = *state;
    StateTable *table = state_table_new();
    const Slice containers[] = {SLICE("localhost"), SLICE("c")};
    StatePlace foreign = {.tenant = SLICE("t2"), .session = SLICE("s"), .place = -1, .epoch = 1};
    StateReset reset = {.tenant = SLICE("t"), .session = SLICE("s"), .containers = containers};
    variable_make_in(call, table, place_of("s", -1, 1), "w");
    variable_make_in(call, table, place_of("s", 1, 1), "c;w");
    variable_make_in(call, table, place_of("s2", -1, 1), "w");
    variable_make_in(call, table, foreign, "w");
    assert_int_equal(state_table_reset(table, &reset), 0);
    reset.container_count = COUNT_OF(containers);
    assert_int_equal(state_table_reset(table, &reset), 2);
    assert_int_equal(state_table_reset(table, &reset), 0);
    reset.session = SLICE("");
    assert_int_equal(state_table_reset(table, &reset), 1);
    reset.tenant = SLICE("t2");
    assert_int_equal(state_table_reset(table, &reset), 1);
    assert_int_equal(state_table_count(table), 4);
    state_table_free(table);
}

static void
what_nobody_uses_for_a_day_is_forgotten(void **state)
{
    Call *call = *state;
    StateTable *table = state_table_new();
    uint64_t day_ns = STATE_IDLE_S * CLOCK_NS_PER_S;
    (void)obtain(call, table, place_of("idle", -1, 1), START_NS);
    (void)obtain(call, table, place_of("used", -1, 1), START_NS + day_ns / 2);
    assert_int_equal(state_table_count(table), 2);
    (void)obtain(call, table, place_of("new", -1, 1), START_NS + day_ns + 1);
    assert_int_equal(state_table_count(table), 2);
    state_table_free(table);
}

static bool
begins_with_first_value(Call *call, StateTable *table, StatePlace place, uint64_t now_ns)
{
    float seven = 7;
    Tensor first = {.dtype = DTYPE_FLOAT32, .shape = shape_scalar(), .data = &seven};
    VariableDeclaration declaration = {
        .name = SLICE("v"), .dtype = DTYPE_FLOAT32, .shape = shape_scalar(), .first = &first};
    KernelContext context = {.call = call};
    Variable *variable = NULL;
    assert_status(call, STATUS_OK, state_table_obtain(call, table, &place, now_ns, &context.container));
    assert_status(call, STATUS_OK, variable_obtain(&context, &declaration, &variable));
    bool begins = variable_is_initialized(variable);
    resource_unref(variable_resource(variable));
    container_unref(context.container);
    return begins;
}

static void
a_variable_begins_with_its_first_value_only_where_nothing_was_lost(void **state)
{
    Call *call = *state;
    StateTable *table = state_table_new();
    uint64_t day_ns = STATE_IDLE_S * CLOCK_NS_PER_S;
    uint64_t later_ns = START_NS + day_ns + 1;
    assert_true(begins_with_first_value(call, table, place_of("s", -1, 1), START_NS));
    assert_false(begins_with_first_value(call, table, place_of("s", -1, 2), START_NS));
    assert_false(begins_with_first_value(call, table, place_of("moved", -1, 3), START_NS));
    assert_true(begins_with_first_value(call, table, place_of("idle", -1, 1), START_NS));
    assert_true(begins_with_first_value(call, table, place_of("new", -1, 1), later_ns));
    assert_false(begins_with_first_value(call, table, place_of("idle", -1, 1), later_ns));
    state_table_free(table);
}

static void
without_memory_nothing_is_kept(void **state)
{
    Call *call = *state;
    bool has_failed = true;
    for (size_t count = 1; has_failed; count++) {
        fail_alloc_count = 0;
        fail_alloc_at = count;
        StateTable *table = state_table_new();
        ResourceContainer *container = NULL;
        StatePlace place = place_of("s", -1, 1);
        Status status = table == NULL ? STATUS_RESOURCE_EXHAUSTED
                                      : state_table_obtain(call, table, &place, START_NS, &container);
        fail_alloc_at = 0;
        has_failed = status != STATUS_OK;
        assert_true(status == STATUS_OK || status == STATUS_RESOURCE_EXHAUSTED);
        container_unref(container);
        state_table_free(table);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(a_place_keeps_its_container_until_a_later_epoch),
        CALL_TEST(a_session_that_ends_takes_its_places_along),
        CALL_TEST(a_reset_reaches_one_session_or_all_of_one_tenant),
        CALL_TEST(what_nobody_uses_for_a_day_is_forgotten),
        CALL_TEST(a_variable_begins_with_its_first_value_only_where_nothing_was_lost),
        CALL_TEST(without_memory_nothing_is_kept),
    };
    return cmocka_run_group_tests_name("serve/state_table", tests, NULL, NULL);
}
