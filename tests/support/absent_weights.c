#include "tests/support/absent_weights.h"

#include "tests/support/cmocka_all.h"

typedef struct Weight {
    Sha256 digest;
    Tensor tensor;
} Weight;

static void
release_buffer(void *buffer)
{
    tensor_buffer_unref(buffer);
}

static void
take_value(AbsentWeights *weights, Arena *arena, AttrValue *value)
{
    Weight weight = {.tensor = tensor_ref(&value->value.tensor)};
    Slice bytes = slice_of(weight.tensor.data, tensor_byte_size(&weight.tensor));
    sha256(bytes, &weight.digest);
    buffer_append(&weights->items, &weight, sizeof weight);
    assert_true(buffer_is_ok(&weights->items));
    assert_true(
        tensor_new_absent(weight.tensor.dtype, &weight.tensor.shape, &weight.digest, &value->value.tensor));
    assert_non_null(arena_defer(arena, release_buffer, value->value.tensor.buffer));
}

static const Attr *
take_attrs(AbsentWeights *weights, Arena *arena, const NodeDef *node)
{
    Attr *attrs = arena_alloc(arena, (node->attr_count + 1) * sizeof *attrs);
    assert_non_null(attrs);
    for (size_t index = 0; index < node->attr_count; index++) {
        attrs[index] = node->attrs[index];
        const Tensor *tensor = &attrs[index].value.value.tensor;
        if (slice_equals_string(attrs[index].name, "value") && attrs[index].value.kind == ATTR_TENSOR &&
            dtype_is_copyable(tensor->dtype) && tensor_element_count(tensor) > 0 &&
            tensor_byte_size(tensor) >= weights->size_min) {
            take_value(weights, arena, &attrs[index].value);
        }
    }
    return attrs;
}

static const NodeDef *
take_nodes(AbsentWeights *weights, Arena *arena, const NodeDef *from, size_t count)
{
    NodeDef *nodes = arena_alloc(arena, (count + 1) * sizeof *nodes);
    assert_non_null(nodes);
    for (size_t index = 0; index < count; index++) {
        nodes[index] = from[index];
        if (slice_equals_string(nodes[index].op, "Const")) {
            nodes[index].attrs = take_attrs(weights, arena, &nodes[index]);
        }
    }
    return nodes;
}

GraphDef *
absent_weights_take(AbsentWeights *weights, GraphDef *def)
{
    GraphDef *taken = graph_def_new(SIZE_MAX);
    assert_non_null(taken);
    Arena *arena = taken->arena;
    int32_t references = taken->reference_count;
    *taken = *def;
    taken->reference_count = references;
    taken->arena = arena;
    taken->source = tensor_buffer_ref(def->source);
    taken->part_count = 0;
    taken->origin = graph_def_ref(def);
    taken->nodes = take_nodes(weights, arena, def->nodes, def->node_count);
    FunctionDef *functions = arena_alloc(arena, (def->function_count + 1) * sizeof *functions);
    assert_non_null(functions);
    for (size_t index = 0; index < def->function_count; index++) {
        functions[index] = def->functions[index];
        functions[index].nodes =
            take_nodes(weights, arena, def->functions[index].nodes, def->functions[index].node_count);
    }
    taken->functions = functions;
    return taken;
}

TensorBuffer *
absent_weights_find(const AbsentWeights *weights, Slice sha256)
{
    Sha256 digest;
    const Weight *items = (const Weight *)(const void *)weights->items.data;
    assert_true(sha256_from_hex(sha256, &digest));
    for (size_t index = 0; index < weights->items.size / sizeof *items; index++) {
        if (sha256_equal(&items[index].digest, &digest)) {
            size_t size = tensor_byte_size(&items[index].tensor);
            TensorBuffer *bytes = tensor_buffer_new(size);
            assert_non_null(bytes);
            memcpy(bytes->data, items[index].tensor.data, size);
            return bytes;
        }
    }
    return NULL;
}

void
absent_weights_done(AbsentWeights *weights)
{
    Weight *items = (Weight *)(void *)weights->items.data;
    for (size_t index = 0; index < weights->items.size / sizeof *items; index++) {
        tensor_unref(&items[index].tensor);
    }
    buffer_done(&weights->items);
}
