#include "gateway/formats/onnx_import.h"

#include "shared/base/text.h"

typedef struct NameUse {
    uint32_t next; /* the number to try for the next one that wants this name */
} NameUse;

static bool
may_stand(char byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           byte == '.' || byte == '-' || byte == '/' || byte == '_';
}

/* Without what may not lead ("/conv1/Conv" is how PyTorch writes), with '_' for what may not stand. */
static Status
sanitize(OnnxImport *import, Slice wanted, Slice *ret_name)
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
    char *const text = text_copy(import->builder->def->arena, wanted);
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
    NameUse *const use = arena_alloc(import->scratch, sizeof *use);
    if (use == NULL || !map_put(import->names, name, use)) {
        return call_fail_memory(import->call, "names");
    }
    return STATUS_OK;
}

Status
onnx_name(OnnxImport *import, Slice wanted, Slice *ret_name)
{
    Slice name;
    TRY(sanitize(import, wanted, &name));
    const Slice base = name;
    NameUse *const use = map_get(import->names, base);
    while (map_get(import->names, name) != NULL) {
        const char *const text =
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
    const char *const text = text_format(import->scratch, "%.*s/%s", SLICE_PRINT(name), part);
    if (text == NULL) {
        return call_fail_memory(import->call, "names");
    }
    Slice copy;
    TRY(builder_copy(import->builder, slice_from_string(text), &copy));
    return onnx_name(import, copy, ret_name);
}
