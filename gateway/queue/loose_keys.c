#include "gateway/queue/loose_keys.h"

#include <assert.h>

#include "shared/base/memory.h"
#include "shared/telemetry/log.h"

void
loose_keys_init(LooseKeys *keys)
{
    assert(keys != NULL);

    *keys = (LooseKeys){0};
    mutex_init(&keys->lock);
}

void
loose_keys_done(LooseKeys *keys)
{
    memory_free(keys->items);
    mutex_done(&keys->lock);
}

/* The lock is held. */
static bool
has_room(LooseKeys *keys)
{
    enum { FIRST = 16 };
    if (keys->count < keys->capacity) {
        return true;
    }
    size_t capacity = keys->capacity == 0 ? FIRST : keys->capacity * 2;
    LooseKey *items = capacity > LOOSE_KEYS_MAX ? NULL : memory_resize(keys->items, capacity * sizeof *items);
    if (items == NULL) {
        return false;
    }
    keys->items = items;
    keys->capacity = capacity;
    return true;
}

void
loose_keys_add(LooseKeys *keys, const LooseKey *key)
{
    mutex_lock(&keys->lock);
    bool is_taken = has_room(keys);
    if (is_taken) {
        keys->items[keys->count++] = *key;
    }
    mutex_unlock(&keys->lock);
    if (!is_taken) {
        log_event(
            LOG_WARNING, "an idempotency key stays held until its time is over", log_text("key", key->text));
    }
}

static bool
take_last(LooseKeys *keys, LooseKey *ret_key)
{
    mutex_lock(&keys->lock);
    bool is_there = keys->count > 0;
    if (is_there) {
        *ret_key = keys->items[--keys->count];
    }
    mutex_unlock(&keys->lock);
    return is_there;
}

Status
loose_keys_return(Call *call, Store *store, LooseKeys *keys)
{
    LooseKeys kept;
    LooseKey key;
    Status status = STATUS_OK;
    loose_keys_init(&kept);
    while (status == STATUS_OK && take_last(keys, &key)) {
        bool is_settled = false;
        status = idempotency_return(call, store, key.tenant, key.text, key.owner, &is_settled);
        if (!is_settled) {
            loose_keys_add(&kept, &key);
        }
    }
    while (take_last(&kept, &key)) {
        loose_keys_add(keys, &key);
    }
    loose_keys_done(&kept);
    return status;
}
