/* Attributes and number of inputs: what the author gave, against what the op declares. */
#include <stdio.h>

#include "shared/graph/linker.h"
#include "shared/tensor/foreign_dtype.h"

enum { SUFFIX_SIZE = 160, REASON_SIZE = 80 };

/* Returns "/attr/<name>", escaped as RFC 6901 demands. */
static const char *
attr_suffix(Slice name, char ret_suffix[SUFFIX_SIZE])
{
    size_t size = (size_t)snprintf(ret_suffix, SUFFIX_SIZE, "/attr/");
    for (size_t index = 0; index < name.size && size + 3 < SUFFIX_SIZE; index++) {
        char byte = name.data[index];
        bool is_special = byte == '~' || byte == '/';
        ret_suffix[size++] = is_special ? '~' : byte;
        if (is_special) {
            ret_suffix[size++] = byte == '~' ? '0' : '1';
        }
    }
    ret_suffix[size] = '\0';
    return ret_suffix;
}

static void
attr_fault(Linker *linker, const Node *node, Slice name, const char *reason)
{
    char suffix[SUFFIX_SIZE];
    Slice shown = slice_part(name, 0, 64);
    link_fault(linker, node, attr_suffix(name, suffix), "attribute '%.*s' %s", SLICE_PRINT(shown), reason);
}

/* Refuses a value that stands for no Dtype. */
static void
type_fault(Linker *linker, const Node *node, Slice name, const AttrValue *given)
{
    char reason[REASON_SIZE];
    const char *type = foreign_dtype_tensorflow(given->foreign_type);
    (void)snprintf(reason, sizeof reason, "is %s, which is not supported", type == NULL ? "" : type);
    attr_fault(linker, node, name, type == NULL ? "is not a type" : reason);
}

static bool
kind_fits(const OpAttribute *declared, const AttrValue *given)
{
    bool is_empty_list = given->is_list && given->value.list.count == 0;
    return given->is_list == declared->is_list && (given->kind == declared->kind || is_empty_list);
}

static void
check_kind(Linker *linker, const Node *node, const OpAttribute *declared, const AttrValue *given)
{
    if (kind_fits(declared, given)) {
        return;
    }
    char suffix[SUFFIX_SIZE];
    link_fault(linker, node, attr_suffix(declared->name, suffix), "attribute '%.*s' is %s%s, expected %s%s",
        SLICE_PRINT(declared->name), given->is_list ? "a list of " : "", attr_kind_name(given->kind),
        declared->is_list ? "a list of " : "", attr_kind_name(declared->kind));
}

/* Notes an attribute that asks for what this release does not know. That is a fault only where the node is to
 * run: a graph may have nodes that no step needs. */
static void
note_foreign(Linker *linker, Node *node, Slice name, const char *reason)
{
    if (linker->limits.is_to_run) {
        attr_fault(linker, node, name, reason);
    }
    for (size_t index = 0; node->foreign == NULL && index < node->def->attr_count; index++) {
        const Attr *given = &node->def->attrs[index];
        node->foreign = slice_equal(given->name, name) ? given : NULL;
    }
}

static void
check_fixed(Linker *linker, Node *node, const OpAttribute *declared, const AttrValue *given)
{
    bool are_empty = declared->is_list && declared->default_value.value.list.count == 0 && given->is_list &&
                     given->value.list.count == 0;
    if (declared->is_fixed && !are_empty && !attr_value_equal(given, &declared->default_value)) {
        note_foreign(linker, node, declared->name, "may only have its default value here");
    }
}

static void
check_minimum(Linker *linker, const Node *node, const OpAttribute *declared, const AttrValue *given)
{
    bool is_number = given->kind == ATTR_INT && !given->is_list;
    if (declared->has_minimum && is_number && given->value.i < declared->minimum) {
        char suffix[SUFFIX_SIZE];
        link_fault(linker, node, attr_suffix(declared->name, suffix),
            "attribute '%.*s' is %lld, not at least %lld", SLICE_PRINT(declared->name),
            (long long)given->value.i, (long long)declared->minimum);
    }
}

