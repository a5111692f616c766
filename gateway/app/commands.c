#include "gateway/app/commands.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "gateway/domain/tenant.h"
#include "gateway/store/keys.h"
#include "gateway/store/tenants.h"
#include "shared/base/clock.h"
#include "shared/base/text.h"

/* Positions of a command's words; the command itself is word 0. */
enum { KEY_VERB = 1, KEY_TENANT, KEY_LAST };
enum { QUOTA_TENANT = 1, QUOTA_SETTINGS };

static const char *
word_or(const Config *config, size_t index, const char *otherwise)
{
    const char *word = config_word(config, index);
    return word == NULL ? otherwise : word;
}

static Status
find_tenant(Call *call, const char *conninfo, const char *name, TenantId *ret_tenant)
{
    AUTO_STORE store = NULL;
    StoreOptions options = {.conninfo = conninfo, .role = STORE_ROLE_QUEUE};
    TenantList list;
    TRY(store_open(call, &options, &store));
    TRY(tenants_list(call, store, name, &list));
    if (list.count == 0) {
        return call_fail(call, STATUS_NOT_FOUND, "there is no tenant '%s'", name);
    }
    *ret_tenant = list.items[0].id;
    return STATUS_OK;
}

/* The arguments of a verb. */
typedef struct KeyWork {
    const Config *config;
    const char *tenant_name;
    TenantId tenant;
    Store *store;
} KeyWork;

typedef struct KeyVerb {
    const char *name;
    bool makes_tenant;
    Status (*run)(Call *call, const KeyWork *work);
} KeyVerb;

static Status
ensure_tenant(Call *call, Store *store, const char *conninfo, const char *name, TenantId *ret_tenant)
{
    Status status = find_tenant(call, conninfo, name, ret_tenant);
    if (status != STATUS_NOT_FOUND) {
        return status;
    }
    if (!tenant_name_is_ok(slice_from_string(name))) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "'%.*s' is no name of a tenant: expected 1 to %d of a-z, 0-9 and '-', which may not be at an end",
            SLICE_PRINT(slice_part(slice_from_string(name), 0, 128)), TENANT_NAME_MAX);
    }
    TenantId id = {uuid_new()};
    TRY(tenants_create(call, store, id, name));
    *ret_tenant = id;
    return STATUS_OK;
}

/* A scope that nothing asks for would make a key that can less than its owner believes. */
static Status
check_scopes(Call *call, const char *scopes)
{
    Slice rest = slice_from_string(scopes);
    Slice scope;
    while (slice_split(&rest, ' ', &scope)) {
        if (scope.size > 0 && !slice_equals_string(scope, TENANT_SCOPE_OPERATOR)) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "there is no scope '%.*s', only '%s'",
                SLICE_PRINT(slice_part(scope, 0, 64)), TENANT_SCOPE_OPERATOR);
        }
    }
    return STATUS_OK;
}

static Status
create_key(Call *call, const KeyWork *work)
{
    ApiKey key = api_key_new();
    Slice pepper = slice_from_string(config_secret(work->config, "pepper"));
    KeyInfo info = {
        .name = "made by sluice-gateway key create",
        .scopes = word_or(work->config, KEY_LAST, ""),
    };
    char text[API_KEY_TEXT_SIZE];
    TRY(keys_create(call, work->store, work->tenant, &key, pepper, &info));
    api_key_to_text(&key, text);
    (void)printf("%s\n", text);
    return STATUS_OK;
}

static const char *
key_state(const KeyInfo *key)
{
    if (key->revoked_us != 0) {
        return "revoked";
    }
    return key->expires_us != 0 && key->expires_us <= clock_wall_us() ? "expired" : "valid";
}

static Status
list_keys(Call *call, const KeyWork *work)
{
    KeyList keys;
    TRY(keys_list(call, work->store, work->tenant, &keys));
    for (size_t index = 0; index < keys.count; index++) {
        const KeyInfo *key = &keys.items[index];
        char created[CLOCK_STAMP_SIZE];
        clock_stamp(key->created_us, created);
        (void)printf("%s %-7s %s %s\n", key->id, key_state(key), created, key->scopes);
    }
    return STATUS_OK;
}

static Status
revoke_key(Call *call, const KeyWork *work)
{
    const char *word = config_word(work->config, KEY_LAST);
    ApiKey key;
    if (word == NULL) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "usage: sluice-gateway key revoke TENANT KEY");
    }
    bool is_whole = api_key_from_text(slice_from_string(word), &key);
    TRY(keys_revoke(call, work->store, work->tenant, is_whole ? key.id : word));
    (void)printf("revoked; every gateway refuses it from now on\n");
    return STATUS_OK;
}

