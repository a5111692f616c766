/* Variables: created, read, assigned. An op on a reference returns that reference. */
#include "worker/runtime/variable.h"

#include "shared/base/memory.h"
#include "worker/reference/combine.h"
#include "worker/reference/fill.h"
#include "worker/reference/naming.h"
#include "worker/reference/scratch.h"

static void
pass_reference(KernelContext *context)
{
    if (context->output_count > 0) {
        Shape scalar = shape_scalar();
        kernel_alias(context, 0, 0, &scalar);
    }
}

/* The input, if there is one, is the value that the variable begins with. */
static Status
variable_compute(KernelContext *context)
{
    const Naming *naming = context->state;
    VariableDeclaration declaration = {
        .name = naming->name,
        .dtype = node_attr_type(context->node, "dtype"),
        .shape = node_attr(context->node, "shape")->value.shape,
        .first = context->node->input_count > 0 ? &context->inputs[0] : NULL,
    };
    Variable *variable = NULL;
    TRY(variable_obtain(context, &declaration, &variable));
    if (resource_handle(variable_resource(variable), DTYPE_RESOURCE, &context->outputs[0])) {
        return STATUS_OK;
    }
    resource_unref(variable_resource(variable));
    return call_fail_memory(context->call, "a variable's handle");
}

static bool
temporary_supports(const Node *node)
{
    return dtype_is_copyable(node_attr_type(node, "dtype")) &&
           shape_is_known(&node_attr(node, "shape")->value.shape);
}

static Status
temporary_compute(KernelContext *context)
{
    VariableDeclaration declaration = {
        .name = context->node->name,
        .dtype = node_attr_type(context->node, "dtype"),
        .shape = node_attr(context->node, "shape")->value.shape,
    };
    Variable *variable = NULL;
    Tensor value;
    TRY(scratch_new(context, declaration.dtype, &declaration.shape, &value));
    fill_zero(&value);
    Status status = variable_new(context->call, &declaration, &variable);
    if (status == STATUS_OK) {
        variable_replace(variable, &value);
        if (!resource_handle(variable_resource(variable), DTYPE_RESOURCE, &context->outputs[0])) {
            resource_unref(variable_resource(variable));
            status = call_fail_memory(context->call, "a variable's handle");
        }
    }
    tensor_unref(&value);
    return status;
}

static Status
destroy_compute(KernelContext *context)
{
    Variable *variable = NULL;
    TRY(kernel_variable(context, 0, &variable));
    if (context->container != NULL) {
        (void)container_remove(context->container, variable_name(variable), variable_resource(variable));
    }
    return STATUS_OK;
}

static Status
pass_compute(KernelContext *context)
{
    Variable *variable = NULL;
    TRY(kernel_variable(context, 0, &variable));
    pass_reference(context);
    return STATUS_OK;
}

static Status
read_compute(KernelContext *context)
{
    Variable *variable = NULL;
    Dtype wanted = context->node->output_dtypes[0];
    TRY(kernel_variable(context, 0, &variable));
    if (variable_dtype(variable) != wanted) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "variable '%.*s' is %s, not %s",
            SLICE_PRINT(variable_name(variable)), dtype_name(variable_dtype(variable)), dtype_name(wanted));
    }
    return variable_fetch(context, variable, &context->outputs[0]);
}

static Status
is_initialized_compute(KernelContext *context)
{
    Variable *variable = NULL;
    Tensor *output = NULL;
    Shape scalar = shape_scalar();
    TRY(kernel_variable(context, 0, &variable));
    TRY(kernel_output(context, 0, DTYPE_BOOL, &scalar, &output));
    *(uint8_t *)output->data = variable_is_initialized(variable);
    return STATUS_OK;
}

static bool
shape_supports(const Node *node)
{
    return node->output_dtypes[0] == DTYPE_INT32 || node->output_dtypes[0] == DTYPE_INT64;
}

