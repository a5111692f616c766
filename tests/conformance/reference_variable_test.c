/* Variables: what steps write, later steps read; what was read stays as it was. */
#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka_all.h"
#include "tests/support/graph_case.h"

#define RUN(cases) graph_cases_run(cases, COUNT_OF(cases))

#define V "v = VariableV2() dtype=float32 shape=<2>\n"
#define X "x = _Arg() T=float32 index=0\n"
#define H "h = VarHandleOp() dtype=float32 shape=<3,2> shared_name='table'\n"

static void
an_assigned_variable_is_read_in_a_later_step(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = V "r = Identity(v) T=float32\no = _Retval(r) T=float32 index=0\n",
            .error = "variable 'v' is not initialised",
            .error_code = STATUS_FAILED_PRECONDITION},
        {.graph = V "i = IsVariableInitialized(v) dtype=float32\no = _Retval(i) T=bool index=0\n",
            .fetches = {"bool[] 0"}},
        {.graph = V X "a = Assign(v, x) T=float32\no = _Retval(a) T=float32 index=0\n",
            .feeds = {"float32[2] 1 2"},
            .fetches = {"float32[2] 1 2"}},
        {.graph = V "r = Identity(v) T=float32\no = _Retval(r) T=float32 index=0\n",
            .fetches = {"float32[2] 1 2"}},
        {.graph = "w = Variable() dtype=float32 shape=<2>\n" X "a = Assign(w, x) T=float32\n"
                  "r = RefIdentity(a) T=float32\no = _Retval(r) T=float32 index=0\n",
            .feeds = {"float32[2] 5 6"},
            .fetches = {"float32[2] 5 6"}},
        {.graph = V "i = IsVariableInitialized(v) dtype=float32\no = _Retval(i) T=bool index=0\n",
            .fetches = {"bool[] 1"}},
        {.graph = V X "a = AssignAdd(v, x) T=float32\nb = AssignSub(v, x, ^a) T=float32\n"
                      "c = AssignSub(b, x) T=float32\no = _Retval(c) T=float32 index=0\n",
            .feeds = {"float32[2] 10 20"},
            .fetches = {"float32[2] -9 -18"}},
        {.graph = V X "a = Assign(v, x) T=float32\no = _Retval(a) T=float32 index=0\n",
            .feeds = {"float32[3] 1 2 3"},
            .error = "variable 'v' is of shape [2], the value of shape [3]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = V X "a = Assign(v, x) T=float32 validate_shape=false\no = _Retval(a) T=float32 index=0\n",
            .feeds = {"float32[3] 1 2 3"},
            .fetches = {"float32[3] 1 2 3"}},
        {.graph = "v = VariableV2() dtype=int32 shape=<2>\nr = Identity(v) T=int32\n"
                  "o = _Retval(r) T=int32 index=0\n",
            .error = "variable 'v' is float32 in this session, not int32",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

static void
a_read_is_a_snapshot_that_no_later_write_changes(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = V X "a = Assign(v, x) T=float32\n"
                      "before = Identity(v, ^a) T=float32\n"
                      "b = AssignAdd(v, x, ^before) T=float32\n"
                      "after = Identity(v, ^b) T=float32\n"
                      "sum = Add(before, after, ^b) T=float32\n"
                      "o0 = _Retval(before, ^sum) T=float32 index=0\n"
                      "o1 = _Retval(after) T=float32 index=1\n"
                      "o2 = _Retval(sum) T=float32 index=2\n",
            .feeds = {"float32[2] 1 2"},
            .fetches = {"float32[2] 1 2", "float32[2] 2 4", "float32[2] 3 6"}},
        {.graph = "h = VarHandleOp() dtype=float32 shape=<2>\n" X "a = AssignVariableOp(h, x) dtype=float32\n"
                  "before = ReadVariableOp(h, ^a) dtype=float32\n"
                  "b = AssignAddVariableOp(h, x, ^before) dtype=float32\n"
                  "after = ReadVariableOp(h, ^b) dtype=float32\n"
                  "o0 = _Retval(before, ^after) T=float32 index=0\n"
                  "o1 = _Retval(after) T=float32 index=1\n",
            .feeds = {"float32[2] 1 2"},
            .fetches = {"float32[2] 1 2", "float32[2] 2 4"}},
        {.graph = "h = VarHandleOp() dtype=float32 shape=<2>\n" X
                  "a = AssignVariableOp(h, x) dtype=float32 validate_shape=true\n"
                  "r = ReadVariableOp(h, ^a) dtype=float32\no0 = _Retval(r) T=float32 index=0\n",
            .feeds = {"float32[3] 1 2 3"},
            .error = "variable 'h' is of shape [2], the value of shape [3]",
            .error_code = STATUS_INVALID_ARGUMENT},
    };
    RUN(cases);
}

