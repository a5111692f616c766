/* A round: the lock that makes the others wait → this gateway's place → what all have told → … → what has
 * come of it, and the commit. */
#include "gateway/store/pool.h"

#include <assert.h>

#include "gateway/store/rows.h"
#include "gateway/store/statement.h"
#include "gateway/store/values.h"
#include "shared/base/map.h"

STATEMENT(pool_lock);
STATEMENT(pool_enter);
STATEMENT(pool_gateways);
STATEMENT(pool_tenants);
STATEMENT(pool_demands);
STATEMENT(pool_demand_put);
STATEMENT(pool_settle);
STATEMENT(pool_leave);

static Status
lock_pool(Call *call, Store *store, PoolShares *pool, ShareReport *report)
{
    AUTO_ROWS rows = {0};
    TRY(store_query(call, store, NO_TENANT, &sql_pool_lock, &(Values){0}, &rows));
    RowReader reader = row_reader(call, &rows, 0);
    pool->virtual_time = row_double(&reader);
    pool->service_s = row_double(&reader);
    double elapsed_s = row_double(&reader);
    report->elapsed_s = elapsed_s < 0 ? 0 : elapsed_s; /* the database's clock may have been set back */
    report->turn = (uint64_t)row_int64(&reader);
    (void)row_text(&reader);
    return row_end(call, &reader);
}

static Status
read_gateways(Call *call, Store *store, const PoolMember *member, PoolShares *pool, ShareReport *report)
{
    AUTO_ROWS rows = {0};
    Values values = {0};
    values_text(&values, member->owner);
    values_int64(&values, (int64_t)member->lease_ms);
    TRY(store_query(call, store, NO_TENANT, &sql_pool_gateways, &values, &rows));
    pool->gateway_count = rows.count;
    pool->peers = arena_alloc(call->arena, (rows.count + 1) * sizeof *pool->peers);
    if (pool->peers == NULL) {
        return call_fail_memory(call, "the gateways of the pool");
    }
    for (size_t index = 0; index < rows.count; index++) {
        RowReader reader = row_reader(call, &rows, index);
        report->gateway = row_boolean(&reader) ? index : report->gateway;
        pool->peers[index] = (size_t)row_int64(&reader);
        TRY(row_end(call, &reader));
    }
    return STATUS_OK;
}

static Status
enter_pool(Call *call, Store *store, const char *owner, uint64_t lease_ms)
{
    Values values = {0};
    values_text(&values, owner);
    values_int64(&values, (int64_t)lease_ms);
    return store_execute(call, store, NO_TENANT, &sql_pool_enter, &values, NULL);
}

static Status
read_tenant(Call *call, const Rows *rows, size_t row, ShareTenant *ret_tenant)
{
    RowReader reader = row_reader(call, rows, row);
    ShareTenant tenant = {.id.value = row_uuid(&reader)};
    tenant.weight = row_double(&reader);
    tenant.running_max = row_int64(&reader);
    tenant.virtual_time = row_double(&reader);
    *ret_tenant = tenant;
    return row_end(call, &reader);
}

/* Reads the tenants, and indexes them by id in `map`. */
static Status
read_tenants(Call *call, Store *store, Values *values, PoolShares *pool, Map *map)
{
    AUTO_ROWS rows = {0};
    TRY(store_query(call, store, NO_TENANT, &sql_pool_tenants, values, &rows));
    pool->tenants = arena_alloc(call->arena, (rows.count + 1) * sizeof *pool->tenants);
    if (pool->tenants == NULL) {
        return call_fail_memory(call, "the tenants of the pool");
    }
    for (size_t index = 0; index < rows.count; index++) {
        ShareTenant *tenant = &pool->tenants[index];
        TRY(read_tenant(call, &rows, index, tenant));
        if (!map_put(map, uuid_slice(&tenant->id.value), tenant)) {
            return call_fail_memory(call, "the tenants of the pool");
        }
    }
    pool->tenant_count = rows.count;
    return STATUS_OK;
}

/* Reads one demand; *ret_tenant is NULL when its tenant has been deleted. */
static Status
read_demand(Call *call, const Rows *rows, size_t row, const Map *map, ShareTenant **ret_tenant,
    ShareDemand *ret_demand)
{
    RowReader reader = row_reader(call, rows, row);
    TenantId id = {row_uuid(&reader)};
    ShareDemand demand = {.gateway = (size_t)row_int64(&reader)};
    demand.held_slots = row_double(&reader);
    demand.waiting_slots = row_double(&reader);
    demand.running = row_int64(&reader);
    demand.waiting = row_int64(&reader);
    demand.lent = row_int64(&reader);
    *ret_tenant = map_get(map, uuid_slice(&id.value));
    *ret_demand = demand;
    return row_end(call, &reader);
}

static Status
read_demands(Call *call, Store *store, PoolShares *pool, const Map *map)
{
    AUTO_ROWS rows = {0};
    TRY(store_query(call, store, NO_TENANT, &sql_pool_demands, &(Values){0}, &rows));
    pool->demands = arena_alloc(call->arena, (rows.count + 1) * sizeof *pool->demands);
    if (pool->demands == NULL) {
        return call_fail_memory(call, "the demands of the pool");
    }
    for (size_t index = 0; index < rows.count; index++) {
        ShareTenant *tenant = NULL;
        ShareDemand *demand = &pool->demands[pool->demand_count];
        TRY(read_demand(call, &rows, index, map, &tenant, demand));
        if (tenant != NULL) {
            demand->tenant = (size_t)(tenant - pool->tenants);
            pool->demand_count++;
        }
    }
    return STATUS_OK;
}

