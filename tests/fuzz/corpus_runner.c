/* Runs a fuzz target over its committed corpus, tests/fuzz/corpus/<name>, when libFuzzer is not linked:
 * every input that once crashed stays a test under every compiler. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return -1;
    }
    enum { SIZE_MAX_ = 1 << 20 };
    uint8_t *bytes = malloc(SIZE_MAX_);
    size_t size = bytes == NULL ? 0 : fread(bytes, 1, SIZE_MAX_, file);
    (void)fclose(file);
    /* The copy has the exact size, so that a sanitizer sees a read past the end. */
    uint8_t *exact = malloc(size == 0 ? 1 : size);
    if (exact != NULL && bytes != NULL) {
        memcpy(exact, bytes, size);
        (void)LLVMFuzzerTestOneInput(exact, size);
    }
    free(exact);
    free(bytes);
    return 0;
}

int
main(int argc, char **argv)
{
    (void)argc;
    const char *slash = strrchr(argv[0], '/');
    char name[128];
    char directory[256];
    (void)snprintf(name, sizeof name, "%s", slash == NULL ? argv[0] : slash + 1);
    char *suffix = strstr(name, "_fuzz");
    if (suffix != NULL) {
        *suffix = '\0';
    }
    (void)snprintf(directory, sizeof directory, "tests/fuzz/corpus/%s", name);
    DIR *entries = opendir(directory);
    if (entries == NULL) {
        (void)printf("[  FAILED  ] %s_has_a_corpus\n", name);
        return 1;
    }
    int count = 0;
    for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        char path[600];
        (void)snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        count += entry->d_name[0] != '.' && run_file(path) == 0 ? 1 : 0;
    }
    (void)closedir(entries);
    (void)printf(
        count > 0 ? "[       OK ] %s_survives_its_corpus\n" : "[  FAILED  ] %s_has_a_corpus\n", name);
    return count > 0 ? 0 : 1;
}
