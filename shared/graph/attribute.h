/* Attribute values of nodes: TensorFlow's AttrValue (reference: GraphDef family, AttrValue).
 *
 * Ownership: everything lives in the arena of the GraphDef that holds it; tensors hold references that the
 *            arena gives back (arena_defer).
 * Threads:   immutable once the GraphDef is built. */
#pragma once

#include "shared/tensor/tensor.h"

typedef enum AttrKind {
    ATTR_NONE, /* an empty list without a declared kind */
    ATTR_STRING,
    ATTR_INT,
    ATTR_FLOAT,
    ATTR_BOOL,
    ATTR_TYPE,
    ATTR_SHAPE,
    ATTR_TENSOR,
    ATTR_FUNCTION,    /* name and bound attributes */
    ATTR_PLACEHOLDER, /* inside function bodies: the name of the function's attribute */
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
    union {
        Slice s; /* STRING (any bytes), PLACEHOLDER */
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
    bool is_default; /* whoever wrote the graph knows it as the default: an op that lacks it means the same */
};

/* Equal in every bit, tensors by content. */
bool attr_value_equal(const AttrValue *left, const AttrValue *right);

/* "int", "type", …: as messages name a kind. */
const char *attr_kind_name(AttrKind kind);
