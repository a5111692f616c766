/* Optimisers, against what TensorFlow 2.21 computed for the same numbers; by handle and by reference. */
#include "shared/ops/registry.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/graph_case.h"

enum { VARIABLES_MAX = 4 };

typedef struct OptimizerCase {
    const char *rule;
    const char *flags;
    const char *variables; /* names of inputs; they begin as `before` */
    const char *scalars;
    const char *after[VARIABLES_MAX];
} OptimizerCase;

static const char *const before[VARIABLES_MAX] = {
    "float32[3] 1 -2 0.5", "float32[3] 0.1 0.2 0.3", "float32[3] 0.5 0.25 0.75", "float32[3] 0.9 0.8 0.7"};
#define GRADIENT "float32[3] 0.3 -0.4 0"

static const OptimizerCase optimizer_cases[] = {
    {"GradientDescent", "", "var", "alpha=0.1", {"float32[3] 0.970000029 -1.96000004 0.5"}},
    {"ProximalGradientDescent", "", "var", "alpha=0.1 l1=0.5 l2=0.25",
        {"float32[3] 0.897561014 -1.86341476 0.439024389"}},
    {"Adadelta", "", "var accum accum_update", "lr=0.1 rho=0.9 epsilon=0.01",
        {"float32[3] 0.935107708 -1.95506203 0.5", "float32[3] 0.0989999995 0.195999995 0.270000011",
            "float32[3] 0.492110103 0.245194167 0.674999952"}},
    {"Adagrad", " update_slots=true", "var accum", "lr=0.1",
        {"float32[3] 0.931175292 -1.93333328 0.5", "float32[3] 0.189999998 0.360000014 0.300000012"}},
    {"AdagradV2", " update_slots=false", "var accum", "lr=0.1 epsilon=0.01",
        {"float32[3] 0.908039689 -1.91251349 0.5", "float32[3] 0.100000001 0.200000003 0.300000012"}},
    {"ProximalAdagrad", "", "var accum", "lr=0.1 l1=0.5 l2=0.25",
        {"float32[3] 0.772179842 -1.77600002 0.390872121", "float32[3] 0.189999998 0.360000014 0.300000012"}},
    {"Ftrl", "", "var accum linear", "lr=0.1 l1=0.5 l2=0.25 lr_power=-0.5",
        {"float32[3] 0 -0.370112091 -0.0418254249", "float32[3] 0.189999998 0.360000014 0.300000012",
            "float32[3] -0.396621287 2.90572858 0.75"}},
    {"FtrlV2", "", "var accum linear", "lr=0.1 l1=0.5 l2=0.25 l2_shrinkage=0.125 lr_power=-0.25",
        {"float32[3] 0 -0.117284879 -0.0474633798", "float32[3] 0.189999998 0.360000014 0.300000012",
            "float32[3] 0.0712178349 1.4671272 0.875"}},
    {"Momentum", " use_nesterov=false", "var accum", "lr=0.1 momentum=0.9",
        {"float32[3] 0.961000025 -1.97800004 0.47299999", "float32[3] 0.390000015 -0.220000014 0.270000011"}},
    {"Momentum", " use_nesterov=true", "var accum", "lr=0.1 momentum=0.9",
        {"float32[3] 0.934899986 -1.94019997 0.475699991",
            "float32[3] 0.390000015 -0.220000014 0.270000011"}},
    {"KerasMomentum", " use_nesterov=false", "var accum", "lr=0.1 momentum=0.9",
        {"float32[3] 1.05999994 -1.77999997 0.769999981", "float32[3] 0.0599999949 0.219999999 0.270000011"}},
    {"KerasMomentum", " use_nesterov=true", "var accum", "lr=0.1 momentum=0.9",
        {"float32[3] 1.02400005 -1.76199996 0.743000031", "float32[3] 0.0599999949 0.219999999 0.270000011"}},
    {"Adam", " use_nesterov=false", "var m v",
        "beta1_power=0.9 beta2_power=0.99 lr=0.1 beta1=0.9 beta2=0.99 epsilon=0.001",
        {"float32[3] 0.982983589 -2.02799439 0.468702376", "float32[3] 0.120000005 0.139999986 0.270000011",
            "float32[3] 0.495900005 0.2491 0.742500007"}},
    {"Adam", " use_nesterov=true", "var m v",
        "beta1_power=0.9 beta2_power=0.99 lr=0.1 beta1=0.9 beta2=0.99 epsilon=0.001",
        {"float32[3] 0.980431139 -2.01719666 0.471832126", "float32[3] 0.120000005 0.139999986 0.270000011",
            "float32[3] 0.495900005 0.2491 0.742500007"}},
    {"AdamWithAmsgrad", "", "var m v vhat",
        "beta1_power=0.9 beta2_power=0.99 lr=0.1 beta1=0.9 beta2=0.99 epsilon=0.001",
        {"float32[3] 0.987364233 -2.01563501 0.468702376", "float32[3] 0.120000005 0.139999986 0.270000011",
            "float32[3] 0.495900005 0.2491 0.742500007", "float32[3] 0.899999976 0.800000012 0.742500007"}},
    {"AdaMax", "", "var m v", "beta1_power=0.9 lr=0.1 beta1=0.9 beta2=0.99 epsilon=0.001",
        {"float32[3] 0.758064568 -2.34912705 0.136852801", "float32[3] 0.120000005 0.139999986 0.270000011",
            "float32[3] 0.495000005 0.400000006 0.742500007"}},
    {"RMSProp", "", "var ms mom", "lr=0.1 rho=0.9 momentum=0.5 epsilon=0.001",
        {"float32[3] 0.655131698 -2.03487873 0.125", "float32[3] 0.0989999995 0.19600001 0.270000011",
            "float32[3] 0.344868332 0.0348788127 0.375"}},
    {"CenteredRMSProp", "", "var mg ms mom", "lr=0.1 rho=0.9 momentum=0.5 epsilon=0.001",
        {"float32[3] 0.505058408 -2.31518102 0.150000006", "float32[3] 0.120000005 0.139999986 0.270000011",
            "float32[3] 0.458999991 0.240999997 0.674999952",
            "float32[3] 0.494941592 0.315181106 0.349999994"}},
    {"AddSign", "", "var m", "lr=0.1 alpha=1.0 sign_decay=0.5 beta=0.9",
        {"float32[3] 0.954999983 -1.98000002 0.5", "float32[3] 0.120000005 0.139999986 0.270000011"}},
    {"PowerSign", "", "var m", "lr=0.1 logbase=1.0 sign_decay=0.5 beta=0.9",
        {"float32[3] 0.950538337 -1.97573876 0.5", "float32[3] 0.120000005 0.139999986 0.270000011"}},
};

