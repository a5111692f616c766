/* Tensors kept as blobs: the elements as they lie in memory (little-endian), strings as their sizes (u64
 * each) and then their bytes. Dtype, shape and digest stand beside them in a StepTensor.
 *
 * Threads: job threads. */
#pragma once

#include "gateway/store/blobs.h"
#include "gateway/store/steps.h"
#include "shared/tensor/tensor.h"

/* What of a tensor is to be stored: its row, and its bytes for blobs_put_all(), which are the tensor's or the
 * call's. */
MUST_USE Status tensor_stored(
    Call *call, Slice name, const Tensor *tensor, StepTensor *ret_stored, BlobPut *ret_blob);

/* Stores the elements and describes them. RESOURCE_EXHAUSTED over the quota, OUT_OF_RANGE over the limit of
 * a blob. */
MUST_USE Status tensor_put(
    Call *call, Store *store, TenantId tenant, Slice name, const Tensor *tensor, StepTensor *ret_stored);

/* DATA_LOSS when the bytes are not those of the dtype and shape. */
MUST_USE Status tensor_get(
    Call *call, Store *store, TenantId tenant, const StepTensor *stored, Tensor *ret_tensor);
