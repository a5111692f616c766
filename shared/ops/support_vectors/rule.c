#include "shared/ops/support_vectors/rule.h"

static Status
check_size(Call *call, const Node *node, const char *name, int64_t wanted)
{
    size_t given = node_attr_count(node, name);
    return given == (uint64_t)wanted ? STATUS_OK
                                     : call_fail(call, STATUS_INVALID_ARGUMENT,
                                           "'%s' has %zu items, not %lld", name, given, (long long)wanted);
}

static Status
read_kernel(Call *call, const Node *node, SvmMachine *machine)
{
    static const char *const names[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
    Slice given = node_attr_string(node, "kernel_type");
    const AttrValue *params = node_attr(node, "kernel_params");
    size_t index = 0;
    while (index < COUNT_OF(names) && !slice_equals_string(given, names[index])) {
        index++;
    }
    if (index == COUNT_OF(names)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "kernel_type is '%.*s', not 'LINEAR', 'POLY', 'RBF' or 'SIGMOID'",
            SLICE_PRINT(slice_part(given, 0, 64)));
    }
    machine->kernel = (SvmKernel)index;
    if (node_attr_count(node, "kernel_params") == 0 && machine->kernel == SVM_LINEAR) {
        return STATUS_OK;
    }
    TRY(check_size(call, node, "kernel_params", 3));
    machine->gamma = (double)params->value.list.items[0].value.f;
    machine->addend = (double)params->value.list.items[1].value.f;
    machine->degree = (double)params->value.list.items[2].value.f;
    return STATUS_OK;
}

/* Finds the features of each support vector, and checks that rows have as many. */
static Status
read_features(Call *call, const InferContext *context, SvmMachine *machine)
{
    const Shape *rows = &context->inputs[0];
    size_t numbers =
        node_attr_count(context->node, machine->vectors > 0 ? "support_vectors" : "coefficients");
    int64_t parts = machine->vectors > 0 ? machine->vectors : 1;
    char text[SHAPE_TEXT_SIZE];
    if (numbers == 0 || (int64_t)numbers % parts != 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "%zu numbers are no %lld support vectors", numbers,
            (long long)parts);
    }
    machine->features = (int64_t)numbers / parts;
    if (rows->rank < 0) {
        return STATUS_OK;
    }
    bool is_fit = (rows->rank == 1 || rows->rank == 2) &&
                  (rows->dims[rows->rank - 1] < 0 || rows->dims[rows->rank - 1] == machine->features);
    return is_fit
               ? STATUS_OK
               : call_fail(call, STATUS_INVALID_ARGUMENT, "an input of shape %s is no rows of %lld features",
                     shape_text(rows, text), (long long)machine->features);
}

Status
svm_read_regressor(Call *call, const InferContext *context, SvmMachine *ret_machine)
{
    const Node *node = context->node;
    SvmMachine machine = {.vectors = node_attr_int(node, "n_supports")};
    TRY(read_kernel(call, node, &machine));
    TRY(check_size(call, node, "rho", 1));
    if (machine.vectors < 0) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "n_supports is %lld, not at least 0", (long long)machine.vectors);
    }
    TRY(machine.vectors == 0 ? STATUS_OK : check_size(call, node, "coefficients", machine.vectors));
    TRY(read_features(call, context, &machine));
    *ret_machine = machine;
    return STATUS_OK;
}

static Status
read_classes(Call *call, const Node *node, SvmMachine *machine)
{
    const AttrValue *counts = node_attr(node, "vectors_per_class");
    machine->classes = (int64_t)node_attr_count(node, "vectors_per_class");
    int64_t coefficients = (int64_t)node_attr_count(node, "coefficients");
    if (machine->classes < 2 || machine->classes > INT32_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "support vectors of %lld classes tell none apart",
            (long long)machine->classes);
    }
    for (int64_t index = 0; index < machine->classes; index++) {
        int64_t count = counts->value.list.items[index].value.i;
        if (count < 0 || count > coefficients) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "class %lld cannot have %lld support vectors",
                (long long)index, (long long)count);
        }
        machine->vectors += count;
    }
    machine->pairs = machine->classes * (machine->classes - 1) / 2;
    return machine->vectors > 0 ? STATUS_OK
                                : call_fail(call, STATUS_INVALID_ARGUMENT, "there are no support vectors");
}

Status
svm_read_classifier(Call *call, const InferContext *context, SvmMachine *ret_machine)
{
    const Node *node = context->node;
    SvmMachine machine = {.has_probabilities = node_attr_count(node, "prob_a") > 0};
    TRY(read_kernel(call, node, &machine));
    TRY(read_classes(call, node, &machine));
    TRY(check_size(call, node, "rho", machine.pairs));
    TRY(check_size(call, node, "coefficients", machine.vectors * (machine.classes - 1)));
    if (machine.has_probabilities) {
        TRY(check_size(call, node, "prob_a", machine.pairs));
        TRY(check_size(call, node, "prob_b", machine.pairs));
    }
    TRY(read_features(call, context, &machine));
    *ret_machine = machine;
    return STATUS_OK;
}

int64_t
svm_score_count(const SvmMachine *machine)
{
    bool has_all = machine->has_probabilities || machine->classes == 2;
    return has_all ? machine->classes : machine->pairs;
}
