/* The constants that lie in the accelerator's memory for partitions. One that came as a blob lies there once
 * for its tenant, however many sessions, graphs and partitions read it: the first of these uploads it, and it
 * stays until the last is freed. Tenants share nothing: equal bytes of two tenants lie there twice.
 *
 * Ownership: whoever obtains a weight releases it; the table must outlive all of them. Runs that still read
 *            its bytes hold references to the buffer.
 * Threads:   any. Uploads wait for the accelerator: none may run on a loop's thread.
 * Errors:    RESOURCE_EXHAUSTED when the accelerator has no memory left, not even that of what is idle
 *            (device_allocate()); what the accelerator says when it is out of service. */
#pragma once

#include "worker/runtime/device.h"

typedef struct Weights Weights;
typedef struct Weight Weight;

typedef struct WeightKey {
    uint64_t tenant; /* as in memory_account.h */
    Slice blob;      /* digest of the bytes, lower-case hex, and behind it what was made of them */
} WeightKey;

MUST_USE Weights *weights_new(Device *accelerator); /* NULL without memory */
void weights_free(Weights *weights);                /* NULL is allowed; no weight may be left */

/* Returns the weight of this key, which uploads the value unless it is there; `value` has elements. */
MUST_USE Status weight_obtain(
    Call *call, Weights *weights, WeightKey key, const Tensor *value, Weight **ret_weight);
TensorBuffer *weight_bytes(const Weight *weight); /* without a new reference */
void weight_release(Weight *weight);

/* Copies a value that has elements into memory of the accelerator's that is its alone, charged to the tenant,
 * and waits until the source may change. */
MUST_USE Status upload_value(
    Call *call, Device *accelerator, uint64_t tenant, const Tensor *value, TensorBuffer **ret_buffer);
