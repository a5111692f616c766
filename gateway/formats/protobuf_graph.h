/* GraphDef, FunctionDef and OpDef from protobuf, for all files that hold one. Private to gateway/formats.
 * Field numbers: TensorFlow's graph.proto, node_def.proto, function.proto, op_def.proto.
 *
 * Ownership: what is read belongs to the import's builder.
 * Errors:    INVALID_ARGUMENT naming node or function. */
#pragma once

#include "gateway/formats/protobuf_attr.h"

/* Reads a GraphDef. */
MUST_USE Status proto_graph(ProtoImport *import, Slice bytes, GraphDef *def);

/* Reads an OpDef, which is an op's definition or a function's signature. */
MUST_USE Status proto_signature(ProtoImport *import, Slice bytes, FunctionDef *function);
