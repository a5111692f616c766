/* Tensors kept as blobs: .npy files that a tenant has uploaded, named by the SHA-256 of the file's bytes
 * (what `sha256sum x.npy` prints). Feeds name them as {"ref": "sha256:<64 hex digits>"}.
 *
 * Errors: NOT_FOUND for another tenant's; INVALID_ARGUMENT for bytes that are no .npy file (a graph's
 * source). */
#pragma once

#include "gateway/domain/tenant.h"
#include "gateway/store/blobs.h"
#include "shared/tensor/tensor.h"

typedef struct TensorBlobOptions {
    size_t size_max; /* bytes of elements */

    /* Asks whether there is room for the file's size in memory, before any of it is read. */
    Status (*hold)(void *owner, uint64_t size);
    void *owner;
} TensorBlobOptions;

/* Reads the blob into a tensor, a chunk at a time. RESOURCE_EXHAUSTED for more than `size_max` bytes of
 * elements: then none has been read. */
MUST_USE Status tensor_blob_read(Call *call, Store *store, TenantId tenant, const Sha256 *digest,
    const TensorBlobOptions *options, Tensor *ret_tensor);
