/* Idempotency keys that could not be given back when their requests failed, since PostgreSQL was out of
 * reach: they are given back when it can be asked again. Only gateway/queue includes this.
 *
 * Threads: any; one lock. loose_keys_return() the thread of the Store. */
#pragma once

#include "gateway/store/idempotency.h"
#include "shared/base/mutex.h"

enum { LOOSE_KEYS_MAX = 1024 };

typedef struct LooseKey {
    TenantId tenant;
    Uuid owner;
    char text[IDEMPOTENCY_KEY_SIZE];
} LooseKey;

typedef struct LooseKeys {
    Mutex lock;
    LooseKey *items;
    size_t count;
    size_t capacity;
} LooseKeys;

void loose_keys_init(LooseKeys *keys);
void loose_keys_done(LooseKeys *keys);

/* Takes a key; one too many is dropped, and stays held until its time is over. */
void loose_keys_add(LooseKeys *keys, const LooseKey *key);

/* Gives all of them back. Those stay that a transaction still has to do with. */
MUST_USE Status loose_keys_return(Call *call, Store *store, LooseKeys *keys);
