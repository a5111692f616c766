/* Brings nodes from opset 7 and later to the newest one, by what changed for each operator (ONNX's
 * Changelog.md): a table of steps, each for models below some opset. A node takes all steps that apply, in
 * the table's order. */
#include <assert.h>

#include "gateway/formats/onnx_import.h"

typedef struct Step {
    const char *type;
    int64_t below; /* applies to models that import an older opset; 0: to all */
    Status (*adapt)(OnnxImport *import, OnnxNode *node, const char *argument, size_t position);
    const char *argument;
    size_t position;
} Step;

static AttrValue
text_value(const char *text)
{
    return (AttrValue){.kind = ATTR_STRING, .value.s = slice_from_string(text)};
}

static AttrValue
int_value(int64_t number)
{
    return (AttrValue){.kind = ATTR_INT, .value.i = number};
}

static Status
fail_shape_of(OnnxImport *import, const char *argument, const char *expected)
{
    return call_fail(import->call, STATUS_INVALID_ARGUMENT, "attribute '%s' is not %s", argument, expected);
}

static Status
set_input(OnnxImport *import, OnnxNode *node, size_t position, Slice endpoint)
{
    if (position < node->input_count && node->inputs[position].size > 0) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT,
            "input %zu is given both as an input and as an attribute", position);
    }
    assert(position < ONNX_NODE_ROOM);
    while (node->input_count <= position) {
        node->inputs[node->input_count++] = SLICE("");
    }
    node->inputs[position] = endpoint;
    return STATUS_OK;
}

static Status
const_input(OnnxImport *import, OnnxNode *node, const char *argument, size_t position, const Tensor *value)
{
    Slice name;
    TRY(onnx_part_name(import, node->name, argument, &name));
    TRY(onnx_emit_const(import, name, value));
    return set_input(import, node, position, name);
}

/* The constant is a float32, or, when the model holds other floats, cast when the graph runs. */
Status
onnx_float_input(OnnxImport *import, OnnxNode *node, const char *argument, size_t position, float number)
{
    Tensor tensor;
    int64_t count = 0;
    Shape scalar = shape_scalar();
    TRY(builder_tensor(import->builder, DTYPE_FLOAT32, &scalar, &tensor, &count));
    memcpy(tensor.data, &number, sizeof number);
    if (!import->has_other_floats) {
        return const_input(import, node, argument, position, &tensor);
    }
    Slice inputs[2];
    OnnxNode cast = {
        .type = SLICE("CastLike"), .is_default_domain = true, .inputs = inputs, .input_count = 2};
    TRY(onnx_part_name(import, node->name, argument, &inputs[0]));
    inputs[1] = node->inputs[0];
    TRY(onnx_emit_const(import, inputs[0], &tensor));
    TRY(onnx_part_name(import, inputs[0], "cast", &cast.name));
    TRY(onnx_emit_node(import, &cast));
    return set_input(import, node, position, cast.name);
}

/* Turns an attribute, an int or a list of ints, into an input, a vector of int64. */
static Status
ints_to_input(OnnxImport *import, OnnxNode *node, const char *argument, size_t position)
{
    const AttrValue *value = onnx_attr(node, argument);
    if (value == NULL) {
        return STATUS_OK;
    }
    if (value->kind != ATTR_INT) {
        return fail_shape_of(import, argument, "a list of ints");
    }
    size_t count = value->is_list ? value->value.list.count : 1;
    Shape shape = shape_vector((int64_t)count);
    Tensor tensor;
    int64_t total = 0;
    TRY(builder_tensor(import->builder, DTYPE_INT64, &shape, &tensor, &total));
    for (size_t index = 0; index < count; index++) {
        int64_t number = value->is_list ? value->value.list.items[index].value.i : value->value.i;
        memcpy((int64_t *)tensor.data + index, &number, sizeof number);
    }
    onnx_attr_remove(node, argument);
    return const_input(import, node, argument, position, &tensor);
}

