/* A step enters: its tenant's virtual time is at least that of the step that began last → there is room and
 * the tenant may run one more: it begins → else it waits in its tenant's list of its priority, and the
 * tenant stands in the heap of those that are ready, by virtual time.
 *
 * A step leaves: the charge is corrected → tenants at the top of the heap begin steps while there is room →
 * each goes to its lane, whose loop hears of it.
 *
 * Ready: a tenant with a waiting step that may run one more. Others that wait are only held back by their
 * quota, and become ready when one of their own steps leaves or more is lent to them. */
#include "gateway/admission/admission.h"

#include <assert.h>
#include <math.h>

#include "gateway/admission/metrics.h"
#include "shared/base/atomic.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"

enum {
    NOT_READY = 0,     /* the heap's first place is not used */
    HEADROOM_PART = 4, /* a quarter of the slots, at least one, for tenants with nothing running */
    STOCK_ROUNDS = 2,  /* that a stock lasts */
    STOCK_MAX = 128,
    ACTIVE_ROUNDS = 8,     /* in which a tenant counts as active after it was */
    IDLE_ROUNDS_MAX = 240, /* a minute, after which a tenant is forgotten */
    MEAN_WEIGHT = 8,
    USUAL_WEIGHT = 32,
};

#define PART_MIN 0.01 /* so that nobody is charged without bounds */
#define ESTIMATE_MIN_NS CLOCK_NS_PER_US

/* The steps of one priority of a tenant that wait. */
typedef struct AdmissionClass {
    ListLink waiting;
    double virtual_time; /* device-seconds over the priority's weight */
} AdmissionClass;

struct AdmissionTenant {
    TenantId id;
    double weight;
    double part; /* of its demand that is at this gateway, on average */
    bool has_terms;
    int64_t running_max; /* here; counts when it has terms, as the next does */
    int64_t reserve;
    double virtual_time;
    double charged_s; /* not reported yet */
    AdmissionClass classes[ADMISSION_PRIORITIES];
    double class_clock;
    int64_t running;
    int64_t waiting;
    uint64_t held_ns;    /* parts of slots */
    uint64_t waiting_ns; /* the same, of steps that wait */
    uint64_t mean_ns;    /* average part of a slot */
    int64_t begun;       /* steps since the last report */
    int64_t begun_most;  /* the most between two reports, of late */
    size_t place;        /* in the heap */
    bool is_told_waiting;
    int idle_rounds;
};

struct AdmissionLane {
    Task task; /* first */
    Admission *admission;
    Loop *loop;
    ListLink granted;
    bool is_posted;
    AdmissionLane *next_post; /* while it is to be posted */
    AdmissionLane *next;      /* of all lanes */
};

struct Admission {
    AdmissionOptions options;
    Mutex lock; /* guards all that follows, and tickets */
    Map *tenants;
    AdmissionTenant **heap; /* ready tenants from place 1, the least virtual time first */
    size_t heap_count;
    size_t heap_capacity;
    AdmissionLane *lanes;
    double clock;      /* virtual time: start tag of the step that began last */
    double pool_slots; /* 0: none is known, and nothing waits */
    double slots;
    double usual_slots; /* average, for rounds that bring nothing */
    double due_slots;   /* parts of slots of rounds that brought nothing, not granted yet */
    uint64_t held_ns;
    bool is_shared;
    bool is_cut_off; /* the last round has reached nobody */
    bool is_woken;   /* since the last report */
    bool is_quiet;   /* nothing was reported last */
};

static const double class_weights[ADMISSION_PRIORITIES] = {1, 3, 6};

static double
slots_of(uint64_t part_ns)
{
    return (double)part_ns / (double)SLOT_TIME_NS;
}

static double
to_seconds(uint64_t time_ns)
{
    return (double)time_ns * 1e-9;
}

/* The heap of ready tenants. */

static void
heap_set(Admission *admission, size_t place, AdmissionTenant *tenant)
{
    admission->heap[place] = tenant;
    tenant->place = place;
}

static void
heap_rise(Admission *admission, AdmissionTenant *tenant)
{
    size_t place = tenant->place;
    while (place > 1 && admission->heap[place / 2]->virtual_time > tenant->virtual_time) {
        heap_set(admission, place, admission->heap[place / 2]);
        place /= 2;
    }
    heap_set(admission, place, tenant);
}

