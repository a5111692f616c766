#include "gateway/tensors/tensor_blob.h"

#include "shared/tensor/npy.h"

static Status
read_chunks(Call *call, Store *store, TenantId tenant, const Sha256 *digest, const TensorBlobOptions *options,
    NpyReader *reader)
{
    uint64_t size = 0;
    AUTO_BUFFER chunk = {0};
    TRY(blobs_find(call, store, tenant, digest, &size));
    TRY(options->hold(options->owner, size));
    for (uint64_t offset = 0; offset < size; offset += chunk.size) {
        buffer_clear(&chunk);
        BlobRange range = {.offset = offset, .size = BLOB_CHUNK_SIZE};
        TRY(blobs_read(call, store, tenant, digest, range, &chunk));
        TRY(npy_reader_write(call, reader, buffer_slice(&chunk), options->size_max));
    }
    return STATUS_OK;
}

Status
tensor_blob_read(Call *call, Store *store, TenantId tenant, const Sha256 *digest,
    const TensorBlobOptions *options, Tensor *ret_tensor)
{
    NpyReader reader = {0};
    Status status = read_chunks(call, store, tenant, digest, options, &reader);
    if (status == STATUS_OK) {
        status = npy_reader_end(call, &reader, ret_tensor);
    }
    npy_reader_done(&reader);
    return status;
}
