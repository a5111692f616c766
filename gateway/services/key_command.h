/* sluice-gateway key create --name NAME … : the first key of an installation, made at its database. */
#pragma once

#include "shared/config/config.h"

/* Words: key create [TENANT] [SCOPES], "default" and "" when left out; a tenant that does not exist is made.
 * Prints the key, which is shown this once. */
MUST_USE Status key_command(Call *call, const Config *config);
