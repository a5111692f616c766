#include "shared/crypto/digest.h"
#include "shared/formats/graphdef_json.h"
#include "shared/ops/registry.h"
#include "tests/support/call_fixture.h"
#include "tests/support/plan_literals.h"

static Plan *
plan_of(Call *call, PlanLiteral literal)
{
    Plan *plan = NULL;
    assert_status(call, STATUS_OK, plan_literal(call, &literal, &plan));
    return plan;
}

/* Links every partition, as a worker does first. */
static void
assert_partitions_link(Call *call, const Plan *plan)
{
    for (size_t index = 0; index < plan->partition_count; index++) {
        const PlanPartition *partition = &plan->partitions[index];
        AUTO_GRAPH_DEF def = NULL;
        AUTO_GRAPH graph = NULL;
        assert_status(call, STATUS_OK, graphdef_json_read(call, partition->document, &def));
        assert_status(
            call, STATUS_OK, graph_link(call, def, op_find, (GraphLimits){.allows_internal = true}, &graph));
        assert_int_equal(graph->node_count, partition->node_count);
        char digest[SHA256_HEX_SIZE];
        Sha256 sum;
        sha256(partition->document, &sum);
        sha256_to_hex(&sum, digest);
        assert_string_equal(partition->digest, digest);
    }
}

#define SHARED                                                                                               \
    "x = Placeholder() dtype=float32 shape=<2,2>\n"                                                          \
    "w = Const() dtype=float32 value=float32<2,2>(0.5)\n"                                                    \
    "a = MatMul(x, w) T=float32 @/task:0\n"                                                                  \
    "b = MatMul(a, w) T=float32 @/task:1\n"                                                                  \
    "c = Add(a, b) T=float32 @/task:1\n"

static void
a_tensor_read_twice_on_another_slot_is_sent_once(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = plan_of(call, (PlanLiteral){.graph = SHARED, .feeds = "x", .fetches = "c"});
    assert_partitions_link(call, plan);
    assert_string_equal(plan_partition_text(call, plan, 0), "_arg_x_0 = _Arg()\n"
                                                            "w = Const()\n"
                                                            "a = MatMul(_arg_x_0, w)\n"
                                                            "_send_a_0_1 = _Send(a)\n");
    assert_string_equal(plan_partition_text(call, plan, 1), "_recv_a_0 = _Recv()\n"
                                                            "w = Const()\n"
                                                            "b = MatMul(_recv_a_0, w)\n"
                                                            "c = Add(_recv_a_0, b)\n"
                                                            "_retval_c_0 = _Retval(c)\n");
    assert_int_equal(plan->transfer_count, 1);
    const PlanTransfer *transfer = &plan->transfers[0];
    assert_string_equal(transfer->tensor_name, "edge_0_a");
    assert_int_equal(transfer->from, 0);
    assert_int_equal(transfer->to, 1);
    assert_int_equal(transfer->dtype, DTYPE_FLOAT32);
    assert_int_equal(transfer->bytes, 16);
}

static const AttrValue *
attr_of(Call *call, const Plan *plan, size_t partition, const char *node, const char *name)
{
    GraphDef *def = NULL;
    assert_status(call, STATUS_OK, graphdef_json_read(call, plan->partitions[partition].document, &def));
    assert_non_null(arena_defer(call->arena, (ArenaRelease)(void (*)(void))graph_def_unref, def));
    for (size_t index = 0; index < def->node_count; index++) {
        if (slice_equals_string(def->nodes[index].name, node)) {
            assert_int_equal(def->nodes[index].device.size, 0); /* nobody asks for one */
            return node_def_attr(&def->nodes[index], slice_from_string(name));
        }
    }
    return NULL;
}

static void
both_ends_of_a_transfer_agree_on_its_key(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = plan_of(call, (PlanLiteral){.graph = SHARED, .feeds = "x", .fetches = "c"});
    static const char *const names[] = {"tensor_name", "send_device", "recv_device"};
    static const char *const values[] = {"edge_0_a", "/slot:0/device:CPU:0", "/slot:1/device:CPU:0"};
    for (size_t index = 0; index < COUNT_OF(names); index++) {
        const AttrValue *sent = attr_of(call, plan, 0, "_send_a_0_1", names[index]);
        const AttrValue *received = attr_of(call, plan, 1, "_recv_a_0", names[index]);
        assert_true(slice_equals_string(sent->value.s, values[index]));
        assert_true(slice_equals_string(received->value.s, values[index]));
    }
    assert_int_equal(attr_of(call, plan, 1, "_recv_a_0", "tensor_type")->value.type, DTYPE_FLOAT32);
}

