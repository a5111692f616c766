#include "gateway/auth/auth.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "gateway/domain/api_key.h"
#include "gateway/domain/request_rate.h"
#include "gateway/domain/tenant.h"
#include "gateway/store/keys.h"
#include "gateway/store/tickets.h"
#include "shared/base/atomic.h"
#include "shared/base/clock.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "shared/crypto/digest.h"

enum {
    VERIFY_MS = 10000, /* the time in which the database must answer */
    VERIFY_ARENA_SIZE_MAX = 1 << 20,
};

typedef struct KnownKey {
    Sha256 hash;
    Principal principal;
    uint64_t verified_ns;
} KnownKey;

struct Auth {
    Mutex lock;
    Map *keys;           /* key id → KnownKey */
    Map *rates;          /* tenant → RequestRate; never removed, as principals point to them */
    uint64_t doubted_ns; /* what was verified before is no longer fresh */
    AuthOptions options;
};

static void
values_clear(Map *map)
{
    size_t cursor = 0;
    for (const MapEntry *entry = map_next(map, &cursor); entry != NULL; entry = map_next(map, &cursor)) {
        void *value = entry->value;
        (void)map_remove(map, entry->key);
        memory_free(value);
    }
}

static void
values_free(Map *map)
{
    if (map != NULL) {
        values_clear(map);
        map_free(map);
    }
}

Auth *
auth_new(const AuthOptions *options)
{
    Auth *auth = memory_new(1, sizeof *auth);
    if (auth == NULL) {
        return NULL;
    }
    mutex_init(&auth->lock);
    auth->options = *options;
    auth->keys = map_new();
    auth->rates = map_new();
    if (auth->keys == NULL || auth->rates == NULL) {
        auth_free(auth);
        return NULL;
    }
    return auth;
}

void
auth_free(Auth *auth)
{
    if (auth != NULL) {
        values_free(auth->keys);
        values_free(auth->rates);
        mutex_done(&auth->lock);
        memory_free(auth);
    }
}

/* Reads the key of the credentials; false when it cannot be one of ours. */
static bool
credentials_key(const Credentials *credentials, ApiKey *ret_key)
{
    switch (credentials->scheme) {
    case CREDENTIALS_BEARER:
        return api_key_from_text(credentials->secret, ret_key);
    case CREDENTIALS_BASIC:
        return api_key_from_parts(credentials->name, credentials->secret, ret_key);
    case CREDENTIALS_NONE:
    case CREDENTIALS_TICKET:
        break;
    }
    return false;
}

static void
principal_open(Principal *ret_principal)
{
    *ret_principal = (Principal){.tenant = TENANT_DEFAULT, .is_operator = true, .tenant_name = "default"};
}

/* A key that was valid. */
typedef struct Remembered {
    Principal principal;
    uint64_t age_ns; /* since it was verified */
    bool is_doubted;
} Remembered;

static bool
cache_find(Auth *auth, const ApiKey *key, Remembered *ret_remembered)
{
    Sha256 hash = key_hash(key, auth->options.pepper);
    mutex_lock(&auth->lock);
    const KnownKey *known = map_get(auth->keys, slice_from_string(key->id));
    bool is_known = known != NULL && sha256_equal(&known->hash, &hash);
    if (is_known) {
        ret_remembered->principal = known->principal;
        ret_remembered->age_ns = clock_monotonic_ns() - known->verified_ns;
        ret_remembered->is_doubted = known->verified_ns <= auth->doubted_ns;
    }
    mutex_unlock(&auth->lock);
    return is_known;
}

/* Remembers a key that was valid when the database was asked, at `asked_ns`. */
static void
cache_put(Auth *auth, const ApiKey *key, const Principal *principal, uint64_t asked_ns)
{
    KnownKey *known = memory_new(1, sizeof *known);
    if (known == NULL) {
        return; /* the next request asks the database again */
    }
    *known = (KnownKey){
        .hash = key_hash(key, auth->options.pepper),
        .principal = *principal,
        .verified_ns = asked_ns,
    };
    Slice id = slice_from_string(key->id);
    mutex_lock(&auth->lock);
    if (map_count(auth->keys) >= AUTH_KEYS_MAX) {
        values_clear(auth->keys);
    }
    KnownKey *previous = map_remove(auth->keys, id);
    bool is_kept = map_put(auth->keys, id, known);
    mutex_unlock(&auth->lock);
    memory_free(previous);
    if (!is_kept) {
        memory_free(known);
    }
}

/* Forgets a key that the database refuses, so that it is not valid again while the database is gone. A wrong
 * secret does not make the gateway forget the right one. */
static void
cache_forget(Auth *auth, const ApiKey *key)
{
    Sha256 hash = key_hash(key, auth->options.pepper);
    Slice id = slice_from_string(key->id);
    mutex_lock(&auth->lock);
    const KnownKey *known = map_get(auth->keys, id);
    bool is_same = known != NULL && sha256_equal(&known->hash, &hash);
    KnownKey *forgotten = is_same ? map_remove(auth->keys, id) : NULL;
    mutex_unlock(&auth->lock);
    memory_free(forgotten);
}

