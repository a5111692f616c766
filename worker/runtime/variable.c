#include "worker/runtime/variable.h"

#include <assert.h>

#include "shared/base/memory.h"
#include "shared/base/mutex.h"

struct Variable {
    Resource resource;
    Mutex lock; /* guards `value` and `mirror` */
    Tensor value;
    Tensor mirror; /* the same elements in another memory; DTYPE_INVALID: there is none */
    Dtype dtype;
    Shape shape;
    size_t name_size;
    char name[];
};

static void
variable_free(Resource *resource)
{
    Variable *variable = (Variable *)(void *)resource;
    tensor_unref(&variable->value);
    tensor_unref(&variable->mirror);
    mutex_done(&variable->lock);
    memory_free(variable);
}

const ResourceType variable_type = {.name = "a variable", .free = variable_free};

Status
variable_new(Call *call, const VariableDeclaration *declaration, Variable **ret_variable)
{
    Slice name = slice_part(declaration->name, 0, VARIABLE_NAME_MAX);
    Variable *variable = memory_new(1, sizeof *variable + name.size + 1);
    if (variable == NULL) {
        return call_fail_memory(call, "a variable");
    }
    resource_init(&variable->resource, &variable_type);
    mutex_init(&variable->lock);
    variable->dtype = declaration->dtype;
    variable->shape = declaration->shape;
    variable->name_size = name.size;
    memcpy(variable->name, name.data, name.size);
    *ret_variable = variable;
    return STATUS_OK;
}

static Status
make_variable(Call *call, const void *context, Resource **ret_resource)
{
    Variable *variable = NULL;
    TRY(variable_new(call, context, &variable));
    *ret_resource = variable_resource(variable);
    return STATUS_OK;
}

/* Makes a variable with its first value. Needs no lock: nobody else has the variable yet. */
static Status
make_first(Call *call, const void *context, Resource **ret_resource)
{
    const VariableDeclaration *declaration = context;
    TRY(make_variable(call, context, ret_resource));
    if (declaration->first != NULL) {
        Tensor value = tensor_ref(declaration->first);
        variable_replace((Variable *)(void *)*ret_resource, &value);
    }
    return STATUS_OK;
}

Status
variable_obtain(KernelContext *context, const VariableDeclaration *declaration, Variable **ret_variable)
{
    Resource *resource = NULL;
    ContainerEntry entry = {.name = declaration->name,
        .type = &variable_type,
        .make = make_first,
        .make_again = make_variable,
        .context = declaration};
    if (declaration->dtype == DTYPE_RESOURCE) { /* a variable that held its own handle would never be freed */
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "variable '%.*s' cannot hold handles of resources", SLICE_PRINT(declaration->name));
    }
    TRY(container_obtain(context->call, context->container, &entry, &resource));
    Variable *variable = (Variable *)(void *)resource;
    if (variable->dtype != declaration->dtype) {
        Status status =
            call_fail(context->call, STATUS_INVALID_ARGUMENT, "variable '%.*s' is %s in this session, not %s",
                SLICE_PRINT(declaration->name), dtype_name(variable->dtype), dtype_name(declaration->dtype));
        resource_unref(resource);
        return status;
    }
    *ret_variable = variable;
    return STATUS_OK;
}

Slice
variable_name(const Variable *variable)
{
    return slice_of(variable->name, variable->name_size);
}

Dtype
variable_dtype(const Variable *variable)
{
    return variable->dtype;
}

const Shape *
variable_shape(const Variable *variable)
{
    return &variable->shape;
}

static Status
check_initialized(Call *call, const Variable *variable)
{
    return variable->value.dtype != DTYPE_INVALID
               ? STATUS_OK
               : call_fail(call, STATUS_FAILED_PRECONDITION, "variable '%.*s' is not initialised",
                     SLICE_PRINT(variable_name(variable)));
}

Status
variable_check_dtype(Call *call, const Variable *variable, Dtype dtype, const char *what)
{
    return variable->dtype == dtype ? STATUS_OK
                                    : call_fail(call, STATUS_INVALID_ARGUMENT, "variable '%.*s' is %s, %s %s",
                                          SLICE_PRINT(variable_name(variable)), dtype_name(variable->dtype),
                                          what, dtype_name(dtype));
}

