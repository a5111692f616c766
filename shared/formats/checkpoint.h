/* TensorFlow's checkpoints (V2, "TensorBundle"): an index, which is a sorted string table as LevelDB writes
 * it, and shards of raw tensor bytes. Private to shared/formats.
 *
 * Errors: INVALID_ARGUMENT for damaged files, also where a checksum (CRC-32C) of the index does not fit;
 *         UNIMPLEMENTED for compressed tables and sliced tensors. */
#pragma once

#include "shared/formats/protobuf_attr.h"

enum { CHECKPOINT_SHARDS_MAX = 256 };

typedef struct Checkpoint {
    Slice index;
    Slice shards[CHECKPOINT_SHARDS_MAX]; /* no data where the archive has none */
} Checkpoint;

/* All tensors, by their names in the checkpoint. */
MUST_USE Status checkpoint_read(
    ProtoImport *import, const Checkpoint *checkpoint, const GraphTensor **ret_tensors, size_t *ret_count);

/* CRC-32C (Castagnoli), masked as LevelDB stores it. */
uint32_t checkpoint_crc(Slice bytes);
