#include "gateway/graphs/graph_form.h"

#include <assert.h>

#include "gateway/http/multipart.h"
#include "shared/base/text.h"

struct GraphForm {
    Multipart *multipart;
    GraphFilePart *files;
    size_t count;
};

static Status
begin_file(Call *call, void *context, const MultipartPart *part)
{
    GraphForm *form = context;
    const char *name = text_copy(call->arena, part->name);
    if (name == NULL) {
        return call_fail_memory(call, "a graph's files");
    }
    for (size_t index = 0; index < form->count; index++) {
        if (slice_equal(form->files[index].name, part->name)) {
            return call_fail(call, STATUS_INVALID_ARGUMENT, "the form has the file '%.*s' twice",
                SLICE_PRINT(slice_part(part->name, 0, 128)));
        }
    }
    assert(form->count < GRAPH_FILES_MAX);
    form->files[form->count++] =
        (GraphFilePart){.name = slice_from_string(name), .offset = multipart_position(form->multipart)};
    return STATUS_OK;
}

static Status
extend_file(Call *call, void *context, Slice piece)
{
    GraphForm *form = context;
    (void)call;
    form->files[form->count - 1].size += piece.size;
    return STATUS_OK;
}

static Status
end_file(Call *call, void *context)
{
    (void)call;
    (void)context;
    return STATUS_OK;
}

static const MultipartEvents events = {
    .on_part = begin_file, .on_data = extend_file, .on_part_end = end_file};

static Status
begin_form(Call *call, const Request *request, GraphForm *form)
{
    MultipartOptions options = {.part_count_max = GRAPH_FILES_MAX,
        .part_limit = "of a model's files",
        .events = &events,
        .context = form};
    TRY(multipart_boundary(call, request_header(request, "Content-Type"), &options.boundary));
    return multipart_new(call, &options, &form->multipart);
}

Status
graph_form_begin(Call *call, const Request *request, GraphForm **ret_form)
{
    *ret_form = NULL;
    if (!slice_equals_string(request->media_type, "multipart/form-data")) {
        return STATUS_OK;
    }
    GraphForm *form = arena_alloc(call->arena, sizeof *form);
    GraphFilePart *files = arena_alloc(call->arena, GRAPH_FILES_MAX * sizeof *files);
    if (form == NULL || files == NULL) {
        return call_fail_memory(call, "a graph's files");
    }
    *form = (GraphForm){.files = files};
    *ret_form = form;
    return begin_form(call, request, form);
}

Status
graph_form_take(Call *call, GraphForm *form, Slice bytes)
{
    return form == NULL ? STATUS_OK : multipart_write(call, form->multipart, bytes);
}

Status
graph_form_end(Call *call, const GraphForm *form, GraphFileParts *ret_parts)
{
    TRY(multipart_end(call, form->multipart));
    *ret_parts = (GraphFileParts){form->files, form->count};
    return STATUS_OK;
}