#define FIRST "c = Const() dtype=float32 value=float32<2>(1;2)\n"

/* The constant stays what it is, for whoever reads it and for the next session. */
static void
a_restored_variable_begins_with_its_input_once(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = FIRST X "v = _RestoredVariableV2(c) dtype=float32 shape=<2>\n"
                          "a = AssignAdd(v, x) T=float32\nr = Identity(c, ^a) T=float32\n"
                          "o0 = _Retval(a) T=float32 index=0\no1 = _Retval(r) T=float32 index=1\n",
            .feeds = {"float32[2] 10 20"},
            .fetches = {"float32[2] 11 22", "float32[2] 1 2"}},
        {.graph = FIRST "v = _RestoredVariableV2(c) dtype=float32 shape=<2>\nr = Identity(v) T=float32\n"
                        "o = _Retval(r) T=float32 index=0\n",
            .fetches = {"float32[2] 11 22"}},
        {.graph = FIRST X "h = _RestoredVarHandleOp(c) dtype=float32 shape=<2>\n"
                          "a = AssignSubVariableOp(h, x) dtype=float32\n"
                          "r = ReadVariableOp(h, ^a) dtype=float32\no = _Retval(r) T=float32 index=0\n",
            .feeds = {"float32[2] 10 20"},
            .fetches = {"float32[2] -9 -18"}},
        {.graph =
                FIRST "d = VarHandleOp() dtype=float32 shape=<2> shared_name='h'\nx = DestroyResourceOp(d)\n"
                      "h = _RestoredVarHandleOp(c, ^x) dtype=float32 shape=<2>\n"
                      "i = VarIsInitializedOp(h)\no = _Retval(i) T=bool index=0\n",
            .fetches = {"bool[] 0"}},
    };
    RUN(cases);
}

static void
a_reference_is_read_after_the_control_inputs_of_its_reader(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = V X "a = Assign(v, x) T=float32\n"
                      "y = Neg(v, ^a) T=float32\n"
                      "o = _Retval(y) T=float32 index=0\n",
            .feeds = {"float32[2] 1 2"},
            .fetches = {"float32[2] -1 -2"}},
        {.graph = V X "p = _Arg() T=bool index=1\n"
                      "a = Assign(v, x) T=float32\n"
                      "s = Switch(v, p, ^a) T=float32\n"
                      "m = Merge(s, s:1) T=float32 N=2\n"
                      "o = _Retval(m) T=float32 index=0\n",
            .feeds = {"float32[2] 3 4", "bool[] 1"},
            .fetches = {"float32[2] 3 4"}},
    };
    RUN(cases);
}

static void
a_frozen_variable_can_be_assigned_within_the_step(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = "v = Const() dtype=float32 value=float32<2>(7)\n" X "i = _Arg() T=int32 index=1\n"
                  "a = Assign(v, x) T=float32\n"
                  "s = ScatterAdd(a, i, x) T=float32 Tindices=int32\n"
                  "o0 = _Retval(s) T=float32 index=0\n"
                  "o1 = _Retval(v) T=float32 index=1\n",
            .feeds = {"float32[2] 1 2", "int32[2] 1 1"},
            .fetches = {"float32[2] 1 5", "float32[2] 7 7"}},
    };
    RUN(cases);
}