static void
heap_sink(Admission *admission, AdmissionTenant *tenant)
{
    size_t place = tenant->place;
    for (size_t child = place * 2; child <= admission->heap_count; child = place * 2) {
        AdmissionTenant **children = &admission->heap[child];
        size_t least =
            child + (child < admission->heap_count && children[1]->virtual_time < children[0]->virtual_time);
        if (admission->heap[least]->virtual_time >= tenant->virtual_time) {
            break;
        }
        heap_set(admission, place, admission->heap[least]);
        place = least;
    }
    heap_set(admission, place, tenant);
}

static void
heap_remove(Admission *admission, AdmissionTenant *tenant)
{
    size_t place = tenant->place;
    AdmissionTenant *last = admission->heap[admission->heap_count--];
    tenant->place = NOT_READY;
    if (last != tenant) {
        heap_set(admission, place, last);
        heap_rise(admission, last);
        heap_sink(admission, last);
    }
}

static int64_t
running_max_of(const Admission *admission, const AdmissionTenant *tenant)
{
    return tenant->has_terms ? tenant->running_max : !admission->is_shared;
}

/* Puts the tenant into the heap or takes it out, and to its place there: called whenever something of it
 * has changed. The heap has room for every tenant. */
static void
settle_tenant(Admission *admission, AdmissionTenant *tenant)
{
    bool is_ready = tenant->waiting > 0 && tenant->running < running_max_of(admission, tenant);
    if (!is_ready && tenant->place != NOT_READY) {
        heap_remove(admission, tenant);
    } else if (is_ready) {
        if (tenant->place == NOT_READY) {
            assert(admission->heap_count + 1 < admission->heap_capacity);
            heap_set(admission, ++admission->heap_count, tenant);
        }
        heap_rise(admission, tenant);
        heap_sink(admission, tenant);
    }
}

/* Returns whether the tenant may begin a step now. The last step of a gateway may stand partly above its
 * slots, as a part of a slot runs nothing: what its tenant gets too much by that, it is behind in later. */
static bool
has_slot(const Admission *admission, const AdmissionTenant *tenant)
{
    double held = slots_of(admission->held_ns);
    if (admission->pool_slots <= 0 || held < admission->slots) {
        return true;
    }
    double headroom = fmax(1, admission->slots / HEADROOM_PART);
    return tenant->running == 0 && tenant->virtual_time <= admission->clock &&
           held < admission->slots + headroom;
}

/* Charges device time. While no round tells what the tenant uses elsewhere, it has here only the part of
 * its weight that its demand here had in all of its demand. */
static void
charge_tenant(const Admission *admission, AdmissionTenant *tenant, double used_s)
{
    double part = admission->is_cut_off ? tenant->part : 1;
    tenant->virtual_time += used_s / (tenant->weight * part);
    tenant->charged_s += used_s;
}

static void
begin_step(Admission *admission, AdmissionTicket *ticket)
{
    AdmissionTenant *tenant = ticket->tenant;
    uint64_t part_ns = ticket->part_ns;
    admission->clock = fmax(admission->clock, tenant->virtual_time);
    admission->held_ns += part_ns;
    tenant->held_ns += part_ns;
    tenant->running++;
    tenant->begun++;
    tenant->mean_ns = tenant->mean_ns == 0
                          ? part_ns
                          : tenant->mean_ns - tenant->mean_ns / MEAN_WEIGHT + part_ns / MEAN_WEIGHT;
    charge_tenant(admission, tenant, to_seconds(ticket->estimate_ns));
}

static void
wake_owner(Admission *admission)
{
    if (!admission->is_woken && admission->options.wake != NULL) {
        admission->is_woken = true;
        admission->options.wake(admission->options.context);
    }
}

