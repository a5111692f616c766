/* This process as one of the gateways that share a database: its name in rows, messages and ids, and whether
 * it still takes work.
 *
 * Ownership: a plain value, made by app and borrowed by all rooms.
 * Threads:   any; nothing but `is_leaving` and `is_draining`, which are atomic, changes after
 *            replica_init(). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/uuid.h"

typedef struct Replica {
    char id[UUID_TEXT_SIZE + 3]; /* "gw_…", new in each life of the process */
    unsigned char mark[4];       /* the id's last bytes: part of the ids of what only this process knows */
    uint64_t started_ns;         /* monotonic */
    bool is_leaving;             /* atomic */
    bool is_draining;            /* atomic */
} Replica;

void replica_init(Replica *replica);

/* Announces that this gateway will drain: it is not ready any more and claims no queued step, but serves all
 * that comes. */
void replica_leave(Replica *replica);
bool replica_is_leaving(const Replica *replica); /* also while it drains */

/* Begins to drain: no request is kept waiting any more. */
void replica_drain(Replica *replica);
bool replica_is_draining(const Replica *replica);
