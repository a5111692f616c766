/* Tickets: secrets that open one path of one tenant for a short time, on every gateway. Only their hashes are
 * kept.
 *
 * Ownership: texts live in call->arena.
 * Threads:   the thread of the Store. */
#pragma once

#include "gateway/store/connection.h"

enum {
    TICKETS_MAX = 10000, /* of one tenant at a time */
    TICKET_TIME_S = 60,
    TICKET_TEXT_SIZE = 2 * SHA256_SIZE + 1, /* 256 random bits in hex digits */
};

typedef struct Ticket {
    char text[TICKET_TEXT_SIZE];
    uint64_t expires_us;
} Ticket;

/* What a ticket opens, for whom. */
typedef struct TicketRecord {
    TenantId tenant;
    const char *tenant_name;
    const char *path;
    const char *key_id;          /* of the key that it was made with; "" without keys */
    int64_t requests_per_second; /* the tenant's quota; 0: no limit */
    uint64_t key_expires_us;     /* 0: never */
} TicketRecord;

typedef struct TicketCheck {
    Slice text;
    bool is_valid;       /* filled in, as what follows */
    TicketRecord record; /* of a valid ticket */
} TicketCheck;

/* Makes a ticket for a path, worth what the key is worth; those of the tenant that are over are removed.
 * RESOURCE_EXHAUSTED when it has TICKETS_MAX of them. */
MUST_USE Status tickets_create(
    Call *call, Store *store, TenantId tenant, const char *path, const char *key_id, Ticket *ret_ticket);

/* Finds the tickets that are valid, and whose keys are, with one statement. For a store of the role AUTH. */
MUST_USE Status tickets_verify(Call *call, Store *store, TicketCheck *checks, size_t count);
