/* A settlement: what was charged is added to virtual times → the pool's own virtual time moves up to the
 * tenant that is furthest behind of those that wait → what lies too far from it is cut off → slots are
 * filled like water, to one level of virtual time. */
#include "gateway/domain/shares.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

enum { LEVEL_STEPS = 64 }; /* halvings: as many as a double has digits, and some */

static bool
waits_for_slots(const ShareDemand *demand)
{
    return demand->waiting_slots > 0;
}

/* Charges a tenant. One that did not wait begins at the pool's virtual time: it was served as it came, and
 * saves nothing. */
static void
charge_tenant(const PoolShares *pool, ShareTenant *tenant)
{
    assert(tenant->weight > 0);
    if (!tenant->was_waiting && tenant->virtual_time < pool->virtual_time) {
        tenant->virtual_time = pool->virtual_time;
    }
    tenant->virtual_time += tenant->charged_s / tenant->weight;
}

static void
move_virtual_time(PoolShares *pool, double begun_last)
{
    double lowest = HUGE_VAL;
    for (size_t index = 0; index < pool->demand_count; index++) {
        const ShareDemand *demand = &pool->demands[index];
        if (waits_for_slots(demand)) {
            lowest = fmin(lowest, pool->tenants[demand->tenant].virtual_time);
        }
    }
    pool->virtual_time = fmax(pool->virtual_time, isinf(lowest) ? begun_last : lowest);
}

static double
active_weight(const PoolShares *pool)
{
    double weight = 0;
    for (size_t index = 0; index < pool->tenant_count; index++) {
        weight += pool->tenants[index].weight;
    }
    return weight;
}

/* Cuts off what is further from the pool's virtual time than a share of the window. A pool that has just
 * begun has computed nothing: one round of its slots counts at least. */
static void
cut_debts(PoolShares *pool)
{
    double round_s = pool->slot_count * SHARES_PERIOD_MS * 1e-3;
    double bound = fmax(pool->service_s, 2 * round_s) / active_weight(pool);
    for (size_t index = 0; index < pool->tenant_count; index++) {
        ShareTenant *tenant = &pool->tenants[index];
        tenant->virtual_time =
            fmax(pool->virtual_time - bound, fmin(pool->virtual_time + bound, tenant->virtual_time));
    }
}

/* Adds up what tenants want. Returns the slots that all want together. */
static double
sum_demands(PoolShares *pool)
{
    double sum = 0;
    for (size_t index = 0; index < pool->tenant_count; index++) {
        pool->tenants[index].wanted_slots = 0;
    }
    for (size_t index = 0; index < pool->demand_count; index++) {
        const ShareDemand *demand = &pool->demands[index];
        double slots = demand->held_slots + demand->waiting_slots;
        pool->tenants[demand->tenant].wanted_slots += slots;
        sum += slots;
    }
    return sum;
}

/* Returns the slots that bring the tenant to this level within a period, at most those that it wants. */
static double
slots_to_level(const ShareTenant *tenant, double level)
{
    double slots = (level - tenant->virtual_time) * tenant->weight / (SHARES_PERIOD_MS * 1e-3);
    return fmin(tenant->wanted_slots, fmax(0, slots));
}

static double
slots_at_level(const PoolShares *pool, double level)
{
    double sum = 0;
    for (size_t index = 0; index < pool->tenant_count; index++) {
        sum += slots_to_level(&pool->tenants[index], level);
    }
    return sum;
}

/* Returns the level of virtual time at which the tenants use all slots, when they want more than there
 * are. */
