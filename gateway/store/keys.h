/* API keys: only HMAC-SHA256(pepper, secret) is stored. The pepper is a secret of the installation that is
 * not in the database; without one it is empty.
 *
 * Ownership: texts live in call->arena.
 * Threads:   the thread of the Store.
 * Errors:    keys_verify() takes the same time, whatever is wrong with a key. */
#pragma once

#include "gateway/domain/api_key.h"
#include "gateway/store/connection.h"

/* A key that may be used. */
typedef struct KeyRecord {
    TenantId tenant;
    const char *tenant_name;
    Sha256 hash;
    const char *scopes;          /* separated by spaces */
    uint64_t expires_us;         /* 0: never */
    int64_t requests_per_second; /* the tenant's quota; 0: no limit */
} KeyRecord;

typedef struct KeyCheck {
    ApiKey key;
    bool is_valid;    /* filled in, as what follows */
    KeyRecord record; /* of a valid key */
} KeyCheck;

typedef struct KeyInfo {
    const char *id;
    const char *name;
    const char *scopes;
    uint64_t created_us;
    uint64_t expires_us; /* 0: never */
    uint64_t revoked_us; /* 0: not */
} KeyInfo;

typedef struct KeyList {
    KeyInfo *items;
    size_t count;
} KeyList;

Sha256 key_hash(const ApiKey *key, Slice pepper);

/* Compares in constant time; false for NULL, after the same time. */
bool key_matches(const KeyRecord *record, const ApiKey *key, Slice pepper);

/* Stores a key under the name, scopes and expiry of `info`. */
MUST_USE Status keys_create(
    Call *call, Store *store, TenantId tenant, const ApiKey *key, Slice pepper, const KeyInfo *info);

/* Finds the keys with one statement, and compares their secrets. A key is valid that exists, is not revoked,
 * not expired, and whose tenant is not disabled. For a store of the role AUTH. */
MUST_USE Status keys_verify(Call *call, Store *store, Slice pepper, KeyCheck *checks, size_t count);

MUST_USE Status keys_list(Call *call, Store *store, TenantId tenant, KeyList *ret_list);

/* Revokes a key; OK when it is revoked already. */
MUST_USE Status keys_revoke(Call *call, Store *store, TenantId tenant, const char *key_id);
