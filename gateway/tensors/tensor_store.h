/* Tensors that queued steps take and leave, kept as blobs: the elements as they lie in memory
 * (little-endian), strings as their sizes (u64 each) and then their bytes. Dtype, shape and digest stand
 * beside them in a StepTensor.
 *
 * Ownership: rows and bytes live in the call's arena, or are the tensor's.
 * Threads:   job threads.
 * Errors:    DATA_LOSS when stored bytes are not those of the dtype and shape. */
#pragma once

#include "gateway/store/blobs.h"
#include "gateway/store/steps.h"
#include "shared/tensor/tensor.h"

/* Describes `count` tensors that are to be stored: their rows, and in ret_blobs, which has room for `count`,
 * what blobs_put_all() is to store of each. */
MUST_USE Status tensors_stored(Call *call, const Slice *names, const Tensor *tensors, size_t count,
    StepTensors *ret_rows, BlobPut *ret_blobs);

/* Reads a stored tensor back. */
MUST_USE Status tensor_get(
    Call *call, Store *store, TenantId tenant, const StepTensor *stored, Tensor *ret_tensor);
