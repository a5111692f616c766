#include "worker/reference/retyped.h"

#include "shared/base/memory.h"

static void
retype_attrs(const Node *node, Dtype (*dtype_for)(Dtype dtype), Attr *attrs)
{
    for (size_t i = 0; i < node->attr_count; i++) {
        attrs[i] = node->attrs[i];
        AttrValue *value = &attrs[i].value;
        if (value->kind == ATTR_TYPE && !value->is_list) {
            value->value.type = dtype_for(value->value.type);
        }
    }
}

Node *
retyped_node(const Node *node, Dtype (*dtype_for)(Dtype dtype))
{
    size_t dtype_count = (size_t)node->input_count + node->output_count;
    Node *retyped =
        memory_new(1, sizeof *retyped + node->attr_count * sizeof(Attr) + dtype_count * sizeof(Dtype));
    if (retyped == NULL) {
        return NULL;
    }
    Attr *attrs = (Attr *)(void *)(retyped + 1);
    Dtype *dtypes = (Dtype *)(void *)(attrs + node->attr_count);
    retype_attrs(node, dtype_for, attrs);
    for (uint32_t i = 0; i < node->input_count; i++) {
        dtypes[i] = dtype_for(node->input_dtypes[i]);
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        dtypes[node->input_count + i] = dtype_for(node->output_dtypes[i]);
    }
    *retyped = *node;
    retyped->attrs = attrs;
    retyped->input_dtypes = dtypes;
    retyped->output_dtypes = dtypes + node->input_count;
    return retyped;
}
