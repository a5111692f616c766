/* Session tensors: values kept by the session under a handle that a client can fetch and feed again. */
#include <inttypes.h>

#include "shared/base/random.h"
#include "shared/base/text.h"
#include "worker/runtime/variable.h"

/* Handles have a name space of their own: the name of a variable is no handle. */
static Status
read_handle(KernelContext *context, const char **ret_name)
{
    const Tensor *handle = &context->inputs[0];
    if (tensor_element_count(handle) != 1) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "a handle is one string");
    }
    Slice text = slice_part(*(const Slice *)handle->data, 0, VARIABLE_NAME_MAX / 2);
    *ret_name = text_format(context->call->arena, "handle;%.*s", SLICE_PRINT(text));
    return *ret_name != NULL ? STATUS_OK : call_fail_memory(context->call, "a handle");
}

static Status
fail_missing(Call *call, const void *context, Resource **ret_resource)
{
    (void)ret_resource;
    return call_fail(call, STATUS_NOT_FOUND, "the session keeps no tensor under '%s'",
        (const char *)context + sizeof "handle;" - 1);
}

/* Returns a new reference. */
static Status
find_value(KernelContext *context, const char *name, Variable **ret_variable)
{
    Resource *resource = NULL;
    ContainerEntry entry = {
        .name = slice_from_string(name), .type = &variable_type, .make = fail_missing, .context = name};
    TRY(container_obtain(context->call, context->container, &entry, &resource));
    *ret_variable = (Variable *)(void *)resource;
    return STATUS_OK;
}

enum { DEVICE_SIZE_MAX = 128 };

/* Returns "" when the node asked for no task. */
static Slice
requested_device(const Node *node)
{
    const AttrValue *device = node_attr(node, "_requested_device");
    bool is_text = device != NULL && device->kind == ATTR_STRING && !device->is_list;
    return is_text ? slice_part(device->value.s, 0, DEVICE_SIZE_MAX) : SLICE("");
}

/* The handle has TensorFlow's form: node, number, requested device. */
static Status
keep_compute(KernelContext *context)
{
    Variable *variable = NULL;
    const char *name = text_format(context->call->arena, "handle;%.*s;%016" PRIx64 ";%.*s",
        SLICE_PRINT(slice_part(context->node->name, 0, VARIABLE_NAME_MAX / 4)), random_uint64(),
        SLICE_PRINT(requested_device(context->node)));
    if (name == NULL) {
        return call_fail_memory(context->call, "a handle");
    }
    VariableDeclaration declaration = {
        .name = slice_from_string(name),
        .dtype = context->inputs[0].dtype,
        .shape = context->inputs[0].shape,
    };
    Shape scalar = shape_scalar();
    Slice handle = slice_from_string(name + sizeof "handle;" - 1);
    if (!tensor_new_strings(&scalar, &handle, &context->outputs[0])) {
        return call_fail_memory(context->call, "a handle");
    }
    TRY(variable_obtain(context, &declaration, &variable));
    Tensor value = tensor_ref(&context->inputs[0]);
    variables_lock(&variable, 1);
    variable_replace(variable, &value);
    variables_unlock(&variable, 1);
    resource_unref(variable_resource(variable));
    return STATUS_OK;
}

static Status
get_compute(KernelContext *context)
{
    Dtype wanted = context->node->output_dtypes[0];
    const char *name = NULL;
    Variable *variable = NULL;
    TRY(read_handle(context, &name));
    TRY(find_value(context, name, &variable));
    Status status = STATUS_OK;
    if (variable_dtype(variable) != wanted) {
        status = call_fail(context->call, STATUS_INVALID_ARGUMENT, "the tensor is %s, not %s",
            dtype_name(variable_dtype(variable)), dtype_name(wanted));
    } else {
        status = variable_fetch(context, variable, &context->outputs[0]);
    }
    resource_unref(variable_resource(variable));
    return status;
}

static Status
delete_compute(KernelContext *context)
{
    const char *name = NULL;
    Variable *variable = NULL;
    TRY(read_handle(context, &name));
    TRY(find_value(context, name, &variable));
    (void)container_remove(context->container, slice_from_string(name), variable_resource(variable));
    resource_unref(variable_resource(variable));
    return STATUS_OK;
}

static const Kernel session_tensor_kernels[] = {
    {.op = "GetSessionHandle", .compute = keep_compute, .host_outputs = 1, .is_cheap = true},
    {.op = "GetSessionTensor",
        .compute = get_compute,
        .host_inputs = 1,
        .visits_variables = true,
        .is_cheap = true,
        .sharing = KERNEL_LENDS},
    {.op = "DeleteSessionTensor", .compute = delete_compute, .host_inputs = 1, .is_cheap = true},
};

KERNEL_FAMILY(reference, session_tensor, session_tensor_kernels);
