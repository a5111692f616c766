/* Identities: a UUID inside, `prefix_` and 32 hex digits outside ("ses_0190…"), so that an id tells a
 * reader what it names, and a wrong one is refused before the database is asked. They have version 7 (RFC
 * 9562 5.7), where the time leads: newer rows sort after older ones.
 *
 * Threads: any. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shared/base/slice.h"

typedef struct Uuid {
    unsigned char bytes[16];
} Uuid;

enum {
    UUID_TEXT_SIZE = sizeof "00000000-0000-0000-0000-000000000000",
    ID_PREFIX_MAX = 4,
    ID_TEXT_SIZE = ID_PREFIX_MAX + 1 + 32 + 1,
};

/* Each kind of id is a type of its own, so that one cannot be passed for another. */
typedef struct TenantId {
    Uuid value;
} TenantId;
typedef struct SessionId {
    Uuid value;
} SessionId;
typedef struct GraphId {
    Uuid value;
} GraphId;
typedef struct StepId {
    Uuid value;
} StepId;

Uuid uuid_new(void);
uint64_t uuid_time_ms(Uuid uuid); /* when it was made, milliseconds since 1970 */
bool uuid_equal(Uuid left, Uuid right);
bool uuid_is_zero(Uuid uuid);

/* Returns the bytes where they are, as a key of a Map. */
static inline Slice
uuid_slice(const Uuid *uuid)
{
    return slice_of(uuid->bytes, sizeof uuid->bytes);
}

/* Writes and reads the dashed form that PostgreSQL has. */
void uuid_to_text(Uuid uuid, char ret_text[UUID_TEXT_SIZE]);
bool uuid_from_text(Slice text, Uuid *ret_uuid);

/* Writes and reads the outside form. `prefix` is 3 or 4 letters: "ses", "grf", "stp", "tnt". */
void id_to_text(const char *prefix, Uuid uuid, char ret_text[ID_TEXT_SIZE]);
bool id_from_text(const char *prefix, Slice text, Uuid *ret_uuid);
