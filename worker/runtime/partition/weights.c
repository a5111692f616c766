#include "worker/runtime/partition/weights.h"
#include "worker/runtime/device_memory.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "shared/base/atomic.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "worker/runtime/memory_account.h"

enum { KEY_SIZE = 320 };

struct Weight {
    Weights *weights;
    Mutex upload;        /* held while the bytes are on their way */
    TensorBuffer *bytes; /* set once, under `upload`, and immutable for whoever has obtained the weight */
    size_t user_count;   /* guarded by the table's lock */
    size_t key_size;
    char key[KEY_SIZE];
};

struct Weights {
    Device *accelerator;
    Mutex lock;
    Map *by_key; /* Weight */
};

Weights *
weights_new(Device *accelerator)
{
    assert(accelerator != NULL && !device_is_host(accelerator));
    Weights *weights = memory_new(1, sizeof *weights);
    Map *by_key = map_new();
    if (weights == NULL || by_key == NULL) {
        memory_free(weights);
        map_free(by_key);
        return NULL;
    }
    weights->accelerator = accelerator;
    weights->by_key = by_key;
    mutex_init(&weights->lock);
    return weights;
}

void
weights_free(Weights *weights)
{
    if (weights != NULL) {
        assert(map_count(weights->by_key) == 0);
        map_free(weights->by_key);
        mutex_done(&weights->lock);
        memory_free(weights);
    }
}

typedef struct Upload {
    DeviceCopy copy; /* first: a DeviceCopy is one of these */
    Mutex lock;
    Condition ended;
    bool has_ended;
    Failure failure;
} Upload;

static void
end_upload(DeviceCopy *copy, const Failure *failure)
{
    Upload *upload = (Upload *)(void *)copy;
    mutex_lock(&upload->lock);
    if (failure != NULL) {
        upload->failure = *failure;
    }
    upload->has_ended = true;
    condition_signal(&upload->ended);
    mutex_unlock(&upload->lock);
}

static Status
copy_bytes(Call *call, Device *accelerator, const Tensor *from, TensorBuffer *to)
{
    Upload upload = {0};
    upload.copy.from = from->buffer;
    upload.copy.from_offset = (size_t)((const char *)from->data - (const char *)from->buffer->data);
    upload.copy.to = to;
    upload.copy.size = tensor_byte_size(from);
    upload.copy.done = end_upload;
    mutex_init(&upload.lock);
    condition_init(&upload.ended);
    accelerator->copy(accelerator, &upload.copy);
    mutex_lock(&upload.lock);
    while (!upload.has_ended) {
        condition_wait(&upload.ended, &upload.lock);
    }
    mutex_unlock(&upload.lock);
    condition_done(&upload.ended);
    mutex_done(&upload.lock);
    return failure_raise(call, &upload.failure);
}

/* Allocates as the tenant: its memory comes to others zeroed. */
static Status
allocate_for(Call *call, Device *accelerator, uint64_t tenant, size_t size, TensorBuffer **ret_buffer)
{
    MemoryAccount *account = memory_account_new();
    if (account == NULL) {
        return call_fail_memory(call, "a constant's account");
    }
    account->tenant = tenant;
    MemoryAccount *before = accelerator->charge(accelerator, account);
    TensorBuffer *buffer = device_allocate(accelerator, size, account);
    (void)accelerator->charge(accelerator, before);
    char why[DEVICE_FULL_TEXT_SIZE];
    Status status = buffer != NULL ? STATUS_OK
                                   : call_fail(call, STATUS_RESOURCE_EXHAUSTED,
                                         "a constant of %zu bytes does not fit: %s", size,
                                         device_tell_full(accelerator, account, why));
    memory_account_end(account);
    *ret_buffer = buffer;
    return status;
}

Status
upload_value(Call *call, Device *accelerator, uint64_t tenant, const Tensor *value, TensorBuffer **ret_buffer)
{
    size_t size = tensor_byte_size(value);
    assert(size > 0 && tensor_is_on_host(value));
    TensorBuffer *buffer = NULL;
    TRY(allocate_for(call, accelerator, tenant, size, &buffer));
    Status status = copy_bytes(call, accelerator, value, buffer);
    if (status != STATUS_OK) {
        tensor_buffer_unref(buffer);
        return status;
    }
    *ret_buffer = buffer;
    return STATUS_OK;
}

static Slice
key_of(const Weight *weight)
{
    return slice_of(weight->key, weight->key_size);
}

static Weight *
weight_new(Weights *weights, Slice key)
{
    Weight *weight = memory_new(1, sizeof *weight);
    if (weight == NULL) {
        return NULL;
    }
    weight->weights = weights;
    weight->key_size = key.size;
    memcpy(weight->key, key.data, key.size);
    mutex_init(&weight->upload);
    return weight;
}

static void
weight_free(Weight *weight)
{
    tensor_buffer_unref(weight->bytes);
    mutex_done(&weight->upload);
    memory_free(weight);
}

/* Finds or adds a weight, which may have no bytes yet, and counts the user. NULL without memory. */
static Weight *
find_weight(Weights *weights, Slice key)
{
    mutex_lock(&weights->lock);
    Weight *weight = map_get(weights->by_key, key);
    if (weight == NULL) {
        weight = weight_new(weights, key);
        if (weight != NULL && !map_put(weights->by_key, key, weight)) {
            weight_free(TAKE(weight));
        }
    }
    if (weight != NULL) {
        weight->user_count++;
    }
    mutex_unlock(&weights->lock);
    return weight;
}

Status
weight_obtain(Call *call, Weights *weights, WeightKey key, const Tensor *value, Weight **ret_weight)
{
    char text[KEY_SIZE];
    int size = snprintf(text, sizeof text, "%016" PRIx64 "/%.*s", key.tenant, SLICE_PRINT(key.blob));
    if (size < 0 || (size_t)size >= sizeof text) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the digest of a blob has %zu bytes", key.blob.size);
    }
    Weight *weight = find_weight(weights, slice_of(text, (size_t)size));
    if (weight == NULL) {
        return call_fail_memory(call, "a weight");
    }
    mutex_lock(&weight->upload);
    Status status = weight->bytes != NULL
                        ? STATUS_OK
                        : upload_value(call, weights->accelerator, key.tenant, value, &weight->bytes);
    mutex_unlock(&weight->upload);
    if (status != STATUS_OK) {
        weight_release(weight);
        return status;
    }
    *ret_weight = weight;
    return STATUS_OK;
}

TensorBuffer *
weight_bytes(const Weight *weight)
{
    assert(weight->bytes != NULL);
    return weight->bytes;
}

void
weight_release(Weight *weight)
{
    Weights *weights = weight->weights;
    mutex_lock(&weights->lock);
    assert(weight->user_count > 0);
    bool is_idle = --weight->user_count == 0;
    if (is_idle) {
        (void)map_remove(weights->by_key, key_of(weight));
    }
    mutex_unlock(&weights->lock);
    if (is_idle) {
        weight_free(weight);
    }
}