static const KeyVerb verbs[] = {
    {"create", true, create_key},
    {"list", false, list_keys},
    {"revoke", false, revoke_key},
};

static const KeyVerb *
find_verb(const char *name)
{
    for (size_t index = 0; name != NULL && index < COUNT_OF(verbs); index++) {
        if (strcmp(verbs[index].name, name) == 0) {
            return &verbs[index];
        }
    }
    return NULL;
}

Status
key_command(Call *call, const Config *config)
{
    const KeyVerb *verb = find_verb(config_word(config, KEY_VERB));
    const char *conninfo = config_string(config, "database");
    StoreOptions options = {.conninfo = conninfo, .role = STORE_ROLE_APP};
    AUTO_STORE store = NULL;
    KeyWork work = {.config = config, .tenant_name = word_or(config, KEY_TENANT, "default")};
    if (verb == NULL) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "usage: sluice-gateway key create [TENANT] [SCOPES], key list [TENANT] or key revoke TENANT KEY");
    }
    TRY(verb->makes_tenant ? check_scopes(call, word_or(config, KEY_LAST, "")) : STATUS_OK);
    TRY(store_open(call, &options, &store));
    work.store = store;
    TRY(verb->makes_tenant ? ensure_tenant(call, store, conninfo, work.tenant_name, &work.tenant)
                           : find_tenant(call, conninfo, work.tenant_name, &work.tenant));
    return verb->run(call, &work);
}

static const struct {
    const char *name;
    size_t offset; /* offset of the int64_t in Quota */
} counts[] = {
    {"sessions_max", offsetof(Quota, sessions_max)},
    {"graphs_max", offsetof(Quota, graphs_max)},
    {"queued_steps_max", offsetof(Quota, queued_steps_max)},
    {"running_steps_max", offsetof(Quota, running_steps_max)},
    {"stored_bytes_max", offsetof(Quota, stored_bytes_max)},
    {"requests_per_second", offsetof(Quota, requests_per_second)},
};

static int64_t *
count_of(Quota *quota, size_t index)
{
    return (int64_t *)(void *)((char *)quota + counts[index].offset);
}

/* Sets one quota. The weight is a whole number here, which suffices, as shares are ratios. */
static Status
set_quota(Call *call, Slice setting, Quota *quota)
{
    size_t equals = slice_find(setting, '=');
    Slice name = slice_part(setting, 0, equals);
    uint64_t value = 0;
    if (!slice_to_uint64(slice_part(setting, equals + 1, setting.size), &value) || value == 0 ||
        value > INT64_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'%.*s' is not NAME=VALUE with a number above 0",
            SLICE_PRINT(setting));
    }
    if (slice_equals_string(name, "weight")) {
        quota->weight = (double)value;
        return STATUS_OK;
    }
    for (size_t index = 0; index < COUNT_OF(counts); index++) {
        if (slice_equals_string(name, counts[index].name)) {
            *count_of(quota, index) = (int64_t)value;
            return STATUS_OK;
        }
    }
    return call_fail(call, STATUS_INVALID_ARGUMENT, "'%.*s' is no quota", SLICE_PRINT(name));
}

static void
print_quota(Quota *quota)
{
    (void)printf("weight=%g\n", quota->weight);
    for (size_t index = 0; index < COUNT_OF(counts); index++) {
        (void)printf("%s=%lld\n", counts[index].name, (long long)*count_of(quota, index));
    }
}

Status
quota_command(Call *call, const Config *config)
{
    const char *name = word_or(config, QUOTA_TENANT, "default");
    const char *conninfo = config_string(config, "database");
    StoreOptions options = {.conninfo = conninfo, .role = STORE_ROLE_APP};
    AUTO_STORE store = NULL;
    TenantId tenant;
    Quota quota;
    TRY(find_tenant(call, conninfo, name, &tenant));
    TRY(store_open(call, &options, &store));
    TRY(quotas_find(call, store, tenant, &quota));
    size_t index = QUOTA_SETTINGS;
    for (; config_word(config, index) != NULL; index++) {
        TRY(set_quota(call, slice_from_string(config_word(config, index)), &quota));
    }
    if (index > QUOTA_SETTINGS) {
        TRY(quotas_update(call, store, tenant, &quota));
    }
    print_quota(&quota);
    return STATUS_OK;
}
