/* TensorFlow's checkpoints (V2, "TensorBundle"): an index, which is a sorted table, and shards of raw tensor
 * bytes. Private to gateway/formats.
 *
 * Errors: INVALID_ARGUMENT for damaged files, also where a checksum (CRC-32C) of the index or of a tensor
 * does not fit; UNIMPLEMENTED for compressed tables and for files of a big-endian host. */
#pragma once

#include "gateway/formats/byte_source.h"
#include "gateway/formats/protobuf_attr.h"

enum { CHECKPOINT_SHARDS_MAX = 256 };

/* Hears of a tensor that becomes absent, once its checksum is found right. */
typedef Status (*CheckpointLeave)(void *context, ByteSpan span, const Sha256 *digest);

typedef struct Checkpoint {
    ByteSpan index;                         /* without a source: there is no checkpoint */
    ByteSpan shards[CHECKPOINT_SHARDS_MAX]; /* without a source where the archive has no such shard */
    CheckpointLeave leave;                  /* NULL: all tensors are read into memory */
    void *context;
    size_t weight_size_min; /* smaller tensors are read into memory */
    size_t size_max;        /* of what is read into memory at once */
} Checkpoint;

/* Reads all tensors, by their names in the checkpoint. A slice of a tensor that was saved in parts is
 * named as RestoreV2 asks for it: "<tensor> <start>,<length>:-", with '-' for the whole of a dimension. */
MUST_USE Status checkpoint_read(
    ProtoImport *import, const Checkpoint *checkpoint, const GraphTensor **ret_tensors, size_t *ret_count);

/* Appends the name of a slice, from its key in the index; returns false when the key is none of a slice. */
MUST_USE bool checkpoint_slice_name(Slice key, Buffer *name);