static void
a_receive_says_as_much_of_its_shape_as_is_known(void **state)
{
    Call *call = *state;
    Shape known = {.rank = 2, .dims = {2, 2}};
    AUTO_PLAN plan = plan_of(call, (PlanLiteral){.graph = SHARED, .feeds = "x", .fetches = "c"});
    assert_true(shape_equal(&attr_of(call, plan, 1, "_recv_a_0", "shape")->value.shape, &known));
    assert_null(attr_of(call, plan, 0, "_send_a_0_1", "shape"));
    AUTO_PLAN vague = plan_of(call, (PlanLiteral){.graph = "x = Placeholder() dtype=float32\n"
                                                           "a = Neg(x) T=float32 @/task:0\n"
                                                           "b = Neg(a) T=float32 @/task:1\n",
                                        .feeds = "x",
                                        .fetches = "b"});
    assert_null(attr_of(call, vague, 1, "_recv_a_0", "shape"));
}

static void
a_control_edge_across_slots_sends_an_empty_constant(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = plan_of(call, (PlanLiteral){.graph = "x = Placeholder() dtype=float32 shape=<2>\n"
                                                          "a = Neg(x) T=float32 @/task:0\n"
                                                          "b = Neg(x, ^a) T=float32 @/task:1\n"
                                                          "c = NoOp(^a, ^b) @/task:1\n",
                                       .feeds = "x",
                                       .targets = "c"});
    assert_partitions_link(call, plan);
    assert_string_equal(plan_partition_text(call, plan, 0), "_arg_x_0 = _Arg()\n"
                                                            "a = Neg(_arg_x_0)\n"
                                                            "_control_a = Const(^a)\n"
                                                            "_send__control_a_0_1 = _Send(_control_a)\n");
    assert_string_equal(plan_partition_text(call, plan, 1), "_arg_x_0 = _Arg()\n"
                                                            "_recv__control_a_0 = _Recv()\n"
                                                            "b = Neg(_arg_x_0, ^_recv__control_a_0)\n"
                                                            "c = NoOp(^_recv__control_a_0, ^b)\n");
    assert_int_equal(plan->transfer_count, 1);
    assert_true(plan->transfers[0].is_control);
    assert_string_equal(plan->transfers[0].tensor_name, "edge_0__control_a");
}

static void
outputs_behind_the_first_travel_by_their_port(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = plan_of(call, (PlanLiteral){.graph = "x = Placeholder() dtype=float32 shape=<2>\n"
                                                          "p = Placeholder() dtype=bool shape=<1>\n"
                                                          "s = Switch(x, p) T=float32 @/task:0\n"
                                                          "a = Neg(s:1) T=float32 @/task:1\n"
                                                          "b = Neg(s) T=float32 @/task:1\n"
                                                          "m = Merge(a, b) T=float32 N=2\n",
                                       .feeds = "x p",
                                       .fetches = "m m:1"});
    assert_partitions_link(call, plan);
    assert_string_equal(plan_partition_text(call, plan, 0), "_arg_x_0 = _Arg()\n"
                                                            "_arg_p_0 = _Arg()\n"
                                                            "s = Switch(_arg_x_0, _arg_p_0)\n"
                                                            "_send_s_1_1 = _Send(s:1)\n"
                                                            "_send_s_0_1 = _Send(s)\n");
    assert_string_equal(plan_partition_text(call, plan, 1), "_recv_s_1 = _Recv()\n"
                                                            "a = Neg(_recv_s_1)\n"
                                                            "_recv_s_0 = _Recv()\n"
                                                            "b = Neg(_recv_s_0)\n"
                                                            "m = Merge(a, b)\n"
                                                            "_retval_m_0 = _Retval(m)\n"
                                                            "_retval_m_1 = _Retval(m:1)\n");
}

