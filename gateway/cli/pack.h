/* Packs a SavedModel's directory as a tar in a temporary file, as createGraph takes it: saved_model.pb and
 * the files of variables/. Files of assets/ are left out.
 *
 * Ownership: the caller removes the file (packed_file_remove()).
 * Errors:    NOT_FOUND without a saved_model.pb; UNAVAILABLE when a file cannot be read or written. */
#pragma once

#include "shared/base/call.h"

bool path_is_directory(const char *path);

/* Packs the directory; `ret_path` lives in the call's arena. */
MUST_USE Status pack_saved_model(Call *call, const char *directory, const char **ret_path);
void packed_file_remove(const char **path); /* NULL is allowed */
#define AUTO_PACKED_FILE CLEANUP(packed_file_remove) const char *
