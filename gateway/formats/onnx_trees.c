/* Ensembles of trees, whose attributes become tables (shared/ops/trees): a list of attributes takes many
 * times the memory of its numbers. The targets of a classifier's trees are its classes. */
#include "gateway/formats/onnx_classical.h"

#define CLASSIFIER "ai.onnx.ml::TreeEnsembleClassifier"
#define REGRESSOR "ai.onnx.ml::TreeEnsembleRegressor"

static const char *const mode_names[] = {
    "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "LEAF"};

bool
onnx_is_list_of_trees(const OnnxNode *node, Slice name)
{
    static const char *const parts[] = {"nodes_", "class_", "target_"};
    bool is_of_trees =
        slice_equals_string(node->type, CLASSIFIER) || slice_equals_string(node->type, REGRESSOR);
    bool is_list = false;
    for (size_t index = 0; index < COUNT_OF(parts); index++) {
        is_list = is_list || slice_starts_with(name, slice_from_string(parts[index]));
    }
    return is_of_trees && is_list;
}

static Status
find_mode(const OnnxImport *import, Slice name, uint8_t *ret_mode)
{
    for (size_t mode = 0; mode < COUNT_OF(mode_names); mode++) {
        if (slice_equals_string(name, mode_names[mode])) {
            *ret_mode = (uint8_t)mode;
            return STATUS_OK;
        }
    }
    return call_fail(import->call, STATUS_INVALID_ARGUMENT, "there is no mode '%.*s'",
        SLICE_PRINT(slice_part(name, 0, 64)));
}

Status
onnx_read_trees(OnnxImport *import, Slice bytes, const OnnxAttributeProto *proto, AttrValue *ret_value)
{
    if (onnx_attribute_type(proto) != ONNX_STRINGS) {
        return onnx_read_packed(import, bytes, proto, ret_value);
    }
    size_t count = proto->strings.count;
    uint8_t *modes = arena_alloc(import->scratch, count + 1);
    if (modes == NULL) {
        return call_fail_memory(import->call, "a list");
    }
    for (size_t index = 0; index < count; index++) {
        TRY(find_mode(import, proto->strings.items[index], &modes[index]));
    }
    *ret_value = (AttrValue){.kind = ATTR_TENSOR,
        .value.tensor = {.dtype = DTYPE_UINT8, .shape = shape_vector((int64_t)count), .data = modes}};
    return STATUS_OK;
}

/* Which of the names that an attribute has: those of a classifier, or of a regressor. */
typedef enum TreesKind { OF_CLASSIFIER, OF_REGRESSOR, TREES_KINDS } TreesKind;

/* A column of a table, and the attribute that it is copied from. */
typedef struct TreesColumn {
    const char *names[TREES_KINDS];
    size_t column;
    bool is_optional; /* a list of another length counts as zeros */
} TreesColumn;

/* A row of nodes, and of leaves, as _Trees has them. */
enum { NODE_COLUMNS = 7, LEAF_COLUMNS = 3 };

#define OF_NODES(name)                                                                                       \
    {                                                                                                        \
        "nodes_" name, "nodes_" name                                                                         \
    }
#define OF_LEAVES(name)                                                                                      \
    {                                                                                                        \
        "class_" name, "target_" name                                                                        \
    }

static const TreesColumn node_columns[] = {
    {OF_NODES("treeids"), 0, false},
    {OF_NODES("nodeids"), 1, false},
    {OF_NODES("featureids"), 2, false},
    {OF_NODES("modes"), 3, false},
    {OF_NODES("truenodeids"), 4, false},
    {OF_NODES("falsenodeids"), 5, false},
    {OF_NODES("missing_value_tracks_true"), 6, true},
};
static const TreesColumn leaf_columns[] = {
    {OF_LEAVES("treeids"), 0, false},
    {OF_LEAVES("nodeids"), 1, false},
    {OF_LEAVES("ids"), 2, false},
};

/* The numbers of an ensemble: node's values, weights, bases. */
enum { VALUES, WEIGHTS, BASES, NUMBER_LISTS };

typedef struct Trees {
    OnnxImport *import;
    const OnnxNode *node;
    TreesKind kind;
    Dtype dtype; /* of the numbers: float32 unless some are given as float64 */
} Trees;

static const char *const number_names[NUMBER_LISTS][2][TREES_KINDS] = {
    [VALUES] = {OF_NODES("values"), OF_NODES("values_as_tensor")},
    [WEIGHTS] = {OF_LEAVES("weights"), OF_LEAVES("weights_as_tensor")},
    [BASES] = {{"base_values", "base_values"}, {"base_values_as_tensor", "base_values_as_tensor"}},
};

/* Returns how many items an attribute has, as a tensor or as a list. */
static size_t
count_of(const AttrValue *value)
{
    if (value == NULL) {
        return 0;
    }
    return value->is_list               ? value->value.list.count
           : value->kind == ATTR_TENSOR ? (size_t)tensor_element_count(&value->value.tensor)
                                        : 1;
}

/* Reads an integer, or the number of a mode, which is a text in a list that a function passes on. */
static Status
read_integer(const Trees *trees, const AttrValue *value, size_t index, int64_t *ret_integer)
{
    uint8_t mode = 0;
    *ret_integer = 0;
    if (value->kind == ATTR_TENSOR && tensor_to_int64(&value->value.tensor, (int64_t)index, ret_integer)) {
        return STATUS_OK;
    }
    if (value->is_list && value->kind == ATTR_INT) {
        *ret_integer = value->value.list.items[index].value.i;
        return STATUS_OK;
    }
    if (value->is_list && value->kind == ATTR_STRING) {
        TRY(find_mode(trees->import, value->value.list.items[index].value.s, &mode));
        *ret_integer = mode;
        return STATUS_OK;
    }
    return call_fail(trees->import->call, STATUS_INVALID_ARGUMENT, "a list has no integers");
}

static Status
check_count(const Trees *trees, const char *name, size_t count, size_t expected)
{
    return count == expected ? STATUS_OK
                             : call_fail(trees->import->call, STATUS_INVALID_ARGUMENT,
                                   "'%s' has %zu items, not %zu", name, count, expected);
}

static Status
fill_column(const Trees *trees, const TreesColumn *column, size_t width, size_t rows, int32_t *table)
{
    const char *name = column->names[trees->kind];
    const AttrValue *value = onnx_attr(trees->node, name);
    bool is_left_out = column->is_optional && count_of(value) != rows;
    TRY(is_left_out ? STATUS_OK : check_count(trees, name, count_of(value), rows));
    for (size_t row = 0; row < rows; row++) {
        int64_t integer = 0;
        TRY(is_left_out ? STATUS_OK : read_integer(trees, value, row, &integer));
        if (integer < INT32_MIN || integer > INT32_MAX) {
            return call_fail(trees->import->call, STATUS_UNIMPLEMENTED, "%lld in '%s' does not fit 32 bits",
                (long long)integer, name);
        }
        table[row * width + column->column] = (int32_t)integer;
    }
    return STATUS_OK;
}

static Status
emit_table(const Trees *trees, const char *part, const TreesColumn *columns, size_t width, Slice *ret_name)
{
    OnnxImport *import = trees->import;
    Tensor table;
    int64_t total = 0;
    size_t rows = count_of(onnx_attr(trees->node, columns[0].names[trees->kind]));
    Shape shape = {.rank = 2, .dims = {(int64_t)rows, (int64_t)width}};
    TRY(builder_tensor(import->builder, DTYPE_INT32, &shape, &table, &total));
    for (size_t index = 0; index < width; index++) {
        TRY(fill_column(trees, &columns[index], width, rows, table.data));
    }
    TRY(onnx_part_name(import, trees->node->name, part, ret_name));
    return onnx_emit_const(import, *ret_name, &table);
}

/* Returns the attribute that has the numbers, by either name; NULL when there is none. */
static const AttrValue *
find_numbers(const Trees *trees, int list)
{
    const AttrValue *value = onnx_attr(trees->node, number_names[list][0][trees->kind]);
    return count_of(value) > 0 ? value : onnx_attr(trees->node, number_names[list][1][trees->kind]);
}

static Status
read_number(const Trees *trees, const AttrValue *value, size_t index, double *ret_number)
{
    const Tensor *tensor = &value->value.tensor;
    if (value->is_list && value->kind == ATTR_FLOAT) {
        *ret_number = (double)value->value.list.items[index].value.f;
    } else if (value->kind == ATTR_TENSOR && tensor->dtype == DTYPE_FLOAT32) {
        *ret_number = (double)((const float *)tensor->data)[index];
    } else if (value->kind == ATTR_TENSOR && tensor->dtype == DTYPE_FLOAT64) {
        *ret_number = ((const double *)tensor->data)[index];
    } else {
        return call_fail(
            trees->import->call, STATUS_INVALID_ARGUMENT, "a list has no numbers of float32 or float64");
    }
    return STATUS_OK;
}

static Status
emit_numbers(const Trees *trees, int list, const char *part, Slice *ret_name)
{
    OnnxImport *import = trees->import;
    const AttrValue *value = find_numbers(trees, list);
    size_t count = count_of(value);
    Shape shape = shape_vector((int64_t)count);
    Tensor tensor;
    int64_t total = 0;
    TRY(builder_tensor(import->builder, trees->dtype, &shape, &tensor, &total));
    for (size_t index = 0; index < count; index++) {
        double number = 0;
        TRY(read_number(trees, value, index, &number));
        if (trees->dtype == DTYPE_FLOAT64) {
            ((double *)tensor.data)[index] = number;
        } else {
            ((float *)tensor.data)[index] = (float)number;
        }
    }
    TRY(onnx_part_name(import, trees->node->name, part, ret_name));
    return onnx_emit_const(import, *ret_name, &tensor);
}

/* Fails unless there is a value for each node, and a weight for each leaf's row. */
static Status
check_numbers(const Trees *trees)
{
    static const TreesColumn *const tables[] = {[VALUES] = node_columns, [WEIGHTS] = leaf_columns};
    for (int list = 0; list < BASES; list++) {
        size_t rows = count_of(onnx_attr(trees->node, tables[list][0].names[trees->kind]));
        TRY(check_count(
            trees, number_names[list][0][trees->kind], count_of(find_numbers(trees, list)), rows));
    }
    return STATUS_OK;
}

static Dtype
dtype_of_numbers(const Trees *trees)
{
    Dtype dtype = DTYPE_FLOAT32;
    for (int list = 0; list < NUMBER_LISTS; list++) {
        const AttrValue *value = find_numbers(trees, list);
        bool is_double =
            value != NULL && value->kind == ATTR_TENSOR && value->value.tensor.dtype == DTYPE_FLOAT64;
        dtype = is_double ? DTYPE_FLOAT64 : dtype;
    }
    return dtype;
}

/* Emits the ensemble with so many targets. */
static Status
emit_trees(Trees *trees, size_t targets, Slice *ret_scores)
{
    enum { X, NODES, NODE_VALUES, LEAVES, LEAF_WEIGHTS, TARGET_BASES, INPUTS };
    OnnxImport *import = trees->import;
    Slice inputs[INPUTS] = {trees->node->inputs[0]};
    Attr attrs[3 + ONNX_NODE_ROOM] = {spell_int_attr("n_targets", (int64_t)targets)};
    OnnxNode node = {.type = SLICE("ai.onnx.ml::_Trees"),
        .inputs = inputs,
        .input_count = INPUTS,
        .attrs = attrs,
        .attr_count = 1};
    Slice aggregate = spell_text(trees->node, "aggregate_function");
    if (aggregate.size > 0) {
        attrs[node.attr_count++] = spell_text_attr("aggregate_function", aggregate);
    }
    trees->dtype = dtype_of_numbers(trees);
    TRY(check_numbers(trees));
    TRY(emit_table(trees, "nodes", node_columns, NODE_COLUMNS, &inputs[NODES]));
    TRY(emit_table(trees, "leaves", leaf_columns, LEAF_COLUMNS, &inputs[LEAVES]));
    TRY(emit_numbers(trees, VALUES, "values", &inputs[NODE_VALUES]));
    TRY(emit_numbers(trees, WEIGHTS, "weights", &inputs[LEAF_WEIGHTS]));
    TRY(emit_numbers(trees, BASES, "bases", &inputs[TARGET_BASES]));
    attrs[node.attr_count++] = spell_type_attr("V", trees->dtype);
    return spell_foreign(import, trees->node, "trees", &node, ret_scores);
}

/* The weights in the leaves of a classifier's trees. */
typedef struct Leaves {
    bool has_one_class; /* all weights are of the first one, whose score is the second one's then */
    bool is_positive;   /* no weight is negative */
} Leaves;

static Status
read_leaves(const Trees *trees, Leaves *ret_leaves)
{
    const AttrValue *ids = onnx_attr(trees->node, "class_ids");
    const AttrValue *weights = find_numbers(trees, WEIGHTS);
    *ret_leaves = (Leaves){.has_one_class = count_of(ids) > 0, .is_positive = true};
    for (size_t index = 0; index < count_of(ids); index++) {
        int64_t id = 0;
        TRY(read_integer(trees, ids, index, &id));
        ret_leaves->has_one_class = ret_leaves->has_one_class && id == 0;
    }
    for (size_t index = 0; index < count_of(weights); index++) {
        double weight = 0;
        TRY(read_number(trees, weights, index, &weight));
        ret_leaves->is_positive = ret_leaves->is_positive && weight >= 0;
    }
    return STATUS_OK;
}

static Status
spell_classifier(OnnxImport *import, OnnxNode *node, const char *argument, size_t two)
{
    static const float half = 0.5F;
    (void)argument;
    OnnxLabels labels;
    Leaves leaves;
    Slice scores;
    Trees trees = {.import = import, .node = node, .kind = OF_CLASSIFIER};
    TRY(spell_check_inputs(import, node, 1, 1));
    TRY(classical_labels(import, node, "classlabels_int64s", &labels));
    TRY(read_leaves(&trees, &leaves));
    if (labels.count == two && leaves.has_one_class) {
        TRY(emit_trees(&trees, 1, &scores));
        OnnxOneScore rule = {.threshold = leaves.is_positive ? half : 0, .whole = leaves.is_positive ? 1 : 0};
        return classical_two_classes(import, node, &labels, scores, rule);
    }
    TRY(emit_trees(&trees, labels.count, &scores));
    return classical_classes(import, node, &labels, scores);
}

static Status
spell_regressor(OnnxImport *import, OnnxNode *node, const char *argument, size_t inputs)
{
    (void)argument;
    Slice scores;
    Trees trees = {.import = import, .node = node, .kind = OF_REGRESSOR};
    int64_t targets = spell_int(node, "n_targets", 0);
    TRY(spell_check_inputs(import, node, inputs, inputs));
    if (targets < 1) {
        return call_fail(
            import->call, STATUS_INVALID_ARGUMENT, "n_targets is %lld, not at least 1", (long long)targets);
    }
    TRY(emit_trees(&trees, (size_t)targets, &scores));
    TRY(classical_transform(import, node, spell_text(node, "post_transform"), &scores));
    spell_outputs(node, &scores, 1);
    return STATUS_OK;
}

static const OnnxSpelling trees[] = {
    {CLASSIFIER, spell_classifier, NULL, 2},
    {REGRESSOR, spell_regressor, NULL, 1},
};

const OnnxSpellings onnx_trees_spellings = {trees, COUNT_OF(trees)};
