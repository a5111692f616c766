#include "gateway/cli/pack.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/formats/tar.h"
#include "shared/base/text.h"

enum { COPY_SIZE = 1 << 16, VARIABLES_MAX = 1024 };

typedef struct Packing {
    Call *call;
    const char *directory;
    FILE *archive;
} Packing;

bool
path_is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static void
file_close(FILE **file)
{
    if (*file != NULL) {
        (void)fclose(*file);
    }
}

static Status
fail_read(const Packing *packing, const char *name)
{
    return call_fail(packing->call, errno == ENOENT ? STATUS_NOT_FOUND : STATUS_UNAVAILABLE,
        "'%s/%s' cannot be read: %s", packing->directory, name, strerror(errno));
}

static Status
fail_write(const Packing *packing)
{
    return call_fail(
        packing->call, STATUS_UNAVAILABLE, "a temporary file cannot be written: %s", strerror(errno));
}

/* Copies exactly `size` bytes, as many as the header says. */
static Status
copy_bytes(const Packing *packing, const char *name, FILE *file, uint64_t size)
{
    char bytes[COPY_SIZE];
    while (size > 0) {
        size_t wanted = size < sizeof bytes ? (size_t)size : sizeof bytes;
        size_t count = fread(bytes, 1, wanted, file);
        if (count == 0) {
            return fail_read(packing, name);
        }
        if (fwrite(bytes, 1, count, packing->archive) != count) {
            return fail_write(packing);
        }
        size -= count;
    }
    return STATUS_OK;
}

static Status
write_zeros(const Packing *packing, size_t count)
{
    static const char zeros[TAR_BLOCK_SIZE * 2];
    return fwrite(zeros, 1, count, packing->archive) == count ? STATUS_OK : fail_write(packing);
}

static Status
pack_file(const Packing *packing, const char *name)
{
    char header[TAR_BLOCK_SIZE];
    struct stat status;
    const char *path = text_format(packing->call->arena, "%s/%s", packing->directory, name);
    CLEANUP(file_close) FILE *file = path == NULL ? NULL : fopen(path, "rb");
    if (file == NULL || fstat(fileno(file), &status) != 0) {
        return fail_read(packing, name);
    }
    uint64_t size = (uint64_t)status.st_size;
    if (!tar_header(slice_from_string(name), size, header)) {
        return call_fail(
            packing->call, STATUS_INVALID_ARGUMENT, "'%s' is too large, or its name too long", path);
    }
    if (fwrite(header, 1, sizeof header, packing->archive) != sizeof header) {
        return fail_write(packing);
    }
    TRY(copy_bytes(packing, name, file, size));
    return write_zeros(packing, (TAR_BLOCK_SIZE - (size_t)(size % TAR_BLOCK_SIZE)) % TAR_BLOCK_SIZE);
}

static int
compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static void
folder_close(DIR **folder)
{
    if (*folder != NULL) {
        (void)closedir(*folder);
    }
}

/* Lists the files sorted, so that a model gives the same bytes each time; there are none without such a
 * folder. */
static Status
list_variables(const Packing *packing, const char *names[VARIABLES_MAX], size_t *ret_count)
{
    const char *path = text_format(packing->call->arena, "%s/variables", packing->directory);
    CLEANUP(folder_close) DIR *folder = path == NULL ? NULL : opendir(path);
    const struct dirent *entry = NULL;
    *ret_count = 0;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        if (*ret_count == VARIABLES_MAX) {
            return call_fail(
                packing->call, STATUS_INVALID_ARGUMENT, "'%s' has more than %d files", path, VARIABLES_MAX);
        }
        names[*ret_count] = text_format(packing->call->arena, "variables/%s", entry->d_name);
        if (names[(*ret_count)++] == NULL) {
            return call_fail_memory(packing->call, "names");
        }
    }
    qsort(names, *ret_count, sizeof *names, compare_names);
    return STATUS_OK;
}

static Status
pack_variables(const Packing *packing)
{
    const char *names[VARIABLES_MAX];
    size_t count = 0;
    TRY(list_variables(packing, names, &count));
    for (size_t index = 0; index < count; index++) {
        TRY(pack_file(packing, names[index]));
    }
    return STATUS_OK;
}

Status
pack_saved_model(Call *call, const char *directory, const char **ret_path)
{
    assert(directory != NULL && ret_path != NULL);
    const char *folder = getenv("TMPDIR");
    char *path = text_format(call->arena, "%s/sluice-XXXXXX", folder == NULL ? "/tmp" : folder);
    if (path == NULL) {
        return call_fail_memory(call, "names");
    }
    int descriptor = mkstemp(path);
    CLEANUP(file_close) FILE *archive = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
    Packing packing = {.call = call, .directory = directory, .archive = archive};
    if (archive == NULL) {
        return fail_write(&packing);
    }
    *ret_path = path;
    TRY(pack_file(&packing, "saved_model.pb"));
    TRY(pack_variables(&packing));
    TRY(write_zeros(&packing, (size_t)TAR_BLOCK_SIZE * 2));
    return fflush(archive) == 0 ? STATUS_OK : fail_write(&packing);
}

void
packed_file_remove(const char **path)
{
    if (*path != NULL) {
        (void)unlink(*path);
    }
}
