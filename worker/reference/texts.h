/* Outputs of strings, written one behind the other.
 *
 *     AUTO_TEXTS texts;
 *     TRY(texts_begin(context, &shape, &texts));
 *     … buffer_append…(&texts.bytes, …); texts_next(&texts); …      once for each element
 *     return texts_finish(context, 0, &texts);
 *
 * What a graph can make large is the device's memory, and counts; bytes that are being written may be a part
 * of what it has left.
 *
 * Ownership: texts_done() gives back what texts_begin() took, also after it failed.
 * Errors:    RESOURCE_EXHAUSTED without memory. */
#pragma once

#include "shared/base/buffer.h"
#include "worker/runtime/kernel.h"

typedef struct Texts {
    Shape shape;
    Buffer bytes;
    Tensor table; /* a temporary: its memory is `strings` */
    Slice *strings;
    int64_t count;   /* strings that are done */
    size_t finished; /* their bytes */
} Texts;

MUST_USE Status texts_begin(KernelContext *context, const Shape *shape, Texts *ret_texts);

/* What was appended since the last call is one string. */
void texts_next(Texts *texts);

/* Output `index`; there was one texts_next() for each of its elements. */
MUST_USE Status texts_finish(KernelContext *context, uint32_t index, Texts *texts);
void texts_done(Texts *texts);
#define AUTO_TEXTS CLEANUP(texts_done) Texts

/* A tensor of copies of these strings: an output's, or one that stays. */
MUST_USE Status texts_new(
    KernelContext *context, const Shape *shape, const Slice *strings, Tensor *ret_tensor);

static inline Slice
string_at(const Tensor *tensor, int64_t n)
{
    return ((const Slice *)tensor->data)[n];
}
