/* Outputs of strings, written one after the other.
 *
 *     AUTO_TEXTS texts;
 *     TRY(texts_begin(context, &shape, &texts));
 *     … buffer_append…(&texts.bytes, …); texts_next(&texts); …      once for each element
 *     return texts_finish(context, 0, &texts);
 *
 * The finished strings are device memory and count as such; the bytes being written may take a part of
 * what the device has left.
 *
 * Ownership: texts_done() frees what texts_begin() took, also after it failed.
 * Errors:    RESOURCE_EXHAUSTED without memory. */
#pragma once

#include "shared/base/buffer.h"
#include "worker/runtime/kernel.h"

typedef struct Texts {
    Shape shape;
    Buffer bytes;
    Tensor table; /* a temporary whose data is `strings` */
    Slice *strings;
    int64_t count;   /* finished strings */
    size_t finished; /* bytes of the finished strings */
} Texts;

MUST_USE Status texts_begin(KernelContext *context, const Shape *shape, Texts *ret_texts);

/* Ends a string: the bytes appended since the last call. */
void texts_next(Texts *texts);

/* Makes output `index`; texts_next() was called once for each of its elements. */
MUST_USE Status texts_finish(KernelContext *context, uint32_t index, Texts *texts);
void texts_done(Texts *texts);
#define AUTO_TEXTS CLEANUP(texts_done) Texts

/* Makes a tensor of copies of these strings: an output's, or one that a resource keeps. */
MUST_USE Status texts_new(
    KernelContext *context, const Shape *shape, const Slice *strings, Tensor *ret_tensor);

static inline Slice
string_at(const Tensor *tensor, int64_t n)
{
    return ((const Slice *)tensor->data)[n];
}