static void
parts_are_written_in_the_order_of_the_indices_or_not_at_all(void **state)
{
    (void)state;
#define TABLE X "i = _Arg() T=int32 index=1\n" H
#define SHOW "r = ReadVariableOp(h, ^s) dtype=float32\no = _Retval(r) T=float32 index=0\n"
    const GraphCase cases[] = {
        {.graph = H X "a = AssignVariableOp(h, x) dtype=float32\nn = VariableShape(h, ^a)\n"
                      "o = _Retval(n) T=int32 index=0\n",
            .feeds = {"float32[3,2] 1 2 3 4 5 6"},
            .fetches = {"int32[2] 3 2"}},
        {.graph = TABLE "s = ResourceScatterUpdate(h, i, x) dtype=float32 Tindices=int32\n" SHOW,
            .feeds = {"float32[2,2] 10 20 30 40", "int32[2] 2 2"},
            .fetches = {"float32[3,2] 1 2 3 4 30 40"}},
        {.graph = TABLE "s = ResourceScatterAdd(h, i, x) dtype=float32 Tindices=int32\n" SHOW,
            .feeds = {"float32[] 1", "int32[1,2] 0 0"},
            .fetches = {"float32[3,2] 3 4 3 4 30 40"}},
        {.graph = TABLE "s = ResourceScatterMul(h, i, x) dtype=float32 Tindices=int32\n" SHOW,
            .feeds = {"float32[2,2] 9 9 9 9", "int32[2] 0 3"},
            .error = "index 3 at 1 is not within 3",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = TABLE "s = ResourceScatterMul(h, i, x) dtype=float32 Tindices=int32\n" SHOW,
            .feeds = {"float32[2] 9 9", "int32[2] 0 1"},
            .error = "updates are of shape [2] instead of [2,2]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = TABLE "s = ResourceScatterNdSub(h, i, x) T=float32 Tindices=int32\n" SHOW,
            .feeds = {"float32[2] 1 2", "int32[2,2] 0 1 2 0"},
            .fetches = {"float32[3,2] 3 3 3 4 28 40"}},
        {.graph = "i = _Arg() T=int32 index=0\n" H
                  "g = ResourceGather(h, i) dtype=float32 Tindices=int32\no = _Retval(g) T=float32 index=0\n",
            .feeds = {"int32[2] 2 0"},
            .fetches = {"float32[2,2] 28 40 3 3"}},
        {.graph = "i = _Arg() T=int32 index=0\n" H "g = ResourceGatherNd(h, i) dtype=float32 Tindices=int32\n"
                  "o = _Retval(g) T=float32 index=0\n",
            .feeds = {"int32[2,2] 2 0 0 1"},
            .fetches = {"float32[2] 28 3"}},
        {.graph = H "d = DestroyResourceOp(h)\n", .fetches = {NULL}},
        {.graph = H "n = VarIsInitializedOp(h)\no = _Retval(n) T=bool index=0\n", .fetches = {"bool[] 0"}},
    };
    RUN(cases);
}

typedef struct ScatterCase {
    const char *op; /* also with "Resource" in front */
    const char *indices;
    const char *after; /* the variable, which holds 8, -6 and 4 before; the updates are 2 and -4 */
} ScatterCase;

static const ScatterCase scatter_cases[] = {
    {"ScatterUpdate", "int32[2] 0 2", "float32[3] 2 -6 -4"},
    {"ScatterAdd", "int32[2] 0 2", "float32[3] 10 -6 0"},
    {"ScatterSub", "int32[2] 0 2", "float32[3] 6 -6 8"},
    {"ScatterMul", "int32[2] 0 2", "float32[3] 16 -6 -16"},
    {"ScatterDiv", "int32[2] 0 2", "float32[3] 4 -6 -1"},
    {"ScatterMin", "int32[2] 0 2", "float32[3] 2 -6 -4"},
    {"ScatterMax", "int32[2] 0 2", "float32[3] 8 -6 4"},
    {"ScatterNdUpdate", "int32[2,1] 0 2", "float32[3] 2 -6 -4"},
    {"ScatterNdAdd", "int32[2,1] 0 2", "float32[3] 10 -6 0"},
    {"ScatterNdSub", "int32[2,1] 0 2", "float32[3] 6 -6 8"},
};

