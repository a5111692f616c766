#include "gateway/formats/onnx_import.h"
#include "shared/base/text.h"

static void
map_release(void *map)
{
    map_free(map);
}

Status
onnx_scope_open(OnnxImport *import, OnnxScope *scope, OnnxScope *outer, OnnxCaptures *captures)
{
    const OnnxScope *const before = import->scope;
    const size_t depth = before == NULL ? 0 : before->depth + 1;
    if (depth > ONNX_DEPTH_MAX) {
        return call_fail(import->call, STATUS_RESOURCE_EXHAUSTED,
            "subgraphs and functions nest more than %d deep", ONNX_DEPTH_MAX);
    }
    Map *const values = map_new();
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
    scope->values = NULL;
    import->scope = before;
}

/* --- Values --------------------------------------------------------------------------------------------- */

static Status
define_in(OnnxImport *import, OnnxScope *scope, Slice value, Slice tensor)
{
    OnnxValue *const defined = arena_alloc(import->scratch, sizeof *defined);
    if (defined == NULL || !map_put(scope->values, value, defined)) {
        return call_fail_memory(import->call, "names");
    }
    defined->tensor = tensor;
    return STATUS_OK;
}

Status
onnx_define(OnnxImport *import, Slice value, Slice node, size_t port)
{
    if (map_get(import->scope->values, value) != NULL) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT, "the value '%.*s' is defined twice",
            SLICE_PRINT(slice_part(value, 0, 128)));
    }
    Slice tensor = node;
    if (port > 0) {
        const char *const text =
            text_format(import->builder->def->arena, "%.*s:%zu", SLICE_PRINT(node), port);
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
    OnnxCapture *const capture = arena_alloc(import->scratch, sizeof *capture);
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
    return find_in(import, import->scope, value, ret_value);
}
