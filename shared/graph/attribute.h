/* Attribute values of nodes (TensorFlow's AttrValue; reference: GraphDef family, AttrValue).
 *
 * Ownership: everything lives in the arena of the GraphDef that holds it; tensors are references that the
 *            arena drops (arena_defer).
 * Threads:   immutable once the GraphDef is built. */
#pragma once

#include "shared/tensor/tensor.h"

typedef enum AttrKind {
    ATTR_NONE, /* an empty list of no declared kind */
    ATTR_STRING,
    ATTR_INT,
    ATTR_FLOAT,
    ATTR_BOOL,
    ATTR_TYPE,
    ATTR_SHAPE,
    ATTR_TENSOR,
    ATTR_FUNCTION,    /* name and bound attributes */
    ATTR_PLACEHOLDER, /* in the body of a function: the name of one of the function's attributes */
} AttrKind;

typedef struct AttrValue AttrValue;
typedef struct Attr Attr;

typedef struct FunctionRef {
    Slice name;
    const Attr *attrs;
    size_t attr_count;
} FunctionRef;

struct AttrValue {
    AttrKind kind;
    bool is_list;
    uint8_t foreign_type; /* of an ATTR_TYPE without a Dtype: its number in TensorFlow, if it has a name
                           * (foreign_dtype.h) */
    union {
        Slice s; /* ATTR_STRING (any bytes), ATTR_PLACEHOLDER */
        int64_t i;
        float f;
        bool b;
        Dtype type;
        Shape shape;
        Tensor tensor;
        FunctionRef function;
        struct {
            size_t count;
            const AttrValue *items; /* all of `kind`, none a list */
        } list;
    } value;
};

struct Attr {
    Slice name;
    AttrValue value;
    bool is_default; /* the writer of the graph knew it as the default: an op that lacks the attribute
                      * means the same */
};

/* Compares every bit; tensors by content. */
bool attr_value_equal(const AttrValue *left, const AttrValue *right);

/* Returns "int", "type", … for messages. */
const char *attr_kind_name(AttrKind kind);
