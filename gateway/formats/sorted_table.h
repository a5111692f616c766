/* Reads a sorted string table as LevelDB writes it, in which TensorFlow keeps the index of a checkpoint:
 * blocks of entries, and a block that says where they are. Private to gateway/formats.
 *
 * Errors: INVALID_ARGUMENT "the checkpoint's index is damaged: …", also where a block's checksum does not
 *         fit; UNIMPLEMENTED for compressed blocks. */
#pragma once

#include "shared/base/call.h"
#include "shared/base/slice.h"

/* Visits one entry, in the order of keys. The key stays until the visit ends. */
typedef Status (*SortedTableVisit)(void *context, Slice key, Slice value);

MUST_USE Status sorted_table_walk(Call *call, Slice table, SortedTableVisit visit, void *context);
