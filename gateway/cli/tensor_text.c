#include "gateway/cli/tensor_text.h"

#include "gateway/cli/reply.h"
#include "gateway/cli/screen.h"
#include "shared/tensor/shape.h"

/* More elements than this are shown by the first and last of each axis. */
enum { SHOWN_MAX = 1000, EDGE = 3 };

typedef struct Printer {
    Buffer *text;
    JsonScanner scanner; /* within the array of elements, which lie in row-major order */
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
    Shape *const shape = context;
    if (shape->rank == SHAPE_RANK_MAX || !slice_to_int64(item, &shape->dims[shape->rank])) {
        return call_fail(call, STATUS_DATA_LOSS, "the gateway's answer has a shape that is none");
    }
    shape->rank++;
    return STATUS_OK;
}

Status
tensor_text_append_type(Call *call, Slice tensor, Buffer *text)
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

/* What stands before the element or row at `index`. */
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

/* The part of the tensor below one index of each axis before `axis`; as deep as the rank. */
static void
axis_print(Printer *printer, int axis, bool is_shown)
{
    if (axis == printer->shape.rank) {
        element_print(printer, is_shown);
        return;
    }
    const int64_t size = printer->shape.dims[axis];
    const bool is_cut = printer->is_cut && size > EDGE + EDGE;
    buffer_append_string(printer->text, is_shown ? "[" : "");
    for (int64_t index = 0; index < size && !printer->lacks_elements; index++) {
        const bool is_left_out = is_cut && index >= EDGE && index < size - EDGE;
        if (is_shown) {
            lead_print(printer, axis, index, is_left_out);
        }
        axis_print(printer, axis + 1, is_shown && !is_left_out);
    }
    buffer_append_string(printer->text, is_shown ? "]" : "");
}

Status
tensor_text_append(Call *call, Slice tensor, Buffer *text)
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
