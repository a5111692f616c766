/* A tensor for a reader: nested as its shape says, a row a line, and of a large one the edges. Works on the
 * API's JSON, whose elements are readable as they stand.
 * Errors: DATA_LOSS when the elements do not fill the shape. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/base/call.h"

/* `tensor` is {"dtype", "shape", "data"}; the text ends with a line end. */
MUST_USE Status tensor_text_append(Call *call, Slice tensor, Buffer *text);

/* "float32 [1,2]" */
MUST_USE Status tensor_text_append_type(Call *call, Slice tensor, Buffer *text);
