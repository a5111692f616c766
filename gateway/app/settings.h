/* The settings of sluice-gateway, as --help lists them. */
#pragma once

#include "shared/config/config.h"

extern const ConfigTable gateway_settings;