static Status
shape_compute(KernelContext *context)
{
    Variable *variable = NULL;
    Tensor *output = NULL;
    AUTO_TENSOR value = {0};
    TRY(kernel_variable(context, 0, &variable));
    TRY(variable_read(context->call, variable, &value));
    Shape vector = shape_vector(value.shape.rank);
    TRY(kernel_output(context, 0, context->node->output_dtypes[0], &vector, &output));
    for (int dimension = 0; dimension < value.shape.rank; dimension++) {
        if (output->dtype == DTYPE_INT64) {
            ((int64_t *)output->data)[dimension] = value.shape.dims[dimension];
        } else {
            ((int32_t *)output->data)[dimension] = (int32_t)value.shape.dims[dimension];
        }
    }
    return STATUS_OK;
}

static Status
check_shape(KernelContext *context, const Variable *variable, const Shape *expected)
{
    const Shape *shape = &context->inputs[1].shape;
    char wanted[SHAPE_TEXT_SIZE];
    char given[SHAPE_TEXT_SIZE];
    Shape merged;
    return shape_merge(shape, expected, &merged)
               ? STATUS_OK
               : call_fail(context->call, STATUS_INVALID_ARGUMENT,
                     "variable '%.*s' is of shape %s, the value of shape %s",
                     SLICE_PRINT(variable_name(variable)), shape_text(expected, wanted),
                     shape_text(shape, given));
}

static bool
validates_shape(const Node *node)
{
    return node_attr(node, "validate_shape") != NULL && node_attr_bool(node, "validate_shape");
}

/* The variable takes over the value's buffer: nothing is copied. */
static Status
replace_value(KernelContext *context, Variable *variable)
{
    TRY(variable_check_dtype(context->call, variable, context->inputs[1].dtype, "the value is"));
    if (validates_shape(context->node)) {
        const Tensor *old = variable_value(variable);
        TRY(check_shape(
            context, variable, old->dtype == DTYPE_INVALID ? variable_shape(variable) : &old->shape));
    }
    Tensor value = tensor_ref(&context->inputs[1]);
    variable_replace(variable, &value);
    return STATUS_OK;
}

static Status
assign_compute(KernelContext *context)
{
    Variable *variable = NULL;
    TRY(kernel_variable(context, 0, &variable));
    variables_lock(&variable, 1);
    Status status = replace_value(context, variable);
    variables_unlock(&variable, 1);
    TRY(status);
    pass_reference(context);
    return STATUS_OK;
}

static Status
combine_value(KernelContext *context, Variable *variable, Combine how)
{
    const Tensor *value = &context->inputs[1];
    Tensor *target = NULL;
    TRY(variable_check_dtype(context->call, variable, context->inputs[1].dtype, "the value is"));
    TRY(variable_own(context, variable, &target));
    TRY(check_shape(context, variable, &target->shape));
    (void)!combine_elements(how, value->dtype, target->data, value->data, 1, tensor_element_count(value));
    return STATUS_OK;
}

static Status
assign_combined(KernelContext *context, Combine how)
{
    Variable *variable = NULL;
    TRY(kernel_variable(context, 0, &variable));
    variables_lock(&variable, 1);
    Status status = combine_value(context, variable, how);
    variables_unlock(&variable, 1);
    TRY(status);
    pass_reference(context);
    return STATUS_OK;
}

static bool
combined_supports(const Node *node)
{
    return combine_supports(COMBINE_ADD, node->input_dtypes[1]);
}

static Status
assign_add_compute(KernelContext *context)
{
    return assign_combined(context, COMBINE_ADD);
}

static Status
assign_sub_compute(KernelContext *context)
{
    return assign_combined(context, COMBINE_SUB);
}

static bool
count_supports(const Node *node)
{
    return node->output_dtypes[0] == DTYPE_INT32 || node->output_dtypes[0] == DTYPE_INT64;
}

