/* The backend that keeps each blob in a file: "folder:<tenant>/<ab>/<digest>-<id>" below the folder that
 * --blob-store names, which several gateways may share. A file that is being written has the ending ".part";
 * it gets its name when all bytes are on the disk. Bytes and names are synced before anything is said to be
 * stored. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/blobs/backends.h"
#include "shared/base/memory.h"
#include "shared/base/text.h"

enum {
    PART_SIZE = 8 << 20,
    FILE_MODE = 0640,
    FOLDER_MODE = 0750,
    DIGITS = 2, /* of the digest, which name a folder: 256 of them for a tenant */
};

typedef struct Folder {
    BlobBackend backend; /* first */
    const char *root;
} Folder;

static const char prefix[] = "folder:";
static const char part_ending[] = ".part";

static Status
fail_file(Call *call, const char *path, const char *what)
{
    int error = errno;
    return error == ENOMEM ? call_fail_memory(call, "a file's name")
                           : call_fail(call, STATUS_UNAVAILABLE, "the blob store cannot %s '%s': %s", what,
                                 path, strerrordesc_np(error));
}

static size_t
choose_part_size(const BlobBackend *backend, uint64_t size)
{
    (void)backend;
    (void)size;
    return PART_SIZE;
}

static Status
make_location(
    Call *call, const BlobBackend *backend, TenantId tenant, const Sha256 *digest, const char **ret_location)
{
    (void)backend;
    LocationNames names = location_names(tenant, digest);
    const char *location = text_format(
        call->arena, "%s%s/%.*s/%s-%s", prefix, names.tenant, DIGITS, names.digest, names.digest, names.id);
    if (location == NULL) {
        return call_fail_memory(call, "a blob");
    }
    *ret_location = location;
    return STATUS_OK;
}

/* Returns the file's path, with an ending; NULL without memory. */
static char *
path_of(Call *call, const BlobBackend *backend, const BlobObject *object, const char *ending)
{
    const Folder *folder = (const Folder *)backend;
    const char *name = object->location + sizeof prefix - 1;
    assert(slice_starts_with(slice_from_string(object->location), slice_from_string(prefix)));
    errno = ENOMEM;
    return text_format(call->arena, "%s/%s%s", folder->root, name, ending);
}

static void
close_file(const int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
    }
}
#define AUTO_FD CLEANUP(close_file) int

/* Makes a file's name in its folder survive a loss of power. */
static Status
sync_folder_of(Call *call, const char *path)
{
    const char *end = strrchr(path, '/');
    errno = ENOMEM;
    const char *folder = end == NULL ? NULL : text_copy(call->arena, slice_of(path, (size_t)(end - path)));
    AUTO_FD fd = folder == NULL ? -1 : open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && fsync(fd) == 0 ? STATUS_OK : fail_file(call, path, "keep the name of");
}

/* Makes the folders between the root and the file. */
static Status
make_folders(Call *call, const Folder *folder, char *path)
{
    for (char *slash = strchr(path + strlen(folder->root) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        bool is_made = mkdir(path, FOLDER_MODE) == 0;
        Status status = is_made           ? sync_folder_of(call, path)
                        : errno == EEXIST ? STATUS_OK
                                          : fail_file(call, path, "make the folder");
        *slash = '/';
        TRY(status);
    }
    return STATUS_OK;
}

static bool
is_zero(Slice bytes)
{
    return bytes.size > 0 && bytes.data[0] == 0 && memcmp(bytes.data, bytes.data + 1, bytes.size - 1) == 0;
}

/* Writes the bytes; zeros become a hole where the file is new. */
static bool
write_bytes(int fd, const BlobPart *part, off_t file_size)
{
    Slice bytes = part->bytes;
    off_t offset = (off_t)part->offset;
    if (file_size <= offset && is_zero(bytes)) {
        return ftruncate(fd, offset + (off_t)bytes.size) == 0;
    }
    while (bytes.size > 0) {
        ssize_t written = pwrite(fd, bytes.data, bytes.size, offset);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        size_t count = written < 0 ? 0 : (size_t)written;
        bytes = slice_part(bytes, count, bytes.size);
        offset += (off_t)count;
    }
    return true;
}

static Status
write_part(
    Call *call, BlobBackend *backend, const BlobObject *object, const BlobPart *part, const char **ret_tag)
{
    (void)ret_tag;
    struct stat about = {0};
    bool is_first = part->offset == 0;
    char *path = path_of(call, backend, object, part_ending);
    if (path == NULL) {
        return fail_file(call, object->location, "write");
    }
    if (is_first) {
        TRY(make_folders(call, (const Folder *)backend, path));
    }
    AUTO_FD fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | (is_first ? O_CREAT : 0), FILE_MODE);
    if (fd < 0 || fstat(fd, &about) != 0) {
        return fail_file(call, path, "open");
    }
    if ((uint64_t)about.st_size < part->offset) {
        return call_fail(call, STATUS_FAILED_PRECONDITION,
            "the blob store has lost bytes of the upload: end it with DELETE to begin anew");
    }
    if (!write_bytes(fd, part, about.st_size) || fdatasync(fd) != 0) {
        return fail_file(call, path, "write");
    }
    return is_first ? sync_folder_of(call, path) : STATUS_OK;
}