bool
variable_is_initialized(Variable *variable)
{
    mutex_lock(&variable->lock);
    bool is_initialized = variable->value.dtype != DTYPE_INVALID;
    mutex_unlock(&variable->lock);
    return is_initialized;
}

Status
variable_read(Call *call, Variable *variable, Tensor *ret_value)
{
    mutex_lock(&variable->lock);
    Status status = check_initialized(call, variable);
    if (status == STATUS_OK) {
        *ret_value = tensor_ref(&variable->value);
    }
    mutex_unlock(&variable->lock);
    return status;
}

static bool
lies_in(const Tensor *tensor, uint16_t memory)
{
    return tensor->dtype != DTYPE_INVALID && (tensor->buffer == NULL || tensor->buffer->memory == memory);
}

/* Sends the kernel away until the value has come, or fails it where nobody waits for that. */
static Status
want_value(KernelContext *context, Variable *variable, uint16_t memory, bool is_change)
{
    if (context->visit != NULL) {
        (void)resource_ref(&variable->resource);
        resource_unref(context->visit->wanted == NULL ? NULL : &context->visit->wanted->resource);
        context->visit->wanted = variable;
        context->visit->needed_in = memory;
        context->visit->is_change = is_change;
    }
    return call_fail(context->call, STATUS_FAILED_PRECONDITION,
        "variable '%.*s' lies in the memory of an accelerator, and is used by reference here",
        SLICE_PRINT(variable_name(variable)));
}

static Status
fetch_value(KernelContext *context, Variable *variable, Tensor *ret_value)
{
    const VariableVisit *visit = context->visit;
    uint16_t memory = visit == NULL ? MEMORY_HOST : visit->memory;
    TRY(check_initialized(context->call, variable));
    if (lies_in(&variable->value, memory)) {
        *ret_value = tensor_ref(&variable->value);
    } else if (lies_in(&variable->mirror, memory)) {
        *ret_value = tensor_ref(&variable->mirror);
    } else if (visit != NULL && visit->visited == variable && lies_in(&visit->value, memory)) {
        *ret_value = tensor_ref(&visit->value);
    } else {
        return want_value(context, variable, memory, false);
    }
    return STATUS_OK;
}

Status
variable_fetch(KernelContext *context, Variable *variable, Tensor *ret_value)
{
    mutex_lock(&variable->lock);
    Status status = fetch_value(context, variable, ret_value);
    mutex_unlock(&variable->lock);
    return status;
}

Status
variable_reach(KernelContext *context, Variable *variable)
{
    uint16_t memory = context->device->memory_number;
    TRY(check_initialized(context->call, variable));
    if (!lies_in(&variable->value, memory) && lies_in(&variable->mirror, memory)) {
        Tensor value = variable->mirror;
        variable->mirror = variable->value;
        variable->value = value;
    }
    if (!lies_in(&variable->value, memory)) {
        return want_value(context, variable, memory, true);
    }
    tensor_unref(&variable->mirror);
    return STATUS_OK;
}

void
variable_mirror(Variable *variable, const Tensor *value, const Tensor *mirror)
{
    mutex_lock(&variable->lock);
    bool is_current = variable->value.dtype != DTYPE_INVALID && variable->value.buffer == value->buffer &&
                      variable->value.data == value->data;
    if (is_current && variable->mirror.dtype == DTYPE_INVALID) {
        variable->mirror = tensor_ref(mirror);
    }
    mutex_unlock(&variable->lock);
}

/* Sorts by address and removes duplicates and NULLs: all writers lock in the same order, so that two of
 * them never wait for each other. */
