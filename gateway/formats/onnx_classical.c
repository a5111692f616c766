/* Operators of ai.onnx.ml, which classical models are exported with (scikit-learn, XGBoost, LightGBM),
 * spelled out in ONNX's and an ensemble of trees. Numbers become float32, as ONNX Runtime's do. */
#include <math.h>

#include "gateway/formats/onnx_classical.h"

AttrValue
classical_list(const OnnxNode *node, const char *name, AttrKind kind)
{
    const AttrValue *value = onnx_attr(node, name);
    AttrValue none = {.kind = kind, .is_list = true};
    return value == NULL || !value->is_list || value->kind != kind ? none : *value;
}

/* Emits a constant matrix [columns, rows] of a list that has it row by row. */
static Status
emit_matrix(OnnxImport *import, const OnnxNode *node, const char *part, const AttrValue *list, size_t rows,
    Slice *ret_name)
{
    size_t columns = list->value.list.count / rows;
    Shape shape = {.rank = 2, .dims = {(int64_t)columns, (int64_t)rows}};
    Tensor tensor;
    int64_t total = 0;
    TRY(builder_tensor(import->builder, DTYPE_FLOAT32, &shape, &tensor, &total));
    for (size_t index = 0; index < rows * columns; index++) {
        size_t place = index % columns * rows + index / columns;
        memcpy((float *)tensor.data + place, &list->value.list.items[index].value.f, sizeof(float));
    }
    TRY(onnx_part_name(import, node->name, part, ret_name));
    return onnx_emit_const(import, *ret_name, &tensor);
}

static Status
emit_vector(
    OnnxImport *import, const OnnxNode *node, const char *part, const AttrValue *list, Slice *ret_name)
{
    Shape shape = shape_vector((int64_t)list->value.list.count);
    Tensor tensor;
    int64_t total = 0;
    TRY(builder_tensor(import->builder, DTYPE_FLOAT32, &shape, &tensor, &total));
    for (size_t index = 0; index < list->value.list.count; index++) {
        memcpy((float *)tensor.data + index, &list->value.list.items[index].value.f, sizeof(float));
    }
    TRY(onnx_part_name(import, node->name, part, ret_name));
    return onnx_emit_const(import, *ret_name, &tensor);
}

Status
classical_transform(OnnxImport *import, const OnnxNode *node, Slice given, Slice *scores)
{
    static const char *const pairs[][2] = {{"LOGISTIC", "Sigmoid"}, {"SOFTMAX", "Softmax"}};
    if (given.size == 0 || slice_equals_string(given, "NONE")) {
        return STATUS_OK;
    }
    for (size_t index = 0; index < COUNT_OF(pairs); index++) {
        if (slice_equals_string(given, pairs[index][0])) {
            Slice given_scores = *scores;
            return spell_emit(import, node, pairs[index][1], &given_scores, 1, scores);
        }
    }
    return call_fail(import->call, STATUS_UNIMPLEMENTED, "post_transform '%.*s' cannot be imported",
        SLICE_PRINT(slice_part(given, 0, 64)));
}

/* Emits X × coefficients + intercepts, for so many rows of coefficients. */
static Status
emit_linear(OnnxImport *import, const OnnxNode *node, size_t rows, Slice *ret_scores)
{
    AttrValue coefficients = classical_list(node, "coefficients", ATTR_FLOAT);
    AttrValue intercepts = classical_list(node, "intercepts", ATTR_FLOAT);
    size_t count = coefficients.value.list.count;
    Slice matrix;
    Slice addend;
    TRY(spell_check_inputs(import, node, 1, 1));
    if (rows == 0 || count == 0 || count % rows != 0) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT,
            "%zu coefficients cannot be cut into %zu rows", count, rows);
    }
    if (intercepts.value.list.count != 0 && intercepts.value.list.count != rows) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT, "'intercepts' has %zu items, not %zu",
            intercepts.value.list.count, rows);
    }
    TRY(spell_floats(import, node, node->inputs[0], ret_scores));
    TRY(emit_matrix(import, node, "coefficients", &coefficients, rows, &matrix));
    TRY(spell_pair(import, node, "MatMul", *ret_scores, matrix, ret_scores));
    if (intercepts.value.list.count == 0) {
        return STATUS_OK;
    }
    TRY(emit_vector(import, node, "intercepts", &intercepts, &addend));
    return spell_pair(import, node, "Add", *ret_scores, addend, ret_scores);
}

