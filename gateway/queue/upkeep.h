/* What one gateway does for all of them from time to time: partitions of history are made and dropped, ended
 * steps leave the hot table. Inside gateway/queue.
 *
 * Threads: the runner's. */
#pragma once

#include "gateway/store/connection.h"

typedef struct Upkeep {
    const char *owner;
    int history_days;
    uint64_t lease_ns; /* when to ask next who does it */
    uint64_t roll_ns;
} Upkeep;

/* Does what is due. */
MUST_USE Status upkeep_run(Call *call, Upkeep *upkeep, Store *store, uint64_t now_ns);
