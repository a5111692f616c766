/* The settings of a worker (sluice-worker --help). */
#pragma once

#include "shared/config/config.h"

extern const ConfigTable worker_settings;
