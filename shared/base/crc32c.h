/* CRC-32C (Castagnoli), the checksum of LevelDB's tables, TensorFlow's records and checkpoints.
 *
 * Threads: any. */
#pragma once

#include "shared/base/slice.h"

uint32_t crc32c(Slice bytes);

/* Returns the checksum of some bytes, whose own checksum is `crc`, followed by `bytes`. The checksum of no
 * bytes is 0. */
uint32_t crc32c_extend(uint32_t crc, Slice bytes);

/* Returns the form that these files store, rotated and shifted: the checksum of bytes that hold a plain
 * checksum would be weak. */
uint32_t crc32c_mask(uint32_t crc);