static Status
spell_linear_regressor(OnnxImport *import, OnnxNode *node, const char *argument, size_t count)
{
    (void)argument;
    Slice scores;
    int64_t targets = spell_int(node, "targets", (int64_t)count);
    TRY(emit_linear(import, node, targets < 0 ? 0 : (size_t)targets, &scores));
    TRY(classical_transform(import, node, spell_text(node, "post_transform"), &scores));
    spell_outputs(node, &scores, 1);
    return STATUS_OK;
}

Status
classical_labels(
    const OnnxImport *import, const OnnxNode *node, const char *of_numbers, OnnxLabels *ret_labels)
{
    AttrValue texts = classical_list(node, "classlabels_strings", ATTR_STRING);
    ret_labels->list = texts.value.list.count > 0 ? texts : classical_list(node, of_numbers, ATTR_INT);
    ret_labels->count = ret_labels->list.value.list.count;
    return ret_labels->count > 0
               ? STATUS_OK
               : call_fail(import->call, STATUS_INVALID_ARGUMENT, "there are no class labels");
}

static Status
emit_labels(OnnxImport *import, const OnnxNode *node, const OnnxLabels *labels, Slice *ret_name)
{
    Attr attr = {.name = SLICE("value"), .value = labels->list};
    OnnxNode constant = {.attrs = &attr, .attr_count = 1, .pointer = node->pointer};
    TRY(onnx_part_name(import, node->name, "labels", &constant.name));
    *ret_name = constant.name;
    return onnx_emit_constant(import, &constant);
}

/* Emits the labels of the classes with these positions. */
static Status
choose_labels(
    OnnxImport *import, const OnnxNode *node, const OnnxLabels *labels, Slice positions, Slice *ret_labels)
{
    Slice all;
    Attr names[2] = {{.name = SLICE("names"), .value = labels->list}};
    OnnxNode texts = {.type = SLICE("ai.onnx.ml::_ClassNames"),
        .inputs = &positions,
        .input_count = 1,
        .attrs = names,
        .attr_count = 1};
    if (labels->list.kind == ATTR_STRING) {
        return spell_foreign(import, node, "names", &texts, ret_labels);
    }
    TRY(emit_labels(import, node, labels, &all));
    return spell_pair(import, node, "Gather", all, positions, ret_labels);
}

Status
classical_classes(OnnxImport *import, OnnxNode *node, const OnnxLabels *labels, Slice scores)
{
    Slice ends[2];
    Slice highest;
    Attr attrs[] = {spell_int_attr("axis", 1), spell_int_attr("keepdims", 0)};
    OnnxNode argmax = {
        .type = SLICE("ArgMax"), .inputs = &scores, .input_count = 1, .attrs = attrs, .attr_count = 2};
    TRY(onnx_emit_part(import, node, "ArgMax", &argmax, &highest));
    TRY(choose_labels(import, node, labels, highest, &ends[0]));
    ends[1] = scores;
    TRY(classical_transform(import, node, spell_text(node, "post_transform"), &ends[1]));
    TRY(spell_check_outputs(import, node, COUNT_OF(ends)));
    spell_outputs(node, ends, node->output_count);
    return STATUS_OK;
}

