/* GraphDef in protobuf's canonical JSON mapping, in and out.
 *
 * In:  what real tools write: enums as names or numbers, 64-bit integers as strings or numbers, members in
 *      camelCase or snake_case, bytes in standard or URL-safe base64. Tensors by TensorFlow's rules: raw
 *      content or typed values, of which the last one repeats. A dtype that TensorFlow has and we have not
 *      reads as DTYPE_INVALID: only a node that is run needs it.
 * Out: canonical, so that equal graphs give equal bytes: attributes sorted by name, members at their default
 *      left out, tensors as raw content. This is how a partition travels, and what its digest is made of.
 *
 * Ownership: the GraphDef copies what it needs of the text.
 * Threads:   any.
 * Errors:    INVALID_ARGUMENT: not JSON (line and column), or not a GraphDef (which node, which attribute;
 * one detail with a JSON pointer). RESOURCE_EXHAUSTED when the graph's structures or constants outgrow what a
 * text of this size may ask for. */
#pragma once

#include "shared/graph/graph_def.h"

MUST_USE Status graphdef_json_read(Call *call, Slice text, GraphDef **ret_def);

/* Without memory the Buffer has failed. */
void graphdef_json_write(Buffer *buffer, const GraphDef *def);