static void
wait_in_class(Admission *admission, AdmissionTicket *ticket)
{
    AdmissionTenant *tenant = ticket->tenant;
    AdmissionClass *class = &tenant->classes[ticket->priority];
    if (list_is_empty(&class->waiting)) {
        class->virtual_time = fmax(class->virtual_time, tenant->class_clock);
    }
    ticket->state = ADMISSION_WAITING;
    ticket->entered_ns = clock_monotonic_ns();
    list_append(&class->waiting, &ticket->link);
    tenant->waiting++;
    tenant->waiting_ns += ticket->part_ns;
    settle_tenant(admission, tenant);
    if (!tenant->is_told_waiting) {
        wake_owner(admission);
    }
}

/* Takes a waiting ticket out of its class. */
static void
end_wait(AdmissionTicket *ticket)
{
    AdmissionTenant *tenant = ticket->tenant;
    list_remove(&ticket->link);
    tenant->waiting--;
    tenant->waiting_ns -= ticket->part_ns;
}

/* Returns the tenant's step that comes next: of the priority that is furthest behind, the oldest. */
static AdmissionTicket *
next_step(AdmissionTenant *tenant)
{
    AdmissionClass *chosen = NULL;
    for (int priority = ADMISSION_PRIORITIES - 1; priority >= 0; priority--) {
        AdmissionClass *class = &tenant->classes[priority];
        bool is_behind = chosen == NULL || class->virtual_time < chosen->virtual_time;
        chosen = !list_is_empty(&class->waiting) && is_behind ? class : chosen;
    }
    assert(chosen != NULL);
    return LIST_ITEM(chosen->waiting.next, AdmissionTicket, link);
}

static void
charge_class(AdmissionTicket *ticket)
{
    AdmissionTenant *tenant = ticket->tenant;
    AdmissionClass *class = &tenant->classes[ticket->priority];
    tenant->class_clock = fmax(tenant->class_clock, class->virtual_time);
    class->virtual_time += to_seconds(ticket->estimate_ns) / class_weights[ticket->priority];
}

static void
estimate_step(AdmissionTicket *ticket)
{
    if (ticket->average_ns != NULL) {
        uint64_t average_ns = atomic_load_relaxed(ticket->average_ns);
        ticket->estimate_ns = average_ns == 0 ? SLOT_TIME_NS : average_ns;
    }
    ticket->estimate_ns = ticket->estimate_ns < ESTIMATE_MIN_NS ? ESTIMATE_MIN_NS : ticket->estimate_ns;
    ticket->part_ns = ticket->estimate_ns < SLOT_TIME_NS ? ticket->estimate_ns : SLOT_TIME_NS;
}

static void
grant_step(Admission *admission, AdmissionTicket *ticket)
{
    uint64_t waited_ns = clock_monotonic_ns() - ticket->entered_ns;
    end_wait(ticket);
    estimate_step(ticket);
    charge_class(ticket);
    begin_step(admission, ticket);
    settle_tenant(admission, ticket->tenant);
    ticket->state = ADMISSION_GRANTED;
    list_append(&ticket->lane->granted, &ticket->link);
    metrics_waited(waited_ns / CLOCK_NS_PER_US);
}

/* Grants what there is room for. Returns the lanes whose loops must hear of it, for post_lanes() once the
 * lock is free. */
static AdmissionLane *
grant_steps(Admission *admission)
{
    AdmissionLane *posts = NULL;
    while (admission->heap_count > 0) {
        AdmissionTicket *ticket = next_step(admission->heap[1]);
        AdmissionLane *lane = ticket->lane;
        if (!has_slot(admission, ticket->tenant)) {
            break;
        }
        grant_step(admission, ticket);
        if (!lane->is_posted) {
            lane->is_posted = true;
            lane->next_post = posts;
            posts = lane;
        }
    }
    return posts;
}

static void
post_lanes(AdmissionLane *lane)
{
    while (lane != NULL) {
        AdmissionLane *next = lane->next_post;
        loop_post(lane->loop, &lane->task);
        lane = next;
    }
}

static AdmissionTicket *
take_granted(AdmissionLane *lane)
{
    Admission *admission = lane->admission;
    mutex_lock(&admission->lock);
    ListLink *link = list_first(&lane->granted);
    AdmissionTicket *ticket = link == NULL ? NULL : LIST_ITEM(link, AdmissionTicket, link);
    if (ticket == NULL) {
        lane->is_posted = false;
    } else {
        list_remove(link);
        ticket->state = ADMISSION_RUNNING;
    }
    mutex_unlock(&admission->lock);
    return ticket;
}

