/* Reads TensorFlow's binary forms: a GraphDef (a frozen model, a .pb file) or a SavedModel's
 * saved_model.pb, told apart by their first field. A SavedModel's first meta graph is read; its signature
 * 'serving_default', or else the first by name, becomes GraphDef.inputs and outputs, and the values of its
 * variables are absent. Tensors follow TensorFlow's rules, as in graphdef_json.h.
 *
 * Ownership: the GraphDef keeps a reference to `source`: its texts and large, aligned constants lie there.
 * Threads:   any.
 * Errors:    INVALID_ARGUMENT naming node and attribute; RESOURCE_EXHAUSTED as for every format. */
#pragma once

#include "shared/graph/graph_def.h"

MUST_USE Status graphdef_protobuf_read(Call *call, TensorBuffer *source, GraphDef **ret_def);
