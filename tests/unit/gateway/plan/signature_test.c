#include "gateway/plan/signature.h"
#include "tests/support/call_fixture.h"

#define NAME(text)                                                                                           \
    {                                                                                                        \
        .data = (text), .size = sizeof(text) - 1                                                             \
    }

static const Slice fetches[] = {NAME("b"), NAME("a"), NAME("b"), NAME("c")};
static const Slice sorted[] = {NAME("a"), NAME("b"), NAME("c")};
static const SignatureFeed feeds[] = {
    {.name = NAME("y"), .dtype = DTYPE_INT32, .shape = {.rank = -1}},
    {.name = NAME("x"), .dtype = DTYPE_FLOAT32, .shape = {.rank = -1}},
};
static const SignatureFeed sorted_feeds[] = {
    {.name = NAME("x"), .dtype = DTYPE_FLOAT32, .shape = {.rank = -1}},
    {.name = NAME("y"), .dtype = DTYPE_INT32, .shape = {.rank = -1}},
};

static Signature
make(Call *call, const char *graph, const Signature *given)
{
    Signature signature;
    assert_status(call, STATUS_OK, signature_make(call, slice_from_string(graph), given, &signature));
    return signature;
}

static void
order_and_repetition_do_not_matter(void **state)
{
    Signature left = make(*state, "g",
        &(Signature){.feeds = feeds,
            .feed_count = 2,
            .fetches = fetches,
            .fetch_count = 4,
            .options = {.slot_count = 1}});
    Signature right = make(*state, "g",
        &(Signature){.feeds = sorted_feeds,
            .feed_count = 2,
            .fetches = sorted,
            .fetch_count = 3,
            .options = {.slot_count = 1}});
    assert_true(slice_equal(left.key, right.key));
    assert_int_equal(left.fetch_count, 3);
    size_t index = 9;
    assert_true(signature_find_fetch(&left, SLICE("c"), &index));
    assert_int_equal(index, 2);
    assert_true(signature_find_feed(&left, SLICE("x"), &index));
    assert_int_equal(index, 0);
    assert_false(signature_find_feed(&left, SLICE("z"), &index));
}

static void
whatever_changes_the_plan_changes_the_key(void **state)
{
    static const SignatureFeed other_dtype = {
        .name = NAME("x"), .dtype = DTYPE_FLOAT64, .shape = {.rank = -1}};
    static const SignatureFeed other_shape = {
        .name = NAME("x"), .dtype = DTYPE_FLOAT32, .shape = {.rank = 0}};
    static const Slice joined[] = {NAME("a>1:b")};
    const Signature given[] = {
        {.fetches = sorted, .fetch_count = 2, .options = {.slot_count = 1}},
        {.fetches = sorted,
            .fetch_count = 1,
            .targets = sorted + 1,
            .target_count = 1,
            .options = {.slot_count = 1}},
        {.targets = sorted, .target_count = 2, .options = {.slot_count = 1}},
        {.fetches = joined, .fetch_count = 1, .options = {.slot_count = 1}},
        {.fetches = sorted, .fetch_count = 2, .options = {.slot_count = 2}},
        {.fetches = sorted, .fetch_count = 2, .options = {.slot_count = 1, .placement = PLACEMENT_SPREAD}},
        {.fetches = sorted, .fetch_count = 2, .options = {.slot_count = 1, .has_soft_placement = true}},
        {.fetches = sorted, .fetch_count = 2, .options = {.slot_count = 1, .allows_tf32 = true}},
        {.feeds = sorted_feeds,
            .feed_count = 1,
            .fetches = sorted,
            .fetch_count = 2,
            .options = {.slot_count = 1}},
        {.feeds = &other_dtype,
            .feed_count = 1,
            .fetches = sorted,
            .fetch_count = 2,
            .options = {.slot_count = 1}},
        {.feeds = &other_shape,
            .feed_count = 1,
            .fetches = sorted,
            .fetch_count = 2,
            .options = {.slot_count = 1}},
    };
    Slice keys[COUNT_OF(given) + 1];
    for (size_t index = 0; index < COUNT_OF(given); index++) {
        keys[index] = make(*state, "g", &given[index]).key;
    }
    keys[COUNT_OF(given)] = make(*state, "h", &given[0]).key;
    for (size_t left = 0; left < COUNT_OF(keys); left++) {
        for (size_t right = left + 1; right < COUNT_OF(keys); right++) {
            assert_false(slice_equal(keys[left], keys[right]));
        }
    }
}

static void
what_makes_no_step_is_refused(void **state)
{
    Call *call = *state;
    Signature signature;
    static const SignatureFeed twice[] = {{.name = NAME("x")}, {.name = NAME("x")}};
    assert_status(call, STATUS_INVALID_ARGUMENT,
        signature_make(call, SLICE("g"),
            &(Signature){.feeds = twice,
                .feed_count = 2,
                .fetches = sorted,
                .fetch_count = 1,
                .options = {.slot_count = 1}},
            &signature));
    assert_string_equal(call->error.message, "feed 'x' is given twice");
    assert_status(call, STATUS_INVALID_ARGUMENT,
        signature_make(call, SLICE("g"),
            &(Signature){.fetches = sorted, .fetch_count = 1, .options = {.slot_count = 257}}, &signature));
    assert_string_equal(call->error.message, "257 slots are asked for, from 1 to 256 are possible");
}

static void
policies_have_names(void **state)
{
    (void)state;
    PlacementPolicy placement = PLACEMENT_LOCAL;
    assert_true(placement_from_name(SLICE("spread"), &placement));
    assert_int_equal(placement, PLACEMENT_SPREAD);
    assert_string_equal(placement_name(PLACEMENT_LOCAL), "local");
    assert_false(placement_from_name(SLICE("random"), &placement));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(order_and_repetition_do_not_matter),
        CALL_TEST(whatever_changes_the_plan_changes_the_key),
        CALL_TEST(what_makes_no_step_is_refused),
        cmocka_unit_test(policies_have_names),
    };
    return cmocka_run_group_tests_name("gateway/plan/signature", tests, NULL, NULL);
}
