/* The state of admission, and how the files of this module call each other. Only gateway/admission includes
 * this. Each file calls those above it in this list:
 *
 *   ready.c    the heap of the tenants that may begin a step
 *   passage.c  the way of a step through admission
 *   report.c   rounds of reports, by which slots and terms change
 *
 * A tenant is ready that has a waiting step and may run one more, or one that goes on after a rest. Others
 * that wait are only held back by their quota, and become ready when one of their own steps leaves or more is
 * lent to them.
 *
 * Threads: the functions are called under the admission's lock, but for admission_post_lanes(). */
#pragma once

#include "gateway/admission/admission.h"
#include "shared/base/map.h"
#include "shared/base/mutex.h"

/* The steps of one priority of a tenant that wait. */
typedef struct AdmissionClass {
    ListLink returning;  /* those that have rested; they come first */
    ListLink waiting;    /* the others */
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
    int64_t resting; /* those of them that hold no slot until they go on */
    int64_t waiting;
    int64_t returning;   /* those of them that rest */
    uint64_t held_ns;    /* parts of slots */
    uint64_t waiting_ns; /* the same, of steps that wait */
    uint64_t mean_ns;    /* average part of a slot */
    int64_t begun;       /* steps since the last report */
    int64_t begun_most;  /* the most between two reports, of late */
    size_t place;        /* in the heap; 0: not ready */
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
    size_t gateway_count; /* that the last round knew of; 0 before the first */
    bool is_shared;       /* tenants without terms begin nothing */
    bool is_cut_off;      /* the last round has reached nobody */
    bool is_woken;        /* since the last report */
    bool is_quiet;        /* nothing was reported last */
};

static inline double
slots_of(uint64_t part_ns)
{
    return (double)part_ns / (double)SLOT_TIME_NS;
}

/* Functions of ready.c. */

/* Returns how many steps the tenant may run here at a time. */
int64_t ready_running_max(const Admission *admission, const AdmissionTenant *tenant);

/* Returns whether the tenant's quota lets it run one more step here. */
bool ready_allows_step(const Admission *admission, const AdmissionTenant *tenant);

/* Makes room in the heap for one tenant more than there are. False without memory. */
MUST_USE bool ready_make_room(Admission *admission);

/* Puts the tenant into the heap or takes it out, and to its place there: called whenever something of it has
 * changed. */
void ready_settle(Admission *admission, AdmissionTenant *tenant);

/* Builds the heap anew: virtual times and quotas of many tenants may have changed. */
void ready_settle_all(Admission *admission);

/* Functions of passage.c. */

AdmissionTenant *admission_find_tenant(Admission *admission, TenantId id); /* NULL when there is none */

/* Sets how many slots the pool has: the part that this gateway has stays; all, when there were none. */
void admission_set_pool_slots(Admission *admission, double pool_slots);

/* Grants what there is room for. Returns the lanes whose loops must hear of it, for admission_post_lanes()
 * once the lock is free. */
MUST_USE AdmissionLane *admission_grant_steps(Admission *admission);
void admission_post_lanes(AdmissionLane *lanes);