/* Turns an attribute, a list of floats, into an input, a vector of float32. */
static Status
floats_to_input(OnnxImport *import, OnnxNode *node, const char *argument, size_t position)
{
    const AttrValue *value = onnx_attr(node, argument);
    if (value == NULL) {
        return STATUS_OK;
    }
    if (!value->is_list || value->kind != ATTR_FLOAT) {
        return fail_shape_of(import, argument, "a list of floats");
    }
    Shape shape = shape_vector((int64_t)value->value.list.count);
    Tensor tensor;
    int64_t total = 0;
    TRY(builder_tensor(import->builder, DTYPE_FLOAT32, &shape, &tensor, &total));
    for (size_t index = 0; index < value->value.list.count; index++) {
        memcpy((float *)tensor.data + index, &value->value.list.items[index].value.f, sizeof(float));
    }
    onnx_attr_remove(node, argument);
    return const_input(import, node, argument, position, &tensor);
}

/* Turns an attribute, a float, into an input, a scalar of the first input's dtype. */
static Status
float_to_input(OnnxImport *import, OnnxNode *node, const char *argument, size_t position)
{
    const AttrValue *value = onnx_attr(node, argument);
    if (value == NULL) {
        return STATUS_OK;
    }
    if (value->is_list || value->kind != ATTR_FLOAT || node->input_count == 0) {
        return fail_shape_of(import, argument, "a float");
    }
    float number = value->value.f;
    onnx_attr_remove(node, argument);
    return onnx_float_input(import, node, argument, position, number);
}

static Status
count_inputs(OnnxImport *import, OnnxNode *node, const char *argument, size_t position)
{
    (void)import;
    (void)position;
    onnx_attr_set(node, argument, int_value((int64_t)node->input_count));
    return STATUS_OK;
}

static Status
count_outputs(OnnxImport *import, OnnxNode *node, const char *argument, size_t position)
{
    (void)import;
    (void)position;
    onnx_attr_set(node, argument, int_value((int64_t)node->output_count));
    return STATUS_OK;
}

/* Adds the dtype of a ConstantOfShape, which is that of its value; without a value it is a float32 zero. */
static Status
complete_fill(OnnxImport *import, OnnxNode *node, const char *argument, size_t position)
{
    (void)position;
    AttrValue value = {.kind = ATTR_TENSOR};
    const AttrValue *given = onnx_attr(node, argument);
    if (given == NULL) {
        Shape one = shape_vector(1);
        TRY(builder_zeros(import->builder, DTYPE_FLOAT32, &one, &value.value.tensor));
        onnx_attr_set(node, argument, value);
    } else if (given->kind != ATTR_TENSOR || tensor_element_count(&given->value.tensor) != 1) {
        return fail_shape_of(import, argument, "a tensor of one element");
    } else {
        value = *given;
    }
    onnx_attr_set(node, "dtype", (AttrValue){.kind = ATTR_TYPE, .value.type = value.value.tensor.dtype});
    return STATUS_OK;
}

/* Adds the dtype of a quantized output: that of the zero point, else of the attribute output_dtype, else
 * uint8. */
static Status
complete_quantized(OnnxImport *import, OnnxNode *node, const char *argument, size_t position)
{
    (void)import;
    bool has_zero_point = node->input_count > position && node->inputs[position].size > 0;
    const AttrValue *given = onnx_attr(node, "output_dtype");
    AttrValue unsaid = {.kind = ATTR_TYPE, .value.type = DTYPE_UINT8};
    if (!has_zero_point) {
        onnx_attr_set(node, argument, given == NULL ? unsaid : *given);
    }
    return STATUS_OK;
}

/* Completes Resize-10 and Upsample, which have the inputs X and scales and map coordinates in the oldest
 * way. */
