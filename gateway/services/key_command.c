#include "gateway/services/key_command.h"

#include <stdio.h>
#include <string.h>

#include "gateway/domain/tenant.h"
#include "gateway/store/keys.h"
#include "gateway/store/tenants.h"

/* The tenant of this name, made when there is none. */
static Status
tenant_ensure(Call *call, const char *conninfo, const char *name, TenantId *ret_tenant)
{
    AUTO_STORE store = NULL;
    const StoreOptions options = {.conninfo = conninfo, .role = STORE_ROLE_QUEUE};
    TenantList list;
    TRY(store_open(call, &options, &store));
    TRY(tenants_list(call, store, name, &list));
    if (list.count > 0) {
        *ret_tenant = list.items[0].id;
        return STATUS_OK;
    }
    AUTO_STORE app = NULL;
    const StoreOptions app_options = {.conninfo = conninfo, .role = STORE_ROLE_APP};
    const TenantId id = {uuid_new()};
    TRY(store_open(call, &app_options, &app));
    TRY(tenants_create(call, app, id, name));
    *ret_tenant = id;
    return STATUS_OK;
}

Status
key_command(Call *call, const Config *config)
{
    const char *const verb = config_word(config, 1);
    const char *const tenant_name = config_word(config, 2) == NULL ? "default" : config_word(config, 2);
    const char *const scopes =
        config_word(config, 2) == NULL || config_word(config, 3) == NULL ? "" : config_word(config, 3);
    if (verb == NULL || strcmp(verb, "create") != 0) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "usage: sluice-gateway key create [TENANT] [SCOPES]");
    }
    const char *const conninfo = config_string(config, "database");
    AUTO_STORE store = NULL;
    TenantId tenant;
    TRY(tenant_ensure(call, conninfo, tenant_name, &tenant));
    const StoreOptions options = {.conninfo = conninfo, .role = STORE_ROLE_APP};
    TRY(store_open(call, &options, &store));
    const ApiKey key = api_key_new();
    const KeyInfo info = {.name = "made by sluice-gateway key create", .scopes = scopes};
    TRY(keys_create(call, store, tenant, &key, slice_from_string(config_secret(config, "pepper")), &info));
    char text[API_KEY_TEXT_SIZE];
    api_key_to_text(&key, text);
    (void)printf("%s\n", text);
    return STATUS_OK;
}
