/* Admission: which step may run next on the pool's slots. Steps of all tenants, synchronous ones and those
 * from the queue, pass here before they are dispatched, and leave when they have ended.
 *
 * A slot is room for SLOT_TIME_NS of estimated device time, or for one longer step: many small steps fill a
 * slot, and the devices always have work ahead, but never much. A step that finds room goes on at once.
 * Else it waits, and whenever a step leaves, the tenant whose virtual time is least (shares.h) begins its
 * next one. Inside a tenant the priorities share by weight, and in each the oldest comes first. A tenant
 * with nothing running here that is not ahead of the others may begin one step above the slots, so that a
 * flood of others costs it no wait.
 *
 * A step is charged its estimate when it begins and what it has used when it leaves.
 *
 * A partial run rests while it waits for its client: it holds no slot then, and is charged what it has used,
 * but counts among its tenant's running steps. To go on it waits for a turn as a step does, before those of
 * its tenant and priority that have not begun.
 *
 * How many slots there are, and what tenants use at other gateways, is told in the background
 * (admission_adopt(), by gateway/queue/pool_lease.h). While nobody tells, admission goes on with what was
 * told last.
 *
 * Ownership: an AdmissionTicket lives in its step. An Admission owns lanes and tenants.
 * Threads:   any; one lock, held for some dozen instructions. A ticket belongs to its lane's loop.
 * Errors:    none but lack of memory. */
#pragma once

#include "gateway/domain/shares.h"
#include "shared/base/arena.h"
#include "shared/base/clock.h"
#include "shared/base/list.h"
#include "shared/net/loop.h"

enum { ADMISSION_PRIORITIES = 3, ADMISSION_PRIORITY_NORMAL = 1 };

#define SLOT_TIME_NS (10 * CLOCK_NS_PER_MS)

typedef struct Admission Admission;
typedef struct AdmissionLane AdmissionLane;
typedef struct AdmissionTenant AdmissionTenant;
typedef struct AdmissionTicket AdmissionTicket;

typedef struct AdmissionOptions {
    uint64_t waiting_max; /* steps of one tenant that may wait */
    /* Asks for a round of reports soon. Called under the lock, on any thread; must not wait. NULL: nobody
     * is asked. */
    void (*wake)(void *context);
    /* Counts the slots of the pool; asked while none is known, so that workers which have just come are not
     * flooded before the next round. Called as `wake` is. NULL: only rounds tell. */
    double (*count_slots)(void *context);
    void *context;
} AdmissionOptions;

/* NULL without memory. */
MUST_USE Admission *admission_new(const AdmissionOptions *options);
void admission_free(Admission *admission); /* with its lanes; no ticket may be inside. NULL is allowed */

/* Makes the lane of a loop. Tasks of the lane may come to the loop until nobody is inside. NULL without
 * memory. */
MUST_USE AdmissionLane *admission_lane(Admission *admission, Loop *loop);

typedef enum AdmissionState {
    ADMISSION_WAITING,
    ADMISSION_GRANTED,
    ADMISSION_RUNNING,
    ADMISSION_RESTING
} AdmissionState;

/* A step's way through admission; zeroed at first. */
struct AdmissionTicket {
    ListLink link;       /* among those that wait, or that are granted */
    AdmissionLane *lane; /* NULL: the step is outside */
    AdmissionTenant *tenant;
    void (*granted)(AdmissionTicket *ticket); /* on the lane's loop, when a step that waited may run */
    int priority;
    AdmissionState state;
    bool has_place; /* it counts among its tenant's running steps */
    /* The device time that steps like this one took on average; 0: none has ended, and it counts as a whole
     * slot. Read when the step comes, and again when it begins: steps that waited with it have ended since.
     * NULL: the estimate is given. */
    const uint64_t *average_ns; /* atomic */
    uint64_t estimate_ns;       /* of device time */
    uint64_t part_ns;           /* of a slot, as the step holds it or waits for it */
    uint64_t charged_ns;        /* device time, so far */
    uint64_t entered_ns;
};

typedef enum AdmissionAnswer {
    ADMISSION_RUNS,
    ADMISSION_WAITS,
    ADMISSION_FULL, /* refused: too many of its tenant wait */
    ADMISSION_NO_MEMORY,
} AdmissionAnswer;