Status
classical_two_classes(
    OnnxImport *import, OnnxNode *node, const OnnxLabels *labels, Slice score, OnnxOneScore rule)
{
    bool is_logistic = slice_equals_string(spell_text(node, "post_transform"), "LOGISTIC");
    static const int64_t first = -1;
    Slice ends[2];
    Slice two[2] = {SLICE(""), score};
    Slice number;
    Slice scores;
    Attr attrs[] = {spell_int_attr("axis", 1), spell_int_attr("N", 2)};
    OnnxNode concat = {
        .type = SLICE("Concat"), .inputs = two, .input_count = 2, .attrs = attrs, .attr_count = 2};
    TRY(spell_number(import, node, "threshold", rule.threshold, &number));
    TRY(spell_pair(import, node, "Greater", score, number, &ends[0]));
    TRY(spell_with(import, node, "Cast", ends[0], spell_type_attr("to", DTYPE_INT64), &ends[0]));
    TRY(spell_ints(import, node, "last", &first, 1, &number));
    TRY(spell_pair(import, node, "Squeeze", ends[0], number, &ends[0]));
    TRY(choose_labels(import, node, labels, ends[0], &ends[0]));
    TRY(spell_number(import, node, "whole", rule.whole, &number));
    TRY(spell_pair(import, node, "Sub", number, score, &two[0]));
    TRY(onnx_emit_part(import, node, "scores", &concat, &scores));
    ends[1] = scores;
    TRY(is_logistic && rule.whole == 0 ? spell_emit(import, node, "Sigmoid", &scores, 1, &ends[1])
                                       : STATUS_OK);
    TRY(spell_check_outputs(import, node, COUNT_OF(ends)));
    spell_outputs(node, ends, node->output_count);
    return STATUS_OK;
}

static Status
spell_linear_classifier(OnnxImport *import, OnnxNode *node, const char *of_numbers, size_t count)
{
    OnnxLabels labels;
    Slice scores;
    TRY(classical_labels(import, node, of_numbers, &labels));
    size_t intercepts = classical_list(node, "intercepts", ATTR_FLOAT).value.list.count;
    bool has_one_score = labels.count == count && intercepts == 1;
    TRY(emit_linear(import, node, has_one_score ? 1 : labels.count, &scores));
    OnnxOneScore rule = {
        .threshold = 0, .whole = slice_equals_string(spell_text(node, "post_transform"), "LOGISTIC") ? 0 : 1};
    return has_one_score ? classical_two_classes(import, node, &labels, scores, rule)
                         : classical_classes(import, node, &labels, scores);
}

/* Support vectors tell classes apart in pairs; the class with most votes gives the label. */
static Status
spell_svm_classifier(OnnxImport *import, OnnxNode *node, const char *type, size_t inputs)
{
    OnnxLabels labels;
    Slice positions;
    Slice ends[2];
    size_t classes = classical_list(node, "vectors_per_class", ATTR_INT).value.list.count;
    Slice after = spell_text(node, "post_transform");
    TRY(spell_check_inputs(import, node, inputs, inputs));
    TRY(classical_labels(import, node, "classlabels_ints", &labels));
    if (classes == 0 || (after.size > 0 && !slice_equals_string(after, "NONE"))) {
        return spell_refuse(import, "an SVMClassifier without vectors_per_class, or with a post_transform,");
    }
    if (classes != labels.count) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT, "%zu labels are given for %zu classes",
            labels.count, classes);
    }
    OnnxNode scores = *node;
    scores.type = slice_from_string(type);
    onnx_attr_remove(&scores, "classlabels_ints");
    onnx_attr_remove(&scores, "classlabels_strings");
    onnx_attr_remove(&scores, "post_transform");
    TRY(spell_foreign(import, node, "scores", &scores, &positions));
    TRY(choose_labels(import, node, &labels, positions, &ends[0]));
    TRY(spell_port(import, positions, 1, &ends[1]));
    TRY(spell_check_outputs(import, node, COUNT_OF(ends)));
    spell_outputs(node, ends, node->output_count);
    return STATUS_OK;
}