#define WEIGHTS                                                                                              \
    "x = Placeholder() dtype=float32 shape=<1,64>\n"                                                         \
    "w = Const() dtype=float32 value=float32<64,64>(0.5)\n"                                                  \
    "v = Const() dtype=float32 value=float32<64,64>(0.5)\n"                                                  \
    "small = Const() dtype=float32 value=float32<1,1024>(0.5)\n"                                             \
    "a = MatMul(x, w) T=float32 @/task:0\n"                                                                  \
    "b = MatMul(a, w) T=float32 @/task:1\n"                                                                  \
    "c = MatMul(b, v) T=float32 @/task:1\n"

static void
constants_over_4_kib_become_blobs_named_by_their_bytes(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = plan_of(call, (PlanLiteral){.graph = WEIGHTS, .feeds = "x", .fetches = "c small"});
    assert_partitions_link(call, plan);
    assert_string_equal(plan_partition_text(call, plan, 1), "_recv_a_0 = _Recv()\n"
                                                            "w = _BlobConst()\n"
                                                            "b = MatMul(_recv_a_0, w)\n"
                                                            "v = _BlobConst()\n"
                                                            "c = MatMul(b, v)\n"
                                                            "_retval_c_0 = _Retval(c)\n");
    /* Equal bytes are one blob; 4,096 bytes stay inside the partition. */
    assert_int_equal(plan->partitions[1].blob_count, 1);
    assert_int_equal(plan->partitions[0].blob_count, 1);
    const PlanBlob *blob = &plan->partitions[0].blobs[0];
    assert_int_equal(tensor_byte_size(&blob->tensor), 64 * 64 * 4);
    assert_true(slice_equals_string(attr_of(call, plan, 0, "w", "sha256")->value.s, blob->sha256));
    assert_int_equal(attr_of(call, plan, 0, "w", "shape")->value.shape.dims[1], 64);
    assert_null(strstr(plan_partition_text(call, plan, 0), "small = _BlobConst"));
    float element = 0;
    memcpy(&element, blob->tensor.data, sizeof element);
    assert_true(element == 0.5F);
}

#define BRANCHES                                                                                             \
    "x = Placeholder() dtype=float32 shape=<2>\n"                                                            \
    "y = Placeholder() dtype=float32 shape=<2>\n"                                                            \
    "a = Neg(x) T=float32 @/task:0\n"                                                                        \
    "b = Neg(a) T=float32 @/task:1\n"                                                                        \
    "c = Neg(y) T=float32 @/task:2\n"

static void
a_partition_that_is_the_same_in_two_plans_has_one_digest(void **state)
{
    Call *call = *state;
    AUTO_PLAN first = plan_of(call, (PlanLiteral){.graph = BRANCHES, .feeds = "x", .fetches = "b"});
    AUTO_PLAN again = plan_of(call, (PlanLiteral){.graph = BRANCHES, .feeds = "x", .fetches = "b"});
    AUTO_PLAN wider = plan_of(call, (PlanLiteral){.graph = BRANCHES, .feeds = "y x", .fetches = "c b"});
    AUTO_PLAN other = plan_of(call, (PlanLiteral){.graph = BRANCHES, .feeds = "x", .fetches = "a b"});
    assert_int_equal(wider->partition_count, 3);
    for (size_t slot = 0; slot < first->partition_count; slot++) {
        assert_string_equal(first->partitions[slot].digest, again->partitions[slot].digest);
        assert_string_equal(first->partitions[slot].digest, wider->partitions[slot].digest);
    }
    assert_string_not_equal(first->partitions[0].digest, other->partitions[0].digest);
    assert_string_equal(first->partitions[1].digest, other->partitions[1].digest);
}

static void
positions_of_feeds_and_fetches_are_the_signatures(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = plan_of(call, (PlanLiteral){.graph = BRANCHES, .feeds = "y x", .fetches = "c b a"});
    assert_true(slice_equals_string(plan->feeds[0], "x"));
    assert_true(slice_equals_string(plan->fetches[2], "c"));
    assert_int_equal(plan->partitions[0].feeds[0], 0);
    assert_int_equal(plan->partitions[2].feeds[0], 1);
    assert_int_equal(plan->partitions[0].fetches[0], 0);
    assert_int_equal(plan->partitions[1].fetches[0], 1);
    assert_int_equal(plan->partitions[2].fetches[0], 2);
}

