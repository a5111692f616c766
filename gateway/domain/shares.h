/* The shares of tenants and gateways in the slots of a pool, by virtual time (start-time fair queueing).
 *
 * A tenant's virtual time is the device time that it has used, over its weight; whoever is behind comes
 * first. That time is the pool's, added up from what every gateway reports, so that tenants share by weight
 * wherever their steps come in. The slots follow: each gateway gets those that its tenants need to come
 * level with the others, so that a gateway with one light tenant gets no more than that tenant's share.
 *
 * Nothing is saved while a tenant is idle. What it is ahead by, after a step that cost far more than it was
 * estimated, is forgotten beyond what the pool computed in the last SHARES_WINDOW_S.
 *
 * Ownership: plain values; the arrays are the caller's.
 * Threads:   pure functions. */
#pragma once

#include <stddef.h>

#include "gateway/domain/tenant.h"

enum { SHARES_WINDOW_S = 5, SHARES_PERIOD_MS = 250 };

/* The part of a tenant's running steps that is lent, as the asking gateway sees it. */
typedef struct ShareLending {
    int64_t need;        /* of all gateways */
    int64_t others_need; /* of the others, as what follows */
    int64_t others_have;
    int64_t others_parts; /* whole steps */
    int64_t others_first; /* gateways in need that come before this one in this turn */
} ShareLending;

/* A tenant with steps that run or wait anywhere, or whose virtual time is ahead of the pool's. */
typedef struct ShareTenant {
    TenantId id;
    double weight;
    int64_t running_max;  /* steps that it may run at a time, on all gateways together */
    double virtual_time;  /* device-seconds over weight */
    bool was_waiting;     /* for slots, on any gateway, when it was last settled */
    double charged_s;     /* device-seconds at the asking gateway since that gateway asked last */
    double wanted_slots;  /* filled in: the sum of its demands */
    ShareLending lending; /* filled in */
} ShareTenant;

/* The needs of one tenant at one gateway. */
typedef struct ShareDemand {
    size_t tenant;        /* index in PoolShares.tenants */
    size_t gateway;       /* from 0 to gateway_count - 1 */
    double held_slots;    /* by steps that run */
    double waiting_slots; /* for steps that only lack slots */
    int64_t running;      /* steps */
    int64_t waiting;
    int64_t kept;    /* running steps that it may come to before it hears the answer; counts for who asks */
    int64_t lent;    /* steps of running_max that the gateway has besides its reserve */
    int64_t granted; /* filled in: those that it may go on with; fewer than `lent` while more still run */
    int64_t reserve; /* filled in: those that it may begin without asking */
} ShareDemand;

typedef struct PoolShares {
    double slot_count;   /* of all workers together */
    double virtual_time; /* the start tag of what is served now: who comes back from idleness begins here */
    double service_s;    /* device-seconds of the last SHARES_WINDOW_S, decaying */
    ShareTenant *tenants;
    size_t tenant_count;
    ShareDemand *demands; /* of all gateways, each (tenant, gateway) at most once */
    size_t demand_count;
    size_t gateway_count; /* at least 1 */
    size_t *peers; /* by gateway: the number of gateways by which it reckons its reserves, at least 1 */
} PoolShares;

/* The rest of what a gateway says when it asks. */
typedef struct ShareReport {
    size_t gateway;
    double virtual_time; /* start tag of the step that the gateway began last */
    double elapsed_s;    /* since any gateway last settled */
    uint64_t turn;       /* the same at all gateways for about a second, then the next number */
} ShareReport;

/* Settles what the gateway reports, divides the slots, and lends running steps: fills the virtual times of
 * pool and tenants and the rest of the gateway's demands. Returns the slots that the gateway may use. */
double shares_settle(PoolShares *pool, const ShareReport *report);

/* Returns how many of a tenant's running steps every gateway may begin without asking. Half of the quota is
 * divided so, and the other half is lent by demand. Of a gateway that joins it is less until the others know
 * that they share with one more. */
int64_t shares_reserve(int64_t running_max, size_t gateway_count);