static void
scatters_change_a_variable_by_reference_and_by_handle(void **state)
{
    (void)state;
#define SCATTER_ARGS X "i = _Arg() T=int32 index=1\nu = _Arg() T=float32 index=2\n"
    for (size_t index = 0; index < COUNT_OF(scatter_cases); index++) {
        const ScatterCase *scatter = &scatter_cases[index];
        const char *type = strstr(scatter->op, "Nd") != NULL ? "T" : "dtype";
        char by_reference[512];
        char by_handle[512];
        (void)snprintf(by_reference, sizeof by_reference,
            SCATTER_ARGS "v = VariableV2() dtype=float32 shape=<3>\n"
                         "a = Assign(v, x) T=float32\n"
                         "s = %s(a, i, u) T=float32 Tindices=int32\n"
                         "o = _Retval(s) T=float32 index=0\n",
            scatter->op);
        (void)snprintf(by_handle, sizeof by_handle,
            SCATTER_ARGS "h = VarHandleOp() dtype=float32 shape=<3>\n"
                         "a = AssignVariableOp(h, x) dtype=float32\n"
                         "s = Resource%s(h, i, u, ^a) %s=float32 Tindices=int32\n"
                         "r = ReadVariableOp(h, ^s) dtype=float32\n"
                         "o = _Retval(r) T=float32 index=0\n",
            scatter->op, type);
        const GraphCase cases[] = {
            {.graph = by_reference,
                .feeds = {"float32[3] 8 -6 4", scatter->indices, "float32[2] 2 -4"},
                .fetches = {scatter->after}},
            {.graph = by_handle,
                .feeds = {"float32[3] 8 -6 4", scatter->indices, "float32[2] 2 -4"},
                .fetches = {scatter->after}},
        };
        RUN(cases);
    }
}

static void
integers_are_not_divided_by_zero(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = "v = VariableV2() dtype=int32 shape=<2>\nx = _Arg() T=int32 index=0\n"
                  "i = _Arg() T=int32 index=1\na = Assign(v, x) T=int32\n"
                  "s = ScatterDiv(a, i, x) T=int32 Tindices=int32\no = _Retval(s) T=int32 index=0\n",
            .feeds = {"int32[2] 8 0", "int32[2] 0 1"},
            .error = "an integer is divided by 0",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = "v = VariableV2() dtype=int32 shape=<2>\nr = Identity(v) T=int32\n"
                  "o = _Retval(r) T=int32 index=0\n",
            .fetches = {"int32[2] 8 0"}},
    };
    RUN(cases);
}

static void
a_counter_counts_up_to_its_limit(void **state)
{
    (void)state;
#define COUNT "v = VariableV2() dtype=int64 shape=<>\nc = CountUpTo(v) T=int64 limit=1\n"
    const GraphCase cases[] = {
        {.graph = "v = VariableV2() dtype=int64 shape=<>\nx = _Arg() T=int64 index=0\n"
                  "a = Assign(v, x) T=int64\n",
            .feeds = {"int64[] 0"}},
        {.graph = COUNT "o = _Retval(c) T=int64 index=0\n", .fetches = {"int64[] 0"}},
        {.graph = COUNT "o = _Retval(c) T=int64 index=0\n",
            .error = "variable 'v' has reached the limit of 1",
            .error_code = STATUS_OUT_OF_RANGE},
    };
    RUN(cases);
}

static void
a_temporary_variable_lives_in_its_step(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph = "v = TemporaryVariable() dtype=float32 shape=<2> var_name='t'\n" X
                  "a = AssignAdd(v, x) T=float32\nb = AssignAdd(a, x) T=float32\n"
                  "d = DestroyTemporaryVariable(b) T=float32 var_name='t'\n"
                  "o = _Retval(d) T=float32 index=0\n",
            .feeds = {"float32[2] 1 2"},
            .fetches = {"float32[2] 2 4"}},
    };
    RUN(cases);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_assigned_variable_is_read_in_a_later_step),
        cmocka_unit_test(a_read_is_a_snapshot_that_no_later_write_changes),
        cmocka_unit_test(a_restored_variable_begins_with_its_input_once),
        cmocka_unit_test(a_reference_is_read_after_the_control_inputs_of_its_reader),
        cmocka_unit_test(a_frozen_variable_can_be_assigned_within_the_step),
        cmocka_unit_test(parts_are_written_in_the_order_of_the_indices_or_not_at_all),
        cmocka_unit_test(scatters_change_a_variable_by_reference_and_by_handle),
        cmocka_unit_test(integers_are_not_divided_by_zero),
        cmocka_unit_test(a_counter_counts_up_to_its_limit),
        cmocka_unit_test(a_temporary_variable_lives_in_its_step),
    };
    return cmocka_run_group_tests_name("reference/variable", tests, NULL, NULL);
}
