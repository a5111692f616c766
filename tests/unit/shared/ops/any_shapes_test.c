/* No shape rule may fail on anything that a graph can say: every op is tried with random attributes and
 * inputs of random shapes, half of them constants. A failure names its seed; SEEDS=first:count runs
 * others. */
#include <stdlib.h>

#include "shared/base/text.h"
#include "shared/graph/graph.h"
#include "shared/ops/registry.h"
#include "tests/support/call_fixture.h"

/* A xorshift generator: the same numbers on every machine. */
typedef struct Chance {
    Call *call;
    uint64_t state;
} Chance;

static uint64_t
chance_below(Chance *chance, uint64_t bound)
{
    chance->state ^= chance->state << 13;
    chance->state ^= chance->state >> 7;
    chance->state ^= chance->state << 17;
    return (chance->state >> 11) % bound;
}

static void *
chance_alloc(const Chance *chance, size_t count, size_t size)
{
    void *memory = arena_alloc(chance->call->arena, (count + 1) * size);
    assert_non_null(memory);
    return memory;
}

static int64_t
any_number(Chance *chance)
{
    static const int64_t edges[] = {INT64_MIN, INT64_MIN + 1, -(INT64_C(1) << 33), INT32_MIN, -5, -1, 0, 1, 2,
        3, 5, 16, INT32_MAX, INT64_C(1) << 33, INT64_MAX - 1, INT64_MAX};
    return chance_below(chance, 3) > 0 ? (int64_t)chance_below(chance, 5)
                                       : edges[chance_below(chance, COUNT_OF(edges))];
}

static Shape
any_shape(Chance *chance, bool is_known)
{
    static const int64_t large[] = {-1, -1, 0, 7, INT32_MAX, INT64_C(1) << 40, INT64_MAX};
    bool is_unknown = !is_known && chance_below(chance, 8) == 0;
    Shape shape = {.rank = is_unknown ? -1 : (int)chance_below(chance, 6)};
    for (int axis = 0; axis < shape.rank; axis++) {
        bool is_small = is_known || chance_below(chance, 4) > 0;
        shape.dims[axis] =
            is_small ? (int64_t)chance_below(chance, 4) : large[chance_below(chance, COUNT_OF(large))];
    }
    return shape;
}

static Dtype
any_dtype(Chance *chance)
{
    static const Dtype dtypes[] = {DTYPE_FLOAT32, DTYPE_FLOAT32, DTYPE_FLOAT32, DTYPE_INT32, DTYPE_INT64,
        DTYPE_BOOL, DTYPE_STRING, DTYPE_UINT8, DTYPE_FLOAT64, DTYPE_RESOURCE};
    return dtypes[chance_below(chance, COUNT_OF(dtypes))];
}

static Slice
any_text(Chance *chance)
{
    static const char *const texts[] = {"", "SAME", "VALID", "EXPLICIT", "NHWC", "NCHW", "NCHW_VECT_C",
        "NDHWC", "NOTSET", "SAME_UPPER", "SYMMETRIC", "reflect", "ij,jk->ik", "...a,ab->...b", "i->ii",
        "ij->", "abc,->...", "both"};
    return slice_from_string(texts[chance_below(chance, COUNT_OF(texts))]);
}

static void
release_buffer(void *buffer)
{
    tensor_buffer_unref(buffer);
}

static Tensor
any_tensor(Chance *chance, Dtype dtype)
{
    Shape shape = any_shape(chance, true);
    Tensor tensor = {0};
    assert_true(tensor_new(dtype, &shape, &tensor));
    for (int64_t index = 0; index < tensor_element_count(&tensor); index++) {
        int64_t number = any_number(chance);
        memcpy((char *)tensor.data + (size_t)index * dtype_size(dtype), &number, dtype_size(dtype));
    }
    if (tensor.buffer != NULL) {
        assert_non_null(arena_defer(chance->call->arena, release_buffer, tensor.buffer));
    }
    return tensor;
}

static AttrValue
any_item(Chance *chance, AttrKind kind)
{
    AttrValue value = {.kind = kind};
    if (kind == ATTR_STRING) {
        value.value.s = any_text(chance);
    } else if (kind == ATTR_INT) {
        value.value.i = any_number(chance);
    } else if (kind == ATTR_FLOAT) {
        value.value.f = (float)any_number(chance);
    } else if (kind == ATTR_BOOL) {
        value.value.b = chance_below(chance, 2) == 0;
    } else if (kind == ATTR_TYPE) {
        value.value.type = any_dtype(chance);
    } else if (kind == ATTR_SHAPE) {
        value.value.shape = any_shape(chance, false);
    } else if (kind == ATTR_TENSOR) {
        value.value.tensor = any_tensor(chance, DTYPE_FLOAT32);
    }
    return value;
}

static AttrValue
any_value(Chance *chance, const OpAttribute *declared)
{
    if (!declared->is_list) {
        return any_item(chance, declared->kind);
    }
    size_t count = chance_below(chance, 7);
    AttrValue *items = chance_alloc(chance, count, sizeof *items);
    for (size_t index = 0; index < count; index++) {
        items[index] = any_item(chance, declared->kind);
    }
    return (AttrValue){.kind = declared->kind, .is_list = true, .value.list = {count, items}};
}

static const Attr *
any_attrs(Chance *chance, const Op *op)
{
    Attr *attrs = chance_alloc(chance, op->attr_count, sizeof *attrs);
    for (size_t index = 0; index < op->attr_count; index++) {
        const OpAttribute *declared = &op->attrs[index];
        bool is_usual = declared->is_fixed || (declared->has_default && chance_below(chance, 3) > 0);
        attrs[index] = (Attr){.name = declared->name,
            .value = is_usual ? declared->default_value : any_value(chance, declared)};
    }
    return attrs;
}

