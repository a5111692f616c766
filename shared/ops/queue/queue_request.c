#include "shared/ops/queue/queue_request.h"

#include "shared/base/atomic.h"
#include "shared/base/memory.h"
#include "worker/reference/fill.h"
#include "worker/reference/rows.h"
#include "worker/reference/scratch.h"
#include "worker/reference/strided_copy.h"

void
queue_request_unref(Request *request)
{
    if (!reference_count_drop(&request->reference_count)) {
        return;
    }
    tuples_done(&request->tuples);
    resource_unref(request->queue);
    memory_free(request);
}

Status
queue_request_fail(const Request *request, Status status, const char *what)
{
    return call_fail(request->promise->context.call, status, "queue '%.*s' %s",
        SLICE_PRINT(request->declaration->name), what);
}

static Status
check_component(const Request *request, uint32_t component, const Tensor *value, bool is_row)
{
    const QueueDeclaration *declaration = request->declaration;
    Shape shape = value->shape;
    Shape merged;
    if (is_row) {
        shape.rank--;
        memmove(shape.dims, shape.dims + 1, (size_t)(SHAPE_RANK_MAX - 1) * sizeof *shape.dims);
    }
    if (value->dtype == declaration->dtypes[component] && shape.rank >= 0 &&
        shape_merge(&shape, &declaration->shapes[component], &merged)) {
        return STATUS_OK;
    }
    char wanted[SHAPE_TEXT_SIZE];
    char given[SHAPE_TEXT_SIZE];
    return call_fail(request->promise->context.call, STATUS_INVALID_ARGUMENT,
        "component %u of queue '%.*s' is %s of shape %s, not %s of shape %s", component,
        SLICE_PRINT(declaration->name), dtype_name(declaration->dtypes[component]),
        shape_text(&declaration->shapes[component], wanted), dtype_name(value->dtype),
        shape_text(&shape, given));
}

/* Checks the inputs behind the handle: one for each component. */
static Status
check_components(const Request *request, bool are_rows)
{
    const KernelContext *context = &request->promise->context;
    uint32_t count = request->declaration->component_count;
    if (context->input_count != count + 1) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "%u components for a queue of %u",
            context->input_count - 1, count);
    }
    for (uint32_t component = 0; component < count; component++) {
        const Tensor *value = &context->inputs[component + 1];
        TRY(check_component(request, component, value, are_rows));
        if (are_rows && value->shape.dims[0] != context->inputs[1].shape.dims[0]) {
            return call_fail(context->call, STATUS_INVALID_ARGUMENT, "component %u has %lld rows, not %lld",
                component, (long long)value->shape.dims[0], (long long)context->inputs[1].shape.dims[0]);
        }
    }
    return STATUS_OK;
}

static Tensor
component_of(const Tensor *value, int64_t row, bool is_row)
{
    if (!is_row) {
        return tensor_ref(value);
    }
    Shape shape = value->shape;
    int64_t size = 1;
    shape.rank--;
    memmove(shape.dims, shape.dims + 1, (size_t)(SHAPE_RANK_MAX - 1) * sizeof *shape.dims);
    (void)shape_element_count(&shape, &size);
    return rows_part(value, row * size, &shape);
}

static Status
prepare_put(Request *request)
{
    const KernelContext *context = &request->promise->context;
    bool are_rows = request->kind == QUEUE_PUT_MANY;
    TRY(check_components(request, are_rows));
    request->wanted = are_rows ? context->inputs[1].shape.dims[0] : 1;
    if (!tuples_reserve(&request->tuples, request->wanted)) {
        return call_fail_memory(context->call, "a queue");
    }
    for (int64_t row = 0; row < request->wanted; row++) {
        Tensor tuple[QUEUE_COMPONENTS_MAX];
        for (uint32_t component = 0; component < request->tuples.component_count; component++) {
            tuple[component] = component_of(&context->inputs[component + 1], row, are_rows);
        }
        tuples_put_last(&request->tuples, tuple);
    }
    return STATUS_OK;
}

