/* The commands of sluice-gateway that work on tenants in the installation's database. TENANT is "default"
 * when left out.
 *
 *     key create [TENANT] [SCOPES]   prints a new key, this once; a tenant that does not exist is made
 *     key list [TENANT]              one line a key: id, state, when it was made, scopes
 *     key revoke TENANT KEY          KEY is an id as `key list` shows it, or the key itself
 *     quota [TENANT] [NAME=VALUE …]  sets what a tenant may hold and use, and prints all of it
 *
 * Errors: INVALID_ARGUMENT for other words, an unknown quota or a value that is no number above 0; NOT_FOUND
 *         for a tenant or a key that does not exist. */
#pragma once

#include "shared/config/config.h"

MUST_USE Status key_command(Call *call, const Config *config);
MUST_USE Status quota_command(Call *call, const Config *config);
