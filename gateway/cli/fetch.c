#include "gateway/cli/fetch.h"

#include <assert.h>

#include "gateway/cli/local_file.h"
#include "gateway/cli/reply.h"
#include "gateway/cli/screen.h"
#include "shared/base/text.h"
#include "shared/tensor/npy.h"
#include "shared/tensor/shape.h"
#include "shared/tensor/tensor_json.h"

/* A tensor of more elements is shown by the first and last of each axis. */
enum { SHOWN_MAX = 1000, EDGE = 3 };

typedef struct Printer {
    Buffer *text;
    JsonScanner scanner; /* inside the array of elements, which are in row-major order */
    Shape shape;
    bool is_cut;
    bool lacks_elements;
} Printer;

typedef struct TensorDocument {
    Slice dtype;
    Slice shape;
    Slice data;
} TensorDocument;

static Status
document_read(Call *call, Slice json, TensorDocument *ret_document)
{
    static const JsonMember members[] = {
        {"dtype", JSON_SLICE, .offset = offsetof(TensorDocument, dtype)},
        {"shape", JSON_TEXT, .offset = offsetof(TensorDocument, shape)},
        {"data", JSON_TEXT, .offset = offsetof(TensorDocument, data)},
    };
    *ret_document = (TensorDocument){0};
    return reply_read(call, json, members, COUNT_OF(members), ret_document);
}

static Status
axis_take(Call *call, void *context, Slice item)
{
    Shape *shape = context;
    if (shape->rank == SHAPE_RANK_MAX || !slice_to_int64(item, &shape->dims[shape->rank])) {
        return call_fail(call, STATUS_DATA_LOSS, "the gateway's answer has a shape that is none");
    }
    shape->rank++;
    return STATUS_OK;
}

Status
fetch_append_type(Call *call, Slice tensor, Buffer *text)
{
    TensorDocument document;
    TRY(document_read(call, tensor, &document));
    screen_append(text, document.dtype);
    buffer_append_byte(text, ' ');
    screen_append(text, document.shape);
    return STATUS_OK;
}

static void
element_print(Printer *printer, bool is_shown)
{
    Slice element;
    if (!json_array_next(&printer->scanner) || !json_skip(&printer->scanner, &element)) {
        printer->lacks_elements = true;
    } else if (is_shown) {
        screen_append(printer->text, element);
    }
}

static void
separator_print(const Printer *printer, int axis)
{
    if (axis + 1 == printer->shape.rank) {
        buffer_append_string(printer->text, ", ");
    } else {
        buffer_append_format(printer->text, ",\n%*s", axis + 1, "");
    }
}

/* Prints what separates the element or row at `index` from the one before. */
static void
lead_print(const Printer *printer, int axis, int64_t index, bool is_left_out)
{
    if (index > 0 && (!is_left_out || index == EDGE)) {
        separator_print(printer, axis);
    }
    if (is_left_out && index == EDGE) {
        buffer_append_string(printer->text, "...");
    }
}

/* Prints the part of the tensor below one index of each axis before `axis`. It recurses as deep as the
 * rank. */
static void
axis_print(Printer *printer, int axis, bool is_shown)
{
    if (axis == printer->shape.rank) {
        element_print(printer, is_shown);
        return;
    }
    int64_t size = printer->shape.dims[axis];
    bool is_cut = printer->is_cut && size > EDGE + EDGE;
    buffer_append_string(printer->text, is_shown ? "[" : "");
    for (int64_t index = 0; index < size && !printer->lacks_elements; index++) {
        bool is_left_out = is_cut && index >= EDGE && index < size - EDGE;
        if (is_shown) {
            lead_print(printer, axis, index, is_left_out);
        }
        axis_print(printer, axis + 1, is_shown && !is_left_out);
    }
    buffer_append_string(printer->text, is_shown ? "]" : "");
}

Status
fetch_append_elements(Call *call, Slice tensor, Buffer *text)
{
    TensorDocument document;
    Printer printer = {.text = text, .shape = shape_scalar()};
    int64_t count = 0;
    TRY(document_read(call, tensor, &document));
    TRY(reply_each(call, document.shape, NULL, axis_take, &printer.shape));
    json_scan_begin(&printer.scanner, document.data, JSON_DEPTH_MAX);
    if (!shape_element_count(&printer.shape, &count) || !json_array_begin(&printer.scanner)) {
        return call_fail(call, STATUS_DATA_LOSS, "the gateway's answer has no elements for its shape");
    }
    printer.is_cut = count > SHOWN_MAX;
    axis_print(&printer, 0, true);
    buffer_append_byte(text, '\n');
    if (printer.lacks_elements) {
        return call_fail(call, STATUS_DATA_LOSS, "the gateway's answer has fewer elements than its shape");
    }
    return STATUS_OK;
}

