/* What can be set on the command line, in the environment (SLUICE_URL) and in the file of --config. */
#pragma once

#include "shared/config/config.h"

extern const ConfigTable cli_settings;

/* Those that every command takes; the others name it themselves. */
extern const char *const cli_global_settings[];

/* The rows with these names (NULL-terminated). False when there is no memory. */
MUST_USE bool cli_settings_select(Arena *arena, const char *const *names, ConfigTable *ret_table);
bool cli_settings_contain(const char *const *names, const char *name);
