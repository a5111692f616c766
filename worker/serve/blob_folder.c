#include "worker/serve/blob_folder.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "shared/base/atomic.h"
#include "shared/base/map.h"
#include "shared/base/memory.h"
#include "shared/base/mutex.h"
#include "shared/base/random.h"
#include "shared/telemetry/log.h"

enum {
    TENANT_SIZE_MAX = 64,
    PATH_SIZE = 384,     /* of a file in the folder */
    UNLOCKED_AGE_S = 60, /* a file that is being written is locked sooner */
    READ_SIZE = 1 << 20,
    CHECKED_MAX = 65536,
};

struct BlobFolder {
    int fd;
    uint64_t size_max;
    uint64_t events[BLOB_FILE_EVENTS]; /* atomic */
    Mutex lock;                        /* guards `checked` */
    Map *checked; /* path → number of the inode whose digest this process has checked */
};

struct BlobFile {
    BlobFolder *folder;
    int fd;
    uint64_t size;
    uint64_t written;
    bool is_finished;
    char path[PATH_SIZE];
    char own_path[PATH_SIZE]; /* while it is being written */
};

static void
count_event(BlobFolder *folder, BlobFileEvent event)
{
    (void)atomic_add_relaxed(&folder->events[event], 1);
}

uint64_t
blob_folder_event_count(const BlobFolder *folder, BlobFileEvent event)
{
    assert(event < BLOB_FILE_EVENTS);
    return folder == NULL ? 0 : atomic_load_relaxed(&folder->events[event]);
}

/* Writes "tenant/digest". False when one of them is no file name. */
static bool
write_path(Slice tenant, Slice digest, char ret_path[PATH_SIZE])
{
    Sha256 parsed;
    if (tenant.size == 0 || tenant.size > TENANT_SIZE_MAX || !sha256_from_hex(digest, &parsed)) {
        return false;
    }
    for (size_t index = 0; index < tenant.size; index++) {
        char byte = tenant.data[index];
        bool is_plain =
            (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';
        if (!is_plain) {
            return false;
        }
    }
    (void)snprintf(ret_path, PATH_SIZE, "%.*s/%.*s", SLICE_PRINT(tenant), SLICE_PRINT(digest));
    return true;
}

Status
blob_folder_open(Call *call, const char *path, uint64_t size_max, BlobFolder **ret_folder)
{
    struct statvfs disk;
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        return call_fail(
            call, STATUS_UNAVAILABLE, "cannot make the blob folder '%s': %s", path, strerror(errno));
    }
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstatvfs(fd, &disk) != 0 || faccessat(fd, ".", W_OK, 0) != 0) {
        int cause = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
        return call_fail(
            call, STATUS_UNAVAILABLE, "cannot use the blob folder '%s': %s", path, strerror(cause));
    }
    BlobFolder *folder = memory_new(1, sizeof *folder);
    Map *checked = map_new();
    if (folder == NULL || checked == NULL) {
        memory_free(folder);
        map_free(checked);
        (void)close(fd);
        return call_fail_memory(call, "the blob folder");
    }
    folder->fd = fd;
    folder->size_max = size_max == 0 ? (uint64_t)disk.f_blocks * disk.f_frsize / 2 : size_max;
    folder->checked = checked;
    mutex_init(&folder->lock);
    *ret_folder = folder;
    return STATUS_OK;
}

void
blob_folder_free(BlobFolder *folder)
{
    if (folder != NULL) {
        (void)close(folder->fd);
        map_free(folder->checked);
        mutex_done(&folder->lock);
        memory_free(folder);
    }
}

static void
unmap_blob(TensorBuffer *buffer)
{
    (void)munmap(buffer->data, buffer->size);
}

/* Maps the whole file. NULL when that fails. */
static TensorBuffer *
map_file(int fd, uint64_t size)
{
    void *data = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) {
        return NULL;
    }
    TensorBuffer *blob = tensor_buffer_wrap(data, size, unmap_blob, NULL);
    if (blob == NULL) {
        (void)munmap(data, size);
    }
    return blob;
}

/* Returns whether the file has the digest of its name. Reads it instead of looking into a mapping, where a
 * page that cannot be read would end the process. */
