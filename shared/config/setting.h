/* One setting's value: from the text a user wrote to what the program asks for. Inside shared/config.
 *
 * Ownership: texts live in the Call's arena.
 * Errors:    INVALID_ARGUMENT says what was expected; the caller adds where the text stood. */
#pragma once

#include "shared/config/config.h"

typedef struct Setting {
    const char *text;   /* NULL: unset */
    const char *source; /* "default", "flag --x", "environment SLUICE_X", "file a.conf line 3" */
    int64_t integer;    /* milliseconds, bytes, plain numbers, 0 or 1 */
    const Slice *items;
    size_t item_count;
    const char *secret;
} Setting;

enum { SETTING_SECRET_SIZE_MAX = 64 * 1024, SETTING_FILE_SIZE_MAX = 1024 * 1024 };

/* Fills all but `source`. */
MUST_USE Status setting_parse(
    Call *call, const SettingDefinition *definition, const char *text, Setting *ret_setting);

/* The whole content; NOT_FOUND or RESOURCE_EXHAUSTED with the path. */
MUST_USE Status setting_read_file(Call *call, const char *path, size_t size_max, Slice *ret_content);

/* "worker-count" → "SLUICE_WORKER_COUNT", or "SLUICE_API_KEY_FILE" for a secret. */
enum { SETTING_NAME_MAX = 64, SETTING_VARIABLE_SIZE = SETTING_NAME_MAX + sizeof "SLUICE__FILE" };
void setting_variable(const SettingDefinition *definition, char ret_variable[SETTING_VARIABLE_SIZE]);

/* How the name is written in flags and files: secrets end in "-file". */
void setting_flag(const SettingDefinition *definition, char ret_flag[SETTING_VARIABLE_SIZE]);
