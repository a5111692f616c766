/* The frames that bodies of the worker protocol are made of. Bytes in, bytes out; no sockets.
 *
 * One frame: fixed header (24 bytes, little-endian), `rank` dimensions (int64), name, padding to 64 bytes
 * from the frame's start, payload, padding of the payload to 8 bytes.
 *
 *     0  u32  magic "SLF1"        8  u8 rank        16 u64 payload_size
 *     4  u8   kind                9  u8 flags (0)
 *     5  u8   dtype (ours)       10  u16 reserved (0)
 *     6  u16  name_size          12  u32 reserved (0)
 *
 * Numbers are little-endian, paddings and what a kind does not use are zero; the payload's size is that of
 * the shape and dtype. String tensors: element sizes (u64 each), then the bytes.
 *
 * Ownership: a frame's name and json lie in its reader; its tensor is whoever's who takes the frame.
 * Threads:   a reader belongs to one thread at a time.
 * Errors:    INVALID_ARGUMENT for anything malformed, RESOURCE_EXHAUSTED above a limit; lengths are checked
 *            against the shape and the limits before anything is allocated. Nothing can be read behind an
 *            error. Writing fails as the Buffer does, also for names over FRAME_NAME_SIZE_MAX. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/base/call.h"
#include "shared/tensor/tensor.h"

typedef enum FrameKind {
    FRAME_HEADER = 1,   /* JSON: what the request is about (messages.h) */
    FRAME_TENSOR = 2,   /* name, dtype, shape, elements */
    FRAME_DEAD = 3,     /* name of a tensor that will never have a value */
    FRAME_ANNOUNCE = 4, /* name and byte size of a tensor to be pulled: payload is u64 size */
    FRAME_HEARTBEAT = 5,
    FRAME_STATUS = 6, /* JSON: canonical code, message, node; the end of an answer */
    FRAME_STATS = 7,  /* JSON: step statistics */
} FrameKind;

enum {
    FRAME_FIXED_SIZE = 24,
    FRAME_ALIGNMENT = 64,
    FRAME_NAME_SIZE_MAX = 4096,
    FRAME_PAYLOAD_ALIGNMENT = 8,
    FRAME_JSON_SIZE_MAX = 1 << 20,
};

/* The part of a TENSOR frame that a reader has come to; other kinds are always whole. */
typedef enum FramePart {
    FRAME_WHOLE,
    FRAME_HEAD,  /* name, dtype and shape; the elements follow */
    FRAME_PIECE, /* bytes of the elements, as they came */
    FRAME_END,   /* the last piece was read, and the frame was sound to its end */
} FramePart;

typedef struct Frame {
    FrameKind kind;
    FramePart part;
    Slice name;
    Slice json;    /* HEADER, STATUS, STATS */
    Tensor tensor; /* TENSOR: owned by whoever takes the frame; of a part without data; ANNOUNCE: none */
    Slice piece;   /* FRAME_PIECE: bytes of the caller's data */
    uint64_t payload_size;
    uint64_t announced_size;
} Frame;

/* Appends a tensor's frame without its payload, which is then sent from tensor->data itself
 * (frame_tensor_payload), without a copy, and followed by frame_padding() zero bytes. The payload and
 * padding of a string tensor are appended too, and frame_tensor_payload is empty. */
void frame_write_tensor_head(Buffer *buffer, Slice name, const Tensor *tensor);
Slice frame_tensor_payload(const Tensor *tensor);

/* Appends the same of a tensor whose payload is known by its size alone, also of strings. */
void frame_write_head(Buffer *buffer, Slice name, const Tensor *described, uint64_t payload_size);
size_t frame_padding(size_t payload_size);

/* Returns the bytes of the whole frame, for a Content-Length. */
size_t frame_tensor_size(Slice name, const Tensor *tensor);

/* Appends a HEADER, STATUS or STATS frame. */
void frame_write_json(Buffer *buffer, FrameKind kind, Slice json);
void frame_write_dead(Buffer *buffer, Slice name);
void frame_write_announce(Buffer *buffer, Slice name, uint64_t byte_size);
void frame_write_heartbeat(Buffer *buffer);

/* Puts frames together from a stream of pieces. Small parts are buffered; a tensor's payload goes straight
 * into the tensor's own buffer. */
typedef struct FrameReader FrameReader;

typedef struct FrameLimits {
    size_t tensor_size_max; /* bytes of one payload */
    size_t total_size_max;  /* bytes of all payloads of one reader; 0: no limit */
    /* Allocates the buffers of payloads; NULL: the heap (tensor_buffer_new). Strings always live on the
     * heap, as their table is made on the host; it takes up to as many bytes again as their payload. */
    TensorBuffer *(*allocate)(void *context, size_t size);
    void *allocate_context;
    size_t head_size_min; /* bytes of a payload from which on a tensor is announced by its FRAME_HEAD; 0:
                           * tensors come whole */
} FrameLimits;

MUST_USE FrameReader *frame_reader_new(const FrameLimits *limits);
void frame_reader_free(FrameReader *reader); /* NULL is allowed */

/* Makes the reader as new, for another body. */
void frame_reader_reset(FrameReader *reader, const FrameLimits *limits);

/* Frees what was half read and keeps the reader's own memory: to be reset before it reads again. */
void frame_reader_end(FrameReader *reader); /* NULL is allowed */

/* Takes bytes from *data, and advances it, until a frame is complete: *ret_is_complete is true then, and
 * the caller handles the frame and calls again while data is left. The frame's json and name stay until
 * the next call; its tensor is the caller's. With *ret_is_complete false all of *data was taken. */
MUST_USE Status frame_read(
    Call *call, FrameReader *reader, Slice *data, Frame *ret_frame, bool *ret_is_complete);

/* Has the tensor whose FRAME_HEAD was the last frame handed on as pieces, and no memory allocated for it:
 * FRAME_PIECEs and one FRAME_END follow. Otherwise it comes whole, as the next frame. Of strings the pieces
 * are the payload, whose sizes nobody has compared with its bytes yet. */
void frame_reader_pass(FrameReader *reader);

/* Returns true when no frame is half read: the body may end here. */
bool frame_reader_is_between(const FrameReader *reader);