static Status
resize_from_upsample(OnnxImport *import, OnnxNode *node, const char *argument, size_t position)
{
    (void)argument;
    (void)position;
    TRY(floats_to_input(import, node, "scales", 1));
    if (node->input_count != 2) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT, "has %zu inputs, not 2", node->input_count);
    }
    Slice scales = node->inputs[1];
    node->inputs[1] = SLICE("");
    node->inputs[2] = scales;
    node->input_count = 3;
    node->type = SLICE("Resize");
    AttrValue *mode = onnx_attr(node, "mode");
    if (mode != NULL && slice_equals_string(mode->value.s, "bilinear")) {
        *mode = text_value("linear");
    }
    onnx_attr_set(node, "coordinate_transformation_mode", text_value("asymmetric"));
    onnx_attr_set(node, "nearest_mode", text_value("floor"));
    return STATUS_OK;
}

/* Refuses the outputs that are statistics of training: only inference is supported. */
static Status
check_batch_normalization(OnnxImport *import, OnnxNode *node, const char *argument, size_t position)
{
    (void)argument;
    (void)position;
    const AttrValue *spatial = onnx_attr(node, "spatial");
    if (node->output_count > 1 || (spatial != NULL && spatial->value.i != 1)) {
        return call_fail(import->call, STATUS_UNIMPLEMENTED,
            "only the form for inference, with spatial=1, can be imported of opset %lld",
            (long long)import->opset);
    }
    onnx_attr_remove(node, "spatial");
    return STATUS_OK;
}

static Status
rename_sample_mode(OnnxImport *import, OnnxNode *node, const char *argument, size_t position)
{
    (void)import;
    (void)position;
    AttrValue *mode = onnx_attr(node, argument);
    if (mode != NULL && slice_equals_string(mode->value.s, "bilinear")) {
        *mode = text_value("linear");
    } else if (mode != NULL && slice_equals_string(mode->value.s, "bicubic")) {
        *mode = text_value("cubic");
    }
    return STATUS_OK;
}

static Status
default_to_half_pixel_output(OnnxImport *import, OnnxNode *node, const char *argument, size_t position)
{
    (void)import;
    (void)position;
    onnx_attr_set(node, argument, text_value("output_half_pixel"));
    return STATUS_OK;
}

/* Scatter-9 is ScatterElements under an older name. */
static Status
rename_operator(OnnxImport *import, OnnxNode *node, const char *argument, size_t position)
{
    (void)import;
    (void)position;
    node->type = slice_from_string(argument);
    return STATUS_OK;
}

/* Spells out an EyeLike whose dtype is its input's. */
static Status
complete_eye(OnnxImport *import, OnnxNode *node, const char *argument, size_t position)
{
    (void)position;
    if (onnx_attr(node, argument) != NULL || node->input_count != 1) {
        return STATUS_OK;
    }
    OnnxNode eye = *node;
    Slice input = node->inputs[0];
    onnx_attr_set(&eye, argument, (AttrValue){.kind = ATTR_TYPE, .value.type = DTYPE_FLOAT32});
    Slice name;
    TRY(onnx_emit_part(import, node, "eye", &eye, &name));
    node->type = SLICE("CastLike");
    node->inputs[0] = name;
    node->inputs[1] = input;
    node->input_count = 2;
    node->attr_count = 0;
    return STATUS_OK;
}

static Status
refuse_version(OnnxImport *import, OnnxNode *node, const char *argument, size_t position)
{
    (void)node;
    (void)argument;
    return call_fail(import->call, STATUS_UNIMPLEMENTED,
        "its form of before opset %zu cannot be imported; convert the model to a newer opset", position);
}

static Status
set_flag(OnnxImport *import, OnnxNode *node, const char *argument, size_t position)
{
    (void)import;
    (void)position;
    onnx_attr_set(node, argument, int_value(1));
    return STATUS_OK;
}

