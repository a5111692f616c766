#include "worker/runtime/resource.h"

#include <assert.h>

#include <inttypes.h>

#include "shared/base/atomic.h"
#include "shared/base/memory.h"

void
resource_init(Resource *resource, const ResourceType *type)
{
    resource->reference_count = 1;
    resource->type = type;
}

Resource *
resource_ref(Resource *resource)
{
    assert(resource != NULL);
    reference_count_add(&resource->reference_count);
    return resource;
}

void
resource_unref(Resource *resource)
{
    if (resource != NULL && reference_count_drop(&resource->reference_count)) {
        resource->type->free(resource);
    }
}

bool
resource_is_unique(const Resource *resource)
{
    return atomic_load_acquire(&resource->reference_count) == 1;
}

/* The buffer of a handle: a tensor of one element, which is `resource`. */
typedef struct HandleBuffer {
    TensorBuffer buffer;
    Resource *resource;
} HandleBuffer;

static void
handle_release(TensorBuffer *buffer)
{
    HandleBuffer *handle = (HandleBuffer *)(void *)buffer;
    resource_unref(handle->resource);
    memory_free(handle);
}

Resource *
resource_of(const Tensor *handle, const ResourceType *type)
{
    bool is_handle = handle->dtype == DTYPE_RESOURCE || handle->dtype == DTYPE_VARIANT;
    Resource *resource = is_handle && handle->data != NULL ? *(Resource **)handle->data : NULL;
    return resource != NULL && resource->type == type ? resource : NULL;
}

bool
resource_handle(Resource *resource, Dtype dtype, Tensor *ret_handle)
{
    HandleBuffer *handle = memory_new(1, sizeof *handle);
    if (handle == NULL) {
        return false;
    }
    handle->resource = resource;
    handle->buffer = (TensorBuffer){
        .reference_count = 1,
        .size = sizeof handle->resource,
        .data = &handle->resource,
        .release = handle_release,
    };
    *ret_handle = (Tensor){
        .dtype = dtype, .shape = shape_scalar(), .data = &handle->resource, .buffer = &handle->buffer};
    return true;
}

Status
kernel_resource(KernelContext *context, uint32_t input, const ResourceType *type, Resource **ret_resource)
{
    Resource *resource = resource_of(&context->inputs[input], type);
    if (resource == NULL) {
        return call_fail(context->call, STATUS_INVALID_ARGUMENT, "input %" PRIu32 " is no handle of %s",
            input, type->name);
    }
    *ret_resource = resource;
    return STATUS_OK;
}

Status
kernel_handle(KernelContext *context, uint32_t index, Resource *resource)
{
    if (!resource_handle(resource, context->node->output_dtypes[index], &context->outputs[index])) {
        resource_unref(resource);
        return call_fail_memory(context->call, "a handle");
    }
    return STATUS_OK;
}