/* Joins rows of features, each as float32 with as many columns as inputdimensions says. */
static Status
spell_feature_vectorizer(OnnxImport *import, OnnxNode *node, const char *type, size_t inputs)
{
    AttrValue sizes = classical_list(node, "inputdimensions", ATTR_INT);
    TRY(spell_check_inputs(import, node, inputs, node->input_count));
    if (sizes.value.list.count != node->input_count) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT,
            "inputdimensions has %zu items for %zu inputs", sizes.value.list.count, node->input_count);
    }
    for (size_t index = 0; index < node->input_count; index++) {
        int64_t rows[] = {-1, sizes.value.list.items[index].value.i};
        Slice shape;
        Slice floats;
        TRY(spell_floats(import, node, node->inputs[index], &floats));
        TRY(spell_ints(import, node, "rows", rows, COUNT_OF(rows), &shape));
        TRY(spell_pair(import, node, "Reshape", floats, shape, &node->inputs[index]));
    }
    node->type = slice_from_string(type);
    node->is_default_domain = true;
    node->attr_count = 0;
    onnx_attr_set(node, "axis", spell_int_attr("", 1).value);
    return STATUS_OK;
}

static Status
spell_scaler(OnnxImport *import, OnnxNode *node, const char *argument, size_t inputs)
{
    (void)argument;
    AttrValue offset = classical_list(node, "offset", ATTR_FLOAT);
    AttrValue scale = classical_list(node, "scale", ATTR_FLOAT);
    Slice ends[2];
    Slice number;
    TRY(spell_check_inputs(import, node, inputs, inputs));
    TRY(spell_floats(import, node, node->inputs[0], &ends[0]));
    if (offset.value.list.count > 0) {
        TRY(emit_vector(import, node, "offset", &offset, &number));
        TRY(spell_pair(import, node, "Sub", ends[0], number, &ends[0]));
    }
    if (scale.value.list.count == 0) {
        spell_outputs(node, ends, 1);
        return STATUS_OK;
    }
    TRY(emit_vector(import, node, "scale", &scale, &ends[1]));
    spell_become(node, "Mul", ends, 2);
    return STATUS_OK;
}

static Status
spell_binarizer(OnnxImport *import, OnnxNode *node, const char *argument, size_t inputs)
{
    (void)argument;
    Slice ends[2] = {spell_input(node, 0), spell_input(node, 0)};
    Slice threshold;
    TRY(spell_check_inputs(import, node, inputs, inputs));
    TRY(spell_number_like(import, node, "threshold", spell_float(node, "threshold", 0), ends[1], &threshold));
    TRY(spell_pair(import, node, "Greater", ends[0], threshold, &ends[0]));
    spell_become(node, "CastLike", ends, 2);
    return STATUS_OK;
}

/* Divides each row by a norm of it; a row whose norm is 0 stays as it is. */
static Status
spell_normalizer(OnnxImport *import, OnnxNode *node, const char *argument, size_t inputs)
{
    static const char *const reductions[][2] = {
        {"L1", "ReduceL1"}, {"L2", "ReduceL2"}, {"MAX", "ReduceMax"}, {"", "ReduceMax"}};
    (void)argument;
    Slice norm = spell_text(node, "norm");
    Slice row[2];
    Slice ends[2];
    Slice zero;
    size_t index = 0;
    static const int64_t last = -1;
    while (index < COUNT_OF(reductions) && !slice_equals_string(norm, reductions[index][0])) {
        index++;
    }
    TRY(spell_check_inputs(import, node, inputs, inputs));
    if (index == COUNT_OF(reductions)) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT, "there is no norm '%.*s'",
            SLICE_PRINT(slice_part(norm, 0, 64)));
    }
    TRY(spell_floats(import, node, node->inputs[0], &ends[0]));
    row[0] = ends[0];
    TRY(spell_ints(import, node, "last", &last, 1, &row[1]));
    TRY(spell_emit(import, node, reductions[index][1], row, COUNT_OF(row), &ends[1]));
    TRY(spell_number(import, node, "zero", 0, &zero));
    Slice choices[3] = {SLICE(""), SLICE(""), ends[1]};
    TRY(spell_pair(import, node, "Equal", ends[1], zero, &choices[0]));
    TRY(spell_number(import, node, "one", 1, &choices[1]));
    TRY(spell_emit(import, node, "Where", choices, COUNT_OF(choices), &ends[1]));
    spell_become(node, "Div", ends, COUNT_OF(ends));
    return STATUS_OK;
}