Status
onnx_emit_part(OnnxImport *import, const OnnxNode *whole, const char *part, const OnnxNode *shape_of_part,
    Slice *ret_name)
{
    OnnxNode node = *shape_of_part;
    node.is_default_domain = true;
    node.pointer = whole->pointer;
    TRY(onnx_part_name(import, whole->name, part, &node.name));
    *ret_name = node.name;
    return onnx_emit_node(import, &node);
}

/* Spells out the Softmax of old, which flattened its input to two dimensions at `axis` and normalised the
 * second. At the last axis that is the same as today; elsewhere it becomes Reshape(Softmax(Flatten(X,
 * axis)), Shape(X)). */
static Status
flatten_softmax(OnnxImport *import, OnnxNode *node, const char *argument, size_t position)
{
    (void)argument;
    (void)position;
    const AttrValue *given = onnx_attr(node, "axis");
    AttrValue axis = given == NULL ? int_value(1) : *given;
    AttrValue last = int_value(-1);
    if (axis.kind == ATTR_INT && axis.value.i == -1) {
        return STATUS_OK;
    }
    if (node->input_count != 1) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT, "has %zu inputs, not 1", node->input_count);
    }
    Attr flatten_axis = {.name = SLICE("axis"), .value = axis};
    Attr last_axis = {.name = SLICE("axis"), .value = last};
    Slice flat;
    Slice normal;
    Slice shape;
    OnnxNode shape_of = {.type = SLICE("Shape"), .inputs = node->inputs, .input_count = 1};
    OnnxNode flatten = {.type = SLICE("Flatten"),
        .inputs = node->inputs,
        .input_count = 1,
        .attrs = &flatten_axis,
        .attr_count = 1};
    OnnxNode softmax = {
        .type = node->type, .inputs = &flat, .input_count = 1, .attrs = &last_axis, .attr_count = 1};
    TRY(onnx_emit_part(import, node, "shape", &shape_of, &shape));
    TRY(onnx_emit_part(import, node, "flat", &flatten, &flat));
    TRY(onnx_emit_part(import, node, "normal", &softmax, &normal));
    node->type = SLICE("Reshape");
    node->inputs[0] = normal;
    node->inputs[1] = shape;
    node->input_count = 2;
    node->attr_count = 0;
    return STATUS_OK;
}

/* Adds how many outputs there are of scores, the fourth output: none, or one. */
static Status
count_scores(OnnxImport *import, OnnxNode *node, const char *argument, size_t position)
{
    (void)import;
    onnx_attr_set(node, argument, int_value(node->output_count > position));
    return STATUS_OK;
}

/* Adds a flag that says whether the node has the attribute `argument`, which has no default. */
static Status
flag_ignore_index(OnnxImport *import, OnnxNode *node, const char *argument, size_t position)
{
    (void)position;
    return onnx_attr(node, argument) == NULL ? STATUS_OK : set_flag(import, node, "has_ignore_index", 0);
}

/* Sets an attribute that the node leaves out to a number. */
static Status
default_to_number(OnnxImport *import, OnnxNode *node, const char *argument, size_t position)
{
    (void)import;
    if (onnx_attr(node, argument) == NULL) {
        onnx_attr_set(node, argument, int_value((int64_t)position));
    }
    return STATUS_OK;
}

/* Gives an output that follows no input the dtype of the first one, unless input `position` tells it. */
static Status
type_by_first(OnnxImport *import, OnnxNode *node, const char *argument, size_t position)
{
    (void)import;
    bool is_told = position < node->input_count && node->inputs[position].size > 0;
    if (!is_told && node->input_count > 0) {
        onnx_attr_set(node, argument, (AttrValue){.kind = ATTR_STRING, .value.s = node->inputs[0]});
    }
    return STATUS_OK;
}

