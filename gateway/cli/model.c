#include "gateway/cli/model.h"

#include <assert.h>
#include <string.h>
#include <sys/stat.h>

#include "gateway/cli/local_folder.h"
#include "gateway/cli/saved_model_folder.h"
#include "gateway/formats/onnx_files.h"
#include "gateway/formats/tar.h"
#include "shared/base/text.h"

enum { MODEL_FILES_MAX = ONNX_FILES_MAX };

typedef enum FormatNumber { FORMAT_JSON, FORMAT_GRAPHDEF, FORMAT_ONNX, FORMAT_SAVED_MODEL } FormatNumber;

static const ModelFormat formats[] = {
    [FORMAT_JSON] = {"json", "application/json", {".json"}},
    [FORMAT_GRAPHDEF] = {"graphdef", "application/x-protobuf", {".pb", ".graphdef"}},
    [FORMAT_ONNX] = {"onnx", "application/onnx", {".onnx"}},
    [FORMAT_SAVED_MODEL] = {"saved_model", "application/x-tar", {".tar"}},
};

static bool
has_extension(const ModelFormat *format, Slice path)
{
    for (const char *const *extension = format->extensions; *extension != NULL; extension++) {
        if (slice_ends_with(path, slice_from_string(*extension))) {
            return true;
        }
    }
    return false;
}

/* Returns the format of --format or of the file's name; NULL when neither says one. */
static const ModelFormat *
find_format(const Cli *cli, const char *path)
{
    const char *name = config_string(cli->config, "format");
    for (size_t index = 0; index < COUNT_OF(formats); index++) {
        const ModelFormat *format = &formats[index];
        if (name == NULL ? has_extension(format, slice_from_string(path)) : strcmp(name, format->name) == 0) {
            return format;
        }
    }
    return NULL;
}

static Slice
base_name(const char *path)
{
    Slice text = slice_from_string(path);
    return slice_part(text, slice_folder(text).size, SIZE_MAX);
}

/* Adds a file that is to be filled. */
static Status
add_file(Call *call, Model *model, const char *name, ModelFile **ret_file)
{
    if (model->count == MODEL_FILES_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the model has more than %d files", MODEL_FILES_MAX);
    }
    *ret_file = &model->files[model->count++];
    (*ret_file)->name = name;
    return name == NULL ? call_fail_memory(call, "names") : STATUS_OK;
}