static void
bind_declared(Linker *linker, Node *node, const OpAttribute *declared, Attr *attr)
{
    const AttrValue *given = node_def_attr(node->def, declared->name);
    attr->name = declared->name;
    if (given != NULL) {
        check_kind(linker, node, declared, given);
        check_fixed(linker, node, declared, given);
        check_minimum(linker, node, declared, given);
        attr->value = *given;
    } else if (declared->has_default) {
        attr->value = declared->default_value;
    } else {
        attr->value = (AttrValue){.kind = declared->kind, .is_list = declared->is_list};
        if (declared->kind != ATTR_TYPE || declared->is_list || !node_binds_types(node)) {
            attr_fault(linker, node, declared->name, "is missing");
        }
    }
    if (declared->kind == ATTR_TYPE && !declared->is_list && given != NULL && !given->is_list &&
        given->value.type == DTYPE_INVALID && !node_binds_types(node)) {
        type_fault(linker, node, declared->name, given);
    }
}

static bool
op_declares(const Op *op, Slice name)
{
    for (size_t index = 0; index < op->attr_count; index++) {
        if (slice_equal(op->attrs[index].name, name)) {
            return true;
        }
    }
    return false;
}

static void
check_colocation(Linker *linker, const Node *node, const AttrValue *value)
{
    static const Slice prefix = {.data = "loc:@", .size = 5};
    for (size_t index = 0; value->is_list && index < value->value.list.count; index++) {
        const AttrValue *item = &value->value.list.items[index];
        if (item->kind == ATTR_STRING && slice_starts_with(item->value.s, prefix) &&
            map_get(linker->graph->by_name, slice_part(item->value.s, prefix.size, SIZE_MAX)) == NULL) {
            attr_fault(linker, node, SLICE("_class"), "colocates with a node that does not exist");
        }
    }
}

/* Keeps attributes whose names begin with '_', leaves out undeclared ones, and notes those that do not have
 * their default value. */
static size_t
bind_undeclared(Linker *linker, Node *node, Attr *attrs, size_t count)
{
    for (size_t index = 0; index < node->def->attr_count; index++) {
        const Attr *given = &node->def->attrs[index];
        bool is_free = given->name.size > 0 && given->name.data[0] == '_';
        if (node->op != NULL && op_declares(node->op, given->name)) {
            continue;
        }
        if (!is_free && node->op != NULL) {
            if (!given->is_default) {
                note_foreign(linker, node, given->name, "is not declared by the op");
            }
            continue;
        }
        if (slice_equal(given->name, SLICE("_class"))) {
            check_colocation(linker, node, &given->value);
        }
        attrs[count++] = *given;
    }
    return count;
}

/* Returns false when an attribute is no usable count of tensors. */
static bool
check_counts(Linker *linker, const Node *node, const OpArgument *arguments, size_t argument_total)
{
    size_t total = 0;
    for (size_t index = 0; index < argument_total; index++) {
        size_t count = argument_count(node, &arguments[index]);
        total += count > LINK_OUTPUT_COUNT_MAX ? LINK_OUTPUT_COUNT_MAX + 1 : count;
        if (total > LINK_OUTPUT_COUNT_MAX) {
            bool is_number = arguments[index].number_attr.size > 0;
            attr_fault(linker, node,
                is_number ? arguments[index].number_attr : arguments[index].type_list_attr,
                "is no count of tensors");
            return false;
        }
    }
    return true;
}

static size_t
required_input_count(const Node *node)
{
    size_t required = 0;
    size_t total = 0;
    for (size_t index = 0; index < node->op->input_count; index++) {
        total += argument_count(node, &node->op->inputs[index]);
        required = node->op->inputs[index].is_optional ? required : total;
    }
    return required;
}

static void
check_absent_inputs(Linker *linker, const Node *node)
{
    size_t position = 0;
    for (size_t index = 0; index < node->op->input_count; index++) {
        const OpArgument *argument = &node->op->inputs[index];
        size_t count = argument_count(node, argument);
        for (size_t item = 0; item < count && position < node->input_count; item++, position++) {
            if (node->inputs[position].node == NODE_NONE && !argument->is_optional) {
                link_fault(linker, node, "/input", "input %zu ('%.*s') may not be absent", position,
                    SLICE_PRINT(argument->name));
            }
        }
    }
}

