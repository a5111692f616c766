#include "worker/reference/primitives/texts.h"

#include "shared/base/memory.h"

Status
texts_begin(KernelContext *context, const Shape *shape, Texts *ret_texts)
{
    int64_t count = 0;
    *ret_texts = (Texts){.shape = *shape};
    if (!shape_element_count(shape, &count)) {
        return call_fail(context->call, STATUS_RESOURCE_EXHAUSTED, "too many strings");
    }
    ret_texts->strings = memory_new((size_t)count + 1, sizeof *ret_texts->strings);
    return ret_texts->strings == NULL ? call_fail_memory(context->call, "strings") : STATUS_OK;
}

void
texts_next(Texts *texts)
{
    texts->strings[texts->count++].size = texts->bytes.size - texts->finished;
    texts->finished = texts->bytes.size;
}

/* Where each lies is known when the last one is written. */
Status
texts_finish(KernelContext *context, uint32_t index, Texts *texts)
{
    if (!buffer_is_ok(&texts->bytes)) {
        return call_fail_memory(context->call, "strings");
    }
    const char *data = texts->bytes.data;
    for (int64_t n = 0; n < texts->count; n++) {
        texts->strings[n].data = data;
        data += texts->strings[n].size;
    }
    return tensor_new_strings(&texts->shape, texts->strings, &context->outputs[index])
               ? STATUS_OK
               : call_fail_memory(context->call, "strings");
}

void
texts_done(Texts *texts)
{
    memory_free(texts->strings);
    buffer_done(&texts->bytes);
}
