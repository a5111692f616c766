/* A round: admission_tell() lists what tenants do here, and forgets those that have long done nothing → the
 * pool's state is settled elsewhere (round.h) → admission_adopt() goes on with the slots and terms that this
 * has brought, and steps that wait may begin.
 *
 * Failures: a report that reaches nobody is followed by admission_go_on(). What was charged in it is lost. */
#include <math.h>

#include "gateway/admission/internals.h"
#include "gateway/admission/metrics.h"
#include "shared/base/memory.h"

enum {
    STOCK_ROUNDS = 2, /* that a stock lasts */
    STOCK_MAX = 128,
    ACTIVE_ROUNDS = 8,     /* in which a tenant counts as active after it was */
    IDLE_ROUNDS_MAX = 240, /* a minute, after which a tenant is forgotten */
    USUAL_WEIGHT = 32,
};

#define PART_MIN 0.01 /* so that nobody is charged without bounds */

static size_t
stock_of(const Admission *admission, const AdmissionTenant *tenant)
{
    double mean_ns = tenant->mean_ns == 0 ? (double)SLOT_TIME_NS : (double)tenant->mean_ns;
    double stock = ceil(fmax(1, admission->slots) * (double)SLOT_TIME_NS / mean_ns);
    stock = fmax(stock, STOCK_ROUNDS * (double)tenant->begun_most);
    return stock < ADMISSION_STOCK_MIN ? ADMISSION_STOCK_MIN : stock > STOCK_MAX ? STOCK_MAX : (size_t)stock;
}

bool
admission_stocks(Admission *admission, Arena *arena, AdmissionStock **ret_stocks, size_t *ret_count)
{
    size_t cursor = 0;
    size_t count = 0;
    mutex_lock(&admission->lock);
    AdmissionStock *stocks = arena_alloc(arena, (map_count(admission->tenants) + 1) * sizeof *stocks);
    const MapEntry *entry = stocks == NULL ? NULL : map_next(admission->tenants, &cursor);
    for (; entry != NULL; entry = map_next(admission->tenants, &cursor)) {
        const AdmissionTenant *tenant = entry->value;
        if (tenant->idle_rounds < ACTIVE_ROUNDS) {
            stocks[count] = (AdmissionStock){.tenant = tenant->id, .count = stock_of(admission, tenant)};
            count++;
        }
    }
    mutex_unlock(&admission->lock);
    *ret_stocks = stocks;
    *ret_count = count;
    return stocks != NULL;
}

/* Returns whether there is anything to say of the tenant. */
static bool
is_to_be_told(const AdmissionTenant *tenant)
{
    return tenant->running > 0 || tenant->waiting > 0 || tenant->charged_s != 0;
}

/* Returns the slots for which steps of the tenant wait that its quota would let run. */
static double
lacking_slots(const AdmissionTenant *tenant)
{
    double waiting = slots_of(tenant->waiting_ns);
    if (!tenant->has_terms || tenant->waiting == 0) {
        return waiting;
    }
    double allowed = fmax(0, (double)(tenant->running_max - tenant->running)) + (double)tenant->returning;
    return waiting * fmin(1, allowed / (double)tenant->waiting);
}

static int64_t
greater_of(int64_t left, int64_t right)
{
    return left > right ? left : right;
}

/* Gives up what is not reported as needed: it may be lent to others before the answer is here. Returns how
 * many steps may run until then. */
static int64_t
keep_needed(const Admission *admission, AdmissionTenant *tenant)
{
    int64_t needed = tenant->running + tenant->waiting - tenant->returning;
    int64_t kept = greater_of(needed, tenant->reserve);
    tenant->running_max = tenant->running_max < kept ? tenant->running_max : kept;
    return greater_of(tenant->running, ready_running_max(admission, tenant));
}

static void
tell_tenant(const Admission *admission, AdmissionTenant *tenant, AdmissionUse *ret_use)
{
    *ret_use = (AdmissionUse){
        .id = tenant->id,
        .charged_s = tenant->charged_s,
        .held_slots = slots_of(tenant->held_ns),
        .waiting_slots = lacking_slots(tenant),
        .running = tenant->running,
        .waiting = tenant->waiting - tenant->returning,
        .kept = keep_needed(admission, tenant),
    };
    tenant->charged_s = 0;
}

static void
forget_tenant(Admission *admission, AdmissionTenant *tenant)
{
    (void)map_remove(admission->tenants, uuid_slice(&tenant->id.value));
    memory_free(tenant);
}

/* Reports on the tenant, or forgets it when there was nothing to say for long. */
static bool
tell_or_forget(Admission *admission, AdmissionTenant *tenant, AdmissionUse *ret_use)
{
    int64_t faded = tenant->begun_most - (tenant->begun_most + 3) / 4;
    tenant->begun_most = tenant->begun > faded ? tenant->begun : faded;
    tenant->begun = 0;
    tenant->is_told_waiting = tenant->waiting > 0;
    if (is_to_be_told(tenant)) {
        tenant->idle_rounds = 0;
        tell_tenant(admission, tenant, ret_use);
        return true;
    }
    if (++tenant->idle_rounds > IDLE_ROUNDS_MAX) {
        forget_tenant(admission, tenant);
    }
    return false;
}

