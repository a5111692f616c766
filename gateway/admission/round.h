/* One round of reports: a gateway tells what its tenants do, and hears what holds from now on. Whoever keeps
 * the pool's state between rounds (PostgreSQL; a simulation) lets one round be made at a time.
 *
 * Ownership: what is returned lives in the arena.
 * Threads:   pure functions. */
#pragma once

#include "gateway/admission/admission.h"

/* The state that a round begins with. Its tenants are those that are reported or have a demand, but for
 * those that have been deleted. */
typedef struct AdmissionRound {
    PoolShares pool; /* with all demands of the last rounds */
    ShareReport report;
} AdmissionRound;

/* Makes the round: changes the pool, puts the report's demands in place of the gateway's last ones, and says
 * what is granted. False without memory, and the pool is then worth nothing. */
MUST_USE bool admission_round(
    Arena *arena, AdmissionRound *round, const AdmissionReport *report, AdmissionGrant *ret_grant);
