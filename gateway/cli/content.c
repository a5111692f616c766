#include "gateway/cli/content.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static Status
fail_file(Call *call, const char *path, const char *what)
{
    return call_fail(
        call, STATUS_INVALID_ARGUMENT, "file '%s' cannot be %s: %s", path, what, strerrordesc_np(errno));
}

static Status
fail_changed(Call *call, const char *path)
{
    return call_fail(
        call, STATUS_INVALID_ARGUMENT, "file '%s' has changed since it was looked at: begin again", path);
}

static ContentPart
describe_file(const char *path, const struct stat *about)
{
    return (ContentPart){.path = path,
        .size = (uint64_t)about->st_size,
        .device = (uint64_t)about->st_dev,
        .inode = (uint64_t)about->st_ino,
        .modified = about->st_mtim,
        .changed = about->st_ctim};
}

static bool
is_same_time(const struct timespec *left, const struct timespec *right)
{
    return left->tv_sec == right->tv_sec && left->tv_nsec == right->tv_nsec;
}

static bool
is_unchanged(const ContentPart *part, const struct stat *about)
{
    ContentPart now = describe_file(part->path, about);
    return now.size == part->size && now.device == part->device && now.inode == part->inode &&
           is_same_time(&now.modified, &part->modified) && is_same_time(&now.changed, &part->changed);
}

static Status
add_part(Call *call, Content *content, ContentPart part)
{
    enum { FIRST = 8 };
    if (content->count == content->capacity) {
        size_t capacity = content->capacity == 0 ? FIRST : content->capacity * 2;
        ContentPart *parts = arena_alloc(call->arena, capacity * sizeof *parts);
        if (parts == NULL) {
            return call_fail_memory(call, "a list of files");
        }
        memcpy(parts, content->parts == NULL ? parts : content->parts, content->count * sizeof *parts);
        content->parts = parts;
        content->capacity = capacity;
        content_done(content); /* fd_part pointed into the old list */
    }
    part.offset = content->size;
    content->parts[content->count++] = part;
    content->size += part.size;
    return STATUS_OK;
}

Status
content_add_file(Call *call, Content *content, const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0) {
        return fail_file(call, path, "opened");
    }
    if (!S_ISREG(about.st_mode)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'%s' is no regular file", path);
    }
    return add_part(call, content, describe_file(path, &about));
}

Status
content_add_bytes(Call *call, Content *content, Slice bytes)
{
    return bytes.size == 0 ? STATUS_OK
                           : add_part(call, content, (ContentPart){.bytes = bytes.data, .size = bytes.size});
}

void
content_done(Content *content)
{
    if (content->fd_part != NULL) {
        (void)close(content->fd);
        content->fd_part = NULL;
    }
}

/* Returns the part that the byte at `offset` is in. */
static const ContentPart *
find_part(const Content *content, uint64_t offset)
{
    size_t low = 0;
    size_t high = content->count;
    assert(offset < content->size);
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        *(content->parts[middle].offset <= offset ? &low : &high) = middle;
    }
    return &content->parts[low];
}

static Status
open_part(Call *call, Content *content, const ContentPart *part)
{
    if (content->fd_part == part) {
        return STATUS_OK;
    }
    content_done(content);
    content->fd = open(part->path, O_RDONLY | O_CLOEXEC);
    if (content->fd < 0) {
        return fail_file(call, part->path, "opened");
    }
    content->fd_part = part;
    return STATUS_OK;
}

/* Reads at most *size bytes, says in it how many came, and then looks whether they are still the file's. */
static Status
read_file(Call *call, Content *content, const ContentPart *part, uint64_t offset, char *room, size_t *size)
{
    struct stat about;
    ssize_t count = -1;
    TRY(open_part(call, content, part));
    do {
        count = pread(content->fd, room, *size, (off_t)offset);
    } while (count < 0 && errno == EINTR);
    if (count < 0 || fstat(content->fd, &about) != 0) {
        return fail_file(call, part->path, "read");
    }
    if (count == 0 || !is_unchanged(part, &about)) {
        return fail_changed(call, part->path);
    }
    *size = (size_t)count;
    return STATUS_OK;
}

Status
content_read(Call *call, Content *content, uint64_t offset, char *room, size_t size, size_t *ret_count)
{
    assert(size > 0);
    const ContentPart *part = find_part(content, offset);
    uint64_t at = offset - part->offset;
    uint64_t left = part->size - at;
    size_t wanted = size < left ? size : (size_t)left;
    if (part->path != NULL) {
        TRY(read_file(call, content, part, at, room, &wanted));
    } else {
        memcpy(room, part->bytes + at, wanted);
    }
    *ret_count = wanted;
    return STATUS_OK;
}

Status
content_check(Call *call, const Content *content)
{
    for (size_t index = 0; index < content->count; index++) {
        const ContentPart *part = &content->parts[index];
        struct stat about;
        if (part->path != NULL && (stat(part->path, &about) != 0 || !is_unchanged(part, &about))) {
            return fail_changed(call, part->path);
        }
    }
    return STATUS_OK;
}

static Status
read_bytes(Call *call, const ByteSource *source, uint64_t offset, size_t size, Buffer *ret_bytes)
{
    while (size > 0) {
        size_t count = 0;
        char *room = buffer_reserve(ret_bytes, size);
        if (room == NULL) {
            return call_fail_memory(call, "a file's bytes");
        }
        TRY(content_read(call, source->context, offset, room, size, &count));
        buffer_grow(ret_bytes, count);
        offset += count;
        size -= count;
    }
    return STATUS_OK;
}

ByteSource
content_byte_source(Content *content)
{
    return (ByteSource){.size = content->size, .read = read_bytes, .context = content};
}
