/* ONNX's random operators, spelled out with TensorFlow's, whose generator is documented (Philox 4x32-10): the
 * numbers depend on the seed and on their positions, not on threads. A node with a seed goes on with its
 * sequence from run to run, as ONNX Runtime's do; without one, the numbers of each run are others. */
#include "gateway/formats/onnx_spell.h"

typedef struct Draw {
    Attr attrs[5];
    size_t attr_count;
} Draw;

/* The bits of ONNX's seed, a float, are one seed; the other is not 0, so that a seed of 0 counts. */
static Draw
draw_of(const OnnxNode *node)
{
    Draw draw = {.attr_count = 0};
    const AttrValue *seed = onnx_attr(node, "seed");
    if (seed != NULL) {
        uint32_t bits = (uint32_t)spell_int(node, "seed", 0);
        if (seed->kind == ATTR_FLOAT && !seed->is_list) {
            memcpy(&bits, &seed->value.f, sizeof bits);
        }
        draw.attrs[draw.attr_count++] = spell_int_attr("seed", bits);
        draw.attrs[draw.attr_count++] = spell_int_attr("seed2", 1);
    }
    return draw;
}

/* Adds the dtype of what is drawn: the attribute's, else that of `like`, else float32. */
static void
add_dtype(const OnnxNode *node, const char *name, Slice like, Draw *draw)
{
    const AttrValue *given = onnx_attr(node, "dtype");
    Attr attr = spell_type_attr(name, DTYPE_FLOAT32);
    if (given != NULL && given->kind == ATTR_TYPE) {
        attr.value = *given;
    } else if (like.size > 0) {
        attr = spell_text_attr("_type_of", like);
    }
    draw->attrs[draw->attr_count++] = attr;
}

static Status
emit_draw(
    OnnxImport *import, const OnnxNode *node, const char *type, Slice shape, Draw *draw, Slice *ret_numbers)
{
    OnnxNode numbers = {.type = slice_from_string(type),
        .inputs = &shape,
        .input_count = 1,
        .attrs = draw->attrs,
        .attr_count = draw->attr_count};
    return spell_foreign(import, node, "numbers", &numbers, ret_numbers);
}

/* Emits the shape: that of the input, or the attribute. */
static Status
emit_shape(OnnxImport *import, const OnnxNode *node, Slice *ret_shape)
{
    int64_t dims[SHAPE_RANK_MAX];
    const AttrValue *given = onnx_attr(node, "shape");
    if (spell_has(node, 0)) {
        return spell_emit(import, node, "Shape", node->inputs, 1, ret_shape);
    }
    if (given == NULL || !given->is_list || (given->value.list.count > 0 && given->kind != ATTR_INT) ||
        given->value.list.count > SHAPE_RANK_MAX) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT,
            "attribute 'shape' is not a list of at most %d ints", SHAPE_RANK_MAX);
    }
    for (size_t index = 0; index < given->value.list.count; index++) {
        dims[index] = given->value.list.items[index].value.i;
    }
    return spell_ints(import, node, "shape", dims, given->value.list.count, ret_shape);
}

/* Makes the node numbers × factor + addend. */
static Status
finish_scaled(OnnxImport *import, OnnxNode *node, Slice numbers, float factor, float addend)
{
    Slice last[2];
    Slice scale;
    TRY(spell_number_like(import, node, "factor", factor, numbers, &scale));
    TRY(spell_pair(import, node, "Mul", numbers, scale, &last[0]));
    TRY(spell_number_like(import, node, "addend", addend, numbers, &last[1]));
    spell_become(node, "Add", last, 2);
    return STATUS_OK;
}

static Status
emit_numbers(OnnxImport *import, const OnnxNode *node, const char *type, size_t inputs, Slice *ret_numbers)
{
    Draw draw = draw_of(node);
    Slice shape;
    TRY(spell_check_inputs(import, node, inputs, inputs));
    add_dtype(node, "dtype", spell_input(node, 0), &draw);
    TRY(emit_shape(import, node, &shape));
    return emit_draw(import, node, type, shape, &draw, ret_numbers);
}

static Status
spell_normal(OnnxImport *import, OnnxNode *node, const char *type, size_t inputs)
{
    Slice numbers;
    float mean = spell_float(node, "mean", 0);
    float scale = spell_float(node, "scale", 1);
    TRY(emit_numbers(import, node, type, inputs, &numbers));
    return finish_scaled(import, node, numbers, scale, mean);
}

static Status
spell_uniform(OnnxImport *import, OnnxNode *node, const char *type, size_t inputs)
{
    Slice numbers;
    float low = spell_float(node, "low", 0);
    float high = spell_float(node, "high", 1);
    TRY(emit_numbers(import, node, type, inputs, &numbers));
    return finish_scaled(import, node, numbers, high - low, low);
}

/* Makes the node 1 where a number is below the input's, which is a probability. */
static Status
spell_bernoulli(OnnxImport *import, OnnxNode *node, const char *type, size_t inputs)
{
    const AttrValue *given = onnx_attr(node, "dtype");
    Attr to = {.name = SLICE("to"), .value = {.kind = ATTR_TYPE}};
    Draw draw = draw_of(node);
    Slice shape;
    Slice hits[2];
    TRY(spell_check_inputs(import, node, inputs, inputs));
    Slice input = node->inputs[0];
    draw.attrs[draw.attr_count++] = spell_text_attr("_type_of", input);
    TRY(emit_shape(import, node, &shape));
    TRY(emit_draw(import, node, type, shape, &draw, &hits[0]));
    TRY(spell_pair(import, node, "Less", hits[0], input, &hits[0]));
    hits[1] = input;
    if (given == NULL) {
        spell_become(node, "CastLike", hits, 2);
        return STATUS_OK;
    }
    to.value = *given;
    spell_become(node, "Cast", hits, 1);
    onnx_attr_set(node, "to", to.value);
    return STATUS_OK;
}

