/* Asks NVIDIA's driver whether this machine can serve a GPU, before a plugin is loaded that needs it: the
 * runtime library's own words for a machine without a driver speak of an old one.
 *
 * Threads: the one that starts the program, before it has others: the environment is changed.
 * Errors:  FAILED_PRECONDITION: there is no driver, or it is too old; UNAVAILABLE: it does not serve, or has
 *          no device, which may pass: its module is loading, or a card is being reset. */
#pragma once

#include "shared/base/call.h"

/* Makes the cards' numbers those that nvidia-smi shows, and a MIG device the only one that is visible: the
 * driver hands one out by its UUID in the environment alone. `device`: as in PluginOptions; becomes "" where
 * only one is visible. */
MUST_USE Status cuda_driver_choose(Call *call, const char **device);

/* Returns whether the driver serves; the library stays loaded. */
MUST_USE Status cuda_driver_check(Call *call);