static Status
read_pool(Call *call, Store *store, const PoolMember *member, PoolShares *pool)
{
    AUTO_SQL_ARRAY ids = sql_array(SQL_UUID);
    AUTO_MAP map = map_new();
    Values values = {0};
    for (size_t index = 0; index < member->reported_count; index++) {
        sql_array_uuid(&ids, member->reported[index].value);
    }
    if (map == NULL || !values_array(&values, &ids)) {
        return call_fail_memory(call, "the tenants of the pool");
    }
    TRY(read_tenants(call, store, &values, pool, map));
    return read_demands(call, store, pool, map);
}

Status
pool_round_begin(
    Call *call, Store *store, const PoolMember *member, PoolShares *ret_pool, ShareReport *ret_report)
{
    assert(member->owner != NULL);

    PoolShares pool = {0};
    ShareReport report = {0};
    TRY(store_begin(call, store, NO_TENANT));
    AUTO_TRANSACTION transaction = store;
    TRY(lock_pool(call, store, &pool, &report));
    TRY(enter_pool(call, store, member->owner, member->lease_ms));
    TRY(read_gateways(call, store, member, &pool, &report));
    TRY(read_pool(call, store, member, &pool));
    (void)TAKE(transaction); /* pool_round_end() commits, or store_rollback() ends it */
    *ret_pool = pool;
    *ret_report = report;
    return STATUS_OK;
}

static Status
put_tenants(Call *call, Store *store, const PoolShares *pool)
{
    AUTO_SQL_ARRAY ids = sql_array(SQL_UUID);
    AUTO_SQL_ARRAY times = sql_array(SQL_DOUBLE);
    Values values = {0};
    bool *have_demand = arena_alloc(call->arena, (pool->tenant_count + 1) * sizeof *have_demand);
    for (size_t index = 0; have_demand != NULL && index < pool->demand_count; index++) {
        have_demand[pool->demands[index].tenant] = true;
    }
    for (size_t index = 0; have_demand != NULL && index < pool->tenant_count; index++) {
        const ShareTenant *tenant = &pool->tenants[index];
        if (tenant->virtual_time > pool->virtual_time || have_demand[index]) {
            sql_array_uuid(&ids, tenant->id.value);
            sql_array_double(&times, tenant->virtual_time);
        }
    }
    values_double(&values, pool->virtual_time);
    values_double(&values, pool->service_s);
    if (have_demand == NULL || !values_array(&values, &ids) || !values_array(&values, &times)) {
        return call_fail_memory(call, "the tenants of the pool");
    }
    return store_execute(call, store, NO_TENANT, &sql_pool_settle, &values, NULL);
}

enum { DEMAND_COLUMNS = 6 };

static void
add_demand(SqlArray *arrays, const PoolShares *pool, const ShareDemand *demand)
{
    sql_array_uuid(&arrays[0], pool->tenants[demand->tenant].id.value);
    sql_array_double(&arrays[1], demand->held_slots);
    sql_array_double(&arrays[2], demand->waiting_slots);
    sql_array_int64(&arrays[3], demand->running);
    sql_array_int64(&arrays[4], demand->waiting);
    sql_array_int64(&arrays[5], demand->lent);
}

static Status
put_demands_of(
    Call *call, Store *store, const char *owner, const PoolShares *pool, size_t gateway, SqlArray *arrays)
{
    Values values = {0};
    for (size_t index = 0; index < pool->demand_count; index++) {
        if (pool->demands[index].gateway == gateway) {
            add_demand(arrays, pool, &pool->demands[index]);
        }
    }
    values_text(&values, owner);
    for (size_t column = 0; column < DEMAND_COLUMNS; column++) {
        if (!values_array(&values, &arrays[column])) {
            return call_fail_memory(call, "the demands of the pool");
        }
    }
    values_int64(&values, (int64_t)pool->peers[gateway]);
    return store_execute(call, store, NO_TENANT, &sql_pool_demand_put, &values, NULL);
}

static Status
put_demands(Call *call, Store *store, const char *owner, const PoolShares *pool, size_t gateway)
{
    SqlArray arrays[DEMAND_COLUMNS] = {sql_array(SQL_UUID), sql_array(SQL_DOUBLE), sql_array(SQL_DOUBLE),
        sql_array(SQL_INT64), sql_array(SQL_INT64), sql_array(SQL_INT64)};
    Status status = put_demands_of(call, store, owner, pool, gateway, arrays);
    for (size_t column = 0; column < DEMAND_COLUMNS; column++) {
        sql_array_done(&arrays[column]);
    }
    return status;
}

Status
pool_round_end(Call *call, Store *store, const char *owner, const PoolShares *pool, size_t gateway)
{
    assert(store_is_in_transaction(store));

    AUTO_TRANSACTION transaction = store;
    TRY(put_demands(call, store, owner, pool, gateway));
    TRY(put_tenants(call, store, pool));
    return store_commit(call, TAKE(transaction));
}

Status
pool_leave(Call *call, Store *store, const char *owner)
{
    Values values = {0};
    values_text(&values, owner);
    return store_execute(call, store, NO_TENANT, &sql_pool_leave, &values, NULL);
}
