#include "gateway/graphs/author_rules.h"

#include "gateway/graphs/graph_import.h"
#include "shared/ops/registry.h"
#include "tests/support/call_fixture.h"
#include "tests/support/graph_literals.h"

static void
ops_of_sluices_own_are_refused_by_name(void **state)
{
    Call *call = *state;
    static const char *const names[] = {"_Arg", "_Retval", "_Send", "_Recv", "_BlobConst", "_Branch",
        "_StateBranch", "_RestoredVariable", "_RestoredVariableV2", "_RestoredVarHandleOp",
        "_RestoredMutableHashTableV2", "_FusedOnnxConv", "_FusedBatchMatMulV2", "_FusedAttention"};
    for (size_t index = 0; index < COUNT_OF(names); index++) {
        char text[128];
        char message[128];
        (void)snprintf(text, sizeof text, "n = %s()\n", names[index]);
        (void)snprintf(message, sizeof message, "node 'n': op '%s' is Sluice's own", names[index]);
        AUTO_GRAPH_DEF def = graph_literal(text);
        assert_int_equal(author_check_ops(call, def), STATUS_INVALID_ARGUMENT);
        assert_string_equal(call->error.message, message);
    }
    AUTO_GRAPH_DEF known = graph_literal("f = _FusedMatMul()\nd = _FusedConv2D()\nu = _Unknown()\n");
    assert_status(call, STATUS_OK, author_check_ops(call, known));
    AUTO_GRAPH_DEF function = graph_literal("function f(x:float32) -> (y:float32) y=r:tensor:0\n"
                                            "r = _Recv()\n"
                                            "end\n"
                                            "x = Placeholder() dtype=float32\n");
    assert_int_equal(author_check_ops(call, function), STATUS_INVALID_ARGUMENT);
}

/* Every op whose name begins with '_' is Sluice's own, but those that TensorFlow and TensorFlow.js write. */
static void
each_op_with_an_internal_name_is_one_or_the_other(void **state)
{
    (void)state;
    static const char *const of_others[] = {"_FusedConv2D", "_FusedMatMul", "_FusedDepthwiseConv2dNative"};
    size_t others = 0;
    for (size_t index = 0; index < op_count(); index++) {
        const Op *op = op_at(index);
        bool is_other = false;
        for (size_t n = 0; n < COUNT_OF(of_others); n++) {
            is_other = is_other || slice_equals_string(op->name, of_others[n]);
        }
        others += is_other ? 1 : 0;
        assert_int_equal((op->flags & OP_INTERNAL) != 0, op->name.data[0] == '_' && !is_other);
    }
    assert_int_equal(others, COUNT_OF(of_others));
}

static void
expect_import(Call *call, const char *text, Status status, const char *message)
{
    AUTO_GRAPH_DEF def = graph_literal(text);
    AUTO_GRAPH graph = NULL;
    assert_non_null(def);
    assert_status(
        call, STATUS_OK, graph_link(call, def, op_find, (GraphLimits){.allows_internal = false}, &graph));
    assert_int_equal(author_check_constants(call, graph), status);
    if (message != NULL) {
        assert_string_equal(call->error.message, message);
    }
}

#define CONSTANT "c = Const() dtype=float32 value=float32(1)\n"

#define SCATTER "i = Const() dtype=int32 value=int32(0)\ns = ScatterAdd(a, i, c) T=float32 Tindices=int32\n"

static void
a_constant_is_not_changed(void **state)
{
    static const struct {
        const char *change;
        const char *message;
    } changes[] = {
        {"a = Assign(c, x) T=float32\n", "node 'a': op 'Assign' cannot change constant 'c'"},
        {"a = Assign(c, x) T=float32\nb = Neg(a) T=float32\n",
            "node 'a': op 'Assign' cannot change constant 'c'"},
        {"a = Assign(c, x) T=float32\nb = Neg(a) T=float32\n" SCATTER,
            "node 'a': op 'Assign' cannot change constant 'c'"},
        {"a = Assign(c, x) T=float32\ni = Const() dtype=int32 value=int32(0)\n"
         "v = VariableV2() dtype=float32 shape=<>\ns = ScatterAdd(v, i, a) T=float32 Tindices=int32\n",
            "node 'a': op 'Assign' cannot change constant 'c'"},
        {"a = AssignAdd(c, x) T=float32\nb = Neg(a) T=float32\n",
            "node 'a': op 'AssignAdd' cannot change constant 'c'"},
        {"a = ApplyGradientDescent(c, x, x) T=float32\nb = Neg(a) T=float32\n",
            "node 'a': op 'ApplyGradientDescent' cannot change constant 'c'"},
        {"r = RefIdentity(c) T=float32\na = Assign(r, x) T=float32\n",
            "node 'a': op 'Assign' cannot change constant 'c'"},
        {"a = Assign(c, x) T=float32\n" SCATTER "b = AssignSub(s, x) T=float32\n",
            "node 'b': op 'AssignSub' cannot change constant 'c'"},
    };
    for (size_t index = 0; index < COUNT_OF(changes); index++) {
        char text[512];
        char message[256];
        (void)snprintf(
            text, sizeof text, CONSTANT "x = Placeholder() dtype=float32\n%s", changes[index].change);
        (void)snprintf(
            message, sizeof message, "%s: its input 0 must refer to a variable", changes[index].message);
        expect_import(*state, text, STATUS_INVALID_ARGUMENT, message);
    }
    expect_import(*state,
        CONSTANT "v = VariableV2() dtype=float32 shape=<>\na = ApplyMomentum(v, c, v, v, v) T=float32\n",
        STATUS_INVALID_ARGUMENT,
        "node 'a': op 'ApplyMomentum' cannot change constant 'c': its input 1 must refer to a variable");
}

static void
what_only_reads_a_constant_or_was_left_of_a_variable_by_freezing_is_taken(void **state)
{
    static const char *const taken[] = {
        "a = Assign(c, c) T=float32\n" SCATTER,
        "i = Const() dtype=int32 value=int32(0)\na = ScatterAdd(c, i, c) T=float32 Tindices=int32\n",
        "a = RefIdentity(c) T=float32\n",
        "a = IsVariableInitialized(c) dtype=float32\n",
        "v = VariableV2() dtype=float32 shape=<>\na = Assign(v, c) T=float32\n",
        "v = VariableV2() dtype=float32 shape=<>\na = Assign(v, c) T=float32\nb = AssignAdd(a, c) "
        "T=float32\n",
    };
    for (size_t index = 0; index < COUNT_OF(taken); index++) {
        char text[512];
        (void)snprintf(text, sizeof text, CONSTANT "%s", taken[index]);
        expect_import(*state, text, STATUS_OK, NULL);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(ops_of_sluices_own_are_refused_by_name),
        CALL_TEST(each_op_with_an_internal_name_is_one_or_the_other),
        CALL_TEST(a_constant_is_not_changed),
        CALL_TEST(what_only_reads_a_constant_or_was_left_of_a_variable_by_freezing_is_taken),
    };
    return cmocka_run_group_tests_name("gateway/graphs/author_rules", tests, NULL, NULL);
}