static Status
finish_file(Call *call, BlobBackend *backend, const BlobObject *object, const BlobParts *parts)
{
    struct stat about = {0};
    const char *path = path_of(call, backend, object, "");
    const char *part_path = path_of(call, backend, object, part_ending);
    if (path == NULL || part_path == NULL) {
        return fail_file(call, object->location, "name");
    }
    if (rename(part_path, path) != 0 && errno != ENOENT) {
        return fail_file(call, part_path, "rename");
    }
    if (stat(path, &about) != 0) {
        return fail_file(call, path, "find");
    }
    if ((uint64_t)about.st_size != parts->size) {
        return call_fail(call, STATUS_DATA_LOSS,
            "the file '%s' has %llu bytes, not the %llu that were written", path,
            (unsigned long long)about.st_size, (unsigned long long)parts->size);
    }
    return sync_folder_of(call, path);
}

static Status
read_file(Call *call, BlobBackend *backend, const BlobObject *object, BlobRange range, Buffer *ret_bytes)
{
    const char *path = path_of(call, backend, object, "");
    AUTO_FD fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return errno == ENOENT ? call_fail(call, STATUS_DATA_LOSS, "the blob's file '%s' is not there", path)
                               : fail_file(call, path == NULL ? object->location : path, "open");
    }
    char *room = buffer_reserve(ret_bytes, range.size);
    if (room == NULL) {
        return call_fail_memory(call, "the bytes of a blob");
    }
    for (size_t done = 0; done < range.size;) {
        ssize_t count = pread(fd, room + done, range.size - done, (off_t)(range.offset + done));
        if (count == 0) {
            return call_fail(call, STATUS_DATA_LOSS, "the blob's file '%s' is too short", path);
        }
        if (count < 0 && errno != EINTR) {
            return fail_file(call, path, "read");
        }
        done += count < 0 ? 0 : (size_t)count;
    }
    buffer_grow(ret_bytes, range.size);
    return STATUS_OK;
}

static Status
remove_file(Call *call, BlobBackend *backend, const BlobObject *object)
{
    static const char *const endings[] = {part_ending, ""};
    for (size_t index = 0; index < COUNT_OF(endings); index++) {
        const char *path = path_of(call, backend, object, endings[index]);
        if (path == NULL || (unlink(path) != 0 && errno != ENOENT)) {
            return fail_file(call, path == NULL ? object->location : path, "remove");
        }
    }
    return STATUS_OK;
}

static void
free_folder(BlobBackend *backend)
{
    memory_free(backend);
}

/* Shows that files can be written here. */
static Status
probe_folder(Call *call, const char *root)
{
    char id[UUID_TEXT_SIZE];
    uuid_to_text(uuid_new(), id);
    const char *path = text_format(call->arena, "%s/probe-%s%s", root, id, part_ending);
    if (path == NULL) {
        return call_fail_memory(call, "a file's name");
    }
    AUTO_FD fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
    bool is_done = fd >= 0 && fsync(fd) == 0 && unlink(path) == 0;
    return is_done ? STATUS_OK
                   : call_fail(call, STATUS_FAILED_PRECONDITION,
                         "--blob-store: no file can be written in '%s': %s", root, strerrordesc_np(errno));
}

Status
folder_backend_open(Call *call, const char *path, BlobBackend **ret_backend)
{
    if (path[0] != '/') {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "--blob-store: '%s' is no absolute path", path);
    }
    TRY(probe_folder(call, path));
    Folder *folder = memory_new(1, sizeof *folder);
    if (folder == NULL) {
        return call_fail_memory(call, "the blob store");
    }
    *folder = (Folder){
        .backend = {.scheme = "folder",
            .is_transactional = true,
            .part_size = choose_part_size,
            .locate = make_location,
            .write = write_part,
            .finish = finish_file,
            .read = read_file,
            .remove = remove_file,
            .free = free_folder},
        .root = path,
    };
    *ret_backend = &folder->backend;
    return STATUS_OK;
}
