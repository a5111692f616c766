/* One setting: its definition, and its value, read from the text that a user wrote.
 *
 * Ownership: texts live in the Call's arena.
 * Threads:   any.
 * Errors:    INVALID_ARGUMENT says what was expected; the caller adds where the text stood. */
#pragma once

#include "shared/base/call.h"

typedef enum SettingType {
    SETTING_STRING,
    SETTING_CHOICE,   /* one of `choices` */
    SETTING_INTEGER,  /* 65536; in `unit`, if it has one */
    SETTING_DURATION, /* 250ms, 10s, 5m, 24h, 7d; in milliseconds */
    SETTING_BYTES,    /* 4096, 64KiB, 16MiB, 2GiB */
    SETTING_BOOLEAN,  /* true or false; the flag alone means true */
    SETTING_LIST,     /* separated by commas; empty items are dropped */
    SETTING_REPEATED, /* one item a use: --feed a=1 --feed b=2; a stronger source replaces them all */
    SETTING_SECRET,   /* the content of the file named by NAME-file, without the line end */
} SettingType;

typedef struct SettingDefinition {
    const char *name; /* lower case, words joined by '-' */
    SettingType type;
    const char *default_value; /* as a user writes it; NULL: unset */
    const char *unit;          /* INTEGER: the things counted, for people; NULL: nothing to add */
    const char *meaning;
    const char *choices; /* CHOICE: "keys|off" */
    int64_t minimum;     /* INTEGER, DURATION, BYTES; both 0: anything not negative */
    int64_t maximum;
} SettingDefinition;

typedef struct ConfigTable {
    const SettingDefinition *definitions;
    size_t count;
} ConfigTable;

typedef struct Setting {
    const char *text;   /* NULL: unset */
    const char *source; /* "default", "flag --x", "environment SLUICE_X", "file a.conf line 3" */
    int64_t integer;    /* milliseconds, bytes, plain numbers, 0 or 1 */
    const Slice *items;
    size_t item_count;
    const char *secret;
} Setting;

enum { SETTING_SECRET_SIZE_MAX = 64 * 1024, SETTING_FILE_SIZE_MAX = 1024 * 1024 };

/* Fills all of the setting but `source`. */
MUST_USE Status setting_parse(
    Call *call, const SettingDefinition *definition, const char *text, Setting *ret_setting);

/* Reads a whole file. Fails with NOT_FOUND or RESOURCE_EXHAUSTED and the path. */
MUST_USE Status setting_read_file(Call *call, const char *path, size_t size_max, Slice *ret_content);

/* Writes the name of the environment's variable: "worker-count" → "SLUICE_WORKER_COUNT", for a secret
 * "SLUICE_API_KEY_FILE". */
enum { SETTING_NAME_MAX = 64, SETTING_VARIABLE_SIZE = SETTING_NAME_MAX + sizeof "SLUICE__FILE" };
void setting_variable(const SettingDefinition *definition, char ret_variable[SETTING_VARIABLE_SIZE]);

/* Writes the name as flags and files have it: secrets end in "-file". */
void setting_flag(const SettingDefinition *definition, char ret_flag[SETTING_VARIABLE_SIZE]);
