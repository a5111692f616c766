#include "gateway/expand/expansion.h"

void
emission_collected(Emission *emission, const char *name, const Collection *collection)
{
    emission_type(emission, name, collection->dtype);
    if (collection->dtype == DTYPE_INVALID) {
        emission_string(emission, "_type_of", collection->value);
    }
}

/* What the function gives as its `index`-th output. */
static Status
open_one(const Scope *scope, const FunctionDef *function, size_t index, Collection *ret_collection)
{
    *ret_collection = (Collection){
        .dtype = function->outputs[index].dtype, .element = function_output_shape(function, index)};
    TRY(expand_part(scope->expansion, scope->within, "collection", &ret_collection->handle));
    return expand_port(scope->expansion, ret_collection->handle, 1, &ret_collection->flow);
}

Status
collections_open(Collections *collections, const FunctionDef *body)
{
    const Loop *const loop = collections->loop;
    Expansion *const expansion = loop->scope->expansion;
    collections->items = expand_scratch(expansion, collections->count, sizeof *collections->items);
    if (collections->items == NULL) {
        return expand_no_memory(expansion);
    }
    for (size_t index = 0; index < collections->count; index++) {
        Collection *const collection = &collections->items[index];
        TRY(open_one(loop->scope, body, collections->first_output + index, collection));
        loop->variables[collections->first_flow + index] =
            (LoopVariable){.initial = collection->flow, .dtype = DTYPE_FLOAT32};
        loop->variables[collections->first_handle + index] =
            (LoopVariable){.initial = collection->handle, .dtype = DTYPE_RESOURCE, .is_invariant = true};
    }
    return STATUS_OK;
}

Status
collections_write(const Collections *collections, const Scope *inside, size_t index, Slice position,
    const Used *used, Slice *next)
{
    const LoopVariable *const variables = collections->loop->variables;
    const size_t flow = collections->first_flow + index;
    Collection *const collection = &collections->items[index];
    Emission node;
    collection->value = used->outputs.items[collections->first_output + index];
    TRY(expand_part(inside->expansion, inside->within, "collected", &next[flow]));
    TRY(emission_begin(&node, inside, next[flow], "TensorArrayWriteV3", 4));
    emission_input(&node, variables[collections->first_handle + index].current);
    emission_input(&node, position);
    emission_input(&node, collection->value);
    emission_input(&node, variables[flow].current);
    emission_collected(&node, "T", collection);
    return emission_end(&node);
}

Status
collection_create(const Scope *scope, const Collection *collection, Slice size)
{
    Emission node;
    TRY(emission_begin(&node, scope, collection->handle, "TensorArrayV3", 1));
    emission_input(&node, size);
    emission_collected(&node, "dtype", collection);
    emission_bool(&node, "dynamic_size", true);
    return emission_end(&node);
}

/* 0, 1, … up to how many there are. */
static Status
emit_places(const Scope *scope, const Collection *collection, Slice flow, Slice *ret_places)
{
    Slice size;
    Slice zero;
    Slice one;
    Emission node;
    TRY(expand_part(scope->expansion, scope->within, "collected_count", &size));
    TRY(emission_begin(&node, scope, size, "TensorArraySizeV3", 2));
    emission_input(&node, collection->handle);
    emission_input(&node, flow);
    TRY(emission_end(&node));
    TRY(emit_number(scope, "zero", DTYPE_INT32, 0, &zero));
    TRY(emit_number(scope, "one", DTYPE_INT32, 1, &one));
    TRY(expand_part(scope->expansion, scope->within, "places", ret_places));
    TRY(emission_begin(&node, scope, *ret_places, "Range", 3));
    emission_input(&node, zero);
    emission_input(&node, size);
    emission_input(&node, one);
    emission_type(&node, "Tidx", DTYPE_INT32);
    return emission_end(&node);
}

Status
collection_stack(const Scope *scope, const Collection *collection, Slice flow, Slice name)
{
    Slice places;
    Emission node;
    TRY(emit_places(scope, collection, flow, &places));
    TRY(emission_begin(&node, scope, name, "TensorArrayGatherV3", 3));
    emission_input(&node, collection->handle);
    emission_input(&node, places);
    emission_input(&node, flow);
    emission_collected(&node, "dtype", collection);
    emission_value(
        &node, "element_shape", (AttrValue){.kind = ATTR_SHAPE, .value.shape = collection->element});
    return emission_end(&node);
}
