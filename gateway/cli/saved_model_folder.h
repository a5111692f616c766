/* A SavedModel's folder as the tar that createGraph takes: saved_model.pb and the files of variables/ and
 * assets/, sorted, so that a model gives the same bytes each time. No archive is written: its headers lie in
 * memory, and the files are read where they are. */
#pragma once

#include "gateway/cli/content.h"

/* Adds the archive to an empty content. INVALID_ARGUMENT names what cannot be read. */
MUST_USE Status saved_model_folder_add(Call *call, const char *folder, Content *content);