/* Tells the loop's tickets that they may run. */
static void
deliver_grants(Task *task)
{
    AdmissionLane *lane = (AdmissionLane *)(void *)task;
    for (AdmissionTicket *ticket = take_granted(lane); ticket != NULL; ticket = take_granted(lane)) {
        ticket->granted(ticket);
    }
}

static bool
make_room_in_heap(Admission *admission)
{
    enum { FIRST = 16 };
    if (map_count(admission->tenants) + 2 <= admission->heap_capacity) {
        return true;
    }
    size_t capacity = admission->heap_capacity == 0 ? FIRST : admission->heap_capacity * 2;
    AdmissionTenant **heap = memory_resize(admission->heap, capacity * sizeof(AdmissionTenant *));
    if (heap == NULL) {
        return false;
    }
    admission->heap = heap;
    admission->heap_capacity = capacity;
    return true;
}

static AdmissionTenant *
add_tenant(Admission *admission, TenantId id)
{
    AdmissionTenant *tenant = make_room_in_heap(admission) ? memory_new(1, sizeof *tenant) : NULL;
    if (tenant == NULL || !map_put(admission->tenants, uuid_slice(&id.value), tenant)) {
        memory_free(tenant);
        return NULL;
    }
    tenant->id = id;
    tenant->weight = 1;
    tenant->part = 1;
    for (int priority = 0; priority < ADMISSION_PRIORITIES; priority++) {
        list_init(&tenant->classes[priority].waiting);
    }
    return tenant;
}

static AdmissionTenant *
find_tenant(Admission *admission, TenantId id)
{
    return map_get(admission->tenants, uuid_slice(&id.value));
}

/* Returns the tenant, which begins at the clock unless it has waited without a break. */
static AdmissionTenant *
take_tenant(Admission *admission, TenantId id)
{
    AdmissionTenant *tenant = find_tenant(admission, id);
    tenant = tenant == NULL ? add_tenant(admission, id) : tenant;
    if (tenant != NULL && tenant->waiting == 0) {
        tenant->virtual_time = fmax(tenant->virtual_time, admission->clock);
    }
    if (tenant != NULL && (!tenant->has_terms || admission->is_quiet)) {
        wake_owner(admission);
    }
    return tenant;
}

/* Sets how many slots the pool has: the part that this gateway has stays; all, when there were none. */
static void
set_pool_slots(Admission *admission, double pool_slots)
{
    double ratio = admission->pool_slots > 0 ? pool_slots / admission->pool_slots : 0;
    admission->slots = ratio > 0 ? admission->slots * ratio : pool_slots;
    admission->usual_slots = ratio > 0 ? admission->usual_slots * ratio : pool_slots;
    admission->pool_slots = pool_slots;
}

static void
look_for_slots(Admission *admission)
{
    if (admission->pool_slots <= 0 && admission->options.count_slots != NULL) {
        set_pool_slots(admission, admission->options.count_slots(admission->options.context));
    }
}

static AdmissionAnswer
enter_ticket(Admission *admission, AdmissionTicket *ticket, TenantId id)
{
    look_for_slots(admission);
    AdmissionTenant *tenant = take_tenant(admission, id);
    if (tenant == NULL) {
        return ADMISSION_NO_MEMORY;
    }
    if (tenant->waiting >= (int64_t)admission->options.waiting_max) {
        return ADMISSION_FULL;
    }
    ticket->tenant = tenant;
    bool may_run = tenant->waiting == 0 && tenant->running < running_max_of(admission, tenant) &&
                   has_slot(admission, tenant);
    if (!may_run) {
        wait_in_class(admission, ticket);
        return ADMISSION_WAITS;
    }
    charge_class(ticket);
    begin_step(admission, ticket);
    ticket->state = ADMISSION_RUNNING;
    return ADMISSION_RUNS;
}

