/* Uploads of contents as blobs: hashed first, then sent from where the gateway says that it is, piece by
 * piece, and taken up again when the connection breaks or the gateway is busy.
 *
 * Errors: those of content.h; the last failure when nothing has moved for a while; the gateway's. */
#pragma once

#include "gateway/cli/command.h"
#include "gateway/cli/content.h"
#include "shared/crypto/digest.h"

typedef struct UploadedBlob {
    Sha256 digest;
    uint64_t size;
    bool was_there; /* nothing had to be sent */
} UploadedBlob;

/* Uploads the content, and shows under `label` how far it is. */
MUST_USE Status blob_upload(Cli *cli, Content *content, const char *label, UploadedBlob *ret_blob);

/* Parses "sha256:" and 64 hex digits, or the digits alone. */
MUST_USE Status blob_digest_parse(Cli *cli, const char *text, Sha256 *ret_digest);
