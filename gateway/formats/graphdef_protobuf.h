/* TensorFlow's binary forms in: GraphDef (a frozen model, a .pb file), or a SavedModel's saved_model.pb, told
 * apart by their first field. Of a SavedModel the first meta graph counts; its signature 'serving_default',
 * or else the first by name, becomes GraphDef.inputs and outputs. Variables' values are not in it. Tensors by
 * TensorFlow's rules, dtypes that we have not as DTYPE_INVALID: see graphdef_json.h.
 *
 * Ownership: the GraphDef keeps a reference to `source`: its texts and large, aligned constants lie there.
 * Threads:   any.
 * Errors:    INVALID_ARGUMENT naming node and attribute; RESOURCE_EXHAUSTED as for every format. */
#pragma once

#include "shared/graph/graph_def.h"

MUST_USE Status graphdef_protobuf_read(Call *call, TensorBuffer *source, GraphDef **ret_def);