static bool
has_digest(int fd, const char *name)
{
    AUTO_MEMORY char *bytes = memory_new(READ_SIZE, 1);
    Sha256State *state = bytes == NULL ? NULL : sha256_begin();
    off_t offset = 0;
    ssize_t size = 1;
    Sha256 digest;
    char hex[SHA256_HEX_SIZE];
    while (state != NULL && size > 0) {
        size = pread(fd, bytes, READ_SIZE, offset);
        if (size > 0) {
            sha256_update(state, slice_of(bytes, (size_t)size));
            offset += size;
        }
    }
    if (state == NULL || size < 0) {
        sha256_abandon(state);
        return false;
    }
    sha256_end(state, &digest);
    sha256_to_hex(&digest, hex);
    return strcmp(hex, name) == 0;
}

static bool
is_checked(BlobFolder *folder, Slice path, ino_t inode)
{
    mutex_lock(&folder->lock);
    bool is_known = (uintptr_t)map_get(folder->checked, path) == (uintptr_t)inode;
    mutex_unlock(&folder->lock);
    return is_known;
}

/* Forgets what was checked: most of it long ago, and what is still in use is read once more. */
static void
forget_checked(const BlobFolder *folder)
{
    size_t cursor = 0;
    for (const MapEntry *entry = map_next(folder->checked, &cursor); entry != NULL;
         entry = map_next(folder->checked, &cursor)) {
        (void)map_remove(folder->checked, entry->key);
    }
}

static void
note_checked(BlobFolder *folder, Slice path, ino_t inode)
{
    mutex_lock(&folder->lock);
    (void)map_remove(folder->checked, path);
    if (map_count(folder->checked) >= CHECKED_MAX) {
        forget_checked(folder);
    }
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): a number that nobody follows */
    (void)!map_put(folder->checked, path, (void *)(uintptr_t)inode); /* without memory it is checked again */
    mutex_unlock(&folder->lock);
}

/* Returns whether the file is whole; one that is not is removed, to come again. */
static bool
check_file(BlobFolder *folder, const char *path, int fd, ino_t inode)
{
    Slice key = slice_from_string(path);
    if (is_checked(folder, key, inode)) {
        return true;
    }
    if (!has_digest(fd, strchr(path, '/') + 1)) {
        (void)unlinkat(folder->fd, path, 0);
        count_event(folder, BLOB_FILE_DAMAGED);
        log_event(LOG_WARNING, "a damaged file of the blob folder was removed", log_text("path", path));
        return false;
    }
    note_checked(folder, key, inode);
    return true;
}

TensorBuffer *
blob_folder_find(BlobFolder *folder, Slice tenant, Slice digest)
{
    char path[PATH_SIZE];
    struct stat status;
    TensorBuffer *blob = NULL;
    if (!write_path(tenant, digest, path)) {
        return NULL;
    }
    int fd = openat(folder->fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
        check_file(folder, path, fd, status.st_ino)) {
        (void)futimens(fd, NULL); /* it was used now */
        blob = map_file(fd, (uint64_t)status.st_size);
    }
    (void)close(fd);
    if (blob != NULL) {
        count_event(folder, BLOB_FILE_MAPPED);
    }
    return blob;
}

