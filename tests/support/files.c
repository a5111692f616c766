#include "tests/support/files.h"

#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TensorBuffer *
file_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat status;
    TensorBuffer *buffer = NULL;
    if (file != NULL && fstat(fileno(file), &status) == 0) {
        buffer = tensor_buffer_new((size_t)status.st_size);
    }
    if (buffer != NULL && fread(buffer->data, 1, (size_t)status.st_size, file) != (size_t)status.st_size) {
        tensor_buffer_unref(buffer);
        buffer = NULL;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return buffer;
}

/* State of a walk, since nftw() passes no context. */
static struct {
    char **paths;
    size_t count;
    const char *suffix;
} found;

static int
note_file(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)place;
    if (type != FTW_F || !slice_ends_with(slice_from_string(path), slice_from_string(found.suffix))) {
        return 0;
    }
    found.paths = realloc(found.paths, (found.count + 1) * sizeof *found.paths);
    char *copy = strdup(path);
    if (found.paths == NULL || copy == NULL) {
        abort();
    }
    found.paths[found.count++] = copy;
    return 0;
}

static int
compare_paths(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

size_t
files_each(
    const char *folder, const char *suffix, void (*visit)(const char *path, void *context), void *context)
{
    found.count = 0;
    found.paths = NULL;
    found.suffix = suffix;
    (void)nftw(folder, note_file, 16, FTW_PHYS);
    size_t count = found.count;
    char **paths = found.paths;
    if (count > 0) {
        qsort(paths, count, sizeof *paths, compare_paths);
    }
    for (size_t index = 0; index < count; index++) {
        visit(paths[index], context);
        free(paths[index]);
    }
    free(paths);
    return count;
}

const char *
corpus_path(const char *name, char *ret_path)
{
    const char *corpus = getenv("CORPUS");
    if (corpus == NULL || corpus[0] == '\0') {
        return NULL;
    }
    (void)snprintf(ret_path, FILE_PATH_SIZE, "%s/%s", corpus, name);
    return access(ret_path, R_OK) == 0 ? ret_path : NULL;
}

static bool
run(const char *const *arguments)
{
    pid_t pid = 0;
    int status = 0;
    char *copies[8] = {NULL};
    for (size_t index = 0; arguments[index] != NULL && index + 1 < COUNT_OF(copies); index++) {
        copies[index] = strdup(arguments[index]);
    }
    bool is_done = posix_spawnp(&pid, copies[0], NULL, NULL, copies, environ) == 0 &&
                   waitpid(pid, &status, 0) == pid && status == 0;
    for (size_t index = 0; copies[index] != NULL; index++) {
        free(copies[index]);
    }
    return is_done;
}

bool
archive_unpack(const char *archive, char ret_folder[FILE_PATH_SIZE])
{
    const char *base = getenv("TMPDIR");
    (void)snprintf(ret_folder, FILE_PATH_SIZE, "%s/sluice-test-XXXXXX", base == NULL ? "/tmp" : base);
    if (mkdtemp(ret_folder) == NULL) {
        return false;
    }
    const char *const arguments[] = {"tar", "-xf", archive, "-C", ret_folder, NULL};
    if (!run(arguments)) {
        folder_remove(ret_folder);
        return false;
    }
    return true;
}

static int
remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

void
folder_remove(const char *folder)
{
    (void)nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}