static size_t
sort_variables(Variable *const *variables, size_t count, Variable **ret_sorted)
{
    size_t sorted = 0;
    for (size_t index = 0; index < count; index++) {
        size_t position = sorted;
        bool is_new = variables[index] != NULL;
        while (is_new && position > 0 && (uintptr_t)ret_sorted[position - 1] >= (uintptr_t)variables[index]) {
            is_new = ret_sorted[--position] != variables[index];
        }
        if (is_new) {
            memmove(
                &ret_sorted[position + 1], &ret_sorted[position], (sorted - position) * sizeof *ret_sorted);
            ret_sorted[position] = variables[index];
            sorted++;
        }
    }
    return sorted;
}

void
variables_lock(Variable *const *variables, size_t count)
{
    Variable *sorted[VARIABLES_LOCKED_MAX + 1];
    assert(count <= VARIABLES_LOCKED_MAX);
    size_t distinct = sort_variables(variables, count, sorted);
    for (size_t index = 0; index < distinct; index++) {
        mutex_lock(&sorted[index]->lock);
    }
}

void
variables_unlock(Variable *const *variables, size_t count)
{
    Variable *sorted[VARIABLES_LOCKED_MAX + 1];
    for (size_t index = sort_variables(variables, count, sorted); index-- > 0;) {
        mutex_unlock(&sorted[index]->lock);
    }
}

const Tensor *
variable_value(const Variable *variable)
{
    return &variable->value;
}

void
variable_replace(Variable *variable, Tensor *value)
{
    tensor_unref(&variable->value);
    tensor_unref(&variable->mirror);
    variable->value = *value;
    *value = (Tensor){0};
}

static Status
copy_value(KernelContext *context, Variable *variable)
{
    size_t size = tensor_byte_size(&variable->value);
    TensorBuffer *buffer = context->device->allocate(context->device, size);
    if (buffer == NULL) {
        return call_fail(context->call, STATUS_RESOURCE_EXHAUSTED,
            "no %zu bytes are left for a copy of variable '%.*s'", size,
            SLICE_PRINT(variable_name(variable)));
    }
    memcpy(buffer->data, variable->value.data, size);
    tensor_buffer_unref(variable->value.buffer);
    variable->value.buffer = buffer;
    variable->value.data = buffer->data;
    return STATUS_OK;
}

Status
variable_own(KernelContext *context, Variable *variable, Tensor **ret_value)
{
    TRY(variable_reach(context, variable));
    if (!dtype_is_copyable(variable->dtype)) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT,
            "variable '%.*s' of type %s cannot change in part", SLICE_PRINT(variable_name(variable)),
            dtype_name(variable->dtype));
    }
    if (tensor_byte_size(&variable->value) > 0 && !tensor_is_unique(&variable->value)) {
        TRY(copy_value(context, variable));
    }
    *ret_value = &variable->value;
    return STATUS_OK;
}

static Status
make_variable_of_value(KernelContext *context, Tensor *input, Variable **ret_variable)
{
    VariableDeclaration declaration = {
        .name = context->node->name, .dtype = input->dtype, .shape = input->shape};
    Variable *variable = NULL;
    Tensor handle;
    TRY(variable_new(context->call, &declaration, &variable));
    if (!resource_handle(variable_resource(variable), DTYPE_RESOURCE, &handle)) {
        resource_unref(variable_resource(variable));
        return call_fail_memory(context->call, "a variable");
    }
    variable_replace(variable, input);
    *input = handle;
    *ret_variable = variable;
    return STATUS_OK;
}

Status
kernel_variable(KernelContext *context, uint32_t input, Variable **ret_variable)
{
    Tensor *tensor = &context->inputs[input];
    Resource *resource = NULL;
    if (tensor->dtype != DTYPE_RESOURCE) {
        return make_variable_of_value(context, tensor, ret_variable);
    }
    TRY(kernel_resource(context, input, &variable_type, &resource));
    *ret_variable = (Variable *)(void *)resource;
    return STATUS_OK;
}

Status
variable_dereference(Call *call, Tensor *input)
{
    Variable *variable = (Variable *)(void *)resource_of(input, &variable_type);
    Tensor value;
    if (variable == NULL) {
        return STATUS_OK;
    }
    KernelContext context = {.call = call};
    TRY(variable_fetch(&context, variable, &value));
    tensor_unref(input);
    *input = value;
    return STATUS_OK;
}