static Status
prepare_take(Request *request)
{
    KernelContext *context = &request->promise->context;
    const QueueDeclaration *declaration = request->declaration;
    size_t count = 0;
    request->wanted = 1;
    if (request->kind != QUEUE_TAKE) {
        TRY(kernel_input_ints(context, 1, &request->wanted, 1, &count));
        if (count != 1 || request->wanted < 0) {
            return queue_request_fail(
                request, STATUS_INVALID_ARGUMENT, "is asked for a negative number of elements");
        }
    }
    bool is_alike = context->output_count == declaration->component_count;
    for (uint32_t component = 0; is_alike && component < context->output_count; component++) {
        is_alike = context->node->output_dtypes[component] == declaration->dtypes[component];
    }
    return is_alike ? STATUS_OK
                    : queue_request_fail(request, STATUS_INVALID_ARGUMENT, "has components of other types");
}

Status
queue_request_new(KernelPromise *promise, QueueRequest kind, Resource *queue,
    const QueueDeclaration *declaration, Request **ret_request)
{
    Request *request = memory_new(1, sizeof *request);
    if (request == NULL) {
        return call_fail_memory(promise->context.call, "a request to a queue");
    }
    *request = (Request){.reference_count = 1,
        .queue = resource_ref(queue),
        .declaration = declaration,
        .promise = promise,
        .kind = kind,
        .tuples = {.device = promise->context.device, .component_count = declaration->component_count}};
    list_init(&request->link);
    Status status = queue_request_takes(request) ? prepare_take(request) : prepare_put(request);
    if (status != STATUS_OK) {
        queue_request_unref(request);
        return status;
    }
    request->reference_count = 2;
    *ret_request = request;
    return STATUS_OK;
}

/* Returns the smallest shape that all parts fit into. */
static Shape
padded_shape(const Tensor *parts, int64_t count)
{
    Shape shape = parts[0].shape;
    for (int64_t index = 1; index < count; index++) {
        for (int dimension = 0; dimension < shape.rank; dimension++) {
            int64_t size = parts[index].shape.dims[dimension];
            shape.dims[dimension] = size > shape.dims[dimension] ? size : shape.dims[dimension];
        }
    }
    return shape;
}

/* Fills the parts up with zeros to one shape. */
static Status
pad_parts(KernelContext *context, Tensor *parts, int64_t count)
{
    Shape shape = count > 0 ? padded_shape(parts, count) : shape_scalar();
    for (int64_t index = 0; index < count; index++) {
        if (shape_equal(&parts[index].shape, &shape) || parts[index].dtype == DTYPE_STRING) {
            continue;
        }
        Tensor padded;
        StridedCopy copy = {.rank = shape.rank};
        TRY(scratch_new(context, parts[index].dtype, &shape, &padded));
        fill_zero(&padded);
        memcpy(copy.dims, parts[index].shape.dims, (size_t)shape.rank * sizeof *copy.dims);
        strides_dense(&parts[index].shape, copy.from);
        strides_dense(&shape, copy.to);
        if (tensor_element_count(&parts[index]) > 0) {
            strided_copy(&copy, &parts[index], &padded);
        }
        tensor_unref(&parts[index]);
        parts[index] = padded;
    }
    return STATUS_OK;
}

static Status
stack_parts(const Request *request, uint32_t component, Tensor *parts)
{
    KernelContext *context = &request->promise->context;
    const QueueDeclaration *declaration = request->declaration;
    int64_t count = request->tuples.size;
    Shape shape;
    if (declaration->pads) {
        TRY(pad_parts(context, parts, count));
    }
    TRY(rows_check_shapes(context->call, parts, count, 0));
    TRY(rows_prepend(
        context->call, count, count > 0 ? &parts[0].shape : &declaration->shapes[component], 0, &shape));
    return rows_join(context, component, &shape, parts, count);
}

/* Makes an output from one component of the taken tuples: one tuple's own, or many stacked. */
static Status
output_component(const Request *request, uint32_t component)
{
    KernelContext *context = &request->promise->context;
    int64_t count = request->tuples.size;
    Tensor *parts = NULL;
    if (request->kind == QUEUE_TAKE) {
        context->outputs[component] = tensor_ref(&tuples_at(&request->tuples, 0)[component]);
        return STATUS_OK;
    }
    TRY(rows_alloc(context->call, count, &parts));
    for (int64_t index = 0; index < count; index++) {
        parts[index] = tensor_ref(&tuples_at(&request->tuples, index)[component]);
    }
    Status status = stack_parts(request, component, parts);
    rows_free(parts, count);
    return status;
}

Status
queue_request_output(const Request *request)
{
    for (uint32_t component = 0; component < request->tuples.component_count; component++) {
        TRY(output_component(request, component));
    }
    return STATUS_OK;
}