AdmissionAnswer
admission_enter(AdmissionLane *lane, AdmissionTicket *ticket, TenantId tenant)
{
    assert(ticket->lane == NULL && ticket->granted != NULL);
    assert(ticket->priority >= 0 && ticket->priority < ADMISSION_PRIORITIES);

    Admission *admission = lane->admission;
    ticket->lane = lane;
    estimate_step(ticket);
    mutex_lock(&admission->lock);
    AdmissionAnswer answer = enter_ticket(admission, ticket, tenant);
    mutex_unlock(&admission->lock);
    if (answer == ADMISSION_FULL || answer == ADMISSION_NO_MEMORY) {
        ticket->lane = NULL;
    }
    return answer;
}

static void
give_back_part(Admission *admission, AdmissionTicket *ticket)
{
    assert(admission->held_ns >= ticket->part_ns && ticket->tenant->held_ns >= ticket->part_ns);
    admission->held_ns -= ticket->part_ns;
    ticket->tenant->held_ns -= ticket->part_ns;
    ticket->part_ns = 0;
}

static void
end_step(Admission *admission, AdmissionTicket *ticket, uint64_t used_ns)
{
    AdmissionTenant *tenant = ticket->tenant;
    assert(tenant->running > 0);
    give_back_part(admission, ticket);
    tenant->running--;
    charge_tenant(admission, tenant, to_seconds(used_ns) - to_seconds(ticket->estimate_ns));
    if (ticket->state == ADMISSION_GRANTED) {
        list_remove(&ticket->link);
    }
}

void
admission_yield(AdmissionTicket *ticket)
{
    if (ticket->lane == NULL) {
        return; /* it is outside */
    }
    Admission *admission = ticket->lane->admission;
    mutex_lock(&admission->lock);
    if (ticket->state == ADMISSION_RUNNING) {
        give_back_part(admission, ticket);
    }
    AdmissionLane *posts = grant_steps(admission);
    mutex_unlock(&admission->lock);
    post_lanes(posts);
}

void
admission_leave(AdmissionTicket *ticket, uint64_t used_ns)
{
    if (ticket->lane == NULL) {
        return; /* it is outside */
    }
    Admission *admission = ticket->lane->admission;
    mutex_lock(&admission->lock);
    if (ticket->state == ADMISSION_WAITING) {
        end_wait(ticket);
    } else {
        end_step(admission, ticket, used_ns);
    }
    settle_tenant(admission, ticket->tenant);
    AdmissionLane *posts = grant_steps(admission);
    mutex_unlock(&admission->lock);
    ticket->lane = NULL;
    post_lanes(posts);
}

void
admission_charge(AdmissionLane *lane, TenantId id, uint64_t used_ns)
{
    Admission *admission = lane->admission;
    mutex_lock(&admission->lock);
    AdmissionTenant *tenant = take_tenant(admission, id);
    if (tenant != NULL) {
        charge_tenant(admission, tenant, to_seconds(used_ns));
        settle_tenant(admission, tenant);
    }
    mutex_unlock(&admission->lock);
}

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
    double allowed = fmax(0, (double)(tenant->running_max - tenant->running));
    return waiting * fmin(1, allowed / (double)tenant->waiting);
}

static void
tell_tenant(AdmissionTenant *tenant, AdmissionUse *ret_use)
{
    *ret_use = (AdmissionUse){
        .id = tenant->id,
        .charged_s = tenant->charged_s,
        .held_slots = slots_of(tenant->held_ns),
        .waiting_slots = lacking_slots(tenant),
        .running = tenant->running,
        .waiting = tenant->waiting,
    };
    tenant->charged_s = 0;
    /* Slots that are not reported as needed may be lent to others before the answer is here. */
    int64_t needed = tenant->running + tenant->waiting;
    int64_t kept = needed > tenant->reserve ? needed : tenant->reserve;
    tenant->running_max = tenant->running_max < kept ? tenant->running_max : kept;
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
        tell_tenant(tenant, ret_use);
        return true;
    }
    if (++tenant->idle_rounds > IDLE_ROUNDS_MAX) {
        forget_tenant(admission, tenant);
    }
    return false;
}

