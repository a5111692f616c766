#include "gateway/cli/local_file.h"

#include <errno.h>
#include <stdio.h>

static void
file_close(FILE **file)
{
    if (*file != NULL) {
        (void)fclose(*file);
    }
}
#define AUTO_FILE CLEANUP(file_close) FILE *

static Status
local_file_fail(Call *call, const char *path, const char *what)
{
    return call_fail(
        call, STATUS_INVALID_ARGUMENT, "file '%s' cannot be %s: %s", path, what, strerrordesc_np(errno));
}

Status
local_file_read(Call *call, const char *path, size_t size_max, Buffer *content)
{
    enum { PART_SIZE = 64 * 1024 };
    AUTO_FILE file = fopen(path, "rbe");
    if (file == NULL) {
        return local_file_fail(call, path, "opened");
    }
    for (size_t got = 1; got > 0;) {
        char *const room = buffer_reserve(content, PART_SIZE);
        if (room == NULL) {
            return call_fail_memory(call, "a file's content");
        }
        got = fread(room, 1, PART_SIZE, file);
        buffer_grow(content, got);
        if (content->size > size_max) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "file '%s' is larger than %zu bytes", path, size_max);
        }
    }
    return ferror(file) ? local_file_fail(call, path, "read") : STATUS_OK;
}

Status
local_file_write(Call *call, const char *path, const Slice *parts, size_t part_count)
{
    AUTO_FILE file = fopen(path, "wbe");
    if (file == NULL) {
        return local_file_fail(call, path, "opened");
    }
    for (size_t index = 0; index < part_count; index++) {
        if (fwrite(parts[index].data, 1, parts[index].size, file) != parts[index].size) {
            return local_file_fail(call, path, "written");
        }
    }
    return fclose(TAKE(file)) == 0 ? STATUS_OK : local_file_fail(call, path, "written");
}