/* Elements that equal replaced_value_float, by default 0, become the number of their column; integers are not
 * imputed. */
static Status
spell_imputer(OnnxImport *import, OnnxNode *node, const char *argument, size_t inputs)
{
    (void)argument;
    AttrValue imputed = classical_list(node, "imputed_value_floats", ATTR_FLOAT);
    float replaced = spell_float(node, "replaced_value_float", 0);
    Slice choices[3];
    Slice number;
    TRY(spell_check_inputs(import, node, inputs, inputs));
    if (imputed.value.list.count == 0) {
        return spell_refuse(import, "an Imputer without imputed_value_floats");
    }
    choices[2] = node->inputs[0];
    TRY(emit_vector(import, node, "imputed", &imputed, &choices[1]));
    if (isnan(replaced)) {
        TRY(spell_emit(import, node, "IsNaN", &choices[2], 1, &choices[0]));
    } else {
        TRY(spell_number(import, node, "replaced", replaced, &number));
        TRY(spell_pair(import, node, "Equal", choices[2], number, &choices[0]));
    }
    spell_become(node, "Where", choices, COUNT_OF(choices));
    return STATUS_OK;
}

/* Takes the columns that the second input names. */
static Status
spell_extractor(OnnxImport *import, OnnxNode *node, const char *type, size_t inputs)
{
    static const int64_t all = -1;
    Slice ends[2];
    Slice vector;
    TRY(spell_check_inputs(import, node, inputs, inputs));
    ends[0] = node->inputs[0];
    TRY(spell_ints(import, node, "vector", &all, 1, &vector));
    TRY(spell_pair(import, node, "Reshape", node->inputs[1], vector, &ends[1]));
    spell_become(node, type, ends, 2);
    onnx_attr_set(node, "axis", spell_int_attr("", -1).value);
    return STATUS_OK;
}

/* A map from classes to scores for each row has no dtype in a graph: the scores themselves, [rows, classes],
 * are handed on. */
static Status
spell_zip_map(OnnxImport *import, OnnxNode *node, const char *type, size_t inputs)
{
    TRY(spell_check_inputs(import, node, inputs, inputs));
    Slice scores = node->inputs[0];
    spell_become(node, type, &scores, 1);
    return STATUS_OK;
}

static const OnnxSpelling classical[] = {
    {"ai.onnx.ml::ArrayFeatureExtractor", spell_extractor, "Gather", 2},
    {"ai.onnx.ml::Binarizer", spell_binarizer, NULL, 1},
    {"ai.onnx.ml::FeatureVectorizer", spell_feature_vectorizer, "Concat", 1},
    {"ai.onnx.ml::Imputer", spell_imputer, NULL, 1},
    {"ai.onnx.ml::LinearClassifier", spell_linear_classifier, "classlabels_ints", 2},
    {"ai.onnx.ml::LinearRegressor", spell_linear_regressor, NULL, 1},
    {"ai.onnx.ml::Normalizer", spell_normalizer, NULL, 1},
    {"ai.onnx.ml::Scaler", spell_scaler, NULL, 1},
    {"ai.onnx.ml::SVMClassifier", spell_svm_classifier, "ai.onnx.ml::_SvmScores", 1},
    {"ai.onnx.ml::ZipMap", spell_zip_map, "Identity", 1},
};

const OnnxSpellings onnx_classical_spellings = {classical, COUNT_OF(classical)};
