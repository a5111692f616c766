/* Removes arithmetic that changes no bit of its operand: x·1, x/1, x-0, a negation of a negation; but not
 * x+0 of floating-point numbers, which turns -0 into 0. */
#include <assert.h>
#include <math.h>

#include "gateway/optimise/pass.h"

typedef struct NeutralRule {
    const char *op;
    double neutral;      /* the second operand … */
    bool is_commutative; /* … or the first one */
    bool is_integer_only;
} NeutralRule;

static const NeutralRule neutral_rules[] = {
    {"Add", 0, true, true},
    {"AddV2", 0, true, true},
    {"BiasAdd", 0, false, true},
    {"Div", 1, false, false},
    {"Mul", 1, true, false},
    {"Pow", 1, false, false},
    {"RealDiv", 1, false, false},
    {"Sub", 0, false, false},
    {"onnx::Add", 0, true, true},
    {"onnx::Div", 1, false, false},
    {"onnx::Mul", 1, true, false},
    {"onnx::Sub", 0, false, false},
};

typedef struct ElementReader {
    Dtype dtype;
    double (*read)(const void *element);
} ElementReader;

#define READER(name, type)                                                                                   \
    static double name(const void *element)                                                                  \
    {                                                                                                        \
        return (double)*(const type *)element;                                                               \
    }
READER(read_float, float)
READER(read_double, double)
READER(read_int32, int32_t)
READER(read_int64, int64_t)

static const ElementReader readers[] = {
    {DTYPE_FLOAT32, read_float},
    {DTYPE_FLOAT64, read_double},
    {DTYPE_INT32, read_int32},
    {DTYPE_INT64, read_int64},
};

/* Returns true when every element is the value with a positive sign: -0 is not 0 here. */
static bool
is_all(const Tensor *tensor, double value)
{
    const ElementReader *reader = NULL;
    for (size_t index = 0; index < COUNT_OF(readers); index++) {
        reader = readers[index].dtype == tensor->dtype ? &readers[index] : reader;
    }
    if (reader == NULL) {
        return false;
    }
    size_t size = dtype_size(tensor->dtype);
    int64_t count = tensor_element_count(tensor);
    for (int64_t index = 0; index < count; index++) {
        double element = reader->read((const char *)tensor->data + (size_t)index * size);
        if (element < value || element > value || isnan(element) || signbit(element) != 0) {
            return false;
        }
    }
    return count > 0;
}

static bool
is_neutral(const Rewrite *rewrite, uint32_t id, const NeutralRule *rule, uint32_t constant_index)
{
    assert(constant_index <= 1);

    Endpoint operand = rewrite_input(rewrite, id, 1 - constant_index);
    const Tensor *constant = rewrite_constant(rewrite, rewrite_input(rewrite, id, constant_index));
    if (constant == NULL || operand.node == NODE_NONE) {
        return false;
    }
    const Shape *before = rewrite_shape(rewrite, operand);
    const Shape *after = rewrite_shape(rewrite, (Endpoint){.node = id});
    bool keeps_shape = constant->shape.rank == 0 || (shape_is_known(before) && shape_equal(before, after));
    return keeps_shape && !(rule->is_integer_only && dtype_is_floating(constant->dtype)) &&
           is_all(constant, rule->neutral);
}

static bool
find_unchanged_operand(const Rewrite *rewrite, uint32_t id, Endpoint *ret_operand)
{
    for (size_t index = 0; index < COUNT_OF(neutral_rules); index++) {
        const NeutralRule *rule = &neutral_rules[index];
        if (!rewrite_is(rewrite, id, rule->op)) {
            continue;
        }
        uint32_t last = is_neutral(rewrite, id, rule, 1);
        if (last || (rule->is_commutative && is_neutral(rewrite, id, rule, 0))) {
            *ret_operand = rewrite_input(rewrite, id, last ? 0 : 1);
            return rewrite_rests_on(rewrite, id, last ? 0 : 1);
        }
    }
    return false;
}

static const char *const involutions[] = {
    "Conj",
    "Invert",
    "LogicalNot",
    "Neg",
    "onnx::Neg",
    "onnx::Not",
};

/* Finds f(f(x)), which is x for an f that only flips bits; but not when the inner one has control inputs. */
static bool
find_twice_inverted(const Rewrite *rewrite, uint32_t id, Endpoint *ret_operand)
{
    for (size_t index = 0; index < COUNT_OF(involutions); index++) {
        Endpoint inner = rewrite_input(rewrite, id, 0);
        if (rewrite_is(rewrite, id, involutions[index]) && inner.node != NODE_NONE &&
            rewrite_is(rewrite, inner.node, involutions[index]) &&
            rewrite_node(rewrite, inner.node)->control_count == 0) {
            *ret_operand = rewrite_input(rewrite, inner.node, 0);
            return true;
        }
    }
    return false;
}

static Status
arithmetic(Rewrite *rewrite)
{
    for (uint32_t position = 0; position < rewrite->graph->node_count; position++) {
        uint32_t id = rewrite->graph->order[position];
        Endpoint output = {.node = id};
        Endpoint operand;
        if (rewrite_node(rewrite, id)->output_count != 1 || rewrite_resolve(rewrite, output).node != id) {
            continue;
        }
        bool is_found =
            find_unchanged_operand(rewrite, id, &operand) || find_twice_inverted(rewrite, id, &operand);
        if (is_found && rewrite_may_give_way(rewrite, id, operand)) {
            rewrite_redirect(rewrite, output, operand);
        }
    }
    return STATUS_OK;
}

PASS(arithmetic, PASS_SIMPLIFY, true);
