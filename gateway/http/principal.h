/* Credentials that a request shows, and the principal that they stand for.
 *
 * headers.h reads credentials; the hooks of HttpOptions (options.h) find the principal.
 *
 * Ownership: the slices of Credentials point into the request's header or its arena. */
#pragma once

#include <stdbool.h>

#include "shared/base/slice.h"
#include "shared/base/uuid.h"

typedef enum CredentialsScheme {
    CREDENTIALS_NONE,
    CREDENTIALS_BEARER, /* `secret` is the whole token */
    CREDENTIALS_BASIC,  /* `name` and `secret`, as RFC 7617 joins them */
    CREDENTIALS_TICKET, /* `secret` came as ?ticket=…, for browsers' EventSource; `name` is the path that it
                           is to open */
} CredentialsScheme;

typedef struct Credentials {
    CredentialsScheme scheme;
    Slice name;
    Slice secret;
} Credentials;

enum { PRINCIPAL_NAME_SIZE = 64 };

typedef struct RequestRate RequestRate;

typedef struct Principal {
    TenantId tenant;
    bool is_operator;
    char tenant_name[PRINCIPAL_NAME_SIZE];
    char key_id[PRINCIPAL_NAME_SIZE]; /* for the log; "" without a key */
    uint64_t expires_us;              /* when the key does; 0: never */
    RequestRate *rate;                /* of the tenant, for HttpOptions.charge; NULL: not limited */
} Principal;
