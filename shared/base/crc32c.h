/* CRC-32C (Castagnoli), the checksum of LevelDB's tables, TensorFlow's records and checkpoints.
 *
 * Threads: any. */
#pragma once

#include "shared/base/slice.h"

uint32_t crc32c(Slice bytes);

/* Of what `crc` is the checksum of, and the bytes behind it; 0 is that of nothing. */
uint32_t crc32c_extend(uint32_t crc, Slice bytes);

/* As those files store it: rotated and shifted, so that bytes that hold checksums have good ones too. */
uint32_t crc32c_mask(uint32_t crc);
