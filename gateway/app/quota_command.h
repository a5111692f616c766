/* sluice-gateway quota [TENANT] [NAME=VALUE …]: sets what a tenant ("default" when left out) may hold and
 * use, and prints all of it. */
#pragma once

#include "shared/config/config.h"

/* INVALID_ARGUMENT for an unknown name or a value that is no number above 0; NOT_FOUND for the tenant. */
MUST_USE Status quota_command(Call *call, const Config *config);