static bool
has_file(const Model *model, const char *name)
{
    for (size_t index = 1; index < model->count; index++) {
        if (strcmp(model->files[index].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Adds a file beside the model, once. */
static Status
add_beside(Call *call, Model *model, const char *name, const char *path)
{
    ModelFile *file = NULL;
    if (name != NULL && has_file(model, name)) {
        return STATUS_OK;
    }
    TRY(add_file(call, model, name, &file));
    return path == NULL ? call_fail_memory(call, "names") : content_add_file(call, &file->content, path);
}

/* Adds the files that an ONNX model keeps tensors in. */
static Status
add_external(Call *call, Model *model, const char *path)
{
    OnnxFiles found;
    Slice folder = slice_folder(slice_from_string(path));
    ByteSource source = content_byte_source(&model->files[0].content);
    Status status = onnx_files(call, &source, &found);
    if (status != STATUS_OK) {
        return call_wrap(call, "'%s'", path);
    }
    for (size_t index = 0; index < found.count; index++) {
        const char *name = text_copy(call->arena, found.names[index]);
        status = add_beside(call, model, name,
            text_format(call->arena, "%.*s%.*s", SLICE_PRINT(folder), SLICE_PRINT(found.names[index])));
        if (status != STATUS_OK) {
            return call_wrap(call, "'%s' keeps tensors in another file", path);
        }
    }
    return STATUS_OK;
}

static Status
open_file(Call *call, Model *model, const char *path)
{
    ModelFile *file = NULL;
    TRY(add_file(call, model, text_copy(call->arena, base_name(path)), &file));
    return content_add_file(call, &file->content, path);
}

/* Sets the format of an archive by what is in it. */
static Status
look_into_archive(Call *call, Model *model)
{
    ByteSource source = content_byte_source(&model->files[0].content);
    TarReader reader = {.rest = {&source, 0, source.size}};
    TarFile file;
    bool has_more = true;
    TRY(tar_next(call, &reader, &file, &has_more));
    while (has_more) {
        if (slice_ends_with(file.name, SLICE("saved_model.pb"))) {
            return STATUS_OK;
        }
        if (slice_ends_with(file.name, SLICE(".onnx"))) {
            model->format = &formats[FORMAT_ONNX];
            return STATUS_OK;
        }
        TRY(tar_next(call, &reader, &file, &has_more));
    }
    return STATUS_OK; /* the gateway says what is missing */
}

static Status
is_archive(Call *call, const Model *model, bool *ret_is_archive)
{
    Slice block;
    ByteSource source = content_byte_source(&model->files[0].content);
    ByteSpan first = byte_span_part((ByteSpan){&source, 0, source.size}, 0, TAR_BLOCK_SIZE);
    TRY(byte_span_get(call, call->arena, first, TAR_BLOCK_SIZE, "a header", &block));
    *ret_is_archive = tar_is(block);
    return STATUS_OK;
}

static Status
open_model_file(Cli *cli, Model *model, const char *path)
{
    Call *call = cli->call;
    bool is_packed = false;
    model->format = find_format(cli, path);
    if (model->format == NULL) {
        return cli_usage(cli,
            "the name '%s' does not tell the graph's format: add --format json|graphdef|onnx|saved_model",
            path);
    }
    TRY(open_file(call, model, path));
    TRY(is_archive(call, model, &is_packed));
    if (is_packed && model->format == &formats[FORMAT_SAVED_MODEL]) {
        return look_into_archive(call, model);
    }
    return model->format == &formats[FORMAT_ONNX] && !is_packed ? add_external(call, model, path) : STATUS_OK;
}

/* The kinds of files that a folder holds. */
typedef struct Holdings {
    const char *path;
    bool has_saved_model;
    const char *onnx; /* its only model; NULL: none */
    bool has_many;
} Holdings;

static Status
note_entry(Call *call, void *context, const char *entry)
{
    Holdings *holdings = context;
    Slice name = slice_from_string(entry);
    if (slice_equals_string(name, "saved_model.pb")) {
        holdings->has_saved_model = true;
    } else if (slice_ends_with(name, SLICE(".onnx"))) {
        holdings->has_many = holdings->onnx != NULL;
        holdings->onnx = text_copy(call->arena, name);
        return holdings->onnx == NULL ? call_fail_memory(call, "names") : STATUS_OK;
    }
    return STATUS_OK;
}

static Status
open_onnx_folder(Call *call, Model *model, const Holdings *holdings)
{
    const char *path = text_format(call->arena, "%s/%s", holdings->path, holdings->onnx);
    model->format = &formats[FORMAT_ONNX];
    if (path == NULL) {
        return call_fail_memory(call, "names");
    }
    TRY(open_file(call, model, path));
    return add_external(call, model, path);
}

static Status
open_folder(Call *call, Model *model, const char *path)
{
    ModelFile *file = NULL;
    Holdings holdings = {.path = path};
    TRY(local_folder_list(call, path, note_entry, &holdings));
    if (holdings.has_saved_model) {
        model->format = &formats[FORMAT_SAVED_MODEL];
        TRY(add_file(call, model, path, &file));
        return saved_model_folder_add(call, path, &file->content);
    }
    if (holdings.onnx == NULL || holdings.has_many) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            holdings.has_many ? "folder '%s' has several models: name one of its .onnx files"
                              : "folder '%s' has neither saved_model.pb nor a .onnx file",
            path);
    }
    return open_onnx_folder(call, model, &holdings);
}

static bool
path_is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static Status
open_all(Cli *cli, Model *model)
{
    const char *path = cli_argument(cli, 0);
    model->files = arena_alloc(cli->call->arena, MODEL_FILES_MAX * sizeof *model->files);
    if (model->files == NULL) {
        return call_fail_memory(cli->call, "a list of files");
    }
    memset(model->files, 0, MODEL_FILES_MAX * sizeof *model->files);
    TRY(path_is_folder(path) ? open_folder(cli->call, model, path) : open_model_file(cli, model, path));
    for (size_t index = 1; cli_argument(cli, index) != NULL; index++) {
        const char *beside = cli_argument(cli, index);
        TRY(add_beside(cli->call, model, text_copy(cli->call->arena, base_name(beside)), beside));
    }
    return STATUS_OK;
}

Status
model_open(Cli *cli, Model *ret_model)
{
    *ret_model = (Model){.count = 0};
    Status status = open_all(cli, ret_model);
    if (status != STATUS_OK) {
        return cli_fail(cli, EXIT_USAGE, status);
    }
    for (size_t index = 0; index < ret_model->count; index++) {
        ret_model->size += ret_model->files[index].content.size;
    }
    return STATUS_OK;
}

void
model_close(Model *model)
{
    for (size_t index = 0; index < model->count; index++) {
        content_done(&model->files[index].content);
    }
}

bool
model_is_text(const Model *model)
{
    return model->format == &formats[FORMAT_JSON];
}
