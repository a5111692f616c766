#include "gateway/admission/round.h"

#include "shared/base/map.h"

/* The pool's tenants by id: the map's values are ShareTenants. */
static bool
index_tenants(PoolShares *pool, Map *map)
{
    for (size_t index = 0; index < pool->tenant_count; index++) {
        ShareTenant *tenant = &pool->tenants[index];
        if (!map_put(map, uuid_slice(&tenant->id.value), tenant)) {
            return false;
        }
    }
    return true;
}

/* Returns NULL for a tenant that the pool does not know: it has been deleted. */
static ShareTenant *
find_tenant(const Map *map, TenantId id)
{
    return map_get(map, uuid_slice(&id.value));
}

static void
note_waiting(PoolShares *pool)
{
    for (size_t index = 0; index < pool->tenant_count; index++) {
        pool->tenants[index].was_waiting = false;
        pool->tenants[index].charged_s = 0;
    }
    for (size_t index = 0; index < pool->demand_count; index++) {
        const ShareDemand *demand = &pool->demands[index];
        ShareTenant *tenant = &pool->tenants[demand->tenant];
        tenant->was_waiting = tenant->was_waiting || demand->waiting_slots > 0;
    }
}

/* Puts what is reported in place of the gateway's last demands. False without memory. */
static bool
replace_demands(Arena *arena, AdmissionRound *round, const AdmissionReport *report, const Map *tenants)
{
    PoolShares *pool = &round->pool;
    size_t count = 0;
    ShareDemand *demands =
        arena_alloc(arena, (pool->demand_count + report->tenant_count + 1) * sizeof *demands);
    if (demands == NULL) {
        return false;
    }
    for (size_t index = 0; index < pool->demand_count; index++) {
        if (pool->demands[index].gateway != round->report.gateway) {
            demands[count++] = pool->demands[index];
        }
    }
    for (size_t index = 0; index < report->tenant_count; index++) {
        const AdmissionUse *use = &report->tenants[index];
        ShareTenant *tenant = find_tenant(tenants, use->id);
        if (tenant == NULL) {
            continue;
        }
        tenant->charged_s = use->charged_s;
        demands[count++] = (ShareDemand){
            .tenant = (size_t)(tenant - pool->tenants),
            .gateway = round->report.gateway,
            .held_slots = use->held_slots,
            .waiting_slots = use->waiting_slots,
            .running = use->running,
            .waiting = use->waiting,
            .kept = use->kept,
        };
    }
    pool->demands = demands;
    pool->demand_count = count;
    return true;
}

static AdmissionTerms
terms_of(const PoolShares *pool, const ShareDemand *demand)
{
    const ShareTenant *tenant = &pool->tenants[demand->tenant];
    return (AdmissionTerms){
        .id = tenant->id,
        .weight = tenant->weight,
        .part = tenant->wanted_slots > 0 ? (demand->held_slots + demand->waiting_slots) / tenant->wanted_slots
                                         : 1,
        .virtual_time = tenant->virtual_time,
        .running_max = demand->reserve + demand->granted,
        .reserve = demand->reserve,
    };
}

static bool
make_grant(Arena *arena, const AdmissionRound *round, double slots, AdmissionGrant *ret_grant)
{
    const PoolShares *pool = &round->pool;
    AdmissionTerms *terms = arena_alloc(arena, (pool->demand_count + 1) * sizeof *terms);
    AdmissionGrant grant = {
        .slots = slots,
        .pool_slots = pool->slot_count,
        .virtual_time = pool->virtual_time,
        .gateway_count = pool->gateway_count,
        .tenants = terms,
    };
    for (size_t index = 0; terms != NULL && index < pool->demand_count; index++) {
        if (pool->demands[index].gateway == round->report.gateway) {
            terms[grant.tenant_count++] = terms_of(pool, &pool->demands[index]);
        }
    }
    *ret_grant = grant;
    return terms != NULL;
}

/* Returns by how many gateways the one that asks reckons its reserves until its next round. For a moment
 * after this one is settled it still goes by what it knew before. */
static size_t
peers_until_next(const PoolShares *pool, const AdmissionReport *report)
{
    bool knew_fewer = report->gateway_count > 0 && report->gateway_count < pool->gateway_count;
    return knew_fewer ? report->gateway_count : pool->gateway_count;
}

bool
admission_round(Arena *arena, AdmissionRound *round, const AdmissionReport *report, AdmissionGrant *ret_grant)
{
    AUTO_MAP tenants = map_new();
    if (tenants == NULL || !index_tenants(&round->pool, tenants)) {
        return false;
    }
    note_waiting(&round->pool);
    if (!replace_demands(arena, round, report, tenants)) {
        return false;
    }
    round->pool.peers[round->report.gateway] = peers_until_next(&round->pool, report);
    double slots = shares_settle(&round->pool, &round->report);
    return make_grant(arena, round, slots, ret_grant);
}
