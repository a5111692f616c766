#include "gateway/store/leases.h"

#include <assert.h>

STATEMENT(lease_acquire);
STATEMENT(lease_release);

Status
leases_acquire(
    Call *call, Store *store, const char *name, const char *owner, uint64_t time_ms, Lease *ret_lease)
{
    assert(name != NULL && owner != NULL);

    AUTO_ROWS rows = {0};
    Values values = {0};
    values_text(&values, name);
    values_text(&values, owner);
    values_int64(&values, (int64_t)time_ms);
    TRY(store_query(call, store, NO_TENANT, &sql_lease_acquire, &values, &rows));
    Lease lease = {.is_held = rows.count > 0};
    if (lease.is_held) {
        RowReader reader = row_reader(call, &rows, 0);
        lease.fence = row_int64(&reader);
        TRY(row_end(call, &reader));
    }
    *ret_lease = lease;
    return STATUS_OK;
}

Status
leases_release(Call *call, Store *store, const char *name, const char *owner)
{
    Values values = {0};
    values_text(&values, name);
    values_text(&values, owner);
    return store_execute(call, store, NO_TENANT, &sql_lease_release, &values, NULL);
}
