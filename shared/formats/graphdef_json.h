/* GraphDef in protobuf's canonical JSON mapping.
 *
 * Reading: takes what real tools write: enums as names or numbers, 64-bit integers as strings or numbers,
 *          members in camelCase or snake_case, bytes in standard or URL-safe base64. Tensors follow
 *          TensorFlow's rules: raw content or typed values, of which the last one repeats. A dtype of
 *          TensorFlow's that has no Dtype reads as DTYPE_INVALID: only a node that runs needs it.
 * Writing: is canonical, so that equal graphs give equal bytes: attributes sorted by name, members at
 *          their default left out, tensors as raw content. A partition travels in this form, and its digest
 *          is made of it.
 *
 * Beyond protobuf's mapping, a TensorProto has "ref": "sha256:<64 hex digits>" in the place of its content
 * when its bytes are a blob: such a tensor is absent.
 *
 * Ownership: the GraphDef copies what it needs of the text.
 * Threads:   any.
 * Errors:    INVALID_ARGUMENT for what is no JSON (line and column) or no GraphDef (node and attribute).
 *            RESOURCE_EXHAUSTED when the graph's structures or constants outgrow what a text of this size
 *            may ask for. */
#pragma once

#include "shared/graph/graph_def.h"

MUST_USE Status graphdef_json_read(Call *call, Slice text, GraphDef **ret_def);

/* Appends the graph's JSON. The Buffer has failed when memory was short. */
void graphdef_json_write(Buffer *buffer, const GraphDef *def);
