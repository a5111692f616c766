/* The functions of shared/upstream/upstream.h, answered by the workers of a simulated world: late, with
 * failures as the weather has it, or never. */
#pragma once

#include "tests/simulation/world.h"

void fake_upstream_begin(void); /* no call is under way */
void fake_upstream_turn(void);  /* what is due by now happens */

/* The worker is gone: its calls end, and what runs beside them is aborted. */
void fake_upstream_lose(const FakeWorker *worker);