static Status
spell_multinomial(OnnxImport *import, OnnxNode *node, const char *type, size_t inputs)
{
    Draw draw = draw_of(node);
    const AttrValue *given = onnx_attr(node, "dtype");
    int64_t samples = spell_int(node, "sample_size", 1);
    Slice ends[2];
    Slice count;
    TRY(spell_check_inputs(import, node, inputs, inputs));
    if (samples < 1 || samples > INT32_MAX) {
        return call_fail(import->call, STATUS_INVALID_ARGUMENT, "sample_size is %lld, not 1 to %d",
            (long long)samples, INT32_MAX);
    }
    draw.attrs[draw.attr_count++] = spell_type_attr(
        "output_dtype", given == NULL || given->kind != ATTR_TYPE ? DTYPE_INT32 : given->value.type);
    TRY(spell_ints(import, node, "sample_size", &samples, 1, &count));
    TRY(spell_with(import, node, "Cast", count, spell_type_attr("to", DTYPE_INT32), &count));
    ends[0] = node->inputs[0];
    TRY(spell_emit(import, node, "Squeeze", &count, 1, &ends[1]));
    spell_become(node, type, ends, 2);
    node->is_default_domain = false;
    draw.attrs[draw.attr_count++] = spell_text_attr("_type_of", ends[0]);
    for (size_t index = 0; index < draw.attr_count; index++) {
        node->attrs[node->attr_count++] = draw.attrs[index];
    }
    return STATUS_OK;
}

/* A Dropout that may train: what is kept is divided by the part that is kept.
 *
 *     mask = not training or numbers ≥ ratio
 *     output = mask ? data × (training ? 1 / (1 - ratio) : 1) : 0 */
static Status
emit_dropout(OnnxImport *import, const OnnxNode *node, const char *type, Slice *ret_ends)
{
    static const float usual_ratio = 0.5F;
    enum { DATA, RATIO, TRAINING };
    Draw draw = draw_of(node);
    Slice data = node->inputs[DATA];
    Slice training = node->inputs[TRAINING];
    Slice ratio = spell_input(node, RATIO);
    Slice one;
    Slice zero;
    Slice shape;
    Slice numbers;
    Slice off;
    Slice scale;
    TRY(spell_number_like(import, node, "one", 1, data, &one));
    TRY(spell_number_like(import, node, "zero", 0, data, &zero));
    TRY(ratio.size == 0 ? spell_number(import, node, "ratio", usual_ratio, &ratio) : STATUS_OK);
    TRY(spell_pair(import, node, "CastLike", ratio, data, &ratio));
    TRY(emit_shape(import, node, &shape));
    draw.attrs[draw.attr_count++] = spell_text_attr("_type_of", data);
    TRY(emit_draw(import, node, type, shape, &draw, &numbers));
    TRY(spell_pair(import, node, "GreaterOrEqual", numbers, ratio, &numbers));
    TRY(spell_emit(import, node, "Not", &training, 1, &off));
    TRY(spell_pair(import, node, "Or", numbers, off, &ret_ends[1]));
    TRY(spell_pair(import, node, "Sub", one, ratio, &scale));
    TRY(spell_pair(import, node, "Div", one, scale, &scale));
    Slice choices[] = {training, scale, one};
    TRY(spell_emit(import, node, "Where", choices, COUNT_OF(choices), &scale));
    TRY(spell_pair(import, node, "Mul", data, scale, &scale));
    Slice kept[] = {ret_ends[1], scale, zero};
    return spell_emit(import, node, "Where", kept, COUNT_OF(kept), &ret_ends[0]);
}

static Status
spell_dropout(OnnxImport *import, OnnxNode *node, const char *type, size_t inputs)
{
    Slice ends[2];
    const Tensor *training = NULL;
    if (node->input_count != inputs || !spell_has(node, inputs - 1) || !spell_has(node, 0)) {
        return STATUS_OK;
    }
    training = onnx_find_constant(import, node->inputs[inputs - 1]);
    if (training != NULL && training->dtype == DTYPE_BOOL && tensor_element_count(training) == 1 &&
        !*(const bool *)training->data) {
        return STATUS_OK;
    }
    TRY(spell_check_outputs(import, node, COUNT_OF(ends)));
    TRY(emit_dropout(import, node, type, ends));
    spell_outputs(node, ends, node->output_count);
    return STATUS_OK;
}

static const OnnxSpelling randoms[] = {
    {"Bernoulli", spell_bernoulli, "RandomUniform", 1},
    {"Dropout", spell_dropout, "RandomUniform", 3},
    {"Multinomial", spell_multinomial, "Multinomial", 1},
    {"RandomNormal", spell_normal, "RandomStandardNormal", 0},
    {"RandomNormalLike", spell_normal, "RandomStandardNormal", 1},
    {"RandomUniform", spell_uniform, "RandomUniform", 0},
    {"RandomUniformLike", spell_uniform, "RandomUniform", 1},
};

const OnnxSpellings onnx_random_spellings = {randoms, COUNT_OF(randoms)};
