#include "shared/graph/linker.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

void
link_fault(Linker *linker, const Node *node, const char *suffix, const char *format, ...)
{
    char reason[ERROR_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);

    char message[ERROR_MESSAGE_SIZE];
    Slice name = slice_part(node->name, 0, 128);
    int used = snprintf(message, sizeof message, "node '%.*s': ", SLICE_PRINT(name));
    (void)snprintf(message + used, sizeof message - (size_t)used, "%.*s", (int)sizeof message - used, reason);

    char pointer[ERROR_MESSAGE_SIZE];
    if (node->def->pointer != NULL) {
        (void)snprintf(pointer, sizeof pointer, "%s%s", node->def->pointer, suffix);
    } else {
        (void)snprintf(pointer, sizeof pointer, "/node/%u%s", node->id, suffix);
    }
    call_note(linker->call, pointer, "%s", message);
    if (linker->fault_count++ == 0) {
        memcpy(linker->first_fault, message, sizeof message);
    }
}

Status
link_verdict(const Linker *linker)
{
    if (linker->fault_count == 0) {
        return STATUS_OK;
    }
    if (linker->fault_count == 1) {
        return call_fail(linker->call, STATUS_INVALID_ARGUMENT, "%s", linker->first_fault);
    }
    return call_fail(linker->call, STATUS_INVALID_ARGUMENT, "%.400s, and %zu more", linker->first_fault,
        linker->fault_count - 1);
}

void *
link_alloc(const Linker *linker, size_t count, size_t size)
{
    size_t total = 0;
    assert(size > 0);
    return __builtin_mul_overflow(count, size, &total) ? NULL : arena_alloc(linker->graph->arena, total);
}

bool
node_is_onnx(const Node *node)
{
    Slice op = node->def->op;
    for (size_t index = 0; index + 1 < op.size; index++) {
        if (op.data[index] == ':' && op.data[index + 1] == ':') {
            return true;
        }
    }
    return false;
}

Slice
node_type_source(const Node *node)
{
    const AttrValue *source = node_def_attr(node->def, SLICE("_type_of"));
    return source != NULL && source->kind == ATTR_STRING && !source->is_list ? source->value.s : SLICE("");
}

bool
node_binds_types(const Node *node)
{
    return node_is_onnx(node) || (node->op != NULL && (node->op->flags & OP_CONTROL_FLOW) != 0) ||
           node_type_source(node).size > 0;
}

size_t
argument_count(const Node *node, const OpArgument *argument)
{
    Slice name = argument->number_attr.size > 0 ? argument->number_attr : argument->type_list_attr;
    if (name.size == 0) {
        return 1;
    }
    for (size_t index = 0; index < node->attr_count; index++) {
        const AttrValue *value = &node->attrs[index].value;
        if (slice_equal(node->attrs[index].name, name)) {
            return value->is_list ? value->value.list.count : (size_t)value->value.i;
        }
    }
    return 0;
}
