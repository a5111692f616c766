#include "gateway/domain/replica.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/atomic.h"
#include "shared/base/clock.h"

void
replica_init(Replica *replica)
{
    char text[UUID_TEXT_SIZE];
    Uuid id = uuid_new();
    uuid_to_text(id, text);
    *replica = (Replica){.started_ns = clock_monotonic_ns()};
    memcpy(replica->mark, &id.bytes[sizeof id.bytes - sizeof replica->mark], sizeof replica->mark);
    (void)snprintf(replica->id, sizeof replica->id, "gw_%s", text);
}

void
replica_leave(Replica *replica)
{
    assert(replica->id[0] != '\0');

    atomic_store_release(&replica->is_leaving, true);
}

bool
replica_is_leaving(const Replica *replica)
{
    return atomic_load_acquire(&replica->is_leaving);
}

void
replica_drain(Replica *replica)
{
    replica_leave(replica);
    atomic_store_release(&replica->is_draining, true);
}

bool
replica_is_draining(const Replica *replica)
{
    return atomic_load_acquire(&replica->is_draining);
}
