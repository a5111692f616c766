/* A file is the digest of what follows, in hex, a line's end, and that. It is written under another name and
 * then moved, so that it is whole or not there. */
#include "worker/cuda/fusion/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/random.h"
#include "shared/crypto/digest.h"

enum {
    PATH_SIZE = 4096,
    FILES_MAX = 4096,            /* some 40 MB */
    HEAD_SIZE = SHA256_HEX_SIZE, /* the digest and a line's end */
    FILE_SIZE_MAX = 16 * 1024 * 1024,
};

static bool
write_path(const FusionCache *cache, const char *name, char ret_path[PATH_SIZE])
{
    int size = cache->folder == NULL ? 0 : snprintf(ret_path, PATH_SIZE, "%s/%s", cache->folder, name);
    return size > 0 && size < PATH_SIZE;
}

static bool
read_all(int file, Buffer *bytes)
{
    struct stat facts;
    if (fstat(file, &facts) != 0 || facts.st_size < HEAD_SIZE || facts.st_size > FILE_SIZE_MAX) {
        return false;
    }
    size_t size = (size_t)facts.st_size;
    char *room = buffer_reserve(bytes, size);
    size_t filled = 0;
    while (room != NULL && filled < size) {
        ssize_t count = read(file, room + filled, size - filled);
        if (count <= 0) {
            return false;
        }
        filled += (size_t)count;
    }
    buffer_grow(bytes, room == NULL ? 0 : size);
    return room != NULL;
}

static bool
is_whole(Slice bytes)
{
    Sha256 told;
    Sha256 found;
    Slice rest = slice_part(bytes, HEAD_SIZE, SIZE_MAX);
    if (!sha256_from_hex(slice_part(bytes, 0, HEAD_SIZE - 1), &told) || bytes.data[HEAD_SIZE - 1] != '\n') {
        return false;
    }
    sha256(rest, &found);
    return sha256_equal(&told, &found);
}

bool
fusion_cache_read(const FusionCache *cache, const char *name, Buffer *ret_bytes)
{
    char path[PATH_SIZE];
    AUTO_BUFFER bytes = {0};
    int file = write_path(cache, name, path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) {
        return false;
    }
    bool is_read = read_all(file, &bytes) && is_whole(buffer_slice(&bytes));
    (void)close(file);
    if (is_read) {
        buffer_append_slice(ret_bytes, slice_part(buffer_slice(&bytes), HEAD_SIZE, SIZE_MAX));
    }
    return is_read && buffer_is_ok(ret_bytes);
}

/* Tenants choose what is compiled: the folder takes so many files and no more. */
static bool
has_room(const FusionCache *cache)
{
    DIR *folder = opendir(cache->folder);
    int count = 0;
    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    return folder != NULL && closedir(folder) == 0 && count < FILES_MAX;
}

static bool
write_all(int file, Slice bytes)
{
    while (bytes.size > 0) {
        ssize_t count = write(file, bytes.data, bytes.size);
        if (count <= 0) {
            return false;
        }
        bytes = slice_part(bytes, (size_t)count, SIZE_MAX);
    }
    return true;
}

void
fusion_cache_write(const FusionCache *cache, const char *name, Slice bytes)
{
    char path[PATH_SIZE];
    char beside[PATH_SIZE];
    char unique[64];
    char head[HEAD_SIZE];
    Sha256 digest;
    (void)snprintf(unique, sizeof unique, "%016" PRIx64 ".new", random_uint64());
    if (!write_path(cache, name, path) || !write_path(cache, unique, beside) || !has_room(cache)) {
        return;
    }
    sha256(bytes, &digest);
    sha256_to_hex(&digest, head);
    head[HEAD_SIZE - 1] = '\n';
    int file = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (file < 0) {
        return;
    }
    bool is_written = write_all(file, slice_of(head, sizeof head)) && write_all(file, bytes);
    is_written = close(file) == 0 && is_written;
    if (!is_written || rename(beside, path) != 0) {
        (void)unlink(beside);
    }
}
