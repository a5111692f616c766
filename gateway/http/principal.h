/* Who asks: the credentials a request shows, and what they turn out to stand for.
 *
 * The module parses and carries; what a key is worth is decided by the hooks of HttpOptions (server.h).
 *
 * Ownership: the slices of Credentials point into the request's header or its arena. */
#pragma once

#include <stdbool.h>

#include "shared/base/call.h"
#include "shared/base/slice.h"
#include "shared/base/uuid.h"

typedef enum CredentialsScheme {
    CREDENTIALS_NONE,
    CREDENTIALS_BEARER, /* `secret` is the whole token */
    CREDENTIALS_BASIC,  /* `name` and `secret`, as RFC 7617 joins them */
    CREDENTIALS_TICKET, /* `secret` came as ?ticket=…, for browsers' EventSource */
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
    RequestRate *rate;                /* of the tenant, for HttpOptions.charge; NULL: none */
} Principal;

/* Reads the value of an Authorization header; an absent one (data NULL) gives CREDENTIALS_NONE.
 * UNAUTHENTICATED for another scheme or one that cannot be read. */
MUST_USE Status credentials_parse(Call *call, Slice authorization, Credentials *ret_credentials);
