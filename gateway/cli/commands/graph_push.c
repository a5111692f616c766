/* sluice graph push: sends a graph's file as it is, reading while it sends. A SavedModel's directory is
 * packed first, as a tar in a temporary file, as createGraph takes it: saved_model.pb and the files of
 * variables/ and assets/. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gateway/cli/api.h"
#include "gateway/cli/command.h"
#include "gateway/cli/graph.h"
#include "gateway/cli/screen.h"
#include "gateway/cli/session.h"
#include "gateway/formats/tar.h"
#include "shared/base/text.h"

enum { COPY_SIZE = 1 << 16, FILES_MAX = 1024 };

typedef struct Packing {
    Call *call;
    const char *directory;
    FILE *archive;
} Packing;

static bool
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
list_files(const Packing *packing, const char *part, const char *names[FILES_MAX], size_t *ret_count)
{
    const char *path = text_format(packing->call->arena, "%s/%s", packing->directory, part);
    CLEANUP(folder_close) DIR *folder = path == NULL ? NULL : opendir(path);
    const struct dirent *entry = NULL;
    *ret_count = 0;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.') {
            continue;
        }
        if (*ret_count == FILES_MAX) {
            return call_fail(
                packing->call, STATUS_INVALID_ARGUMENT, "'%s' has more than %d files", path, FILES_MAX);
        }
        names[*ret_count] = text_format(packing->call->arena, "%s/%s", part, entry->d_name);
        if (names[(*ret_count)++] == NULL) {
            return call_fail_memory(packing->call, "names");
        }
    }
    qsort(names, *ret_count, sizeof *names, compare_names);
    return STATUS_OK;
}

static Status
pack_folder(const Packing *packing, const char *part)
{
    const char *names[FILES_MAX];
    size_t count = 0;
    TRY(list_files(packing, part, names, &count));
    for (size_t index = 0; index < count; index++) {
        TRY(pack_file(packing, names[index]));
    }
    return STATUS_OK;
}

/* Packs the directory; `ret_path` lives in the call's arena, and the file is the caller's, who removes it. */
static Status
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
    TRY(pack_folder(&packing, "variables"));
    TRY(pack_folder(&packing, "assets"));
    TRY(write_zeros(&packing, (size_t)TAR_BLOCK_SIZE * 2));
    return fflush(archive) == 0 ? STATUS_OK : fail_write(&packing);
}

static void
packed_file_remove(const char **path)
{
    if (*path != NULL) {
        (void)unlink(*path);
    }
}
#define AUTO_PACKED_FILE CLEANUP(packed_file_remove) const char *

typedef struct GraphFormat {
    const char *name;
    const char *media_type;
    const char *extensions[4]; /* NULL-terminated */
} GraphFormat;

static const GraphFormat formats[] = {
    {"json", "application/json", {".json"}},
    {"graphdef", "application/x-protobuf", {".pb", ".graphdef"}},
    {"onnx", "application/onnx", {".onnx"}},
    {"saved_model", "application/x-tar", {".tar"}},
};

static bool
has_extension(const GraphFormat *format, Slice path)
{
    for (const char *const *extension = format->extensions; *extension != NULL; extension++) {
        if (slice_ends_with(path, slice_from_string(*extension))) {
            return true;
        }
    }
    return false;
}

/* Returns the format of --format or of the file's name; NULL when neither says one. */
static const GraphFormat *
format_find(const Cli *cli, const char *path)
{
    const char *given = config_string(cli->config, "format");
    const char *name = given == NULL && path_is_directory(path) ? "saved_model" : given;
    for (size_t index = 0; index < COUNT_OF(formats); index++) {
        const GraphFormat *format = &formats[index];
        if (name == NULL ? has_extension(format, slice_from_string(path)) : strcmp(name, format->name) == 0) {
            return format;
        }
    }
    return NULL;
}

static Status
send_graph(
    Cli *cli, const char *session, const char *path, const char *media_type, HttpClientResponse *ret_reply)
{
    AUTO_PACKED_FILE packed = NULL;
    if (path_is_directory(path)) {
        TRY(pack_saved_model(cli->call, path, &packed));
    }
    const char *target = text_format(cli->call->arena, "/api/v1/sessions/%s/graphs", session);
    if (target == NULL) {
        return call_fail_memory(cli->call, "a request");
    }
    ApiRequest request = {
        .method = "POST",
        .path = target,
        .content_type = media_type,
        .body_path = packed == NULL ? path : packed,
        .label = path,
    };
    return api_send(cli, &request, ret_reply);
}

static Status
push_graph(Cli *cli)
{
    const char *path = cli_argument(cli, 0);
    const GraphFormat *format = format_find(cli, path);
    char session[ID_TEXT_SIZE];
    AUTO_REPLY reply = {0};
    if (format == NULL) {
        return cli_usage(cli,
            "the name '%s' does not tell the graph's format: add --format json|graphdef|onnx|saved_model",
            path);
    }
    TRY(session_resolve(cli, true, session));
    TRY(send_graph(cli, session, path, format->media_type, &reply));
    return graph_show(cli, buffer_slice(&reply.body));
}

static const char *const settings[] = {"session", "format", NULL};

COMMAND(graph_push) = {
    .name = "graph push",
    .arguments = "FILE",
    .summary = "send a graph and print what the gateway read",
    .details = "The name tells the format: .json (GraphDef as JSON), .pb or .graphdef (GraphDef or a\n"
               "SavedModel as protobuf), .onnx, .tar (a SavedModel's directory). A directory is a\n"
               "SavedModel, sent with its variables. The same bytes sent again are the same graph.\n",
    .settings = settings,
    .argument_min = 1,
    .argument_max = 1,
    .run = push_graph,
};