bool
blob_folder_has(const BlobFolder *folder, Slice tenant, Slice digest)
{
    char path[PATH_SIZE];
    struct stat status;
    return write_path(tenant, digest, path) && fstatat(folder->fd, path, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(status.st_mode) && status.st_size > 0;
}

/* A file in the folder. */
typedef struct FoundFile {
    char path[PATH_SIZE];
    uint64_t size;
    struct timespec used;
} FoundFile;

typedef struct FoundFiles {
    FoundFile *files;
    size_t count;
    uint64_t size; /* of all together */
} FoundFiles;

static int
by_use(const void *left, const void *right)
{
    const struct timespec *a = &((const FoundFile *)left)->used;
    const struct timespec *b = &((const FoundFile *)right)->used;
    return a->tv_sec != b->tv_sec ? (a->tv_sec > b->tv_sec) - (a->tv_sec < b->tv_sec)
                                  : (a->tv_nsec > b->tv_nsec) - (a->tv_nsec < b->tv_nsec);
}

/* Returns whether somebody writes this half-written file: it is locked then. */
static bool
is_being_written(const BlobFolder *folder, const char *path)
{
    int fd = openat(folder->fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    bool is_locked = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    (void)close(fd);
    return is_locked;
}

/* Removes a half-written file that nobody writes any more. A file is locked at once after it was made. */
static void
remove_abandoned(const BlobFolder *folder, const char *path, const struct stat *status)
{
    if (time(NULL) - status->st_mtime > UNLOCKED_AGE_S && !is_being_written(folder, path)) {
        (void)unlinkat(folder->fd, path, 0);
    }
}

static bool
note_file(const BlobFolder *folder, const char *tenant, const char *name, FoundFiles *found)
{
    FoundFile file;
    struct stat status;
    int size = snprintf(file.path, sizeof file.path, "%s/%s", tenant, name);
    if (size < 0 || size >= (int)sizeof file.path ||
        fstatat(folder->fd, file.path, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) {
        return true;
    }
    found->size += (uint64_t)status.st_blocks * 512;
    if (name[0] == '.') {
        remove_abandoned(folder, file.path, &status);
        return true;
    }
    file.size = (uint64_t)status.st_blocks * 512;
    file.used = status.st_mtim;
    bool is_full = (found->count & (found->count - 1)) == 0;
    FoundFile *files =
        is_full ? memory_resize(found->files, (found->count == 0 ? 1 : 2 * found->count) * sizeof file)
                : found->files;
    if (files == NULL) {
        return false;
    }
    found->files = files;
    found->files[found->count++] = file;
    return true;
}

/* Opens a folder to be listed. NULL: it is none. */
static DIR *
open_folder(const BlobFolder *folder, const char *path)
{
    int fd = openat(folder->fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *directory = fd < 0 ? NULL : fdopendir(fd);
    if (directory == NULL && fd >= 0) {
        (void)close(fd);
    }
    return directory;
}

bool
blob_folder_awaits(const BlobFolder *folder, Slice tenant, Slice digest)
{
    char path[PATH_SIZE];
    char name[TENANT_SIZE_MAX + 1];
    bool is_awaited = false;
    (void)snprintf(name, sizeof name, "%.*s", SLICE_PRINT(tenant));
    DIR *directory = write_path(tenant, digest, path) ? open_folder(folder, name) : NULL;
    for (const struct dirent *entry = directory == NULL ? NULL : readdir(directory);
         entry != NULL && !is_awaited; entry = readdir(directory)) {
        bool is_of_this =
            entry->d_name[0] == '.' && slice_starts_with(slice_from_string(entry->d_name + 1), digest);
        (void)snprintf(path, sizeof path, "%s/%s", name, entry->d_name);
        is_awaited = is_of_this && is_being_written(folder, path);
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    return is_awaited;
}

static bool
list_tenant(const BlobFolder *folder, const char *tenant, FoundFiles *found)
{
    DIR *directory = open_folder(folder, tenant);
    bool is_listed = true;
    if (directory == NULL) {
        return true; /* no folder, or gone */
    }
    for (const struct dirent *entry = readdir(directory); entry != NULL && is_listed;
         entry = readdir(directory)) {
        is_listed = note_file(folder, tenant, entry->d_name, found);
    }
    (void)closedir(directory);
    return is_listed;
}

/* Lists all files. False without memory. */
static bool
list_files(const BlobFolder *folder, FoundFiles *found)
{
    DIR *directory = open_folder(folder, ".");
    bool is_listed = true;
    if (directory == NULL) {
        return false;
    }
    for (const struct dirent *entry = readdir(directory); entry != NULL && is_listed;
         entry = readdir(directory)) {
        is_listed = entry->d_name[0] == '.' || list_tenant(folder, entry->d_name, found);
    }
    (void)closedir(directory);
    return is_listed;
}

/* Removes what was used longest ago until `size` more bytes fit; of a full disk as many, whatever the folder
 * holds. */
static bool
make_room(BlobFolder *folder, uint64_t size, bool is_disk_full)
{
    FoundFiles found = {0};
    uint64_t freed = 0;
    bool is_listed = list_files(folder, &found);
    if (found.count > 0) {
        qsort(found.files, found.count, sizeof *found.files, by_use);
    }
    for (size_t index = 0; index < found.count; index++) {
        bool fits = found.size - freed + size <= folder->size_max;
        if (fits && (!is_disk_full || freed >= size)) {
            break;
        }
        if (unlinkat(folder->fd, found.files[index].path, 0) == 0) {
            freed += found.files[index].size;
            count_event(folder, BLOB_FILE_REMOVED);
        }
    }
    memory_free(found.files);
    return is_listed && found.size - freed + size <= folder->size_max && (!is_disk_full || freed > 0);
}

static Status
fail_disk(Call *call, const char *what, const BlobFile *file, int cause)
{
    Status code = cause == ENOSPC || cause == EDQUOT ? STATUS_RESOURCE_EXHAUSTED : STATUS_UNAVAILABLE;
    return call_fail(call, code, "cannot %s '%s' of the blob folder: %s", what, file->path, strerror(cause));
}

/* Reserves the file's room on the disk. A file system that cannot is full later, which writing tells. */
static Status
reserve_room(Call *call, const BlobFile *file)
{
    if (fallocate(file->fd, 0, 0, (off_t)file->size) == 0 || errno == EOPNOTSUPP) {
        return STATUS_OK;
    }
    bool is_full = errno == ENOSPC || errno == EDQUOT;
    if (is_full && make_room(file->folder, file->size, true) &&
        fallocate(file->fd, 0, 0, (off_t)file->size) == 0) {
        return STATUS_OK;
    }
    return fail_disk(call, "reserve the room of", file, errno);
}

static Status
open_file(Call *call, BlobFile *file, Slice tenant, Slice digest)
{
    char folder[TENANT_SIZE_MAX + 1];
    (void)snprintf(folder, sizeof folder, "%.*s", SLICE_PRINT(tenant));
    (void)snprintf(file->own_path, sizeof file->own_path, "%s/.%.*s.%016llx", folder, SLICE_PRINT(digest),
        (unsigned long long)random_uint64());
    if (mkdirat(file->folder->fd, folder, 0700) != 0 && errno != EEXIST) {
        return fail_disk(call, "make the folder of", file, errno);
    }
    file->fd =
        openat(file->folder->fd, file->own_path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file->fd < 0 || flock(file->fd, LOCK_EX | LOCK_NB) != 0) {
        return fail_disk(call, "make", file, errno);
    }
    return reserve_room(call, file);
}

Status
blob_file_begin(
    Call *call, BlobFolder *folder, Slice tenant, Slice digest, uint64_t size, BlobFile **ret_file)
{
    assert(size > 0);
    char path[PATH_SIZE];
    if (!write_path(tenant, digest, path)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "tenant and digest of a blob are no file name");
    }
    if (size > INT64_MAX || !make_room(folder, size, false)) {
        return call_fail(call, STATUS_RESOURCE_EXHAUSTED,
            "a blob of %" PRIu64 " bytes does not fit into the blob folder of %" PRIu64, size,
            folder->size_max);
    }
    BlobFile *file = memory_new(1, sizeof *file);
    if (file == NULL) {
        return call_fail_memory(call, "a file of the blob folder");
    }
    file->folder = folder;
    file->fd = -1;
    file->size = size;
    (void)snprintf(file->path, sizeof file->path, "%s", path);
    Status status = open_file(call, file, tenant, digest);
    if (status != STATUS_OK) {
        blob_file_end(file);
        return status;
    }
    *ret_file = file;
    return STATUS_OK;
}

Status
blob_file_write(Call *call, BlobFile *file, Slice bytes)
{
    assert(bytes.size <= file->size - file->written);
    while (bytes.size > 0) {
        ssize_t size = pwrite(file->fd, bytes.data, bytes.size, (off_t)file->written);
        if (size < 0 && errno != EINTR) {
            return fail_disk(call, "write", file, errno);
        }
        size_t done = size < 0 ? 0 : (size_t)size;
        file->written += done;
        bytes = slice_part(bytes, done, bytes.size);
    }
    return STATUS_OK;
}

Status
blob_file_finish(Call *call, BlobFile *file)
{
    assert(file->written == file->size);
    struct stat status;
    if (fstat(file->fd, &status) != 0 ||
        renameat(file->folder->fd, file->own_path, file->folder->fd, file->path) != 0) {
        return fail_disk(call, "name", file, errno);
    }
    file->is_finished = true;
    note_checked(file->folder, slice_from_string(file->path), status.st_ino);
    count_event(file->folder, BLOB_FILE_WRITTEN);
    return STATUS_OK;
}

void
blob_file_end(BlobFile *file)
{
    if (file == NULL) {
        return;
    }
    if (file->fd >= 0) {
        if (!file->is_finished) {
            (void)unlinkat(file->folder->fd, file->own_path, 0);
        }
        (void)close(file->fd);
    }
    memory_free(file);
}
