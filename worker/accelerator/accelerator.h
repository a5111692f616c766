/* The worker's accelerator, or the reason why it has none: found when the program starts, from the settings
 * `cuda` and `cuda-…`.
 *
 * Ownership: an Accelerator is closed before the host device is freed.
 * Threads:   the one that starts and ends the program.
 * Errors:    INVALID_ARGUMENT for the settings themselves; with cuda=required whatever stands in its way, as
 *            INVALID_ARGUMENT where only a person can mend it, by another setting, driver or plugin. */
#pragma once

#include "shared/config/config.h"
#include "worker/runtime/plugin.h"

typedef struct AcceleratorOptions {
    bool is_wanted;       /* false: switched off */
    bool is_required;     /* without one the worker does not start */
    const char *path;     /* of the plugin; NULL: the one beside the program */
    PluginOptions plugin; /* `host` is set by accelerator_open() */
} AcceleratorOptions;

typedef struct Accelerator {
    PluginDevice opened;             /* `device` NULL: there is none */
    char reason[ERROR_MESSAGE_SIZE]; /* why there is none; "" when there is one */
} Accelerator;

/* Reads the settings. Called before the program has threads: it prepares the driver's environment. */
MUST_USE Status accelerator_read(Call *call, const Config *config, AcceleratorOptions *ret_options);

/* Opens the accelerator, if there is one; logs what was found. */
MUST_USE Status accelerator_open(
    Call *call, const AcceleratorOptions *options, Device *host, Accelerator *ret_accelerator);
void accelerator_close(Accelerator *accelerator);
