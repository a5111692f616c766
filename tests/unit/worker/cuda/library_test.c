/* The mathematics library, which every process has, stands in for one of the vendor's: copies of it are laid
 * under another name into folders of the test's own. */
#include "worker/cuda/library.h"

#include <dlfcn.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/cmocka_all.h"
#include "tests/support/files.h"

enum { VERSION = 91902, PATH_SIZE = 512 };

typedef struct Table {
    double (*cosine)(double);
    double (*other)(double);
} Table;

static LibraryVersion
told_version(const void *table)
{
    return ((const Table *)table)->cosine(0) == 1 ? VERSION : 0;
}

static const LibraryFunction functions[] = {
    {"cos", offsetof(Table, cosine)}, {"sin", offsetof(Table, other)}};

static LibraryWanted
wanted_library(void)
{
    return (LibraryWanted){.name = "Vendor",
        .file = "libsluice-vendor.so.9",
        .functions = functions,
        .function_count = COUNT_OF(functions),
        .oldest = 91200,
        .version = told_version};
}

typedef struct Folders {
    char root[PATH_SIZE];
    char first[PATH_SIZE];
    char second[PATH_SIZE];
    char both[2 * PATH_SIZE + 1];
} Folders;

static void
write_file(const char *folder, const void *data, size_t size)
{
    char path[2 * PATH_SIZE];
    (void)snprintf(path, sizeof path, "%s/%s", folder, wanted_library().file);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static char mathematics[PATH_SIZE]; /* path of the library that is copied */

static int
find_mathematics(void **state)
{
    (void)state;
    Dl_info info;
    void *library = dlopen("libm.so.6", RTLD_NOW);
    assert_non_null(library);
    assert_int_not_equal(dladdr(dlsym(library, "cos"), &info), 0);
    (void)snprintf(mathematics, sizeof mathematics, "%s", info.dli_fname);
    return dlclose(library);
}

static void
copy_library(const char *folder)
{
    TensorBuffer *bytes = file_read(mathematics);
    assert_non_null(bytes);
    write_file(folder, bytes->data, bytes->size);
    tensor_buffer_unref(bytes);
}

static int
make_folders(void **state)
{
    static Folders folders;
    (void)snprintf(folders.root, sizeof folders.root, "/tmp/sluice-library-XXXXXX");
    assert_non_null(mkdtemp(folders.root));
    (void)snprintf(folders.first, sizeof folders.first, "%.400s/first", folders.root);
    (void)snprintf(folders.second, sizeof folders.second, "%.400s/second", folders.root);
    (void)snprintf(folders.both, sizeof folders.both, "%s:%s", folders.first, folders.second);
    assert_int_equal(mkdir(folders.first, 0700), 0);
    assert_int_equal(mkdir(folders.second, 0700), 0);
    *state = &folders;
    return 0;
}

static int
remove_folders(void **state)
{
    folder_remove(((Folders *)*state)->root);
    return 0;
}

static void
a_library_that_is_nowhere_is_said_to_be_so(void **state)
{
    const Folders *folders = *state;
    LibraryWanted wanted = wanted_library();
    LibraryTexts texts;
    Table table = {0};
    PluginLibrary library = library_open(&wanted, folders->both, &texts, &table);
    assert_string_equal(library.name, "Vendor");
    assert_null(library.version);
    assert_string_equal(library.reason,
        "there is no libsluice-vendor.so.9 in the folders of cuda-libraries, beside the plugin, in the "
        "loader's path or among CUDA's own");
}

static void
a_library_in_a_told_folder_fills_the_table(void **state)
{
    const Folders *folders = *state;
    LibraryWanted wanted = wanted_library();
    LibraryTexts texts;
    Table table = {0};
    copy_library(folders->second);
    PluginLibrary library = library_open(&wanted, folders->both, &texts, &table);
    assert_null(library.reason);
    assert_string_equal(library.version, "9.19.2");
    assert_non_null(table.cosine);
    assert_non_null(table.other);
    assert_true(table.cosine(0) == 1 && table.other(0) == 0);
}

static void
a_library_without_a_function_names_it(void **state)
{
    static const LibraryFunction incomplete[] = {
        {"cos", offsetof(Table, cosine)}, {"cosineOfTomorrow", offsetof(Table, other)}};
    const Folders *folders = *state;
    LibraryWanted wanted = wanted_library();
    LibraryTexts texts;
    Table table = {0};
    char expected[2 * PATH_SIZE];
    wanted.functions = incomplete;
    copy_library(folders->first);
    PluginLibrary library = library_open(&wanted, folders->first, &texts, &table);
    (void)snprintf(
        expected, sizeof expected, "'%s/%s' has no function cosineOfTomorrow()", folders->first, wanted.file);
    assert_string_equal(library.reason, expected);
    assert_null(library.version);
}

static void
an_old_library_tells_both_versions(void **state)
{
    const Folders *folders = *state;
    LibraryWanted wanted = wanted_library();
    LibraryTexts texts;
    Table table = {0};
    char expected[2 * PATH_SIZE];
    wanted.oldest = 100000;
    copy_library(folders->first);
    PluginLibrary library = library_open(&wanted, folders->first, &texts, &table);
    (void)snprintf(expected, sizeof expected, "'%s/%s' is version 9.19.2, older than 10.0.0", folders->first,
        wanted.file);
    assert_string_equal(library.reason, expected);
    assert_string_equal(library.version, "9.19.2");
}

static void
a_broken_file_is_passed_over_for_the_next_place(void **state)
{
    const Folders *folders = *state;
    LibraryWanted wanted = wanted_library();
    LibraryTexts texts;
    Table table = {0};
    write_file(folders->first, "no library", strlen("no library"));
    PluginLibrary library = library_open(&wanted, folders->first, &texts, &table);
    assert_non_null(strstr(library.reason, "file too short"));
    copy_library(folders->second);
    library = library_open(&wanted, folders->both, &texts, &table);
    assert_null(library.reason);
}

int
main(void)
{
#define IN_FOLDERS(test) cmocka_unit_test_setup_teardown(test, make_folders, remove_folders)
    const struct CMUnitTest tests[] = {
        IN_FOLDERS(a_library_that_is_nowhere_is_said_to_be_so),
        IN_FOLDERS(a_library_in_a_told_folder_fills_the_table),
        IN_FOLDERS(a_library_without_a_function_names_it),
        IN_FOLDERS(an_old_library_tells_both_versions),
        IN_FOLDERS(a_broken_file_is_passed_over_for_the_next_place),
    };
    return cmocka_run_group_tests_name("worker/cuda/library", tests, find_mathematics, NULL);
}
