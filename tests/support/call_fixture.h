/* A Call with an arena for each test: cmocka_unit_test_setup_teardown(name, call_set_up, call_tear_down).
 * The state is the Call. */
#pragma once

#include "tests/support/cmocka_all.h"

static inline int
call_set_up(void **state)
{
    static Call call;
    call = (Call){.arena = arena_new(64 << 20)};
    *state = &call;
    return call.arena == NULL;
}

static inline int
call_tear_down(void **state)
{
    const Call *call = *state;
    arena_free(call->arena);
    return 0;
}

#define CALL_TEST(name) cmocka_unit_test_setup_teardown(name, call_set_up, call_tear_down)
