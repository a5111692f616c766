/* Reads a SavedModel's directory from a tar: graph, signatures and the values of its variables.
 *
 * Errors: INVALID_ARGUMENT for what is damaged or no SavedModel; UNIMPLEMENTED as checkpoint.h says. */
#pragma once

#include "gateway/formats/protobuf_attr.h"

/* Reads the archive. The graph keeps a reference to `source`. */
MUST_USE Status saved_model_read(Call *call, TensorBuffer *source, GraphDef **ret_def);

/* Reads saved_model.pb, and the GraphDef in it. `archive` is the tar that it came in, or empty. Private to
 * gateway/formats. */
MUST_USE Status proto_saved_model(ProtoImport *import, Slice bytes, Slice archive, GraphDef *def);

/* The parts of a MetaGraphDef that say how a model is initialized. */
typedef struct SavedModelSetup {
    const SliceList *collections;
    const SliceList *signatures;
    const SliceList *assets;
    Slice archive; /* a tar with files in a folder assets/; or empty */
} SavedModelSetup;

/* Makes lookup tables be filled before they are read, and puts the contents of asset files into the
 * constants that name them. */
MUST_USE Status saved_model_set_up(ProtoImport *import, const SavedModelSetup *setup, GraphDef *def);
