/* Files for tests: whole files, all files of a folder, archives of golden data. */
#pragma once

#include "shared/tensor/tensor.h"

/* Returns the file's bytes; NULL when it cannot be read. */
TensorBuffer *file_read(const char *path);

/* Calls `visit` for each file below the folder whose name ends in `suffix`, sorted by path. Returns how
 * many there were. */
size_t files_each(
    const char *folder, const char *suffix, void (*visit)(const char *path, void *context), void *context);

/* Returns $CORPUS/<name>, or NULL when the folder of golden data is not given or lacks it: the test then
 * prints "skipped: …". `ret_path` has room for FILE_PATH_SIZE bytes. */
enum { FILE_PATH_SIZE = 1024 };
const char *corpus_path(const char *name, char *ret_path);

/* Unpacks a tar archive into a new folder, which folder_remove() deletes. False when that fails. */
bool archive_unpack(const char *archive, char ret_folder[FILE_PATH_SIZE]);
void folder_remove(const char *folder);
