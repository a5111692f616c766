/* Which variable has which value: the graph's own RestoreV2 names the checkpoint's tensors, and what assigns
 * its outputs the variables. */
#include "gateway/expand/freezing.h"
#include "shared/base/text.h"

static const Node *
behind_identities(const Freezing *freezing, const Node *node, uint32_t input, uint32_t *ret_port)
{
    const Node *source = source_of(freezing, node, input);
    *ret_port = source == NULL ? 0 : node->inputs[input].port;
    while (source != NULL && op_is(source, "Identity")) {
        *ret_port = source->inputs[0].port;
        source = source_of(freezing, source, 0);
    }
    return source;
}

/* The constant strings that come in; NULL when they are none. */
static const Tensor *
strings_at(const Freezing *freezing, const Node *node, uint32_t input)
{
    uint32_t ignored = 0;
    const Node *const constant = behind_identities(freezing, node, input, &ignored);
    const AttrValue *const value =
        constant == NULL || !op_is(constant, "Const") ? NULL : node_attr(constant, "value");
    const bool is_text = value != NULL && value->kind == ATTR_TENSOR && !value->is_list &&
                         value->value.tensor.dtype == DTYPE_STRING;
    return is_text ? &value->value.tensor : NULL;
}

/* --- Restores ------------------------------------------------------------------------------------------- */

size_t
freezing_restored_count(const Freezing *freezing, const Node *restore)
{
    const Tensor *const names = strings_at(freezing, restore, 1);
    return names == NULL ? 0 : (size_t)tensor_element_count(names);
}

/* "4 2 0,2:-": the whole tensor's shape, then the slice of it. */
static const GraphTensor *
find_slice(const Freezing *freezing, Slice name, Slice shape_and_slice)
{
    const size_t blank = slice_find_last(shape_and_slice, ' ');
    const char *const text = text_format(freezing->call->arena, "%.*s %.*s", SLICE_PRINT(name),
        SLICE_PRINT(slice_part(shape_and_slice, blank + 1, SIZE_MAX)));
    return text == NULL ? NULL : map_get(freezing->checkpoint, slice_from_string(text));
}

const GraphTensor *
freezing_restored(const Freezing *freezing, const Node *restore, uint32_t port)
{
    const Tensor *const names = strings_at(freezing, restore, 1);
    const Tensor *const slices = strings_at(freezing, restore, 2);
    if (names == NULL || slices == NULL || port >= tensor_element_count(names) ||
        port >= tensor_element_count(slices)) {
        return NULL;
    }
    const Slice name = ((const Slice *)names->data)[port];
    const Slice slice = ((const Slice *)slices->data)[port];
    return slice.size > 0 ? find_slice(freezing, name, slice) : map_get(freezing->checkpoint, name);
}

/* What the node assigns, when it comes out of the checkpoint. */
static const GraphTensor *
assigned_value(const Freezing *freezing, const Node *node)
{
    uint32_t port = 0;
    const Node *const restore = behind_identities(freezing, node, 1, &port);
    const bool is_restored = restore != NULL && op_is(restore, "RestoreV2");
    return is_restored ? freezing_restored(freezing, restore, port) : NULL;
}

/* --- Variables ------------------------------------------------------------------------------------------ */

static Dtype
variable_dtype(const Node *variable)
{
    const AttrValue *const dtype = node_attr(variable, "dtype");
    return dtype != NULL && dtype->kind == ATTR_TYPE ? dtype->value.type : DTYPE_INVALID;
}

static Status
find_value(const Freezing *freezing, const Node *node)
{
    const bool assigns = op_is(node, "AssignVariableOp") || op_is(node, "Assign");
    const Node *const variable = assigns ? variable_at(freezing, node, 0) : NULL;
    const GraphTensor *const value = variable == NULL ? NULL : assigned_value(freezing, node);
    if (value == NULL) {
        return STATUS_OK;
    }
    if (value->tensor.dtype != variable_dtype(variable)) {
        return call_fail(freezing->call, STATUS_INVALID_ARGUMENT,
            "variable '%.*s' is %s, tensor '%.*s' of the checkpoint is %s", SLICE_PRINT(variable->name),
            dtype_name(variable_dtype(variable)), SLICE_PRINT(value->name), dtype_name(value->tensor.dtype));
    }
    freezing->values[variable->id] = &value->tensor;
    freezing->is_restore[node->id] = true;
    return STATUS_OK;
}

/* One whose result is read does more than to restore. */
static void
leave_those_that_are_read(const Freezing *freezing)
{
    for (uint32_t id = 0; id < freezing->graph->node_count; id++) {
        const Node *const node = &freezing->graph->nodes[id];
        for (uint32_t input = 0; input < node->input_count; input++) {
            const Node *const source = source_of(freezing, node, input);
            if (source != NULL) {
                freezing->is_restore[source->id] = false;
            }
        }
    }
}

Status
freezing_find_values(const Freezing *freezing)
{
    for (uint32_t id = 0; id < freezing->graph->node_count; id++) {
        TRY(find_value(freezing, &freezing->graph->nodes[id]));
    }
    leave_those_that_are_read(freezing);
    return STATUS_OK;
}
