#include "tests/support/cmocka_all.h"

#include "worker/runtime/memory/arena_layout.h"

enum { NODES_MAX = 64 };

/* A graph whose nodes run in the order of their numbers. */
typedef struct RandomFlow {
    Flow flow;
    uint32_t order[NODES_MAX];
    uint32_t starts[NODES_MAX + 1];
    uint32_t before[NODES_MAX * 4];
    bool is_before[NODES_MAX][NODES_MAX]; /* [a][b]: a runs before b in any order */
} RandomFlow;

static uint32_t
random_below(uint64_t *state, uint32_t limit)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % limit;
}

static void
flow_add(RandomFlow *made, uint32_t from)
{
    uint32_t node = made->flow.node_count;
    made->before[made->starts[node + 1]++] = from;
    made->is_before[from][node] = true;
    for (uint32_t i = 0; i < node; i++) {
        made->is_before[i][node] = made->is_before[i][node] || made->is_before[i][from];
    }
}

static void
flow_begin_node(RandomFlow *made)
{
    uint32_t node = made->flow.node_count;
    made->order[node] = node;
    made->starts[node + 1] = made->starts[node];
}

static void
flow_end(RandomFlow *made)
{
    made->flow.order = made->order;
    made->flow.starts = made->starts;
    made->flow.before = made->before;
}

static bool
is_gone(const RandomFlow *made, const LayoutBuffer *buffer, uint32_t maker)
{
    bool gone = made->is_before[buffer->last_maker][maker];
    for (uint32_t i = 0; i < buffer->use_count; i++) {
        gone = gone && made->is_before[buffer->uses[i]][maker];
    }
    return gone;
}

static bool
share_bytes(const LayoutBuffer *left, const LayoutBuffer *right)
{
    return left->offset < right->offset + right->size && right->offset < left->offset + left->size;
}

/* Fails unless buffers that share bytes have lives apart, and the last owners of a buffer's bytes are
 * among its `former`. */
static void
assert_layout(const RandomFlow *made, const LayoutBuffer *buffers, uint32_t count, uint64_t size)
{
    for (uint32_t i = 0; i < count; i++) {
        assert_true(buffers[i].offset % LAYOUT_ALIGNMENT == 0);
        assert_true(buffers[i].offset + buffers[i].size <= size);
        bool has_earlier = false;
        for (uint32_t k = 0; k < i; k++) {
            if (share_bytes(&buffers[i], &buffers[k])) {
                assert_true(is_gone(made, &buffers[k], buffers[i].maker));
                has_earlier = true;
            }
        }
        assert_true(has_earlier == (buffers[i].former_count > 0));
        for (uint32_t k = 0; k < buffers[i].former_count; k++) {
            assert_true(buffers[i].former[k] < i);
            assert_true(share_bytes(&buffers[i], &buffers[buffers[i].former[k]]));
        }
    }
}

static void
a_chain_takes_two_buffers(void **state)
{
    (void)state;
    static RandomFlow made;
    AUTO_ARENA arena = arena_new(1 << 20);
    LayoutBuffer buffers[10];
    uint32_t uses[10];
    made = (RandomFlow){0};
    for (uint32_t node = 0; node <= 10; node++) {
        flow_begin_node(&made);
        if (node > 0) {
            flow_add(&made, node - 1);
        }
        made.flow.node_count++;
    }
    flow_end(&made);
    for (uint32_t i = 0; i < 10; i++) {
        uses[i] = i + 1;
        buffers[i] =
            (LayoutBuffer){.maker = i, .last_maker = i, .use_count = 1, .uses = &uses[i], .size = 4096};
    }
    uint64_t size = 0;
    assert_true(arena_layout(arena, &made.flow, buffers, 10, &size));
    assert_int_equal(size, 2 * 4096);
    assert_layout(&made, buffers, 10, size);
}

static void
what_may_run_at_once_never_shares(void **state)
{
    (void)state;
    static RandomFlow made;
    AUTO_ARENA arena = arena_new(1 << 20);
    LayoutBuffer buffers[3];
    static const uint32_t join = 3;
    made = (RandomFlow){0};
    for (uint32_t node = 0; node < 4; node++) {
        flow_begin_node(&made);
        for (uint32_t from = 0; node == 3 && from < 3; from++) {
            flow_add(&made, from);
        }
        made.flow.node_count++;
    }
    flow_end(&made);
    for (uint32_t i = 0; i < 3; i++) {
        buffers[i] =
            (LayoutBuffer){.maker = i, .last_maker = i, .use_count = 1, .uses = &join, .size = 64 * (i + 1)};
    }
    uint64_t size = 0;
    assert_true(arena_layout(arena, &made.flow, buffers, 3, &size));
    assert_int_equal(size, 64 * 6);
}

static void
random_graphs_are_laid_out_for_any_order(void **state)
{
    (void)state;
    static RandomFlow made;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        uint64_t random = seed;
        AUTO_ARENA arena = arena_new(1 << 22);
        LayoutBuffer buffers[NODES_MAX];
        uint32_t uses[NODES_MAX][NODES_MAX];
        memset(&made, 0, sizeof made);
        for (uint32_t node = 0; node < NODES_MAX; node++) {
            flow_begin_node(&made);
            for (uint32_t edge = random_below(&random, 4); edge > 0 && node > 0; edge--) {
                uint32_t near = node < 6 ? node : 6;
                flow_add(&made, node - 1 - random_below(&random, near));
            }
            made.flow.node_count++;
        }
        flow_end(&made);
        for (uint32_t i = 0; i < NODES_MAX; i++) {
            buffers[i] = (LayoutBuffer){
                .maker = i, .last_maker = i, .uses = uses[i], .size = 64 * (1 + random_below(&random, 9))};
            for (uint32_t node = i + 1; node < NODES_MAX; node++) {
                if (made.is_before[i][node] && random_below(&random, 3) == 0) {
                    uses[i][buffers[i].use_count++] = node;
                }
            }
        }
        uint64_t size = 0;
        assert_true(arena_layout(arena, &made.flow, buffers, NODES_MAX, &size));
        assert_layout(&made, buffers, NODES_MAX, size);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_takes_two_buffers),
        cmocka_unit_test(what_may_run_at_once_never_shares),
        cmocka_unit_test(random_graphs_are_laid_out_for_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
