#include "worker/reference/moved_strings.h"

#include <assert.h>

#include "shared/base/memory.h"
#include "worker/reference/texts.h"

static_assert(sizeof(Slice) == 2 * sizeof(double), "a string is moved as a complex128 is");

/* A node as it would be with numbers in the place of strings, and its arguments. */
typedef struct Moving {
    Node node;
    void *room; /* of the arrays that the others point to */
    Tensor *inputs;
    Tensor *outputs;
    uint32_t input_count;
    uint32_t output_count;
} Moving;

static Dtype
moved_as(Dtype dtype)
{
    return dtype == DTYPE_STRING ? DTYPE_COMPLEX128 : dtype;
}

static void
moving_done(Moving *moving)
{
    for (uint32_t i = 0; i < moving->input_count; i++) {
        tensor_unref(&moving->inputs[i]);
    }
    for (uint32_t i = 0; i < moving->output_count; i++) {
        tensor_unref(&moving->outputs[i]);
    }
    memory_free(moving->room);
}
#define AUTO_MOVING CLEANUP(moving_done) Moving

static void
retype_attrs(const Node *node, Attr *attrs)
{
    for (size_t i = 0; i < node->attr_count; i++) {
        attrs[i] = node->attrs[i];
        AttrValue *value = &attrs[i].value;
        if (value->kind == ATTR_TYPE && !value->is_list) {
            value->value.type = moved_as(value->value.type);
        }
    }
}

static Status
moving_begin(const KernelContext *context, Moving *ret_moving)
{
    const Node *node = context->node;
    size_t tensors = context->input_count + context->output_count;
    size_t size = tensors * (sizeof(Tensor) + sizeof(Dtype)) + node->attr_count * sizeof(Attr);
    Tensor *room = memory_new(1, size);
    if (room == NULL) {
        return call_fail_memory(context->call, "strings that are moved");
    }
    Attr *attrs = (Attr *)(void *)(room + tensors);
    Dtype *dtypes = (Dtype *)(void *)(attrs + node->attr_count);
    *ret_moving = (Moving){.node = *node,
        .room = room,
        .inputs = room,
        .outputs = room + context->input_count,
        .input_count = context->input_count,
        .output_count = context->output_count};
    retype_attrs(node, attrs);
    for (uint32_t i = 0; i < context->input_count; i++) {
        dtypes[i] = moved_as(node->input_dtypes[i]);
        ret_moving->inputs[i] = tensor_ref(&context->inputs[i]);
        ret_moving->inputs[i].dtype = moved_as(context->inputs[i].dtype);
    }
    for (uint32_t i = 0; i < context->output_count; i++) {
        dtypes[context->input_count + i] = moved_as(node->output_dtypes[i]);
    }
    ret_moving->node.attrs = attrs;
    ret_moving->node.input_dtypes = dtypes;
    ret_moving->node.output_dtypes = dtypes + context->input_count;
    return STATUS_OK;
}

static Status
copy_outputs(KernelContext *context, Moving *moving)
{
    for (uint32_t i = 0; i < context->output_count; i++) {
        Tensor *moved = &moving->outputs[i];
        if (context->node->output_dtypes[i] != DTYPE_STRING) {
            context->outputs[i] = *moved;
            *moved = (Tensor){0};
        } else if (moved->dtype != DTYPE_INVALID) {
            TRY(texts_new(context, &moved->shape, moved->data, &context->outputs[i]));
        }
    }
    return STATUS_OK;
}

Status
moved_strings_compute(KernelContext *context)
{
    AUTO_MOVING moving = {0};
    TRY(moving_begin(context, &moving));
    const Kernel *kernel = kernel_find_reference(&moving.node);
    if (kernel == NULL) { /* because of its other inputs */
        return call_fail(context->call, STATUS_UNIMPLEMENTED, "op '%.*s' has no kernel for its types",
            SLICE_PRINT(context->node->op->name));
    }
    assert(kernel->create == NULL && kernel->compute != moved_strings_compute);
    KernelContext numbers = *context;
    numbers.node = &moving.node;
    numbers.inputs = moving.inputs;
    numbers.outputs = moving.outputs;
    numbers.memory = NULL; /* planned for the outputs of strings */
    TRY(kernel->compute(&numbers));
    return copy_outputs(context, &moving);
}

bool
moved_strings_first(const Node *node)
{
    return node->input_count > 0 && node->input_dtypes[0] == DTYPE_STRING;
}

bool
moved_strings_second(const Node *node)
{
    return node->input_count > 1 && node->input_dtypes[1] == DTYPE_STRING;
}

bool
moved_strings_third(const Node *node)
{
    return node->input_count > 2 && node->input_dtypes[2] == DTYPE_STRING;
}
