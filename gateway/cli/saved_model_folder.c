#include "gateway/cli/saved_model_folder.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "gateway/cli/local_folder.h"
#include "gateway/formats/tar.h"
#include "shared/base/text.h"

enum { FILES_MAX = 4096, DEPTH_MAX = 16 };

/* The names in a folder, relative to the model's. */
typedef struct Listing {
    const char *folder; /* "variables" */
    const char *names[FILES_MAX];
    size_t count;
} Listing;

typedef struct Packing {
    Call *call;
    const char *root;
    Content *content;
} Packing;

static Status
add_zeros(const Packing *packing, size_t count)
{
    static const char zeros[TAR_BLOCK_SIZE * 2];
    return content_add_bytes(packing->call, packing->content, slice_of(zeros, count));
}

/* Adds a header, whose size is set once the file behind it is open. Returns it in the call's arena. */
static Status
add_header(const Packing *packing, const char *name, char **ret_header)
{
    AUTO_BUFFER bytes = {0};
    tar_append_header(&bytes, slice_from_string(name), 0);
    char *copy = buffer_is_ok(&bytes) ? arena_alloc(packing->call->arena, bytes.size) : NULL;
    if (copy == NULL) {
        return call_fail_memory(packing->call, "an archive");
    }
    memcpy(copy, bytes.data, bytes.size);
    *ret_header = copy + bytes.size - TAR_BLOCK_SIZE;
    return content_add_bytes(packing->call, packing->content, slice_of(copy, bytes.size));
}

static Status
add_file(const Packing *packing, const char *name)
{
    Call *call = packing->call;
    Content *content = packing->content;
    const char *path = text_format(call->arena, "%s/%s", packing->root, name);
    char *header = NULL;
    if (path == NULL) {
        return call_fail_memory(call, "an archive");
    }
    TRY(add_header(packing, name, &header));
    TRY(content_add_file(call, content, path));
    uint64_t size = content->parts[content->count - 1].size;
    tar_set_size(header, size);
    return add_zeros(packing, (TAR_BLOCK_SIZE - (size_t)(size % TAR_BLOCK_SIZE)) % TAR_BLOCK_SIZE);
}

static int
compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static Status
note_name(Call *call, void *context, const char *name)
{
    Listing *listing = context;
    if (listing->count == FILES_MAX) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "the model's folder '%s' has more than %d files",
            listing->folder, FILES_MAX);
    }
    listing->names[listing->count] = text_format(call->arena, "%s/%s", listing->folder, name);
    return listing->names[listing->count++] == NULL ? call_fail_memory(call, "names") : STATUS_OK;
}

/* Lists what is in a folder of the model, sorted; nothing without one. */
static Status
list_folder(const Packing *packing, const char *name, Listing *listing)
{
    Call *call = packing->call;
    const char *path = text_format(call->arena, "%s/%s", packing->root, name);
    if (path == NULL) {
        return call_fail_memory(call, "names");
    }
    listing->folder = name;
    Status status = local_folder_list(call, path, note_name, listing);
    qsort(listing->names, listing->count, sizeof *listing->names, compare_names);
    return status == STATUS_NOT_FOUND ? STATUS_OK : status;
}

static bool
is_folder(const Packing *packing, const char *name)
{
    struct stat about;
    const char *path = text_format(packing->call->arena, "%s/%s", packing->root, name);
    return path != NULL && stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static Status
add_folder(const Packing *packing, const char *name, int depth)
{
    Listing *listing = arena_alloc(packing->call->arena, sizeof *listing);
    if (listing == NULL) {
        return call_fail_memory(packing->call, "names");
    }
    listing->count = 0;
    TRY(list_folder(packing, name, listing));
    for (size_t index = 0; index < listing->count; index++) {
        const char *inside = listing->names[index];
        if (!is_folder(packing, inside)) {
            TRY(add_file(packing, inside));
        } else if (depth < DEPTH_MAX) {
            TRY(add_folder(packing, inside, depth + 1));
        } else {
            return call_fail(packing->call, STATUS_INVALID_ARGUMENT, "folders in '%s' nest deeper than %d",
                packing->root, DEPTH_MAX);
        }
    }
    return STATUS_OK;
}

Status
saved_model_folder_add(Call *call, const char *folder, Content *content)
{
    assert(content->count == 0);
    Packing packing = {.call = call, .root = folder, .content = content};
    TRY(add_file(&packing, "saved_model.pb"));
    TRY(add_folder(&packing, "variables", 0));
    TRY(add_folder(&packing, "assets", 0));
    return add_zeros(&packing, (size_t)TAR_BLOCK_SIZE * 2);
}