static double
find_level(const PoolShares *pool)
{
    double low = HUGE_VAL;
    double high = -HUGE_VAL;
    for (size_t index = 0; index < pool->tenant_count; index++) {
        const ShareTenant *tenant = &pool->tenants[index];
        double full = tenant->wanted_slots / tenant->weight * (SHARES_PERIOD_MS * 1e-3);
        low = fmin(low, tenant->virtual_time);
        high = fmax(high, tenant->virtual_time + full);
    }
    for (int step = 0; step < LEVEL_STEPS; step++) {
        double middle = low + (high - low) / 2;
        if (slots_at_level(pool, middle) < pool->slot_count) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

/* Divides the slots: tenants that want fewer than there are get them, and the gateways share the rest; else
 * each tenant gets what brings it to the common level, where its demand is. */
static double
divide_slots(PoolShares *pool, size_t gateway)
{
    double wanted = sum_demands(pool);
    bool is_short = wanted > pool->slot_count;
    double level = is_short ? find_level(pool) : HUGE_VAL;
    double slots = is_short ? 0 : (pool->slot_count - wanted) / (double)pool->gateway_count;
    for (size_t index = 0; index < pool->demand_count; index++) {
        const ShareDemand *demand = &pool->demands[index];
        const ShareTenant *tenant = &pool->tenants[demand->tenant];
        double own = demand->held_slots + demand->waiting_slots;
        if (demand->gateway == gateway && own > 0) {
            slots += slots_to_level(tenant, level) * own / tenant->wanted_slots;
        }
    }
    return slots;
}

int64_t
shares_reserve(int64_t running_max, size_t gateway_count)
{
    assert(gateway_count > 0);
    return gateway_count == 1 ? running_max : running_max / 2 / (int64_t)gateway_count;
}

static int64_t
lesser_of(int64_t left, int64_t right)
{
    return left < right ? left : right;
}

static int64_t
greater_of(int64_t left, int64_t right)
{
    return left > right ? left : right;
}

/* Returns the running steps that a gateway needs to borrow. */
static int64_t
need_of(const PoolShares *pool, const ShareDemand *demand)
{
    int64_t reserve = shares_reserve(pool->tenants[demand->tenant].running_max, pool->gateway_count);
    return greater_of(0, demand->running + demand->waiting - reserve);
}

/* Returns the gateway's place in this turn: every turn another gateway is the first. */
static size_t
place_in_turn(const PoolShares *pool, const ShareReport *report, size_t gateway)
{
    return (gateway + (size_t)(report->turn % pool->gateway_count)) % pool->gateway_count;
}

/* Returns how many of the tenant's running steps are to be lent. */
static int64_t
pot_of(const PoolShares *pool, const ShareTenant *tenant)
{
    int64_t reserve = shares_reserve(tenant->running_max, pool->gateway_count);
    return tenant->running_max - reserve * (int64_t)pool->gateway_count;
}

/* Returns the whole steps of a demand's part in what is to be lent. */
static int64_t
whole_part(const PoolShares *pool, const ShareTenant *tenant, int64_t need)
{
    double part = tenant->lending.need == 0 ? 0 : (double)need / (double)tenant->lending.need;
    return (int64_t)((double)pot_of(pool, tenant) * part);
}

/* Counts, for every tenant, what its demands at other gateways need and have. */
static void
count_lent(PoolShares *pool, const ShareReport *report)
{
    for (size_t index = 0; index < pool->tenant_count; index++) {
        pool->tenants[index].lending = (ShareLending){0};
    }
    for (size_t index = 0; index < pool->demand_count; index++) {
        const ShareDemand *demand = &pool->demands[index];
        pool->tenants[demand->tenant].lending.need += need_of(pool, demand);
    }
    size_t own_place = place_in_turn(pool, report, report->gateway);
    for (size_t index = 0; index < pool->demand_count; index++) {
        const ShareDemand *demand = &pool->demands[index];
        ShareTenant *tenant = &pool->tenants[demand->tenant];
        int64_t need = need_of(pool, demand);
        if (demand->gateway != report->gateway) {
            tenant->lending.others_have += demand->lent;
            tenant->lending.others_need += need;
            tenant->lending.others_parts += whole_part(pool, tenant, need);
            tenant->lending.others_first +=
                need > 0 && place_in_turn(pool, report, demand->gateway) < own_place;
        }
    }
}

/* Returns what the other gateways leave of the tenant's quota. Each has what it has borrowed, and the reserve
 * by which it goes: that is larger than it will be while it does not know of a gateway that has joined. */
static int64_t
left_by_others(const PoolShares *pool, const ShareReport *report, const ShareTenant *tenant)
{
    int64_t left = tenant->running_max - tenant->lending.others_have;
    for (size_t gateway = 0; gateway < pool->gateway_count; gateway++) {
        if (gateway != report->gateway) {
            left -= shares_reserve(tenant->running_max, pool->peers[gateway]);
        }
    }
    return greater_of(0, left);
}

/* Lends running steps for one demand of the asking gateway. What others have borrowed is theirs until they
 * ask again, so that the sum never passes the quota; and nobody keeps more than its part while others need
 * theirs. What is left over by whole parts goes to the first gateways of the turn. */
static void
lend_running(const PoolShares *pool, const ShareReport *report, ShareDemand *mine)
{
    const ShareTenant *tenant = &pool->tenants[mine->tenant];
    const ShareLending *lending = &tenant->lending;
    int64_t pot = pot_of(pool, tenant);
    int64_t need = need_of(pool, mine);
    int64_t part = whole_part(pool, tenant, need);
    part += lending->others_first < pot - lending->others_parts - part;
    int64_t most = greater_of(part, pot - lending->others_need);
    int64_t reserve = shares_reserve(tenant->running_max, pool->gateway_count);
    int64_t left = left_by_others(pool, report, tenant);
    mine->reserve = lesser_of(reserve, left);
    mine->granted = greater_of(0, lesser_of(lesser_of(need, most), left - reserve));
    mine->lent = greater_of(mine->granted, mine->kept - reserve);
}

/* Bounds the service by what the slots can compute in the window: the charge of a long step, at its end, is
 * for more time. A gateway that has just begun knows no slots, and bounds nothing. */
static void
bound_service(PoolShares *pool)
{
    double most = pool->slot_count > 0 ? pool->slot_count * SHARES_WINDOW_S : HUGE_VAL;
    pool->service_s = fmax(0, fmin(pool->service_s, most));
}

double
shares_settle(PoolShares *pool, const ShareReport *report)
{
    assert(pool->gateway_count > 0 && report->gateway < pool->gateway_count);

    pool->service_s *= exp(-report->elapsed_s / SHARES_WINDOW_S);
    for (size_t index = 0; index < pool->tenant_count; index++) {
        charge_tenant(pool, &pool->tenants[index]);
        pool->service_s += pool->tenants[index].charged_s;
    }
    bound_service(pool);
    move_virtual_time(pool, report->virtual_time);
    if (pool->tenant_count > 0) {
        cut_debts(pool);
    }
    count_lent(pool, report);
    for (size_t index = 0; index < pool->demand_count; index++) {
        if (pool->demands[index].gateway == report->gateway) {
            lend_running(pool, report, &pool->demands[index]);
        }
    }
    return divide_slots(pool, report->gateway);
}