static const size_t fetch_size_max = (size_t)4 << 30;

Status
fetch_parse(Call *call, Slice text, Fetch *ret_fetch)
{
    size_t equals = slice_find(text, '=');
    Slice path = slice_part(text, equals + 1, text.size);
    Fetch fetch = {.name = slice_part(text, 0, equals)};
    if (fetch.name.size == 0 || (equals < text.size && !slice_ends_with(path, SLICE(".npy")))) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'%.*s' is no fetch: expected NAME or NAME=FILE.npy",
            SLICE_PRINT(text));
    }
    if (equals < text.size) {
        fetch.path = text_copy(call->arena, path);
        if (fetch.path == NULL) {
            return call_fail_memory(call, "a fetch");
        }
    }
    *ret_fetch = fetch;
    return STATUS_OK;
}

static Status
tensor_save(Call *call, const char *path, const Tensor *tensor)
{
    AUTO_BUFFER header = {0};
    TRY(npy_write_header(call, tensor, &header));
    if (!buffer_is_ok(&header)) {
        return call_fail_memory(call, "a .npy file");
    }
    AUTO_LOCAL_FILE file = {0};
    TRY(local_file_begin(call, path, &file));
    TRY(local_file_append(call, &file, buffer_slice(&header)));
    TRY(local_file_append(call, &file, slice_of(tensor->data, tensor_byte_size(tensor))));
    return local_file_keep(call, &file);
}

Status
fetch_save(Call *call, const Fetch *fetch, Slice json)
{
    assert(fetch->path != NULL);
    JsonScanner scanner;
    AUTO_TENSOR tensor = {0};
    Slice ref = {0};
    json_scan_begin(&scanner, json, JSON_DEPTH_MAX);
    TensorJsonOptions options = {.byte_size_max = fetch_size_max};
    Status status = tensor_json_read(call, &scanner, options, &tensor, &ref);
    if (status == STATUS_OK) {
        status = tensor_save(call, fetch->path, &tensor);
    }
    return status == STATUS_OK ? STATUS_OK : call_wrap(call, "fetch '%.*s'", SLICE_PRINT(fetch->name));
}

Status
fetch_append(Call *call, const Fetch *fetch, Slice tensor, Buffer *text)
{
    screen_append(text, fetch->name);
    buffer_append_string(text, ": ");
    TRY(fetch_append_type(call, tensor, text));
    if (fetch->path != NULL) {
        buffer_append_format(text, " in %s\n", fetch->path);
        return STATUS_OK;
    }
    buffer_append_byte(text, '\n');
    return fetch_append_elements(call, tensor, text);
}

static Status
deliver_fetch(Call *call, const Fetch *fetch, Slice outputs, Buffer *text)
{
    const char *name = text_copy(call->arena, fetch->name);
    Slice tensor = {0};
    if (name == NULL) {
        return call_fail_memory(call, "a fetch");
    }
    JsonMember member = {.name = name, .type = JSON_TEXT};
    TRY(reply_read(call, outputs, &member, 1, &tensor));
    if (tensor.size == 0) {
        return call_fail(call, STATUS_DATA_LOSS, "the gateway's answer lacks the fetch '%s'", name);
    }
    if (fetch->path != NULL) {
        TRY(fetch_save(call, fetch, tensor));
    }
    return text == NULL ? STATUS_OK : fetch_append(call, fetch, tensor, text);
}

Status
fetches_deliver(Call *call, const Fetch *fetches, size_t count, Slice outputs, Buffer *text)
{
    assert(fetches != NULL || count == 0);
    for (size_t index = 0; index < count; index++) {
        TRY(deliver_fetch(call, &fetches[index], outputs, text));
    }
    return STATUS_OK;
}

Status
fetches_parse(Cli *cli, Fetch **ret_fetches, size_t *ret_count)
{
    const Slice *texts = NULL;
    size_t count = config_list(cli->config, "fetch", &texts);
    Fetch *fetches = arena_alloc(cli->call->arena, (count + 1) * sizeof *fetches);
    if (fetches == NULL) {
        return call_fail_memory(cli->call, "the fetches");
    }
    for (size_t index = 0; index < count; index++) {
        Status status = fetch_parse(cli->call, texts[index], &fetches[index]);
        if (status != STATUS_OK) {
            return cli_fail(cli, EXIT_USAGE, status);
        }
    }
    *ret_fetches = fetches;
    *ret_count = count;
    return STATUS_OK;
}
