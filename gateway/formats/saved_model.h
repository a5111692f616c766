/* A SavedModel's directory as a tar: graph, signatures and the values of its variables.
 *
 * Errors: INVALID_ARGUMENT for what is damaged or no SavedModel; UNIMPLEMENTED for checkpoints that are
 * compressed or cut in slices. */
#pragma once

#include "gateway/formats/protobuf_attr.h"

/* `source` is kept as long as the graph lives. */
MUST_USE Status saved_model_read(Call *call, TensorBuffer *source, GraphDef **ret_def);

/* Reads saved_model.pb, and the GraphDef in it. `archive` is the tar that it came in, or empty. Private to
 * gateway/formats. */
MUST_USE Status proto_saved_model(ProtoImport *import, Slice bytes, Slice archive, GraphDef *def);

/* What a MetaGraphDef says about getting ready, as it stands there. */
typedef struct SavedModelSetup {
    const SliceList *collections;
    const SliceList *signatures;
    const SliceList *assets;
    Slice archive; /* a tar, in whose folder assets/ files may lie; or empty */
} SavedModelSetup;

/* Lookup tables are filled before anybody asks them, and constants that name asset files get their contents.
 */
MUST_USE Status saved_model_set_up(ProtoImport *import, const SavedModelSetup *setup, GraphDef *def);
