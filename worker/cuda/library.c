/* Happy path: the file is found in the first place that has it → what it opens by name is loaded → it is
 * loaded → all functions are there → its version is new enough. A file that fails in one of these is passed
 * over for the next place; the reason that is told is that of the first such file. */
#include "worker/cuda/library.h"

#include <assert.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, FUNCTIONS_MAX = 64 };

static const char *const usual_folders[] = {
    "/usr/local/cuda/lib64",
    "/usr/local/cuda/targets/x86_64-linux/lib",
    "/usr/lib/x86_64-linux-gnu",
};

typedef struct Search {
    const LibraryWanted *wanted;
    LibraryTexts *texts;
    void *table;
} Search;

/* Keeps the first reason. */
static void note_reason(Search *search, const char *format, ...) PRINTF_LIKE(2, 3);

static void
note_reason(Search *search, const char *format, ...)
{
    if (search->texts->reason[0] != '\0') {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(search->texts->reason, LIBRARY_REASON_SIZE, format, arguments);
    va_end(arguments);
}

static void
write_version(LibraryVersion version, char text[LIBRARY_VERSION_SIZE])
{
    (void)snprintf(
        text, LIBRARY_VERSION_SIZE, "%u.%u.%u", version / 10000, version / 100 % 100, version % 100);
}

/* Fills in `pointers` in the order of the wanted functions. */
static bool
find_functions(Search *search, void *library, const char *path, void **ret_pointers)
{
    const LibraryWanted *wanted = search->wanted;
    for (size_t index = 0; index < wanted->function_count; index++) {
        ret_pointers[index] = dlsym(library, wanted->functions[index].symbol);
        if (ret_pointers[index] == NULL) {
            note_reason(search, "'%s' has no function %s()", path, wanted->functions[index].symbol);
            return false;
        }
    }
    return true;
}

static void
fill_table(const LibraryWanted *wanted, void *const *pointers, void *table)
{
    for (size_t index = 0; index < wanted->function_count; index++) {
        memcpy((char *)table + wanted->functions[index].offset, &pointers[index], sizeof pointers[index]);
    }
}

static bool
check_version(Search *search, const char *path)
{
    char oldest[LIBRARY_VERSION_SIZE];
    LibraryVersion version = search->wanted->version(search->table);
    write_version(version, search->texts->version);
    write_version(search->wanted->oldest, oldest);
    if (version < search->wanted->oldest) {
        note_reason(search, "'%s' is version %s, older than %s", path, search->texts->version, oldest);
        return false;
    }
    return true;
}

static bool
use_library(Search *search, void *library, const char *path)
{
    void *pointers[FUNCTIONS_MAX];
    assert(search->wanted->function_count <= FUNCTIONS_MAX);
    if (!find_functions(search, library, path, pointers)) {
        return false;
    }
    fill_table(search->wanted, pointers, search->table);
    return check_version(search, path);
}

/* True for the loader's "FILE: cannot open shared object file: No such file or directory" about this very
 * file, and not about one that it needs. */
static bool
is_absence(const char *error, const char *path)
{
    Slice text = slice_from_string(error);
    size_t length = strlen(path);
    return slice_starts_with(text, slice_from_string(path)) &&
           slice_starts_with(slice_part(text, length, SIZE_MAX), SLICE(": cannot open shared object file"));
}

static bool
try_path(Search *search, const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *error = dlerror();
        if (!is_absence(error, path)) {
            note_reason(search, "%s", error);
        }
        return false;
    }
    if (use_library(search, library, path)) {
        return true;
    }
    (void)dlclose(library);
    return false;
}

/* The library to be loaded first may be missing: then the library says so itself. */
static bool
try_folder(Search *search, Slice folder)
{
    char path[PATH_SIZE];
    if (folder.size == 0) {
        return false;
    }
    (void)snprintf(path, sizeof path, "%.*s/%s", SLICE_PRINT(folder), search->wanted->file);
    if (access(path, F_OK) != 0) {
        return false;
    }
    if (search->wanted->first != NULL) {
        char first[PATH_SIZE];
        (void)snprintf(first, sizeof first, "%.*s/%s", SLICE_PRINT(folder), search->wanted->first);
        (void)dlopen(first, RTLD_NOW | RTLD_LOCAL);
    }
    return try_path(search, path);
}

static bool
try_told_folders(Search *search, const char *folders)
{
    Slice rest = slice_from_string(folders);
    Slice folder;
    while (rest.size > 0 && slice_split(&rest, ':', &folder)) {
        if (try_folder(search, slice_trim(folder))) {
            return true;
        }
    }
    return false;
}

/* The address of this code, which is in the plugin. */
static bool
try_plugin_folder(Search *search)
{
    Dl_info info;
    if (dladdr(usual_folders, &info) == 0 || info.dli_fname == NULL) {
        return false;
    }
    return try_folder(search, slice_folder(slice_from_string(info.dli_fname)));
}

static bool
try_cuda_home(Search *search)
{
    char folder[PATH_SIZE];
    const char *home = getenv("CUDA_HOME");
    if (home == NULL || home[0] == '\0') {
        return false;
    }
    (void)snprintf(folder, sizeof folder, "%s/lib64", home);
    return try_folder(search, slice_from_string(folder));
}

static bool
try_usual_folders(Search *search)
{
    for (size_t index = 0; index < COUNT_OF(usual_folders); index++) {
        if (try_folder(search, slice_from_string(usual_folders[index]))) {
            return true;
        }
    }
    return false;
}

PluginLibrary
library_open(const LibraryWanted *wanted, const char *folders, LibraryTexts *texts, void *ret_table)
{
    assert(wanted->function_count > 0 && wanted->version != NULL);
    *texts = (LibraryTexts){{0}, {0}};
    Search search = {.wanted = wanted, .texts = texts, .table = ret_table};
    bool is_usable = try_told_folders(&search, folders) || try_plugin_folder(&search) ||
                     try_path(&search, wanted->file) || try_cuda_home(&search) || try_usual_folders(&search);
    if (!is_usable) {
        note_reason(&search,
            "there is no %s in the folders of cuda-libraries, beside the plugin, in the "
            "loader's path or among CUDA's own",
            wanted->file);
    }
    return (PluginLibrary){.name = wanted->name,
        .version = texts->version[0] != '\0' ? texts->version : NULL,
        .reason = is_usable ? NULL : texts->reason};
}