AuthorizeAnswer
auth_look_up(Auth *auth, const Credentials *credentials, Principal *ret_principal)
{
    ApiKey key;
    Remembered remembered;
    if (auth->options.is_open) {
        principal_open(ret_principal);
        return AUTHORIZE_ALLOWED;
    }
    if (credentials->scheme == CREDENTIALS_TICKET) {
        return AUTHORIZE_UNKNOWN;
    }
    if (!credentials_key(credentials, &key)) {
        return AUTHORIZE_DENIED;
    }
    if (!cache_find(auth, &key, &remembered)) {
        return AUTHORIZE_UNKNOWN;
    }
    if (remembered.is_doubted || remembered.age_ns >= AUTH_FRESH_MS * CLOCK_NS_PER_MS) {
        return AUTHORIZE_STALE;
    }
    *ret_principal = remembered.principal;
    return AUTHORIZE_ALLOWED;
}

AuthorizeAnswer
auth_admit_worker(const Auth *auth, const Credentials *credentials)
{
    const char *token = auth->options.worker_token;
    if (token == NULL) {
        return auth->options.is_open ? AUTHORIZE_ALLOWED : AUTHORIZE_DENIED;
    }
    bool is_it = credentials->scheme == CREDENTIALS_BEARER &&
                 constant_time_equal(credentials->secret, slice_from_string(token));
    return is_it ? AUTHORIZE_ALLOWED : AUTHORIZE_DENIED;
}

/* Returns the tenant's rate, or NULL without memory: then nothing is counted. */
static RequestRate *
rate_of(Auth *auth, TenantId of, int64_t per_second)
{
    Slice tenant = uuid_slice(&of.value);
    mutex_lock(&auth->lock);
    RequestRate *rate = map_get(auth->rates, tenant);
    if (rate == NULL) {
        rate = memory_new(1, sizeof *rate);
        if (rate != NULL && !map_put(auth->rates, tenant, rate)) {
            memory_free(TAKE(rate));
        }
    }
    mutex_unlock(&auth->lock);
    if (rate != NULL) {
        request_rate_set(rate, (uint64_t)per_second);
    }
    return rate;
}

static bool
has_scope(const char *scopes, const char *wanted)
{
    Slice rest = slice_from_string(scopes);
    Slice scope;
    while (slice_split(&rest, ' ', &scope)) {
        if (slice_equals_string(scope, wanted)) {
            return true;
        }
    }
    return false;
}

static Status
ask_database(Call *call, JobContext *context, Slice pepper, KeyCheck *checks, size_t count)
{
    Store *store = NULL;
    TRY(job_store(call, context, STORE_ROLE_AUTH, &store));
    return keys_verify(call, store, pepper, checks, count);
}

/* Answers for a key that the database has told of. */
static Status
settle_key(Auth *auth, const KeyCheck *check, const AuthorizeItem *item, uint64_t asked_ns)
{
    const KeyRecord *record = &check->record;
    if (!check->is_valid) {
        cache_forget(auth, &check->key);
        return call_fail(item->call, STATUS_UNAUTHENTICATED, "the API key is not valid");
    }
    Principal principal = {
        .tenant = record->tenant, .is_operator = has_scope(record->scopes, TENANT_SCOPE_OPERATOR)};
    (void)snprintf(principal.tenant_name, sizeof principal.tenant_name, "%s", record->tenant_name);
    (void)snprintf(principal.key_id, sizeof principal.key_id, "%s", check->key.id);
    principal.expires_us = record->expires_us;
    principal.rate = rate_of(auth, record->tenant, record->requests_per_second);
    cache_put(auth, &check->key, &principal, asked_ns);
    *item->principal = principal;
    return STATUS_OK;
}

/* Answers for a key that the database could not be asked about. */
static Status
settle_unasked(Auth *auth, const ApiKey *key, const AuthorizeItem *item, const Error *error, Status status)
{
    Remembered remembered;
    bool may_serve = status == STATUS_UNAVAILABLE && cache_find(auth, key, &remembered) &&
                     remembered.age_ns < AUTH_STALE_MS * CLOCK_NS_PER_MS;
    if (!may_serve) {
        return call_fail(item->call, status, "%s", error->message);
    }
    *item->principal = remembered.principal;
    return STATUS_OK;
}

/* An answer under way may still call the key valid: what was asked before is doubted, too. */
void
auth_forget(Auth *auth, Slice key_id)
{
    mutex_lock(&auth->lock);
    KnownKey *forgotten = map_remove(auth->keys, key_id);
    auth->doubted_ns = clock_monotonic_ns();
    mutex_unlock(&auth->lock);
    memory_free(forgotten);
}

void
auth_doubt(Auth *auth)
{
    mutex_lock(&auth->lock);
    auth->doubted_ns = clock_monotonic_ns();
    mutex_unlock(&auth->lock);
}

