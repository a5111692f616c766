/* Graphs whose files are stored blobs: a model and what belongs to it, of any size. A small one is read
 * whole, as if it had come in the request. Of a large one the graph keeps a skeleton
 * (gateway/formats/skeleton.h): its weights stay in the files, and are blobs of their own, named by their
 * digests.
 *
 * Ownership: call->arena holds everything.
 * Threads:   job threads only: reading waits for the store, and takes seconds for a GiB.
 * Errors:    INVALID_ARGUMENT for a request or a model that is none; NOT_FOUND for a blob that is not stored;
 *            OUT_OF_RANGE when a model without its weights is larger than GRAPH_SKELETON_SIZE_MAX; those of
 *            the store. */
#pragma once

#include "gateway/graphs/graph_import.h"
#include "gateway/store/blobs.h"

enum { GRAPH_SKELETON_SIZE_MAX = 64 << 20, GRAPH_FILES_MAX = 4096 };

typedef struct GraphFile {
    Slice name; /* relative to the model's folder; the model's own is not used */
    Sha256 digest;
} GraphFile;

/* A file that lies in another one, or in a body. */
typedef struct GraphFilePart {
    Slice name;
    uint64_t offset;
    uint64_t size;
} GraphFilePart;

typedef struct GraphFileParts {
    const GraphFilePart *items;
    size_t count; /* 0: the file is the model, or an archive that says itself what is in it */
} GraphFileParts;

typedef struct GraphFiles {
    GraphFormat format;
    const GraphFile *items; /* the first is the model, or has it as one of `parts` */
    size_t count;
    GraphFileParts parts;
    uint64_t resident_size; /* of all files, up to which they are read whole */
} GraphFiles;

/* Returns true for a body of application/json that names files instead of holding a graph:
 *     {"source": {"ref": "sha256:…"}, "format": "onnx", "files": {"model.onnx.data": {"ref": "sha256:…"}}} */
bool graph_files_named(Slice body);
MUST_USE Status graph_files_read(Call *call, Slice body, GraphFiles *ret_files);

/* A body in which weights lie. */
typedef struct GraphBody {
    Slice bytes; /* empty: none do */
    Sha256 digest;
} GraphBody;

/* Weights that were found in files. */
typedef struct GraphWeights {
    const BlobPartOf *ranges;
    size_t count;
} GraphWeights;

/* Reads what a graph is imported from: the model, when model and files have at most `files->resident_size`
 * bytes; else its skeleton, of which tensors of resident_size / 1024 bytes and more are absent. */
MUST_USE Status graph_files_source(Call *call, Store *store, TenantId tenant, const GraphFiles *files,
    GraphSource *ret_source, GraphWeights *ret_weights);

/* Does the same for a model in memory: the weights of a large one lie in the blob that *ret_body is
 * to become. An archive of several files, or a body of several parts, becomes one model. */
MUST_USE Status graph_body_source(Call *call, const GraphFileParts *parts, uint64_t resident_size,
    GraphSource *source, GraphWeights *ret_weights, GraphBody *ret_body);

/* Finds the blobs in which the graph's absent tensors lie, which must be stored with the sizes that the
 * tensors have. They are to be kept as long as the graph. */
MUST_USE Status graph_weights_find(Call *call, Store *store, TenantId tenant, const Graph *graph,
    const Sha256 **ret_files, size_t *ret_count);
