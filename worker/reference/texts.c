#include "worker/reference/texts.h"

#include <assert.h>

#include "worker/reference/scratch.h"

Status
texts_begin(KernelContext *context, const Shape *shape, Texts *ret_texts)
{
    int64_t count = 0;
    *ret_texts = (Texts){.shape = *shape, .bytes.size_max = scratch_heap_max(context)};
    if (!shape_element_count(shape, &count)) {
        return call_fail(context->call, STATUS_RESOURCE_EXHAUSTED, "too many strings");
    }
    TRY(scratch_array(context, count, sizeof(Slice), &ret_texts->table));
    ret_texts->strings = ret_texts->table.data;
    return STATUS_OK;
}

void
texts_next(Texts *texts)
{
    assert(texts->count < texts->table.shape.dims[0]);
    texts->strings[texts->count++].size = texts->bytes.size - texts->finished;
    texts->finished = texts->bytes.size;
}

/* The strings get their addresses only now: the bytes may have moved while they were written. There are none
 * (NULL) when all strings are empty. */
Status
texts_finish(KernelContext *context, uint32_t index, Texts *texts)
{
    assert(index < context->output_count && texts->count == texts->table.shape.dims[0]);
    if (!buffer_is_ok(&texts->bytes)) {
        return call_fail_memory(context->call, "strings");
    }
    const char *data = texts->bytes.data;
    for (int64_t n = 0; n < texts->count; n++) {
        texts->strings[n].data = data;
        data = texts->strings[n].size > 0 ? data + texts->strings[n].size : data;
    }
    return texts_new(context, &texts->shape, texts->strings, &context->outputs[index]);
}

void
texts_done(Texts *texts)
{
    tensor_unref(&texts->table);
    buffer_done(&texts->bytes);
}

Status
texts_new(KernelContext *context, const Shape *shape, const Slice *strings, Tensor *ret_tensor)
{
    size_t size = 0;
    TensorBuffer *buffer = NULL;
    if (!tensor_strings_size(shape, strings, &size)) {
        return call_fail(context->call, STATUS_RESOURCE_EXHAUSTED, "strings are larger than any memory");
    }
    if (size > 0) {
        buffer = context->device->allocate(context->device, size);
        if (buffer == NULL) {
            return call_fail(
                context->call, STATUS_RESOURCE_EXHAUSTED, "no memory for strings of %zu bytes", size);
        }
    }
    *ret_tensor = buffer == NULL ? (Tensor){.dtype = DTYPE_STRING, .shape = *shape}
                                 : tensor_fill_strings(shape, strings, buffer);
    return STATUS_OK;
}
