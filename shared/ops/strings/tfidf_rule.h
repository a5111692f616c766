/* ONNX's TfIdfVectorizer: what shape rule and kernel both ask. Threads: any. */
#pragma once

#include "shared/ops/infer.h"

/* Finds how many numbers a row of the output has: one more than the largest index. INVALID_ARGUMENT for a
 * negative one. */
MUST_USE Status tfidf_size(Call *call, const Node *node, int64_t *ret_size);