static const Step steps[] = {
    {"Attention", 0, count_scores, "score_outputs", 3},
    {"BatchNormalization", 14, check_batch_normalization, NULL, 0},
    {"Clip", 11, float_to_input, "min", 1},
    {"Clip", 11, float_to_input, "max", 2},
    {"Concat", 0, count_inputs, "N", 0},
    {"ConstantOfShape", 0, complete_fill, "value", 0},
    {"DFT", 20, default_to_number, "axis", 1},
    {"DFT", 20, ints_to_input, "axis", 2},
    {"Dropout", 12, float_to_input, "ratio", 1},
    {"Einsum", 0, count_inputs, "N", 0},
    {"EyeLike", 0, complete_eye, "dtype", 0},
    {"GridSample", 20, rename_sample_mode, "mode", 0},
    {"GlobalLpPool", 0, default_to_number, "p", 2},
    {"GroupNormalization", 21, set_flag, "scales_groups", 0},
    {"Hardmax", 13, flatten_softmax, NULL, 0},
    {"LinearAttention", 0, type_by_first, "_type_of", 3},
    {"LogSoftmax", 13, flatten_softmax, NULL, 0},
    {"LpPool", 0, default_to_number, "p", 2},
    {"Max", 0, count_inputs, "N", 0},
    {"Mean", 0, count_inputs, "N", 0},
    {"Min", 0, count_inputs, "N", 0},
    {"NegativeLogLikelihoodLoss", 0, flag_ignore_index, "ignore_index", 0},
    {"Pad", 11, ints_to_input, "pads", 1},
    {"Pad", 11, float_to_input, "value", 2},
    {"QuantizeLinear", 0, complete_quantized, "T3", 2},
    {"ReduceL1", 18, ints_to_input, "axes", 1},
    {"ReduceL2", 18, ints_to_input, "axes", 1},
    {"ReduceLogSum", 18, ints_to_input, "axes", 1},
    {"ReduceLogSumExp", 18, ints_to_input, "axes", 1},
    {"ReduceMax", 18, ints_to_input, "axes", 1},
    {"ReduceMean", 18, ints_to_input, "axes", 1},
    {"ReduceMin", 18, ints_to_input, "axes", 1},
    {"ReduceProd", 18, ints_to_input, "axes", 1},
    {"ReduceSum", 13, ints_to_input, "axes", 1},
    {"ReduceSumSquare", 18, ints_to_input, "axes", 1},
    {"Resize", 11, resize_from_upsample, NULL, 0},
    {"RoiAlign", 16, default_to_half_pixel_output, "coordinate_transformation_mode", 0},
    {"Scan", 9, refuse_version, NULL, 9},
    {"Scatter", 0, rename_operator, "ScatterElements", 0},
    {"SequenceConstruct", 0, count_inputs, "N", 0},
    {"Slice", 10, ints_to_input, "starts", 1},
    {"Slice", 10, ints_to_input, "ends", 2},
    {"Slice", 10, ints_to_input, "axes", 3},
    {"Softmax", 13, flatten_softmax, NULL, 0},
    {"SoftmaxCrossEntropyLoss", 0, flag_ignore_index, "ignore_index", 0},
    {"Split", 13, ints_to_input, "split", 1},
    {"Split", 0, count_outputs, "num_outputs", 0},
    {"Squeeze", 13, ints_to_input, "axes", 1},
    {"Sum", 0, count_inputs, "N", 0},
    {"TopK", 10, ints_to_input, "k", 1},
    {"Unsqueeze", 13, ints_to_input, "axes", 1},
    {"Upsample", 0, resize_from_upsample, NULL, 0},
};

Status
onnx_adapt(OnnxImport *import, OnnxNode *node)
{
    Slice type = node->type;
    for (size_t index = 0; index < COUNT_OF(steps); index++) {
        const Step *step = &steps[index];
        if (slice_equals_string(type, step->type) && (step->below == 0 || import->opset < step->below)) {
            TRY(step->adapt(import, node, step->argument, step->position));
        }
    }
    return onnx_emit_node(import, node);
}