/* Asks for a step of the tenant to run; the ticket has `granted`, a priority, and an average or an
 * estimate. */
MUST_USE AdmissionAnswer admission_enter(AdmissionLane *lane, AdmissionTicket *ticket, TenantId tenant);

/* Lets a step leave that runs or waits; one that is outside stays there. `used_ns` is the device time of a
 * step that ran. */
void admission_leave(AdmissionTicket *ticket, uint64_t used_ns);

/* Gives back the part of a slot that a running step holds, as it waits for something else than a device: for
 * its weights to be registered, for its client to read. It counts as running until it leaves. A second time
 * nothing happens. */
void admission_yield(AdmissionTicket *ticket);

/* Lets a running step rest; `used_ns` is its device time so far. For one that rests already, only that is
 * noted. */
void admission_rest(AdmissionTicket *ticket, uint64_t used_ns);

/* Asks for a resting step to go on: it runs, or waits for a slot, but is not refused, as it has its place.
 * One that is outside runs. */
MUST_USE AdmissionAnswer admission_resume(AdmissionTicket *ticket);

/* Notes that a resting step goes on already, whether there is room or not. */
void admission_resume_now(AdmissionTicket *ticket);

/* Returns whether a step waits because its tenant runs as many as it may. */
bool admission_lacks_place(const AdmissionTicket *ticket);

enum { ADMISSION_STOCK_MIN = 2 };

/* The steps of a tenant, claimed from the queue, that should be ready to run. */
typedef struct AdmissionStock {
    TenantId tenant;
    size_t count; /* as many as refill the gateway's slots, or as begin in half a second */
} AdmissionStock;

/* Lists the stocks of the tenants that were active lately; of others, ADMISSION_STOCK_MIN should be ready.
 * False without memory. */
MUST_USE bool admission_stocks(
    Admission *admission, Arena *arena, AdmissionStock **ret_stocks, size_t *ret_count);

/* The use that a tenant makes of this gateway. */
typedef struct AdmissionUse {
    TenantId id;
    double charged_s; /* device-seconds since the last report */
    double held_slots;
    double waiting_slots; /* for steps that only lack slots */
    int64_t running;
    int64_t waiting; /* of those that are not running */
    int64_t kept;    /* running steps that it may come to before the answer is here */
} AdmissionUse;

typedef struct AdmissionReport {
    AdmissionUse *tenants;
    size_t tenant_count;
    double virtual_time;  /* start tag of the step that began last */
    size_t gateway_count; /* by which the gateway has gone so far; 0: it has heard of none */
} AdmissionReport;

/* Reports on all tenants that run, wait, or were charged; none: nothing has happened. What was charged is
 * reported once. False without memory. */
MUST_USE bool admission_tell(Admission *admission, Arena *arena, AdmissionReport *ret_report);

/* The terms that hold for a tenant from now on. */
typedef struct AdmissionTerms {
    TenantId id;
    double weight;
    double part; /* of the tenant's demand that is here, 0 to 1 */
    double virtual_time;
    int64_t running_max; /* steps that may run here */
    int64_t reserve;     /* those of them that are this gateway's without asking */
} AdmissionTerms;

typedef struct AdmissionGrant {
    double slots; /* that this gateway may use; 0 of a pool without slots lets every step pass */
    double pool_slots;
    double virtual_time;
    size_t gateway_count; /* with others, tenants that are not known here wait for their terms */
    const AdmissionTerms *tenants;
    size_t tenant_count;
} AdmissionGrant;

/* Goes on with what a round of reports has brought; steps that wait may begin. */
void admission_adopt(Admission *admission, const AdmissionGrant *grant);

/* Goes on without a round, since the report has reached nobody: with the slots that this gateway has had on
 * average, and for each tenant with the part of its weight that its demand here has had. What was charged
 * is forgotten, for the tenants that are level here would not be so after a one-sided report. */
void admission_go_on(Admission *admission);

/* Notes how many slots the pool has while no round tells more: the part that this gateway has stays. */
void admission_note_pool(Admission *admission, double pool_slots);
