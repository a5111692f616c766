/* Bytes of constants that are not in the gateway's memory, piece by piece. Dispatch knows no store and must
 * not wait, so that the process hands in how a piece is read on another thread.
 *
 * Ownership: a BlobPiece lives inside its owner's struct from read() until `done` is called; the bytes are
 *            the owner's then.
 * Threads:   read() and done() on the loop's thread.
 * Errors:    those of the store, in the piece. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/base/failure.h"
#include "shared/crypto/digest.h"
#include "shared/net/loop.h"

typedef struct BlobPiece BlobPiece;

struct BlobPiece {
    Loop *loop;
    const char *tenant; /* UUID */
    Sha256 digest;      /* of the whole constant */
    uint64_t offset;
    size_t size;
    void (*done)(BlobPiece *piece);

    Buffer bytes;    /* `size` of them, unless it failed */
    Failure failure; /* STATUS_OK: none */
};

typedef struct BlobPieces {
    void *context;
    /* Begins to read a piece. False when too much waits to be read already: nothing was begun. */
    bool (*read)(void *context, BlobPiece *piece);
    int transfers_max; /* constants that a loop sends at once */
} BlobPieces;
