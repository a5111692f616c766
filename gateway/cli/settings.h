/* The settings, which come from the command line, the environment (SLUICE_URL) and the file of --config. */
#pragma once

#include "shared/config/config.h"

extern const ConfigTable cli_settings;

/* names of the settings that every command takes; commands name the others */
extern const char *const cli_global_settings[];

/* Selects the settings of these names (NULL-terminated). Returns false without memory. */
MUST_USE bool cli_settings_select(Arena *arena, const char *const *names, ConfigTable *ret_table);
bool cli_settings_contain(const char *const *names, const char *name);