/* "name=value" of the list → the value; empty when it is not there. */
static Slice
find_scalar(const char *scalars, Slice name)
{
    Slice rest = slice_from_string(scalars);
    Slice part;
    while (rest.size > 0 && slice_split(&rest, ' ', &part)) {
        size_t equals = slice_find(part, '=');
        if (slice_equal(slice_part(part, 0, equals), name)) {
            return slice_part(part, equals + 1, SIZE_MAX);
        }
    }
    return SLICE("");
}

/* v0…, initialised from args 0…; returns how many there are. */
static int
write_variables(const OptimizerCase *optimizer, bool is_reference, Buffer *text)
{
    Slice rest = slice_from_string(optimizer->variables);
    Slice name;
    int count = 0;
    for (; rest.size > 0 && slice_split(&rest, ' ', &name); count++) {
        buffer_append_format(text, "x%d = _Arg() T=float32 index=%d\n", count, count);
        buffer_append_format(
            text, "v%d = %s() dtype=float32 shape=<3>\n", count, is_reference ? "VariableV2" : "VarHandleOp");
        buffer_append_format(text,
            is_reference ? "i%d = Assign(v%d, x%d) T=float32\n"
                         : "i%d = AssignVariableOp(v%d, x%d) dtype=float32\n",
            count, count, count);
    }
    return count;
}

static void
write_apply(const OptimizerCase *optimizer, const Op *op, int count, Buffer *text)
{
    int variable = 0;
    AUTO_BUFFER inputs = {0};
    for (size_t index = 0; index < op->input_count; index++) {
        Slice name = op->inputs[index].name;
        Slice scalar = find_scalar(optimizer->scalars, name);
        buffer_append_string(&inputs, index == 0 ? "" : ", ");
        if (scalar.size > 0) {
            buffer_append_format(
                text, "h%zu = Const() dtype=float32 value=float32(%.*s)\n", index, SLICE_PRINT(scalar));
            buffer_append_format(&inputs, "h%zu", index);
        } else if (variable < count) {
            buffer_append_format(&inputs, "v%d", variable++);
        } else {
            buffer_append_string(&inputs, "g");
        }
    }
    for (int index = 0; index < count; index++) {
        buffer_append_format(&inputs, ", ^i%d", index);
    }
    buffer_append_format(text, "g = _Arg() T=float32 index=%d\napply = %.*s(%s) T=float32%s\n", count,
        SLICE_PRINT(op->name), buffer_string(&inputs), optimizer->flags);
}

