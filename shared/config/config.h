/* A program's settings: one table says what exists, and every way of setting reads that table. A flag
 * (--worker-count 4, --worker-count=4) beats the environment (SLUICE_WORKER_COUNT) beats the file named by
 * --config (worker-count = 4) beats the default. Secrets are never written in any of these:
 * --api-key-file, SLUICE_API_KEY_FILE and api-key-file = name the file that holds one.
 *
 * Ownership: a Config lives in the arena of the Call that loaded it; so do all texts it gives out.
 * Threads:   immutable once loaded.
 * Errors:    INVALID_ARGUMENT names the source, the value, and what was expected; for an unknown name the
 *            nearest known one. Asking for a setting that the table lacks, or by another type, is a bug
 * (assert). */
#pragma once

#include "shared/base/buffer.h"
#include "shared/base/call.h"
#include "shared/config/setting.h"

typedef struct ConfigInput {
    const char *const *arguments; /* without the program's name */
    size_t argument_count;
    const char *const *environment; /* as in environ(7); NULL: none */
} ConfigInput;

typedef struct Config Config;

/* Loads the settings. Unknown variables are ignored, since others (Kubernetes service links) set SLUICE_…
 * too; an empty one is unset. An unknown flag or name in the file is an error. `--config FILE`
 * (SLUICE_CONFIG), `--help` and `--version` exist in every table. The other arguments, and all that follow
 * `--`, are the words (config_word). */
MUST_USE Status config_load(
    Call *call, const ConfigTable *table, const ConfigInput *input, Config **ret_config);

bool config_wants_help(const Config *config);
bool config_wants_version(const Config *config);
const char *config_word(const Config *config, size_t index); /* NULL after the last */

const char *config_string(const Config *config, const char *name); /* STRING, CHOICE; NULL when unset */
int64_t config_integer(const Config *config, const char *name); /* INTEGER, DURATION, BYTES; 0 when unset */
bool config_boolean(const Config *config, const char *name);
size_t config_list(const Config *config, const char *name, const Slice **ret_items); /* LIST, REPEATED */
const char *config_secret(const Config *config, const char *name);                   /* NULL when unset */
bool config_is_set(const Config *config, const char *name);  /* set by a user, not by default */
bool config_is_flag(const Config *config, const char *name); /* set on the command line */

/* Writes the effective values with their sources, as a file that --config reads: "name = value  # source".
 * A secret shows the path of its file. */
void config_write(const Config *config, Buffer *buffer);

/* Write the text that --help prints, and the table of docs/settings.md. */
void config_write_help(const ConfigTable *table, Buffer *buffer);
void config_write_markdown(const ConfigTable *table, Buffer *buffer);

/* The version of all programs: the content of the file VERSION. */
extern const char config_version[];