/* ONNX may leave out optional inputs at the end; a linked node has all that its op declares. */
static Status
add_absent_inputs(Linker *linker, Node *node, size_t expected)
{
    if (node->input_count == expected) {
        return STATUS_OK;
    }
    Endpoint *inputs = link_alloc(linker, expected, sizeof *inputs);
    if (inputs == NULL) {
        return call_fail_memory(linker->call, "the graph's edges");
    }
    for (size_t index = 0; index < expected; index++) {
        inputs[index] = index < node->input_count ? node->inputs[index] : (Endpoint){.node = NODE_NONE};
    }
    node->inputs = inputs;
    node->input_count = (uint32_t)expected;
    return STATUS_OK;
}

static Status
link_arity(Linker *linker, Node *node)
{
    const Op *op = node->op;
    if (!check_counts(linker, node, op->inputs, op->input_count) ||
        !check_counts(linker, node, op->outputs, op->output_count)) {
        return STATUS_OK;
    }
    size_t expected = 0;
    for (size_t index = 0; index < op->input_count; index++) {
        expected += argument_count(node, &op->inputs[index]);
    }
    size_t required = required_input_count(node);
    if (node->input_count > expected || node->input_count < required) {
        link_fault(linker, node, "/input", "has %u data input%s, op '%.*s' takes %zu", node->input_count,
            node->input_count == 1 ? "" : "s", SLICE_PRINT(op->name),
            node->input_count < required ? required : expected);
        return STATUS_OK;
    }
    check_absent_inputs(linker, node);
    return add_absent_inputs(linker, node, expected);
}

/* A constant with a value of another dtype than it claims would be misread by the nodes behind it. */
static void
check_constant(Linker *linker, const Node *node)
{
    if (node->op == NULL || !slice_equal(node->def->op, SLICE("Const"))) {
        return;
    }
    Dtype claimed = node_attr_type(node, "dtype");
    Dtype actual = node_attr_tensor(node, "value")->dtype;
    if (claimed != actual) {
        link_fault(linker, node, "/attr/value", "attribute 'value' is %s, 'dtype' says %s",
            dtype_name(actual), dtype_name(claimed));
    }
}

static bool
holds_absent(const AttrValue *value)
{
    if (value->kind != ATTR_TENSOR) {
        return false;
    }
    size_t count = value->is_list ? value->value.list.count : 1;
    const AttrValue *items = value->is_list ? value->value.list.items : value;
    for (size_t index = 0; index < count; index++) {
        if (tensor_is_absent(&items[index].value.tensor)) {
            return true;
        }
    }
    return false;
}

static void
check_absent_value(Linker *linker, const Node *node, const Attr *attr)
{
    if (holds_absent(&attr->value)) {
        link_fault(linker, node, "/attr", "attribute '%.*s' has a value that is not in the graph",
            SLICE_PRINT(slice_part(attr->name, 0, 128)));
    }
}

/* Elements may be absent in a Const's value alone: the planner knows to name that by its digest. */
static void
check_absent_values(Linker *linker, const Node *node)
{
    bool may_be = !linker->limits.is_to_run && slice_equal(node->def->op, SLICE("Const"));
    for (size_t index = 0; index < node->attr_count; index++) {
        const Attr *attr = &node->attrs[index];
        if (!may_be || !slice_equal(attr->name, SLICE("value"))) {
            check_absent_value(linker, node, attr);
        }
    }
    if (node->foreign != NULL) {
        check_absent_value(linker, node, node->foreign);
    }
}

static Status
link_node_attrs(Linker *linker, Node *node)
{
    size_t declared = node->op == NULL ? 0 : node->op->attr_count;
    Attr *attrs = link_alloc(linker, declared + node->def->attr_count, sizeof *attrs);
    if (attrs == NULL) {
        return call_fail_memory(linker->call, "the graph's attributes");
    }
    size_t faults = linker->fault_count;
    for (size_t index = 0; index < declared; index++) {
        bind_declared(linker, node, &node->op->attrs[index], &attrs[index]);
    }
    node->attr_count = bind_undeclared(linker, node, attrs, declared);
    node->attrs = attrs;
    linker->attrs[node->id] = attrs;
    if (linker->fault_count == faults) {
        check_constant(linker, node);
        check_absent_values(linker, node);
    }
    bool is_countable = node->op != NULL && node->inputs != NULL && linker->fault_count == faults;
    return is_countable ? link_arity(linker, node) : STATUS_OK;
}

Status
link_attrs(Linker *linker)
{
    for (uint32_t id = 0; id < linker->graph->node_count; id++) {
        TRY(link_node_attrs(linker, &linker->graph->nodes[id]));
    }
    return STATUS_OK;
}