static void
check(const OptimizerCase *optimizer, const char *prefix, bool is_reference)
{
    AUTO_BUFFER text = {0};
    char name[64];
    (void)snprintf(name, sizeof name, "%s%s", prefix, optimizer->rule);
    const Op *op = op_find(slice_from_string(name));
    if (op == NULL && is_reference) {
        return; /* some have no form by reference */
    }
    assert_non_null(op);
    int count = write_variables(optimizer, is_reference, &text);
    write_apply(optimizer, op, count, &text);
    GraphCase graph_case = {0};
    for (int index = 0; index < count; index++) {
        buffer_append_format(&text,
            is_reference ? "r%d = Identity(v%d, ^apply) T=float32\n"
                         : "r%d = ReadVariableOp(v%d, ^apply) dtype=float32\n",
            index, index);
        buffer_append_format(&text, "o%d = _Retval(r%d) T=float32 index=%d\n", index, index, index);
        graph_case.feeds[index] = before[index];
        graph_case.fetches[index] = optimizer->after[index];
    }
    graph_case.feeds[count] = GRADIENT;
    graph_case.graph = buffer_string(&text);
    graph_cases_run(&graph_case, 1);
}

static void
optimisers_change_variables_as_tensorflow_does(void **state)
{
    (void)state;
    for (size_t index = 0; index < COUNT_OF(optimizer_cases); index++) {
        check(&optimizer_cases[index], "ResourceApply", false);
        check(&optimizer_cases[index], "Apply", true);
    }
}

static void
sparse_forms_change_rows_in_the_order_of_the_indices(void **state)
{
    (void)state;
    const GraphCase cases[] = {
        {.graph =
                "x = _Arg() T=float32 index=0\ng = _Arg() T=float32 index=1\ni = _Arg() T=int32 index=2\n"
                "lr = Const() dtype=float32 value=float32(1)\nmu = Const() dtype=float32 value=float32(0.5)\n"
                "v = VarHandleOp() dtype=float32 shape=<3,1>\na = VarHandleOp() dtype=float32 shape=<3,1>\n"
                "vi = AssignVariableOp(v, x) dtype=float32\nai = AssignVariableOp(a, x) dtype=float32\n"
                "p = ResourceSparseApplyMomentum(v, a, lr, g, i, mu, ^vi, ^ai) T=float32 Tindices=int32\n"
                "rv = ReadVariableOp(v, ^p) dtype=float32\nra = ReadVariableOp(a, ^p) dtype=float32\n"
                "o0 = _Retval(rv) T=float32 index=0\no1 = _Retval(ra) T=float32 index=1\n",
            .feeds = {"float32[3,1] 2 4 8", "float32[2,1] 1 1", "int32[2] 1 1"},
            .fetches = {"float32[3,1] 2 -1.5 8", "float32[3,1] 2 2.5 8"}},
    };
    graph_cases_run(cases, COUNT_OF(cases));
}

static void
what_does_not_fit_changes_nothing(void **state)
{
    (void)state;
#define DESCENT                                                                                              \
    "g = _Arg() T=float32 index=0\nlr = Const() dtype=float32 value=float32(1)\n"                            \
    "v = VarHandleOp() dtype=float32 shape=<2>\n"                                                            \
    "p = ResourceApplyGradientDescent(v, lr, g) T=float32\n"
    const GraphCase cases[] = {
        {.graph = DESCENT,
            .feeds = {"float32[2] 1 2"},
            .error = "variable 'v' is not initialised",
            .error_code = STATUS_FAILED_PRECONDITION},
        {.graph = "v = VarHandleOp() dtype=float32 shape=<2>\nx = _Arg() T=float32 index=0\n"
                  "a = AssignVariableOp(v, x) dtype=float32\n",
            .feeds = {"float32[2] 5 6"}},
        {.graph = DESCENT,
            .feeds = {"float32[1] 1"},
            .error = "the gradient is of shape [1] instead of [2]",
            .error_code = STATUS_INVALID_ARGUMENT},
        {.graph = DESCENT "r = ReadVariableOp(v, ^p) dtype=float32\no = _Retval(r) T=float32 index=0\n",
            .feeds = {"float32[2] 1 2"},
            .fetches = {"float32[2] 4 4"}},
    };
    graph_cases_run(cases, COUNT_OF(cases));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimisers_change_variables_as_tensorflow_does),
        cmocka_unit_test(sparse_forms_change_rows_in_the_order_of_the_indices),
        cmocka_unit_test(what_does_not_fit_changes_nothing),
    };
    return cmocka_run_group_tests_name("reference/variable_apply", tests, NULL, NULL);
}
