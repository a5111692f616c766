#include "gateway/store/capacity.h"

STATEMENT(connections_allowed);

Status
capacity_connections(Call *call, Store *store, uint64_t *ret_count)
{
    AUTO_ROWS rows = {0};
    TRY(store_query(call, store, NO_TENANT, &sql_connections_allowed, &(Values){0}, &rows));
    RowReader reader = row_reader(call, &rows, 0);
    const int64_t count = row_int64(&reader);
    TRY(row_end(call, &reader));
    *ret_count = (uint64_t)count;
    return STATUS_OK;
}
