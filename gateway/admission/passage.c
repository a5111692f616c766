/* A step enters: its tenant's virtual time is at least that of the step that began last → there is room and
 * the tenant may run one more: it begins → else it waits in its tenant's list of its priority, and the
 * tenant stands in the heap of those that are ready, by virtual time.
 *
 * A step leaves: the charge is corrected → tenants at the top of the heap begin steps while there is room →
 * each goes to its lane, whose loop hears of it. */
#include <assert.h>
#include <math.h>

#include "gateway/admission/internals.h"
#include "gateway/admission/metrics.h"
#include "shared/base/atomic.h"
#include "shared/base/memory.h"

enum {
    HEADROOM_PART = 4, /* a quarter of the slots, at least one, for tenants with nothing running */
    MEAN_WEIGHT = 8,
};

#define ESTIMATE_MIN_NS CLOCK_NS_PER_US
/* Rounds divide slots in floating point: what is free of a slot for less than a nanosecond is an error of
 * that, and would let one more step begin on a full pool. */
#define ROUNDING (1.0 / (double)SLOT_TIME_NS)

static const double class_weights[ADMISSION_PRIORITIES] = {1, 3, 6};

static double
to_seconds(uint64_t time_ns)
{
    return (double)time_ns * 1e-9;
}

/* Returns whether the tenant may begin a step now. The last step of a gateway may stand partly above its
 * slots, as a part of a slot runs nothing: what its tenant gets too much by that, it is behind in later. */
