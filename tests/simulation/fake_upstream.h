/* The functions of shared/upstream/upstream.h, answered by the workers of a simulated world: late, with
 * failures by the weather, or never. */
#pragma once

#include "tests/simulation/world.h"

void fake_upstream_begin(void); /* forgets all calls */
void fake_upstream_turn(void);  /* runs the events that are due */

/* Returns whether no call to the worker is under way. */
bool fake_upstream_is_idle(const FakeWorker *worker);

/* Loses a worker: its calls end, and the slots beside them are aborted. */
void fake_upstream_lose(const FakeWorker *worker);