static const AttrValue *
find_value(const NodeDef *def, Slice name)
{
    return name.size == 0 ? NULL : node_def_attr(def, name);
}

static Dtype
argument_type(const NodeDef *def, const OpArgument *argument, size_t index)
{
    const AttrValue *list = find_value(def, argument->type_list_attr);
    const AttrValue *type = find_value(def, argument->type_attr);
    return list != NULL   ? list->value.list.items[index].value.type
           : type != NULL ? type->value.type
                          : argument->dtype;
}

static size_t
argument_count(const NodeDef *def, const OpArgument *argument)
{
    const AttrValue *list = find_value(def, argument->type_list_attr);
    const AttrValue *number = find_value(def, argument->number_attr);
    return list != NULL ? list->value.list.count : number != NULL ? (size_t)number->value.i : 1;
}

/* Adds a constant, or a node of which only the shape is known. */
static void
add_source(Chance *chance, NodeDef *def, Slice name, Dtype dtype)
{
    Attr *attrs = chance_alloc(chance, 2, sizeof *attrs);
    bool is_constant = dtype_is_copyable(dtype) && chance_below(chance, 2) == 0;
    attrs[0] = (Attr){.name = SLICE("dtype"), .value = {.kind = ATTR_TYPE, .value.type = dtype}};
    attrs[1] = is_constant ? (Attr){.name = SLICE("value"),
                                 .value = {.kind = ATTR_TENSOR, .value.tensor = any_tensor(chance, dtype)}}
                           : (Attr){.name = SLICE("shape"),
                                 .value = {.kind = ATTR_SHAPE, .value.shape = any_shape(chance, false)}};
    *def = (NodeDef){.name = name,
        .op = is_constant ? SLICE("Const") : SLICE("Placeholder"),
        .device = SLICE(""),
        .attrs = attrs,
        .attr_count = 2};
}

enum { SOURCES_MAX = 64 };

/* Writes the op's node behind a node for each of its inputs; returns how many there are. */
static size_t
write_nodes(Chance *chance, const Op *op, NodeDef nodes[SOURCES_MAX + 1])
{
    Slice *inputs = chance_alloc(chance, SOURCES_MAX, sizeof *inputs);
    NodeDef def = {.name = SLICE("node"),
        .op = op->name,
        .device = SLICE(""),
        .inputs = inputs,
        .attrs = any_attrs(chance, op),
        .attr_count = op->attr_count};
    for (size_t index = 0; index < op->input_count; index++) {
        const OpArgument *argument = &op->inputs[index];
        size_t count = argument_count(&def, argument);
        for (size_t item = 0; item < count && def.input_count < SOURCES_MAX; item++) {
            Slice name = slice_from_string(text_format(chance->call->arena, "in%zu", def.input_count));
            bool is_absent = argument->is_optional && chance_below(chance, 3) == 0;
            add_source(chance, &nodes[def.input_count], name, argument_type(&def, argument, item));
            inputs[def.input_count++] = is_absent ? SLICE("") : name;
        }
    }
    nodes[def.input_count] = def;
    return def.input_count + 1;
}

static bool
are_shapes(const Graph *graph, const Shape *const *shapes)
{
    bool is_ok = true;
    for (uint32_t id = 0; id < graph->node_count; id++) {
        for (uint32_t port = 0; port < graph->nodes[id].output_count; port++) {
            const Shape *shape = &shapes[id][port];
            is_ok = is_ok && shape->rank >= -1 && shape->rank <= SHAPE_RANK_MAX;
            for (int axis = 0; is_ok && axis < shape->rank; axis++) {
                is_ok = shape->dims[axis] >= -1;
            }
        }
    }
    return is_ok;
}

typedef struct Tally {
    size_t linked; /* graphs that link; others prove nothing about shapes */
    size_t wrong;
} Tally;

static void
run_rule(Chance *chance, const Op *op, uint64_t seed, Tally *tally)
{
    NodeDef nodes[SOURCES_MAX + 1];
    AUTO_GRAPH_DEF def = graph_def_new(1 << 20);
    AUTO_GRAPH graph = NULL;
    const Shape *const *shapes = NULL;
    assert_non_null(def);
    def->node_count = write_nodes(chance, op, nodes);
    def->nodes = nodes;
    if (graph_link(chance->call, def, op_find, (GraphLimits){.allows_internal = true}, &graph) != STATUS_OK) {
        return;
    }
    tally->linked++;
    if (graph_infer_shapes(chance->call, graph, NULL, 0, &shapes) == STATUS_OK &&
        !are_shapes(graph, shapes)) {
        print_error(
            "%.*s gives what is no shape with seed %llu\n", SLICE_PRINT(op->name), (unsigned long long)seed);
        tally->wrong++;
    }
}

static void
every_rule_bears_any_shapes(void **state)
{
    Call *call = *state;
    const char *seeds = getenv("SEEDS");
    uint64_t first = seeds == NULL ? 1 : strtoull(seeds, NULL, 10);
    uint64_t count = seeds == NULL ? 100 : strtoull(strchr(seeds, ':') + 1, NULL, 10);
    Tally tally = {0};
    for (size_t index = 0; index < op_count(); index++) {
        for (uint64_t seed = first; seed < first + count; seed++) {
            Chance chance = {.call = call, .state = seed * UINT64_C(0x9e3779b97f4a7c15) + index + 1};
            run_rule(&chance, op_at(index), seed, &tally);
            arena_clear(call->arena);
        }
    }
    assert_int_equal(tally.wrong, 0);
    assert_true(tally.linked > op_count() * 10);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(every_rule_bears_any_shapes),
    };
    return cmocka_run_group_tests_name("shared/ops/any_shapes", tests, NULL, NULL);
}