static void
a_plan_is_explained(void **state)
{
    Call *call = *state;
    AUTO_PLAN plan = plan_of(call, (PlanLiteral){.graph = SHARED, .feeds = "x", .fetches = "c"});
    AUTO_BUFFER buffer = {0};
    JsonWriter writer = json_writer(&buffer);
    json_write_object_begin(&writer);
    plan_write_json(&writer, plan, "/device:CPU:0");
    json_write_object_end(&writer);
    const char *text = buffer_string(&buffer);
    assert_non_null(
        strstr(text, "\"slots\":[{\"slot\":0,\"device_type\":\"CPU\",\"gpu\":\"unused\",\"task\":0,"));
    assert_non_null(strstr(text, "\"transfers\":[{\"tensor\":\"edge_0_a\",\"node\":\"a\",\"from\":0,\"to\":1,"
                                 "\"control\":false,\"dtype\":\"float32\",\"shape\":[2,2],\"bytes\":16}]"));
    assert_non_null(
        strstr(text, "{\"node\":\"c\",\"slot\":1,\"device\":\"/device:CPU:0\",\"reason\":\"asks for "
                     "'/task:1'\"}"));
    assert_non_null(strstr(text, "\"feeds\":[\"x\"],\"fetches\":[],\"blobs\":[]"));
    assert_non_null(strstr(text, plan->partitions[1].digest));
}

enum { RANDOM_NODES = 30 };

static unsigned
next_random(unsigned *seed)
{
    *seed = *seed * 1103515245 + 12345;
    return *seed >> 16;
}

/* Each node reads two before it; some ask for a task, some have a control edge. */
static void
random_graph(unsigned *seed, Buffer *text)
{
    static const char *const devices[] = {"", "", "", " @/task:1", " @/task:0"};
    buffer_append_string(text, "n0 = Placeholder() dtype=float32 shape=<2>\n");
    for (unsigned node = 1; node < RANDOM_NODES; node++) {
        unsigned left = next_random(seed) % node;
        unsigned right = next_random(seed) % node;
        buffer_append_format(text, "n%u = Add(n%u, n%u", node, left, right);
        if (node % 3 == 0) {
            buffer_append_format(text, ", ^n%u", next_random(seed) % node);
        }
        buffer_append_format(text, ") T=float32%s\n", devices[next_random(seed) % COUNT_OF(devices)]);
    }
}

static size_t
count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
        count++;
    }
    return count;
}

static void
partitions_of_random_graphs_fit_together(void **state)
{
    Call *call = *state;
    unsigned seed = 7;
    for (int round = 0; round < 40; round++) {
        AUTO_BUFFER graph = {0};
        random_graph(&seed, &graph);
        AUTO_PLAN plan = plan_of(call, (PlanLiteral){.graph = buffer_string(&graph),
                                           .feeds = "n0",
                                           .fetches = "n29 n17",
                                           .targets = "n23",
                                           .placement = (PlacementPolicy)(round % 2),
                                           .slot_count = (uint32_t)round % 5 + 1});
        assert_partitions_link(call, plan);
        size_t sends = 0;
        size_t receives = 0;
        size_t fetches = 0;
        for (size_t slot = 0; slot < plan->partition_count; slot++) {
            const char *text = plan_partition_text(call, plan, slot);
            sends += count_of(text, "= _Send(");
            receives += count_of(text, "= _Recv(");
            fetches += count_of(text, "= _Retval(");
        }
        assert_int_equal(sends, plan->transfer_count);
        assert_int_equal(receives, plan->transfer_count);
        assert_int_equal(fetches, 2);
        for (size_t index = 0; index < plan->transfer_count; index++) {
            assert_true(plan->transfers[index].from != plan->transfers[index].to);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(a_tensor_read_twice_on_another_slot_is_sent_once),
        CALL_TEST(both_ends_of_a_transfer_agree_on_its_key),
        CALL_TEST(a_receive_says_as_much_of_its_shape_as_is_known),
        CALL_TEST(a_control_edge_across_slots_sends_an_empty_constant),
        CALL_TEST(outputs_behind_the_first_travel_by_their_port),
        CALL_TEST(constants_over_4_kib_become_blobs_named_by_their_bytes),
        CALL_TEST(a_partition_that_is_the_same_in_two_plans_has_one_digest),
        CALL_TEST(positions_of_feeds_and_fetches_are_the_signatures),
        CALL_TEST(a_plan_is_explained),
        CALL_TEST(partitions_of_random_graphs_fit_together),
    };
    return cmocka_run_group_tests_name("gateway/plan/partition", tests, NULL, NULL);
}
