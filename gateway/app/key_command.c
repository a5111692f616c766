#include "gateway/app/key_command.h"

#include <stdio.h>
#include <string.h>

#include "gateway/app/tenant_find.h"
#include "gateway/domain/tenant.h"
#include "gateway/store/keys.h"
#include "shared/base/clock.h"
#include "shared/base/text.h"

enum { WORD_VERB = 1, WORD_TENANT, WORD_LAST };

/* What every verb works with. */
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

/* --- Tenants -------------------------------------------------------------------------------------------- */

static const char *
word_or(const Config *config, size_t index, const char *otherwise)
{
    const char *const word = config_word(config, index);
    return word == NULL ? otherwise : word;
}

static Status
tenant_ensure(Call *call, Store *store, const char *conninfo, const char *name, TenantId *ret_tenant)
{
    const Status status = tenant_find(call, conninfo, name, ret_tenant);
    if (status != STATUS_NOT_FOUND) {
        return status;
    }
    const TenantId id = {uuid_new()};
    TRY(tenants_create(call, store, id, name));
    *ret_tenant = id;
    return STATUS_OK;
}

/* --- Verbs ---------------------------------------------------------------------------------------------- */

static Status
create(Call *call, const KeyWork *work)
{
    const ApiKey key = api_key_new();
    const Slice pepper = slice_from_string(config_secret(work->config, "pepper"));
    const KeyInfo info = {
        .name = "made by sluice-gateway key create",
        .scopes = word_or(work->config, WORD_LAST, ""),
    };
    char text[API_KEY_TEXT_SIZE];
    TRY(keys_create(call, work->store, work->tenant, &key, pepper, &info));
    api_key_to_text(&key, text);
    (void)printf("%s\n", text);
    return STATUS_OK;
}

static const char *
state_of(const KeyInfo *key)
{
    if (key->revoked_us != 0) {
        return "revoked";
    }
    return key->expires_us != 0 && key->expires_us <= clock_wall_us() ? "expired" : "valid";
}

static Status
list(Call *call, const KeyWork *work)
{
    KeyList keys;
    TRY(keys_list(call, work->store, work->tenant, &keys));
    for (size_t index = 0; index < keys.count; index++) {
        const KeyInfo *const key = &keys.items[index];
        char created[CLOCK_STAMP_SIZE];
        clock_stamp(key->created_us, created);
        (void)printf("%s %-7s %s %s\n", key->id, state_of(key), created, key->scopes);
    }
    return STATUS_OK;
}

static Status
revoke(Call *call, const KeyWork *work)
{
    const char *const word = config_word(work->config, WORD_LAST);
    ApiKey key;
    if (word == NULL) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "usage: sluice-gateway key revoke TENANT KEY");
    }
    const bool is_whole = api_key_from_text(slice_from_string(word), &key);
    TRY(keys_revoke(call, work->store, work->tenant, is_whole ? key.id : word));
    (void)printf("revoked; gateways that know it refuse it within seconds\n");
    return STATUS_OK;
}

static const KeyVerb verbs[] = {
    {"create", true, create},
    {"list", false, list},
    {"revoke", false, revoke},
};

static const KeyVerb *
verb_find(const char *name)
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
    const KeyVerb *const verb = verb_find(config_word(config, WORD_VERB));
    const char *const conninfo = config_string(config, "database");
    const StoreOptions options = {.conninfo = conninfo, .role = STORE_ROLE_APP};
    AUTO_STORE store = NULL;
    KeyWork work = {.config = config, .tenant_name = word_or(config, WORD_TENANT, "default")};
    if (verb == NULL) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "usage: sluice-gateway key create [TENANT] [SCOPES], key list [TENANT] or key revoke TENANT KEY");
    }
    TRY(store_open(call, &options, &store));
    work.store = store;
    TRY(verb->makes_tenant ? tenant_ensure(call, store, conninfo, work.tenant_name, &work.tenant)
                           : tenant_find(call, conninfo, work.tenant_name, &work.tenant));
    return verb->run(call, &work);
}
