/* sluice-gateway key …: API keys, made and taken back at the installation's database.
 *
 *     key create [TENANT] [SCOPES]   prints a new key, this once; a tenant that does not exist is made
 *     key list [TENANT]              one line a key: id, state, when it was made, scopes
 *     key revoke TENANT KEY          KEY is an id as `key list` shows it, or the key itself
 *
 * TENANT is "default" when left out. */
#pragma once

#include "shared/config/config.h"

/* INVALID_ARGUMENT for other words; NOT_FOUND for a tenant or a key that does not exist. */
MUST_USE Status key_command(Call *call, const Config *config);