static void
count_steps(const AdmissionTenant *tenant, AdmissionCounts *counts)
{
    counts->running += tenant->running;
    counts->resting += tenant->resting;
    counts->waiting += tenant->waiting;
}

bool
admission_tell(Admission *admission, Arena *arena, AdmissionReport *ret_report)
{
    size_t cursor = 0;
    AdmissionCounts counts = {0};
    mutex_lock(&admission->lock);
    AdmissionReport report = {.virtual_time = admission->clock, .gateway_count = admission->gateway_count};
    report.tenants = arena_alloc(arena, (map_count(admission->tenants) + 1) * sizeof *report.tenants);
    const MapEntry *entry = report.tenants == NULL ? NULL : map_next(admission->tenants, &cursor);
    for (; entry != NULL; entry = map_next(admission->tenants, &cursor)) {
        count_steps(entry->value, &counts);
        report.tenant_count += tell_or_forget(admission, entry->value, &report.tenants[report.tenant_count]);
    }
    admission->is_woken = false;
    admission->is_quiet = report.tenants != NULL && report.tenant_count == 0;
    counts.slots = admission->slots;
    metrics_note_admission(&counts);
    mutex_unlock(&admission->lock);
    *ret_report = report;
    return report.tenants != NULL;
}

/* Grants what there is room for, now that virtual times and quotas may have changed. */
static AdmissionLane *
settle_all(Admission *admission)
{
    ready_settle_all(admission);
    return admission_grant_steps(admission);
}

/* Takes the slots that the gateway has had on average. The last grant alone may have been a moment's; and
 * parts of slots become whole ones in so many of the rounds, as no other gateway's report evens them out. */
static void
use_usual_slots(Admission *admission)
{
    admission->due_slots += admission->usual_slots;
    admission->slots = floor(admission->due_slots);
    admission->due_slots -= admission->slots;
}

void
admission_go_on(Admission *admission)
{
    mutex_lock(&admission->lock);
    /* Tenants that are not known here may begin: nobody can tell their terms. */
    admission->is_shared = false;
    admission->is_cut_off = true;
    use_usual_slots(admission);
    AdmissionLane *posts = settle_all(admission);
    mutex_unlock(&admission->lock);
    admission_post_lanes(posts);
}

static void
adopt_terms(Admission *admission, const AdmissionTerms *terms)
{
    AdmissionTenant *tenant = admission_find_tenant(admission, terms->id);
    if (tenant == NULL) {
        return; /* forgotten since it was reported */
    }
    tenant->has_terms = true;
    tenant->weight = terms->weight;
    tenant->part = fmax(PART_MIN, tenant->part + (terms->part - tenant->part) / USUAL_WEIGHT);
    tenant->running_max = terms->running_max;
    tenant->reserve = terms->reserve;
    tenant->virtual_time = terms->virtual_time + tenant->charged_s / terms->weight;
}

/* Lets the terms of all tenants lapse when gateways have come or gone: their reserves are others. Those that
 * are not told of in this round ask for their terms with their next step. */
static void
note_gateways(Admission *admission, size_t gateway_count)
{
    size_t cursor = 0;
    bool is_same = gateway_count == admission->gateway_count;
    const MapEntry *entry = is_same ? NULL : map_next(admission->tenants, &cursor);
    for (; entry != NULL; entry = map_next(admission->tenants, &cursor)) {
        ((AdmissionTenant *)entry->value)->has_terms = false;
    }
    admission->gateway_count = gateway_count;
    admission->is_shared = gateway_count > 1;
}

/* Averages the slots that the gateway has had: those that it has used, if steps wait for more. */
static void
note_usual_slots(Admission *admission, const AdmissionGrant *grant)
{
    double slots = admission->heap_count > 0 ? slots_of(admission->held_ns) : grant->slots;
    admission->usual_slots += (slots - admission->usual_slots) / USUAL_WEIGHT;
}

void
admission_adopt(Admission *admission, const AdmissionGrant *grant)
{
    mutex_lock(&admission->lock);
    note_gateways(admission, grant->gateway_count);
    for (size_t index = 0; index < grant->tenant_count; index++) {
        adopt_terms(admission, &grant->tenants[index]);
    }
    admission->clock = grant->virtual_time;
    admission->slots = grant->slots;
    note_usual_slots(admission, grant);
    admission->due_slots = 0;
    admission->pool_slots = grant->pool_slots;
    admission->is_cut_off = false;
    AdmissionLane *posts = settle_all(admission);
    mutex_unlock(&admission->lock);
    admission_post_lanes(posts);
}

void
admission_note_pool(Admission *admission, double pool_slots)
{
    mutex_lock(&admission->lock);
    admission_set_pool_slots(admission, pool_slots);
    AdmissionLane *posts = admission_grant_steps(admission);
    mutex_unlock(&admission->lock);
    admission_post_lanes(posts);
}
