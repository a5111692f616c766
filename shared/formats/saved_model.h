/* A SavedModel's directory as a tar: graph, signatures and the values of its variables.
 *
 * Errors: INVALID_ARGUMENT for what is damaged or no SavedModel; UNIMPLEMENTED for checkpoints that are
 * compressed or cut in slices. */
#pragma once

#include "shared/formats/protobuf_attr.h"

/* `source` is kept as long as the graph lives. */
MUST_USE Status saved_model_read(Call *call, TensorBuffer *source, GraphDef **ret_def);

/* Inside shared/formats: saved_model.pb, and the GraphDef in it. */
MUST_USE Status proto_saved_model(ProtoImport *import, Slice bytes, GraphDef *def);
MUST_USE Status proto_graph(ProtoImport *import, Slice bytes, GraphDef *def);

/* An OpDef: of an op, or of a function. */
MUST_USE Status proto_signature(ProtoImport *import, Slice bytes, FunctionDef *function);