bool
admission_tell(Admission *admission, Arena *arena, AdmissionReport *ret_report)
{
    size_t cursor = 0;
    int64_t running = 0;
    int64_t waiting = 0;
    mutex_lock(&admission->lock);
    AdmissionReport report = {.virtual_time = admission->clock};
    report.tenants = arena_alloc(arena, (map_count(admission->tenants) + 1) * sizeof *report.tenants);
    const MapEntry *entry = report.tenants == NULL ? NULL : map_next(admission->tenants, &cursor);
    for (; entry != NULL; entry = map_next(admission->tenants, &cursor)) {
        running += ((const AdmissionTenant *)entry->value)->running;
        waiting += ((const AdmissionTenant *)entry->value)->waiting;
        report.tenant_count += tell_or_forget(admission, entry->value, &report.tenants[report.tenant_count]);
    }
    admission->is_woken = false;
    admission->is_quiet = report.tenants != NULL && report.tenant_count == 0;
    metrics_note_admission(running, waiting, admission->slots);
    mutex_unlock(&admission->lock);
    *ret_report = report;
    return report.tenants != NULL;
}

/* Builds the heap anew, as virtual times and quotas may have changed, and grants what there is room for. */
static AdmissionLane *
settle_all(Admission *admission)
{
    size_t cursor = 0;
    for (size_t place = 1; place <= admission->heap_count; place++) {
        admission->heap[place]->place = NOT_READY;
    }
    admission->heap_count = 0;
    const MapEntry *entry = map_next(admission->tenants, &cursor);
    for (; entry != NULL; entry = map_next(admission->tenants, &cursor)) {
        settle_tenant(admission, entry->value);
    }
    return grant_steps(admission);
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
    post_lanes(posts);
}

static void
adopt_terms(Admission *admission, const AdmissionTerms *terms)
{
    AdmissionTenant *tenant = find_tenant(admission, terms->id);
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
    for (size_t index = 0; index < grant->tenant_count; index++) {
        adopt_terms(admission, &grant->tenants[index]);
    }
    admission->clock = grant->virtual_time;
    admission->slots = grant->slots;
    note_usual_slots(admission, grant);
    admission->due_slots = 0;
    admission->pool_slots = grant->pool_slots;
    admission->is_shared = grant->is_shared;
    admission->is_cut_off = false;
    AdmissionLane *posts = settle_all(admission);
    mutex_unlock(&admission->lock);
    post_lanes(posts);
}

void
admission_note_pool(Admission *admission, double pool_slots)
{
    mutex_lock(&admission->lock);
    set_pool_slots(admission, pool_slots);
    AdmissionLane *posts = grant_steps(admission);
    mutex_unlock(&admission->lock);
    post_lanes(posts);
}

Admission *
admission_new(const AdmissionOptions *options)
{
    Admission *admission = memory_new(1, sizeof *admission);
    Map *tenants = admission == NULL ? NULL : map_new();
    if (tenants == NULL) {
        memory_free(admission);
        return NULL;
    }
    admission->options = *options;
    admission->tenants = tenants;
    admission->is_quiet = true;
    admission->is_shared = true; /* with whom, the first round tells */
    mutex_init(&admission->lock);
    return admission;
}

AdmissionLane *
admission_lane(Admission *admission, Loop *loop)
{
    assert(loop != NULL);
    AdmissionLane *lane = memory_new(1, sizeof *lane);
    if (lane == NULL) {
        return NULL;
    }
    lane->task.run = deliver_grants;
    lane->admission = admission;
    lane->loop = loop;
    list_init(&lane->granted);
    mutex_lock(&admission->lock);
    lane->next = admission->lanes;
    admission->lanes = lane;
    mutex_unlock(&admission->lock);
    return lane;
}

static void
free_lanes(AdmissionLane *lane)
{
    while (lane != NULL) {
        AdmissionLane *next = lane->next;
        assert(list_is_empty(&lane->granted));
        memory_free(lane);
        lane = next;
    }
}

void
admission_free(Admission *admission)
{
    size_t cursor = 0;
    if (admission == NULL) {
        return;
    }
    const MapEntry *entry = map_next(admission->tenants, &cursor);
    for (; entry != NULL; entry = map_next(admission->tenants, &cursor)) {
        const AdmissionTenant *tenant = entry->value;
        assert(tenant->running == 0 && tenant->waiting == 0);
        memory_free(entry->value);
    }
    free_lanes(admission->lanes);
    map_free(admission->tenants);
    memory_free(admission->heap);
    mutex_done(&admission->lock);
    memory_free(admission);
}
