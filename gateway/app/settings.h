/* What can be set about a gateway (sluice-gateway --help). */
#pragma once

#include "shared/config/config.h"

extern const ConfigTable gateway_settings;
