#include "gateway/expand/expansion.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "shared/base/text.h"

/* The record of a name that is taken. */
typedef struct NameUse {
    uint32_t next; /* number to try for the next node that wants it */
} NameUse;

void *
expand_alloc(const Expansion *expansion, size_t count, size_t size)
{
    size_t total = 0;
    return __builtin_mul_overflow(count, size, &total) ? NULL : arena_alloc(expansion->def->arena, total);
}

void *
expand_scratch(const Expansion *expansion, size_t count, size_t size)
{
    size_t total = 0;
    return __builtin_mul_overflow(count, size, &total) ? NULL : arena_alloc(expansion->call->arena, total);
}

Status
endpoints_new(const Expansion *expansion, size_t count, Endpoints *ret_endpoints)
{
    Slice *items = expand_scratch(expansion, count, sizeof *items);
    if (items == NULL) {
        return expand_no_memory(expansion);
    }
    *ret_endpoints = (Endpoints){.items = items, .count = count};
    return STATUS_OK;
}

static Status
take_text(const Expansion *expansion, const char *text, Slice *ret_slice)
{
    if (text == NULL) {
        return expand_no_memory(expansion);
    }
    *ret_slice = slice_from_string(text);
    return STATUS_OK;
}

Status
expand_name(Expansion *expansion, Slice wanted, Slice *ret_name)
{
    Slice name = wanted;
    assert(expansion->names != NULL);
    NameUse *first = map_get(expansion->names, wanted);
    while (map_get(expansion->names, name) != NULL && first != NULL) {
        TRY(take_text(expansion,
            text_format(expansion->def->arena, "%.*s_%u", SLICE_PRINT(wanted), ++first->next), &name));
    }
    NameUse *use = expand_scratch(expansion, 1, sizeof *use);
    if (use == NULL || !map_put(expansion->names, name, use)) {
        return expand_no_memory(expansion);
    }
    *ret_name = name;
    return STATUS_OK;
}

Status
expand_part(Expansion *expansion, Slice name, const char *part, Slice *ret_name)
{
    Slice wanted;
    TRY(take_text(
        expansion, text_format(expansion->def->arena, "%.*s/%s", SLICE_PRINT(name), part), &wanted));
    return expand_name(expansion, wanted, ret_name);
}

Status
expand_item(Expansion *expansion, Slice name, const char *part, size_t index, Slice *ret_name)
{
    Slice wanted;
    TRY(take_text(expansion, text_format(expansion->def->arena, "%.*s/%s%zu", SLICE_PRINT(name), part, index),
        &wanted));
    return expand_name(expansion, wanted, ret_name);
}

Status
expand_port(Expansion *expansion, Slice name, size_t port, Slice *ret_endpoint)
{
    if (port == 0) {
        *ret_endpoint = name;
        return STATUS_OK;
    }
    return take_text(
        expansion, text_format(expansion->def->arena, "%.*s:%zu", SLICE_PRINT(name), port), ret_endpoint);
}

Status
expand_control(Expansion *expansion, Slice endpoint, Slice *ret_control)
{
    Slice node = slice_part(endpoint, 0, slice_find(endpoint, ':'));
    return take_text(expansion, text_format(expansion->def->arena, "^%.*s", SLICE_PRINT(node)), ret_control);
}

Status
expand_fail_with(const Scope *scope, const Member *member, const char *format, ...)
{
    char reason[ERROR_MESSAGE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    Call *call = scope->expansion->call;
    Slice name = slice_part(member->name, 0, 128);
    if (member->pointer != NULL) {
        call_note(call, member->pointer, "node '%.*s': %s", SLICE_PRINT(name), reason);
    }
    return call_fail(call, STATUS_INVALID_ARGUMENT, "node '%.*s': %.300s", SLICE_PRINT(name), reason);
}

Status
expand_function(const Scope *scope, const Member *member, Slice name, const FunctionDef **ret_function)
{
    *ret_function = map_get(scope->expansion->functions, name);
    if (*ret_function != NULL) {
        return STATUS_OK;
    }
    return expand_fail(scope, member, "calls function '%.*s', which the graph does not have",
        SLICE_PRINT(slice_part(name, 0, 128)));
}

static void
map_release(void *map)
{
    map_free(map);
}

Map *
expand_map(const Expansion *expansion)
{
    Map *map = map_new();
    if (map != NULL && arena_defer(expansion->call->arena, map_release, map) == NULL) {
        map_free(map);
        return NULL;
    }
    return map;
}

/* Returns false without memory. */
static bool
remember_first(Map *map, Slice name, char *position)
{
    return map_get(map, name) != NULL || map_put(map, name, position);
}

static bool
collect_names(const FunctionDef *function, const FunctionNames *names)
{
    bool is_ok = true;
    for (size_t index = 0; is_ok && index < function->input_count; index++) {
        is_ok = remember_first(names->arguments, function->inputs[index].name, &names->positions[index]);
    }
    for (size_t index = 0; is_ok && index < function->output_count; index++) {
        is_ok = remember_first(names->outputs, function->outputs[index].name, &names->positions[index]);
    }
    for (size_t index = 0; is_ok && index < function->return_count; index++) {
        is_ok = remember_first(names->returns, function->returns[index].name, &names->positions[index]);
    }
    return is_ok;
}

bool
function_names_find(const FunctionNames *names, const Map *map, Slice name, size_t *ret_position)
{
    const char *position = map_get(map, name);
    *ret_position = position == NULL ? 0 : (size_t)(position - names->positions);
    return position != NULL;
}

const FunctionNames *
expand_function_names(const Expansion *expansion, const FunctionDef *function)
{
    FunctionNames *known = &expansion->library_names[function - expansion->library];
    if (known->returns != NULL) {
        return known;
    }
    size_t position_count = function->input_count + function->output_count + function->return_count + 1;
    FunctionNames names = {.positions = expand_scratch(expansion, position_count, 1),
        .arguments = expand_map(expansion),
        .outputs = expand_map(expansion),
        .returns = expand_map(expansion)};
    if (names.positions == NULL || names.arguments == NULL || names.outputs == NULL ||
        names.returns == NULL || !collect_names(function, &names)) {
        return NULL;
    }
    *known = names;
    return known;
}

const Form *
expand_form(const Expansion *expansion, Slice op)
{
    if (map_get(expansion->functions, op) != NULL) {
        return expansion->call_form;
    }
    for (size_t index = 0; index < expansion->form_count; index++) {
        if (slice_equals_string(op, expansion->forms[index].op)) {
            return &expansion->forms[index];
        }
    }
    return NULL;
}
