/* The bytes of a frame in front of its payload, as the writer and the reader share them. */
#pragma once

#include "shared/wire/frame.h"

/* Elements travel as they lie in memory. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the wire is little-endian");

#define FRAME_MAGIC UINT32_C(0x31464c53) /* "SLF1" */

typedef struct FrameFixed {
    unsigned char magic[4];
    uint8_t kind;
    uint8_t dtype;
    uint16_t name_size;
    uint8_t rank;
    uint8_t flags;
    uint8_t reserved[6];
    uint64_t payload_size;
} FrameFixed;
_Static_assert(sizeof(FrameFixed) == FRAME_FIXED_SIZE, "the fixed header has no holes");

static inline size_t
frame_head_used(size_t rank, size_t name_size)
{
    return FRAME_FIXED_SIZE + rank * sizeof(int64_t) + name_size;
}

static inline size_t
frame_head_size(size_t rank, size_t name_size)
{
    const size_t used = frame_head_used(rank, name_size);
    return (used + FRAME_ALIGNMENT - 1) / FRAME_ALIGNMENT * FRAME_ALIGNMENT;
}
