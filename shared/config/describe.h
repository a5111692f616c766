/* The table of settings as people read it: in --help, in docs/settings.md, in the manual pages.
 *
 * Threads: any.
 * Errors:  those of the Buffer. */
#pragma once

#include "shared/base/buffer.h"
#include "shared/config/setting.h"

/* The word that stands for a setting's value: its unit, its choices, or its kind. */
const char *setting_value_word(const SettingDefinition *definition);

/* Appends running text as mdoc takes it: what roff would take for its own is escaped, sentences begin lines.
 */
void manual_append(Buffer *page, const char *text);

/* Writes the list of a manual page's settings. */
void config_write_manual(const ConfigTable *table, Buffer *page);