static bool
has_slot(const Admission *admission, const AdmissionTenant *tenant)
{
    double held = slots_of(admission->held_ns);
    if (admission->pool_slots <= 0 || held + ROUNDING <= admission->slots) {
        return true;
    }
    double headroom = fmax(1, admission->slots / HEADROOM_PART);
    return tenant->running == tenant->resting && tenant->virtual_time <= admission->clock &&
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

/* Counts a step that begins among those of its tenant that run, or one that goes on among those that compute.
 */
static void
take_place(AdmissionTicket *ticket)
{
    AdmissionTenant *tenant = ticket->tenant;
    tenant->resting -= ticket->has_place;
    tenant->running += !ticket->has_place;
    ticket->has_place = true;
}

static void
begin_step(Admission *admission, AdmissionTicket *ticket)
{
    AdmissionTenant *tenant = ticket->tenant;
    uint64_t part_ns = ticket->part_ns;
    admission->clock = fmax(admission->clock, tenant->virtual_time);
    admission->held_ns += part_ns;
    tenant->held_ns += part_ns;
    take_place(ticket);
    tenant->begun++;
    tenant->mean_ns = tenant->mean_ns == 0
                          ? part_ns
                          : tenant->mean_ns - tenant->mean_ns / MEAN_WEIGHT + part_ns / MEAN_WEIGHT;
    charge_tenant(admission, tenant, to_seconds(ticket->estimate_ns));
    ticket->charged_ns += ticket->estimate_ns;
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
    if (list_is_empty(&class->waiting) && list_is_empty(&class->returning)) {
        class->virtual_time = fmax(class->virtual_time, tenant->class_clock);
    }
    ticket->state = ADMISSION_WAITING;
    ticket->entered_ns = clock_monotonic_ns();
    list_append(ticket->has_place ? &class->returning : &class->waiting, &ticket->link);
    tenant->waiting++;
    tenant->returning += ticket->has_place;
    tenant->waiting_ns += ticket->part_ns;
    ready_settle(admission, tenant);
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
    tenant->returning -= ticket->has_place;
    tenant->waiting_ns -= ticket->part_ns;
}

/* Returns the step of a class that comes next; NULL: none may. */
static ListLink *
first_of_class(AdmissionClass *class, bool may_begin)
{
    ListLink *first = list_first(&class->returning);
    return first == NULL && may_begin ? list_first(&class->waiting) : first;
}

/* Returns the ready tenant's step that comes next: of the priority that is furthest behind, the oldest. */
static AdmissionTicket *
next_step(const Admission *admission, AdmissionTenant *tenant)
{
    bool may_begin = ready_allows_step(admission, tenant);
    ListLink *next = NULL;
    double least = 0;
    for (int priority = ADMISSION_PRIORITIES - 1; priority >= 0; priority--) {
        AdmissionClass *class = &tenant->classes[priority];
        ListLink *first = first_of_class(class, may_begin);
        if (first != NULL && (next == NULL || class->virtual_time < least)) {
            next = first;
            least = class->virtual_time;
        }
    }
    assert(next != NULL);
    return LIST_ITEM(next, AdmissionTicket, link);
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
    ready_settle(admission, ticket->tenant);
    ticket->state = ADMISSION_GRANTED;
    list_append(&ticket->lane->granted, &ticket->link);
    metrics_waited(waited_ns / CLOCK_NS_PER_US);
}

AdmissionLane *
admission_grant_steps(Admission *admission)
{
    AdmissionLane *posts = NULL;
    while (admission->heap_count > 0) {
        AdmissionTicket *ticket = next_step(admission, admission->heap[1]);
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

void
admission_post_lanes(AdmissionLane *lane)
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

static AdmissionTenant *
add_tenant(Admission *admission, TenantId id)
{
    AdmissionTenant *tenant = ready_make_room(admission) ? memory_new(1, sizeof *tenant) : NULL;
    if (tenant == NULL || !map_put(admission->tenants, uuid_slice(&id.value), tenant)) {
        memory_free(tenant);
        return NULL;
    }
    tenant->id = id;
    tenant->weight = 1;
    tenant->part = 1;
    for (int priority = 0; priority < ADMISSION_PRIORITIES; priority++) {
        list_init(&tenant->classes[priority].returning);
        list_init(&tenant->classes[priority].waiting);
    }
    return tenant;
}

AdmissionTenant *
admission_find_tenant(Admission *admission, TenantId id)
{
    return map_get(admission->tenants, uuid_slice(&id.value));
}

/* Brings the tenant up to the clock unless it has waited without a break. */
static void
catch_up(const Admission *admission, AdmissionTenant *tenant)
{
    if (tenant->waiting == 0) {
        tenant->virtual_time = fmax(tenant->virtual_time, admission->clock);
    }
}

/* Returns the tenant, brought up to the clock; NULL without memory. */
static AdmissionTenant *
take_tenant(Admission *admission, TenantId id)
{
    AdmissionTenant *tenant = admission_find_tenant(admission, id);
    tenant = tenant == NULL ? add_tenant(admission, id) : tenant;
    if (tenant != NULL) {
        catch_up(admission, tenant);
    }
    if (tenant != NULL && (!tenant->has_terms || admission->is_quiet)) {
        wake_owner(admission);
    }
    return tenant;
}

void
admission_set_pool_slots(Admission *admission, double pool_slots)
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
        admission_set_pool_slots(admission, admission->options.count_slots(admission->options.context));
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
    if (tenant->waiting - tenant->returning >= (int64_t)admission->options.waiting_max) {
        return ADMISSION_FULL;
    }
    ticket->tenant = tenant;
    bool may_run =
        tenant->waiting == 0 && ready_allows_step(admission, tenant) && has_slot(admission, tenant);
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
    ticket->has_place = false;
    ticket->charged_ns = 0;
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

/* Charges what a step has used, in place of what it was charged before. */
static void
correct_charge(const Admission *admission, AdmissionTicket *ticket, uint64_t used_ns)
{
    charge_tenant(admission, ticket->tenant, to_seconds(used_ns) - to_seconds(ticket->charged_ns));
    ticket->charged_ns = used_ns;
}

/* Ends the turn of a step that has one, and its wait for the next. */
static void
end_turn(Admission *admission, AdmissionTicket *ticket)
{
    if (ticket->state == ADMISSION_WAITING) {
        end_wait(ticket);
        ticket->part_ns = 0;
    } else if (ticket->state != ADMISSION_RESTING) {
        give_back_part(admission, ticket);
    }
    if (ticket->state == ADMISSION_GRANTED) {
        list_remove(&ticket->link);
    }
}

static bool
is_resting(const AdmissionTicket *ticket)
{
    return ticket->has_place && (ticket->state == ADMISSION_RESTING || ticket->state == ADMISSION_WAITING);
}

static void
end_step(Admission *admission, AdmissionTicket *ticket, uint64_t used_ns)
{
    AdmissionTenant *tenant = ticket->tenant;
    end_turn(admission, ticket);
    if (ticket->has_place) {
        assert(tenant->running > 0);
        tenant->resting -= is_resting(ticket);
        tenant->running--;
        correct_charge(admission, ticket, used_ns);
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
    AdmissionLane *posts = admission_grant_steps(admission);
    mutex_unlock(&admission->lock);
    admission_post_lanes(posts);
}

void
admission_leave(AdmissionTicket *ticket, uint64_t used_ns)
{
    if (ticket->lane == NULL) {
        return; /* it is outside */
    }
    Admission *admission = ticket->lane->admission;
    mutex_lock(&admission->lock);
    end_step(admission, ticket, used_ns);
    ready_settle(admission, ticket->tenant);
    AdmissionLane *posts = admission_grant_steps(admission);
    mutex_unlock(&admission->lock);
    ticket->lane = NULL;
    admission_post_lanes(posts);
}

void
admission_rest(AdmissionTicket *ticket, uint64_t used_ns)
{
    if (ticket->lane == NULL) {
        return; /* it is outside */
    }
    Admission *admission = ticket->lane->admission;
    AdmissionTenant *tenant = ticket->tenant;
    mutex_lock(&admission->lock);
    if (ticket->state == ADMISSION_RUNNING) {
        end_turn(admission, ticket);
        ticket->state = ADMISSION_RESTING;
        tenant->resting++;
    }
    if (ticket->state == ADMISSION_RESTING) {
        correct_charge(admission, ticket, used_ns);
    }
    ready_settle(admission, tenant);
    AdmissionLane *posts = admission_grant_steps(admission);
    mutex_unlock(&admission->lock);
    admission_post_lanes(posts);
}

static AdmissionAnswer
resume_ticket(Admission *admission, AdmissionTicket *ticket, bool may_wait)
{
    AdmissionTenant *tenant = ticket->tenant;
    assert(ticket->state == ADMISSION_RESTING);
    catch_up(admission, tenant);
    if (may_wait && (tenant->returning > 0 || !has_slot(admission, tenant))) {
        wait_in_class(admission, ticket);
        return ADMISSION_WAITS;
    }
    charge_class(ticket);
    begin_step(admission, ticket);
    ready_settle(admission, tenant);
    ticket->state = ADMISSION_RUNNING;
    return ADMISSION_RUNS;
}

static AdmissionAnswer
resume_step(AdmissionTicket *ticket, bool may_wait)
{
    if (ticket->lane == NULL) {
        return ADMISSION_RUNS; /* it is outside */
    }
    Admission *admission = ticket->lane->admission;
    estimate_step(ticket);
    mutex_lock(&admission->lock);
    AdmissionAnswer answer = resume_ticket(admission, ticket, may_wait);
    mutex_unlock(&admission->lock);
    return answer;
}

AdmissionAnswer
admission_resume(AdmissionTicket *ticket)
{
    return resume_step(ticket, true);
}

void
admission_resume_now(AdmissionTicket *ticket)
{
    (void)resume_step(ticket, false);
}

bool
admission_lacks_place(const AdmissionTicket *ticket)
{
    if (ticket->lane == NULL) {
        return false; /* it is outside */
    }
    Admission *admission = ticket->lane->admission;
    mutex_lock(&admission->lock);
    const AdmissionTenant *tenant = ticket->tenant;
    bool lacks =
        ticket->state == ADMISSION_WAITING && !ticket->has_place && !ready_allows_step(admission, tenant);
    mutex_unlock(&admission->lock);
    return lacks;
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
