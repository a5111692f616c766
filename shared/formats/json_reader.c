#include "shared/formats/json_reader.h"

#include <stdalign.h>

#include "shared/base/base64.h"

Status
json_reader_fault(JsonReader *reader)
{
    const Status status = json_scan_check(reader->builder->call, reader->scanner);
    return status == STATUS_OK
               ? call_fail(reader->builder->call, STATUS_INTERNAL, "the scanner has not stopped")
               : status;
}

/* "tensor_shape" is "tensorShape". */
static bool
name_matches(Slice given, const char *camel)
{
    size_t at = 0;
    for (size_t index = 0; index < given.size; index++, at++) {
        char byte = given.data[index];
        if (byte == '_' && index + 1 < given.size) {
            byte = given.data[++index];
            byte = byte >= 'a' && byte <= 'z' ? (char)(byte - 'a' + 'A') : byte;
        }
        if (camel[at] == '\0' || camel[at] != byte) {
            return false;
        }
    }
    return camel[at] == '\0';
}

static const JsonMember *
find_member(const JsonMessage *message, Slice name)
{
    for (size_t index = 0; index < message->member_count; index++) {
        if (name_matches(name, message->members[index].name)) {
            return &message->members[index];
        }
    }
    return NULL;
}

Status
json_read_message(JsonReader *reader, const JsonMessage *message, void *target)
{
    JsonScanner *const scanner = reader->scanner;
    if (!json_object_begin(scanner)) {
        return json_reader_fault(reader);
    }
    Slice name;
    while (json_object_next(scanner, &name)) {
        const JsonMember *const member = find_member(message, name);
        if (member == NULL) {
            return call_fail(reader->builder->call, STATUS_INVALID_ARGUMENT, "%s has no member '%.*s'",
                message->name, SLICE_PRINT(slice_part(name, 0, 64)));
        }
        if (json_peek(scanner) == JSON_NULL) {
            (void)json_null(scanner);
        } else {
            TRY(member->read(reader, (char *)target + member->offset));
        }
    }
    return json_scan_check(reader->builder->call, scanner);
}

typedef struct Item {
    alignas(max_align_t) unsigned char bytes[JSON_ITEM_SIZE_MAX];
} Item;

Status
json_read_list(JsonReader *reader, JsonRead read, size_t item_size, const void **ret_items, size_t *ret_count)
{
    const size_t mark = builder_mark(reader->builder);
    if (!json_array_begin(reader->scanner)) {
        return json_reader_fault(reader);
    }
    while (json_array_next(reader->scanner)) {
        Item item;
        memset(item.bytes, 0, item_size);
        TRY(read(reader, item.bytes));
        TRY(builder_push(reader->builder, item.bytes, item_size));
    }
    TRY(json_scan_check(reader->builder->call, reader->scanner));
    return builder_take(reader->builder, mark, item_size, ret_items, ret_count);
}

Status
json_read_map(JsonReader *reader, JsonRead read, size_t item_size, const void **ret_items, size_t *ret_count)
{
    const size_t mark = builder_mark(reader->builder);
    if (!json_object_begin(reader->scanner)) {
        return json_reader_fault(reader);
    }
    Slice name;
    while (json_object_next(reader->scanner, &name)) {
        Item item;
        memset(item.bytes, 0, item_size);
        TRY(builder_copy(reader->builder, name, (Slice *)(void *)item.bytes));
        if (read(reader, item.bytes) != STATUS_OK) {
            const Slice key = slice_part(*(const Slice *)(const void *)item.bytes, 0, 64);
            return call_wrap(reader->builder->call, "'%.*s'", SLICE_PRINT(key));
        }
        TRY(builder_push(reader->builder, item.bytes, item_size));
    }
    TRY(json_scan_check(reader->builder->call, reader->scanner));
    return builder_take(reader->builder, mark, item_size, ret_items, ret_count);
}

/* --- Leaves --------------------------------------------------------------------------------------------- */

Status
json_read_text(JsonReader *reader, void *target)
{
    Slice text;
    if (!json_string(reader->scanner, reader->builder->call->arena, &text)) {
        return json_reader_fault(reader);
    }
    return builder_copy(reader->builder, text, target);
}

Status
json_read_bytes(JsonReader *reader, void *target)
{
    Slice text;
    size_t size = 0;
    void *bytes = NULL;
    if (!json_string(reader->scanner, reader->builder->call->arena, &text)) {
        return json_reader_fault(reader);
    }
    if (!base64_decoded_size(text, &size)) {
        return call_fail(reader->builder->call, STATUS_INVALID_ARGUMENT, "bytes are not in base64");
    }
    TRY(builder_alloc(reader->builder, 1, size, &bytes));
    if (!base64_decode(text, bytes)) {
        return call_fail(reader->builder->call, STATUS_INVALID_ARGUMENT, "bytes are not in base64");
    }
    *(Slice *)target = slice_of(bytes, size);
    return STATUS_OK;
}

Status
json_read_int(JsonReader *reader, void *target)
{
    return json_int64(reader->scanner, target) ? STATUS_OK : json_reader_fault(reader);
}

Status
json_read_bool(JsonReader *reader, void *target)
{
    return json_boolean(reader->scanner, target) ? STATUS_OK : json_reader_fault(reader);
}

Status
json_read_float(JsonReader *reader, void *target)
{
    return json_float(reader->scanner, target) ? STATUS_OK : json_reader_fault(reader);
}

Status
json_read_nothing(JsonReader *reader, void *target)
{
    (void)target;
    Slice text;
    return json_skip(reader->scanner, &text) ? STATUS_OK : json_reader_fault(reader);
}

Status
json_read_dtype(JsonReader *reader, void *target)
{
    enum { TENSORFLOW_NUMBER_MAX = 199 }; /* with the references, base + 100 */
    Dtype *const dtype = target;
    if (json_peek(reader->scanner) == JSON_NUMBER) {
        int64_t number = 0;
        TRY(json_read_int(reader, &number));
        if (number < 0 || number > TENSORFLOW_NUMBER_MAX) {
            return call_fail(
                reader->builder->call, STATUS_INVALID_ARGUMENT, "%lld is no DataType", (long long)number);
        }
        *dtype = dtype_from_tensorflow_number(number);
        return STATUS_OK;
    }
    Slice name;
    if (!json_string(reader->scanner, reader->builder->call->arena, &name)) {
        return json_reader_fault(reader);
    }
    if (!slice_starts_with(name, SLICE("DT_"))) {
        return call_fail(reader->builder->call, STATUS_INVALID_ARGUMENT, "'%.*s' is no DataType",
            SLICE_PRINT(slice_part(name, 0, 64)));
    }
    *dtype = dtype_from_tensorflow_name(name);
    return STATUS_OK;
}