/* Asks about those items that show keys; `status` of the others stays. */
static void
verify_keys(Auth *auth, Call *call, JobContext *context, AuthorizeItem *items, size_t count)
{
    uint64_t asked_ns = clock_monotonic_ns();
    KeyCheck checks[AUTHORIZE_ITEMS_MAX];
    AuthorizeItem *asked[AUTHORIZE_ITEMS_MAX];
    size_t asked_count = 0;
    for (size_t index = 0; index < count; index++) {
        if (items[index].credentials->scheme != CREDENTIALS_TICKET) {
            bool is_key = credentials_key(items[index].credentials, &checks[asked_count].key);
            assert(is_key); /* auth_look_up() denies the others */
            asked[asked_count++] = &items[index];
        }
    }
    Status status =
        asked_count == 0 ? STATUS_OK : ask_database(call, context, auth->options.pepper, checks, asked_count);
    for (size_t index = 0; index < asked_count; index++) {
        asked[index]->status = status == STATUS_OK ? settle_key(auth, &checks[index], asked[index], asked_ns)
                                                   : settle_unasked(auth, &checks[index].key, asked[index],
                                                         &call->error, status);
    }
}

/* Answers for a ticket: it opens the path that it was made for, for whom its key is, who is no operator by
 * it. */
static Status
settle_ticket(Auth *auth, const TicketCheck *check, const AuthorizeItem *item)
{
    const TicketRecord *record = &check->record;
    if (!check->is_valid || !slice_equals_string(item->credentials->name, record->path)) {
        return call_fail(item->call, STATUS_UNAUTHENTICATED, "the ticket is not valid here, or no longer");
    }
    Principal principal = {.tenant = record->tenant};
    (void)snprintf(principal.tenant_name, sizeof principal.tenant_name, "%s", record->tenant_name);
    (void)snprintf(principal.key_id, sizeof principal.key_id, "%s", record->key_id);
    principal.expires_us = record->key_expires_us;
    principal.rate = rate_of(auth, record->tenant, record->requests_per_second);
    *item->principal = principal;
    return STATUS_OK;
}

static void
verify_tickets(Auth *auth, Call *call, JobContext *context, AuthorizeItem *items, size_t count)
{
    TicketCheck checks[AUTHORIZE_ITEMS_MAX];
    AuthorizeItem *asked[AUTHORIZE_ITEMS_MAX];
    size_t asked_count = 0;
    Store *store = NULL;
    for (size_t index = 0; index < count; index++) {
        if (items[index].credentials->scheme == CREDENTIALS_TICKET) {
            checks[asked_count].text = items[index].credentials->secret;
            asked[asked_count++] = &items[index];
        }
    }
    if (asked_count == 0) {
        return;
    }
    Status status = job_store(call, context, STORE_ROLE_AUTH, &store);
    status = status == STATUS_OK ? tickets_verify(call, store, checks, asked_count) : status;
    for (size_t index = 0; index < asked_count; index++) {
        asked[index]->status = status == STATUS_OK
                                   ? settle_ticket(auth, &checks[index], asked[index])
                                   : call_fail(asked[index]->call, status, "%s", call->error.message);
    }
}

void
auth_verify(Auth *auth, JobContext *context, AuthorizeItem *items, size_t count)
{
    assert(context != NULL && !auth->options.is_open && count <= AUTHORIZE_ITEMS_MAX);

    AUTO_ARENA arena = arena_new(VERIFY_ARENA_SIZE_MAX);
    Call call = {.arena = arena, .deadline_ns = clock_monotonic_ns() + VERIFY_MS * CLOCK_NS_PER_MS};
    if (arena == NULL) {
        for (size_t index = 0; index < count; index++) {
            items[index].status = call_fail_memory(items[index].call, "credentials to be looked up");
        }
        return;
    }
    verify_keys(auth, &call, context, items, count);
    verify_tickets(auth, &call, context, items, count);
}

/* Writes RateLimit headers as draft-ietf-httpapi-ratelimit-headers-09 defines them. */
Status
auth_charge(Call *call, const Principal *principal, Response *response)
{
    RequestRate *rate = principal->rate;
    uint64_t wait_ns = rate == NULL ? 0 : request_rate_take(rate, clock_monotonic_ns());
    if (wait_ns == 0) {
        return STATUS_OK;
    }
    unsigned long long per_second = atomic_load_relaxed(&rate->per_second);
    unsigned long long wait_s = (wait_ns + CLOCK_NS_PER_S - 1) / CLOCK_NS_PER_S;
    response_header_format(response, "Retry-After", "%llu", wait_s);
    response_header_format(response, "RateLimit-Policy", "\"requests\";q=%llu;w=1", per_second);
    response_header_format(response, "RateLimit", "\"requests\";r=0;t=%llu", wait_s);
    return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
        "the quota 'requests_per_second' is used up: the tenant '%s' may send %llu a second",
        principal->tenant_name, per_second);
}
