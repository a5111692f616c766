#include "gateway/app/tenant_find.h"

Status
tenant_find(Call *call, const char *conninfo, const char *name, TenantId *ret_tenant)
{
    AUTO_STORE store = NULL;
    const StoreOptions options = {.conninfo = conninfo, .role = STORE_ROLE_QUEUE};
    TenantList list;
    TRY(store_open(call, &options, &store));
    TRY(tenants_list(call, store, name, &list));
    if (list.count == 0) {
        return call_fail(call, STATUS_NOT_FOUND, "there is no tenant '%s'", name);
    }
    *ret_tenant = list.items[0].id;
    return STATUS_OK;
}