static Status
count_up(KernelContext *context, Variable *variable, Tensor *output)
{
    int64_t limit = node_attr_int(context->node, "limit");
    Tensor *target = NULL;
    int64_t count = 0;
    TRY(variable_own(context, variable, &target));
    if (target->dtype != output->dtype || target->shape.rank != 0 || !tensor_to_int64(target, 0, &count)) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "variable '%.*s' is no %s number",
            SLICE_PRINT(variable_name(variable)), dtype_name(output->dtype));
    }
    if (count >= limit) {
        return call_fail(context->call, STATUS_OUT_OF_RANGE, "variable '%.*s' has reached the limit of %lld",
            SLICE_PRINT(variable_name(variable)), (long long)limit);
    }
    memcpy(output->data, target->data, dtype_size(target->dtype));
    if (target->dtype == DTYPE_INT64) {
        *(int64_t *)target->data = count + 1;
    } else {
        *(int32_t *)target->data = (int32_t)(count + 1);
    }
    return STATUS_OK;
}

static Status
count_compute(KernelContext *context)
{
    Variable *variable = NULL;
    Tensor *output = NULL;
    Shape scalar = shape_scalar();
    TRY(kernel_variable(context, 0, &variable));
    TRY(kernel_output(context, 0, context->node->output_dtypes[0], &scalar, &output));
    variables_lock(&variable, 1);
    Status status = count_up(context, variable, output);
    variables_unlock(&variable, 1);
    return status;
}

#define NAMED_VARIABLE(name)                                                                                 \
    {                                                                                                        \
        .op = (name), .create = naming_new, .destroy = memory_free, .compute = variable_compute,             \
        .is_cheap = true                                                                                     \
    }

#define COMBINED(name, function)                                                                             \
    {                                                                                                        \
        .op = (name), .supports = combined_supports, .compute = (function), .visits_variables = true         \
    }

#define COUNTED(name)                                                                                        \
    {                                                                                                        \
        .op = (name), .supports = count_supports, .compute = count_compute, .visits_variables = true,        \
        .is_cheap = true                                                                                     \
    }

static const Kernel variable_kernels[] = {
    NAMED_VARIABLE("Variable"),
    NAMED_VARIABLE("VariableV2"),
    NAMED_VARIABLE("VarHandleOp"),
    NAMED_VARIABLE("_RestoredVariable"),
    NAMED_VARIABLE("_RestoredVariableV2"),
    NAMED_VARIABLE("_RestoredVarHandleOp"),
    {.op = "TemporaryVariable", .supports = temporary_supports, .compute = temporary_compute},
    {.op = "DestroyTemporaryVariable",
        .compute = read_compute,
        .visits_variables = true,
        .is_cheap = true,
        .sharing = KERNEL_LENDS},
    {.op = "DestroyResourceOp", .compute = destroy_compute, .is_cheap = true},
    {.op = "IsVariableInitialized", .compute = is_initialized_compute, .host_outputs = 1, .is_cheap = true},
    {.op = "VarIsInitializedOp", .compute = is_initialized_compute, .host_outputs = 1, .is_cheap = true},
    {.op = "RefIdentity", .compute = pass_compute, .is_cheap = true},
    {.op = "ReadVariableOp",
        .compute = read_compute,
        .visits_variables = true,
        .is_cheap = true,
        .sharing = KERNEL_LENDS},
    {.op = "VariableShape",
        .supports = shape_supports,
        .compute = shape_compute,
        .host_outputs = 1,
        .is_cheap = true},
    {.op = "Assign", .compute = assign_compute, .any_inputs = 1U << 1, .is_cheap = true},
    {.op = "AssignVariableOp", .compute = assign_compute, .any_inputs = 1U << 1, .is_cheap = true},
    COMBINED("AssignAdd", assign_add_compute),
    COMBINED("AssignAddVariableOp", assign_add_compute),
    COMBINED("AssignSub", assign_sub_compute),
    COMBINED("AssignSubVariableOp", assign_sub_compute),
    COUNTED("CountUpTo"),
    COUNTED("ResourceCountUpTo"),
};

KERNEL_FAMILY(reference, variable, variable_kernels);
