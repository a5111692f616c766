#include <assert.h>

#include "gateway/formats/onnx_import.h"

#include "shared/base/text.h"

typedef struct NameUse {
    uint32_t next; /* number to try for the next node that wants this name */
} NameUse;

static bool
may_stand(char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           byte == '.' || byte == '-' || byte == '/' || byte == '_';
}

/* Drops characters that may not lead a name (PyTorch writes "/conv1/Conv") and puts '_' for those that may
 * not stand in it. */
static Status
sanitize_name(OnnxImport *import, Slice wanted, Slice *ret_name)
{
    while (wanted.size > 0 && (!may_stand(wanted.data[0]) || wanted.data[0] == '-' || wanted.data[0] == '/' ||
                                  wanted.data[0] == '_')) {
        wanted = slice_part(wanted, 1, SIZE_MAX);
    }
    if (wanted.size == 0) {
        *ret_name = SLICE("node");
        return STATUS_OK;
    }
    if (node_name_is_valid(wanted, false)) {
        *ret_name = wanted;
        return STATUS_OK;
    }
    char *text = text_copy(import->builder->def->arena, wanted);
    if (text == NULL) {
        return call_fail_memory(import->call, "names");
    }
    for (size_t index = 0; index < wanted.size; index++) {
        text[index] = may_stand(text[index]) ? text[index] : '_';
    }
    *ret_name = slice_of(text, wanted.size);
    return STATUS_OK;
}

static Status
take_name(OnnxImport *import, Slice name)
{
    NameUse *use = arena_alloc(import->scratch, sizeof *use);
    if (use == NULL || !map_put(import->names, name, use)) {
        return call_fail_memory(import->call, "names");
    }
    return STATUS_OK;
}

Status
onnx_name(OnnxImport *import, Slice wanted, Slice *ret_name)
{
    Slice name = wanted;
    TRY(sanitize_name(import, wanted, &name));
    Slice base = name;
    NameUse *use = map_get(import->names, base);
    while (map_get(import->names, name) != NULL) {
        const char *text =
            text_format(import->builder->def->arena, "%.*s_%u", SLICE_PRINT(base), ++use->next);
        if (text == NULL) {
            return call_fail_memory(import->call, "names");
        }
        name = slice_from_string(text);
    }
    *ret_name = name;
    return take_name(import, name);
}

Status
onnx_part_name(OnnxImport *import, Slice name, const char *part, Slice *ret_name)
{
    const char *text = text_format(import->scratch, "%.*s/%s", SLICE_PRINT(name), part);
    if (text == NULL) {
        return call_fail_memory(import->call, "names");
    }
    Slice copy;
    TRY(builder_copy(import->builder, slice_from_string(text), &copy));
    return onnx_name(import, copy, ret_name);
}

static void
map_release(void *map)
{
    map_free(map);
}

Status
onnx_scope_open(OnnxImport *import, OnnxScope *scope, OnnxScope *outer, OnnxCaptures *captures)
{
    const OnnxScope *before = import->scope;
    size_t depth = before == NULL ? 0 : before->depth + 1;
    if (depth > ONNX_DEPTH_MAX) {
        return call_fail(import->call, STATUS_RESOURCE_EXHAUSTED,
            "subgraphs and functions nest more than %d deep", ONNX_DEPTH_MAX);
    }
    Map *values = map_new();
    *scope = (OnnxScope){.outer = outer, .captures = captures, .depth = depth};
    scope->values = values == NULL ? NULL : arena_defer(import->scratch, map_release, values);
    if (scope->values == NULL) {
        map_free(values);
        return call_fail_memory(import->call, "names");
    }
    import->scope = scope;
    return STATUS_OK;
}

void
onnx_scope_close(OnnxImport *import, OnnxScope *scope, OnnxScope *before)
{
    assert(import->scope == scope);
    scope->values = NULL;
    import->scope = before;
}

static Status
define_in(OnnxImport *import, OnnxScope *scope, Slice value, Slice tensor)
{
    OnnxValue *defined = arena_alloc(import->scratch, sizeof *defined);
    if (defined == NULL || !map_put(scope->values, value, defined)) {
        return call_fail_memory(import->call, "names");
    }
    defined->tensor = tensor;
    return STATUS_OK;
}

Status
onnx_define(OnnxImport *import, Slice value, Slice node, size_t port)
{
    assert(import->scope != NULL);
    if (map_get(import->scope->values, value) != NULL) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT, "the value '%.*s' is defined twice",
            SLICE_PRINT(slice_part(value, 0, 128)));
    }
    Slice tensor = node;
    if (port > 0) {
        const char *text = text_format(import->builder->def->arena, "%.*s:%zu", SLICE_PRINT(node), port);
        if (text == NULL) {
            return call_fail_memory(import->call, "names");
        }
        tensor = slice_from_string(text);
    }
    return define_in(import, import->scope, value, tensor);
}

static Status
new_capture(OnnxImport *import, OnnxCaptures *captures, Slice value, Slice tensor)
{
    OnnxCapture *capture = arena_alloc(import->scratch, sizeof *capture);
    if (capture == NULL || !map_put(captures->by_value, value, capture)) {
        return call_fail_memory(import->call, "captured values");
    }
    capture->tensor = tensor;
    buffer_append(&captures->items, &capture, sizeof(void *));
    return buffer_is_ok(&captures->items) ? onnx_name(import, value, &capture->argument)
                                          : call_fail_memory(import->call, "captured values");
}

static Status
find_in(OnnxImport *import, OnnxScope *scope, Slice value, const OnnxValue **ret_value)
{
    *ret_value = map_get(scope->values, value);
    if (*ret_value != NULL || scope->outer == NULL) {
        return STATUS_OK;
    }
    const OnnxValue *outside = NULL;
    TRY(find_in(import, scope->outer, value, &outside));
    if (outside == NULL) {
        return STATUS_OK;
    }
    const OnnxCapture *capture = map_get(scope->captures->by_value, value);
    if (capture == NULL) {
        TRY(new_capture(import, scope->captures, value, outside->tensor));
        capture = map_get(scope->captures->by_value, value);
    }
    if (capture == NULL) {
        return call_fail_memory(import->call, "captured values");
    }
    TRY(define_in(import, scope, value, capture->argument));
    *ret_value = map_get(scope->values, value);
    return STATUS_OK;
}

Status
onnx_find(OnnxImport *import, Slice value, const OnnxValue **ret_value)
{
    assert(import->scope != NULL);
    return find_in(import, import->scope, value, ret_value);
}
