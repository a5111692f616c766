#include "gateway/cli/local_file.h"

#include <assert.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/text.h"

static Status
local_file_fail(Call *call, const char *path, const char *what)
{
    return call_fail(
        call, STATUS_INVALID_ARGUMENT, "file '%s' cannot be %s: %s", path, what, strerrordesc_np(errno));
}

static Status
stream_read(Call *call, FILE *stream, const char *path, size_t size_max, Buffer *content)
{
    enum { PART_SIZE = 64 * 1024 };
    for (size_t got = 1; got > 0;) {
        char *room = buffer_reserve(content, PART_SIZE);
        if (room == NULL) {
            return call_fail_memory(call, "a file's content");
        }
        got = fread(room, 1, PART_SIZE, stream);
        buffer_grow(content, got);
        if (content->size > size_max) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "file '%s' is larger than %zu bytes", path, size_max);
        }
    }
    return ferror(stream) ? local_file_fail(call, path, "read") : STATUS_OK;
}

Status
local_file_read(Call *call, const char *path, size_t size_max, Buffer *content)
{
    FILE *stream = fopen(path, "rbe");
    if (stream == NULL) {
        return local_file_fail(call, path, "opened");
    }
    Status status = stream_read(call, stream, path, size_max, content);
    (void)fclose(stream);
    return status;
}

Status
local_file_size(Call *call, const char *path, uint64_t *ret_size)
{
    struct stat about;
    if (stat(path, &about) != 0) {
        return local_file_fail(call, path, "opened");
    }
    *ret_size = (uint64_t)about.st_size;
    return STATUS_OK;
}

Status
local_file_begin(Call *call, const char *path, LocalFile *ret_file)
{
    const char *part_path = text_format(call->arena, "%s.part", path);
    if (part_path == NULL) {
        return call_fail_memory(call, "a file");
    }
    *ret_file = (LocalFile){.stream = fopen(part_path, "wbe"), .path = path, .part_path = part_path};
    return ret_file->stream == NULL ? local_file_fail(call, path, "opened") : STATUS_OK;
}

Status
local_file_append(Call *call, LocalFile *file, Slice bytes)
{
    assert(file->stream != NULL);
    file->size += bytes.size;
    return fwrite(bytes.data, 1, bytes.size, file->stream) == bytes.size
               ? STATUS_OK
               : local_file_fail(call, file->path, "written");
}

Status
local_file_keep(Call *call, LocalFile *file)
{
    assert(file->stream != NULL);
    if (fclose(TAKE(file->stream)) != 0 || rename(file->part_path, file->path) != 0) {
        Status status = local_file_fail(call, file->path, "written");
        (void)unlink(file->part_path);
        return status;
    }
    return STATUS_OK;
}

void
local_file_done(LocalFile *file)
{
    if (file->stream != NULL) {
        (void)fclose(TAKE(file->stream));
        (void)unlink(file->part_path);
    }
}
