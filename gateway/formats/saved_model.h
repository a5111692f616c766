/* Reads a SavedModel's directory from a tar: graph, signatures and the values of its variables.
 *
 * Errors: INVALID_ARGUMENT for what is damaged or no SavedModel; UNIMPLEMENTED as checkpoint.h says. */
#pragma once

#include "gateway/formats/checkpoint.h"

/* Reads the archive. The graph keeps a reference to `source`. */
MUST_USE Status saved_model_read(Call *call, TensorBuffer *source, GraphDef **ret_def);

/* The files of a model's directory, in a tar: that of the saved_model.pb that lies in the fewest folders. */
typedef struct SavedModelFiles {
    Slice folder;          /* what stands in front of their names: "" or "model/" */
    ByteSpan model;        /* saved_model.pb */
    Checkpoint checkpoint; /* where the values of variables lie */
    ByteSpan tensors;      /* in a skeleton: the values as TensorProtos; without a source: none */
} SavedModelFiles;

/* The file of a skeleton that stands for its checkpoint: a message whose fields 1 are pairs of a name (1) and
 * a TensorProto (2). */
#define SAVED_MODEL_TENSORS "variables.tensors"

/* Finds the files in a tar. INVALID_ARGUMENT when it has no model, or two. Private to gateway/formats. */
MUST_USE Status saved_model_files(Call *call, ByteSpan archive, SavedModelFiles *ret_files);

/* Returns a file's name in the model's folder; "" for one that lies elsewhere. Private to gateway/formats. */
Slice saved_model_inside(Slice folder, Slice name);

/* Returns the name of an asset in the model's folder, "assets/words.txt"; "" for other files. Private to
 * gateway/formats. */
Slice saved_model_asset(Slice folder, Slice name);

/* The tar that a model came in; empty: it came alone. */
typedef struct SavedModelArchive {
    Slice bytes;
    Slice folder; /* that of the model in it: "" or "model/" */
} SavedModelArchive;

/* Reads saved_model.pb, and the GraphDef in it. Private to gateway/formats. */
MUST_USE Status proto_saved_model(
    ProtoImport *import, Slice bytes, const SavedModelArchive *archive, GraphDef *def);

/* The parts of a MetaGraphDef that say how a model is initialized. */
typedef struct SavedModelSetup {
    const SliceList *collections;
    const SliceList *signatures;
    const SliceList *assets;
    const SavedModelArchive *archive; /* has files in a folder assets/ */
} SavedModelSetup;

/* Makes lookup tables be filled before they are read, and puts the contents of asset files into the
 * constants that name them. */
MUST_USE Status saved_model_set_up(ProtoImport *import, const SavedModelSetup *setup, GraphDef *def);
