/* A row's value goes the same way from both sources: json_read_value() picks the reading function of its
 * type, which takes the value (take_string() and its neighbours ask the scanner, or the item of a document),
 * checks it against the row's bounds and stores it. What is wrong with a value ends a stream and is only
 * noted of a document. */
#include "shared/json/reader.h"

#include <assert.h>
#include <cjson/cJSON.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/memory.h"
#include "shared/base/text.h"
#include "shared/json/scan.h"

enum { POINTER_SIZE = 128, NAME_SHOWN_MAX = 64, FAULT_SIZE = 128 };

/* A member's value in a document: its own text, and what cJSON made of it; NULL for arrays and objects. */
typedef struct JsonValue {
    Slice text;
    const cJSON *item;
} JsonValue;

/* Writes the pointer to a member of the object at `parent` by RFC 6901, which escapes '~' and '/'. */
static const char *
write_pointer(const char *parent, Slice name, char ret_pointer[POINTER_SIZE])
{
    size_t size = (size_t)snprintf(ret_pointer, POINTER_SIZE, "%s/", parent == NULL ? "" : parent);
    assert(size < POINTER_SIZE);
    for (size_t index = 0; index < name.size && size + 3 < POINTER_SIZE; index++) {
        char byte = name.data[index];
        if (byte == '~' || byte == '/') {
            ret_pointer[size++] = '~';
            ret_pointer[size++] = byte == '~' ? '0' : '1';
        } else {
            ret_pointer[size++] = byte;
        }
    }
    ret_pointer[size] = '\0';
    return ret_pointer;
}

static void
note_member(Call *call, Slice name, const char *fault)
{
    char pointer[POINTER_SIZE];
    call_note(call, write_pointer(NULL, name, pointer), "%s", fault);
}

Status
json_reader_fault(JsonReader *reader)
{
    Status status = json_scan_check(reader->call, reader->scanner);
    return status == STATUS_OK ? call_fail(reader->call, STATUS_INTERNAL, "the scanner has not stopped")
                               : status;
}

Status
json_reader_refuse(JsonReader *reader, const char *message)
{
    assert(message != NULL);
    json_fault(reader->scanner, message);
    return json_reader_fault(reader);
}

/* The source had no value of the kind that the row asks for: `expected` names it for a document, the scanner
 * knows it already. */
static Status
refuse_kind(JsonReader *reader, const JsonMember *member, const char *expected)
{
    if (reader->value == NULL) {
        return json_reader_fault(reader);
    }
    note_member(reader->call, slice_from_string(member->name), expected);
    return STATUS_OK;
}

PRINTF_LIKE(3, 4)
static Status
refuse_value(JsonReader *reader, const JsonMember *member, const char *format, ...)
{
    char fault[FAULT_SIZE];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(fault, sizeof fault, format, arguments);
    va_end(arguments);
    if (reader->value == NULL) {
        return call_fail(reader->call, STATUS_INVALID_ARGUMENT, "'%s' %s", member->name, fault);
    }
    note_member(reader->call, slice_from_string(member->name), fault);
    return STATUS_OK;
}

static bool
take_string(JsonReader *reader, Slice *ret_text)
{
    if (reader->value == NULL) {
        return json_string(reader->scanner, reader->call->arena, ret_text);
    }
    const cJSON *item = reader->value->item;
    *ret_text = cJSON_IsString(item) ? slice_from_string(item->valuestring) : (Slice){0};
    return cJSON_IsString(item);
}

static bool
take_boolean(JsonReader *reader, bool *ret_value)
{
    if (reader->value == NULL) {
        return json_boolean(reader->scanner, ret_value);
    }
    *ret_value = cJSON_IsTrue(reader->value->item);
    return cJSON_IsBool(reader->value->item);
}

/* Returns "7" of "7.0", which is an integer to whoever validates by JSON Schema (6.1.1), and any other text
 * as it is. */
static Slice
without_zero_fraction(Slice number)
{
    size_t point = slice_find(number, '.');
    size_t end = number.size;
    while (end > point + 1 && number.data[end - 1] == '0') {
        end--;
    }
    return point + 1 < number.size && end == point + 1 ? slice_part(number, 0, point) : number;
}

static bool
take_int64(JsonReader *reader, int64_t *ret_value)
{
    return reader->value == NULL ? json_int64(reader->scanner, ret_value)
                                 : cJSON_IsNumber(reader->value->item) &&
                                       slice_to_int64(without_zero_fraction(reader->value->text), ret_value);
}

static bool
take_uint64(JsonReader *reader, uint64_t *ret_value)
{
    return reader->value == NULL ? json_uint64(reader->scanner, ret_value)
                                 : cJSON_IsNumber(reader->value->item) &&
                                       slice_to_uint64(without_zero_fraction(reader->value->text), ret_value);
}

static bool
take_double(JsonReader *reader, double *ret_value)
{
    if (reader->value == NULL) {
        return json_double(reader->scanner, ret_value);
    }
    const cJSON *item = reader->value->item;
    if (item == NULL || !cJSON_IsNumber(item) || isinf(item->valuedouble)) {
        return false;
    }
    *ret_value = item->valuedouble;
    return true;
}

static bool
take_text(JsonReader *reader, Slice *ret_text)
{
    if (reader->value == NULL) {
        return json_skip(reader->scanner, ret_text);
    }
    *ret_text = reader->value->text;
    return true;
}

static bool
is_bounded(const JsonMember *member)
{
    return member->minimum != 0 || member->maximum != 0;
}

/* Takes a string and checks its length; *ret_is_kept is false when it was refused and the fault noted. */
static Status
take_bounded_string(JsonReader *reader, const JsonMember *member, Slice *ret_text, bool *ret_is_kept)
{
    *ret_is_kept = false;
    if (!take_string(reader, ret_text)) {
        return refuse_kind(reader, member, "expected a string");
    }
    size_t size = ret_text->size;
    if (is_bounded(member) && (size < (size_t)member->minimum || size > (size_t)member->maximum)) {
        return refuse_value(reader, member, "has %zu bytes, expected %lld to %lld", size,
            (long long)member->minimum, (long long)member->maximum);
    }
    *ret_is_kept = true;
    return STATUS_OK;
}

static Status
read_slice(JsonReader *reader, const JsonMember *member, void *target)
{
    Slice text;
    bool is_kept = false;
    TRY(take_bounded_string(reader, member, &text, &is_kept));
    if (!is_kept) {
        return STATUS_OK;
    }
    if (reader->value != NULL) { /* the document's item goes away */
        text.data = text_copy(reader->call->arena, text);
        if (text.data == NULL) {
            return call_fail_memory(reader->call, "a document's string");
        }
    }
    *(Slice *)target = text;
    return STATUS_OK;
}

static Status
read_string_copy(JsonReader *reader, const JsonMember *member, void *target)
{
    Slice text;
    bool is_kept = false;
    TRY(take_bounded_string(reader, member, &text, &is_kept));
    if (!is_kept) {
        return STATUS_OK;
    }
    if (text.size > 0 && memchr(text.data, '\0', text.size) != NULL) {
        return refuse_value(reader, member, "holds the character 0");
    }
    const char *copy = text_copy(reader->call->arena, text);
    if (copy == NULL) {
        return call_fail_memory(reader->call, "a document's string");
    }
    *(const char **)target = copy;
    return STATUS_OK;
}

static Status
read_boolean(JsonReader *reader, const JsonMember *member, void *target)
{
    bool value = false;
    if (!take_boolean(reader, &value)) {
        return refuse_kind(reader, member, "expected true or false");
    }
    *(bool *)target = value;
    return STATUS_OK;
}

static Status
read_int64(JsonReader *reader, const JsonMember *member, void *target)
{
    int64_t value = 0;
    if (!take_int64(reader, &value)) {
        return refuse_kind(reader, member, "expected an integer");
    }
    if (is_bounded(member) && (value < member->minimum || value > member->maximum)) {
        return refuse_value(reader, member, "is %lld, expected %lld to %lld", (long long)value,
            (long long)member->minimum, (long long)member->maximum);
    }
    *(int64_t *)target = value;
    return STATUS_OK;
}

static Status
read_uint64(JsonReader *reader, const JsonMember *member, void *target)
{
    uint64_t value = 0;
    if (!take_uint64(reader, &value)) {
        return refuse_kind(reader, member, "expected an integer that is not negative");
    }
    *(uint64_t *)target = value;
    return STATUS_OK;
}

/* Rounded once, from the decimal text: a document would round twice. */
static Status
read_float(JsonReader *reader, const JsonMember *member, void *target)
{
    (void)member;
    assert(reader->value == NULL);
    return json_float(reader->scanner, target) ? STATUS_OK : json_reader_fault(reader);
}

static Status
read_double(JsonReader *reader, const JsonMember *member, void *target)
{
    double value = 0;
    if (!take_double(reader, &value)) {
        return refuse_kind(reader, member, "expected a number");
    }
    *(double *)target = value;
    return STATUS_OK;
}

static Status
read_text(JsonReader *reader, const JsonMember *member, void *target)
{
    return take_text(reader, target) ? STATUS_OK : refuse_kind(reader, member, "expected a value");
}

static Status
read_ignored(JsonReader *reader, const JsonMember *member, void *target)
{
    Slice dropped;
    (void)target;
    return read_text(reader, member, &dropped);
}

static Status
read_struct(JsonReader *reader, const JsonMember *member, void *target)
{
    return json_read_object(reader, member->table, target);
}

static Status
read_list(JsonReader *reader, const JsonMember *member, void *target)
{
    return json_read_list(reader, member->list, target);
}

static Status
refuse_count(JsonReader *reader, const JsonList *list)
{
    reader->passed = list;
    return json_reader_refuse(reader, list->too_many);
}

static Status
read_room(JsonReader *reader, const JsonMember *member, void *target)
{
    const JsonList *list = member->list;
    char *items = target;
    size_t *count = (size_t *)(void *)(items + list->item_size * list->count_max);
    assert(!list->is_map);
    if (!json_array_begin(reader->scanner)) {
        return json_reader_fault(reader);
    }
    while (json_array_next(reader->scanner)) {
        if (*count == list->count_max) {
            return refuse_count(reader, list);
        }
        TRY(json_read_value(reader, &list->item, items + list->item_size * (*count)++));
    }
    return json_scan_check(reader->call, reader->scanner);
}

static const JsonRead reads[] = {
    [JSON_SLICE] = read_slice,
    [JSON_STRING_COPY] = read_string_copy,
    [JSON_BOOLEAN] = read_boolean,
    [JSON_INT64] = read_int64,
    [JSON_UINT64] = read_uint64,
    [JSON_FLOAT] = read_float,
    [JSON_DOUBLE] = read_double,
    [JSON_TEXT] = read_text,
    [JSON_IGNORED] = read_ignored,
    [JSON_STRUCT] = read_struct,
    [JSON_LIST] = read_list,
    [JSON_ROOM] = read_room,
};

Status
json_read_value(JsonReader *reader, const JsonMember *member, void *target)
{
    assert((size_t)member->type < COUNT_OF(reads));
    JsonRead read = member->type == JSON_BY_FUNCTION ? member->read : reads[member->type];
    return read(reader, member, (char *)target + member->offset);
}

/* Compares with "tensorShape", whether it is given as that or as "tensor_shape". */
static bool
matches_camel_case(Slice given, const char *camel)
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

static bool
has_name(const JsonDialect *dialect, const JsonMember *member, Slice name)
{
    return dialect->has_snake_case
               ? matches_camel_case(name, member->name)
               : name.size > 0 && name.data[0] == member->name[0] && slice_equals_string(name, member->name);
}

/* Looks at the rows from `*next` on first, and moves it behind the one that was found: members usually come
 * in the order of the table. */
static const JsonMember *
find_member(const JsonDialect *dialect, const JsonTable *table, Slice name, size_t *next)
{
    for (size_t looked_at = 0; looked_at < table->member_count; looked_at++) {
        *next = *next < table->member_count ? *next : 0;
        const JsonMember *member = &table->members[(*next)++];
        if (has_name(dialect, member, name)) {
            return member;
        }
    }
    return NULL;
}

static Status
refuse_member(JsonReader *reader, Slice name)
{
    const char *message = reader->call->arena == NULL
                              ? NULL
                              : text_format(reader->call->arena, "unknown member '%.*s'",
                                    SLICE_PRINT(slice_part(name, 0, NAME_SHOWN_MAX)));
    return json_reader_refuse(reader, message == NULL ? "unknown member" : message);
}

static Status
meet_unknown(JsonReader *reader, const JsonTable *table, Slice name)
{
    Call *call = reader->call;
    char pointer[POINTER_SIZE];
    Slice skipped;
    switch (reader->dialect->unknown) {
    case JSON_UNKNOWN_IS_SKIPPED:
        return json_skip(reader->scanner, &skipped) ? STATUS_OK : json_reader_fault(reader);
    case JSON_UNKNOWN_IS_NOTED:
        call_note(call, write_pointer(table->pointer, name, pointer), "there is no such member");
        return refuse_member(reader, name);
    case JSON_UNKNOWN_IS_REFUSED:
        break;
    }
    return call_fail(call, STATUS_INVALID_ARGUMENT, "%s has no member '%.*s'", table->name,
        SLICE_PRINT(slice_part(name, 0, NAME_SHOWN_MAX)));
}

static bool
has_kind_of(JsonType type, JsonKind kind)
{
    switch (type) {
    case JSON_SLICE:
    case JSON_STRING_COPY:
        return kind == JSON_STRING;
    case JSON_INT64:
    case JSON_UINT64:
    case JSON_FLOAT:
    case JSON_DOUBLE:
        return kind == JSON_NUMBER;
    case JSON_BOOLEAN:
        return kind == JSON_TRUE || kind == JSON_FALSE;
    case JSON_STRUCT:
        return kind == JSON_OBJECT;
    case JSON_LIST:
    case JSON_ROOM:
    case JSON_TEXT:
    case JSON_IGNORED:
    case JSON_BY_FUNCTION:
        break;
    }
    return true;
}

/* Returns true when the value that comes next counts as absent. */
static bool
is_passed_over(JsonReader *reader, const JsonMember *member)
{
    const JsonDialect *dialect = reader->dialect;
    if (!dialect->null_is_absent && !dialect->skips_other_kinds) {
        return false;
    }
    JsonKind kind = json_peek(reader->scanner);
    return (dialect->null_is_absent && kind == JSON_NULL) ||
           (dialect->skips_other_kinds && !has_kind_of(member->type, kind));
}

static Status
read_member(JsonReader *reader, const JsonMember *member, void *target)
{
    if (!is_passed_over(reader, member)) {
        return json_read_value(reader, member, target);
    }
    Slice skipped;
    return json_skip(reader->scanner, &skipped) ? STATUS_OK : json_reader_fault(reader);
}

Status
json_read_object(JsonReader *reader, const JsonTable *table, void *target)
{
    assert(reader->value == NULL);
    JsonScanner *scanner = reader->scanner;
    size_t next = 0;
    Slice name;
    if (!json_object_begin(scanner)) {
        return json_reader_fault(reader);
    }
    while (json_object_next(scanner, &name)) {
        const JsonMember *member = find_member(reader->dialect, table, name, &next);
        if (member == NULL) {
            TRY(meet_unknown(reader, table, name));
        } else {
            TRY(read_member(reader, member, target));
        }
    }
    return json_scan_check(reader->call, scanner);
}

void *
json_list_grow(JsonReader *reader, const void *items, size_t count, size_t item_size)
{
    assert(item_size > 0 && (items != NULL || count == 0));
    enum { CAPACITY_FIRST = 4 };
    bool is_full = count == 0 || (count >= CAPACITY_FIRST && (count & (count - 1)) == 0);
    char *grown = without_const(items);
    if (is_full) {
        size_t capacity = count < CAPACITY_FIRST ? CAPACITY_FIRST : count * 2;
        grown = arena_alloc(reader->call->arena, capacity * item_size);
        if (grown == NULL) {
            (void)json_stop_memory(reader->scanner, "no memory left for a list");
            return NULL;
        }
        if (count > 0) {
            memcpy(grown, items, count * item_size);
        }
    }
    memset(grown + count * item_size, 0, item_size);
    return grown;
}

/* A list as it stands in structs. */
typedef struct ListInStruct {
    const void *items;
    size_t count;
} ListInStruct;

/* Reads one item behind the others; a map's `name` goes into the Slice at its start. */
static Status
append_item(JsonReader *reader, const JsonList *list, Slice name, void *target)
{
    ListInStruct in_struct;
    memcpy(&in_struct, target, sizeof in_struct);
    if (in_struct.count == list->count_max) {
        return refuse_count(reader, list);
    }
    char *items = json_list_grow(reader, in_struct.items, in_struct.count, list->item_size);
    if (items == NULL) {
        return json_reader_fault(reader);
    }
    char *item = items + in_struct.count * list->item_size;
    if (list->is_map) {
        if (!json_name_keep(reader->scanner, reader->call->arena, &name)) {
            return json_reader_fault(reader);
        }
        memcpy(item, &name, sizeof name);
    }
    in_struct = (ListInStruct){.items = items, .count = in_struct.count + 1};
    memcpy(target, &in_struct, sizeof in_struct);
    return json_read_value(reader, &list->item, item);
}

Status
json_read_list(JsonReader *reader, const JsonList *list, void *target)
{
    JsonScanner *scanner = reader->scanner;
    Slice name = {0};
    assert(list->item_size > 0 && list->count_max > 0 && list->too_many != NULL);
    if (!(list->is_map ? json_object_begin(scanner) : json_array_begin(scanner))) {
        return json_reader_fault(reader);
    }
    while (list->is_map ? json_object_next(scanner, &name) : json_array_next(scanner)) {
        TRY(append_item(reader, list, name, target));
    }
    return json_scan_check(reader->call, scanner);
}

Status
json_stream_read(Call *call, Slice text, const JsonDialect *dialect, const JsonTable *table, void *ret_struct)
{
    assert(dialect != NULL && table->members != NULL && ret_struct != NULL);
    JsonScanner scanner;
    JsonReader reader = {.call = call, .scanner = &scanner, .dialect = dialect};
    json_scan_begin(&scanner, text, JSON_DEPTH_MAX);
    TRY(json_read_object(&reader, table, ret_struct));
    return json_scan_end(call, &scanner);
}

static void *
allocate_for_cjson(size_t size)
{
    return memory_new(1, size);
}

static void
set_cjson_hooks(void)
{
    cJSON_Hooks hooks = {.malloc_fn = allocate_for_cjson, .free_fn = memory_free};
    cJSON_InitHooks(&hooks);
}

static void
cjson_deletep(cJSON **item)
{
    cJSON_Delete(*item);
}

/* Returns true when a string has an escaped character 0, at which cJSON would cut it. The backslash of an
 * escape has an even number of backslashes before it. */
static bool
holds_zero(Slice text)
{
    Slice zero = SLICE("\\u0000");
    Slice rest = text;
    for (;;) {
        const char *found = memmem(rest.data, rest.size, zero.data, zero.size);
        if (found == NULL) {
            return false;
        }
        size_t backslash_count = 0;
        while (found[-1 - (ptrdiff_t)backslash_count] == '\\') {
            backslash_count++;
        }
        if (backslash_count % 2 == 0) {
            return true;
        }
        rest = slice_of(found + 1, (size_t)(text.data + text.size - found - 1));
    }
}

static Status
read_document_value(JsonReader *reader, const JsonMember *member, Slice text, void *target)
{
    assert(member->type != JSON_BY_FUNCTION && member->type < JSON_STRUCT);
    JsonValue value = {.text = text};
    CLEANUP(cjson_deletep) cJSON *item = NULL;
    bool is_scalar = text.data[0] != '{' && text.data[0] != '[';
    if (is_scalar && member->type != JSON_TEXT) {
        if (holds_zero(text)) {
            note_member(reader->call, slice_from_string(member->name), "holds the character 0");
            return STATUS_OK;
        }
        item = cJSON_ParseWithLength(text.data, text.size);
        if (item == NULL) {
            return call_fail_memory(reader->call, "a document's member");
        }
        value.item = item;
    }
    reader->value = &value;
    Status status = json_read_value(reader, member, target);
    reader->value = NULL;
    return status;
}

/* Fills `ret_texts`, one for each row; a member that is absent or null has no data. */
static Status
find_document_texts(JsonReader *reader, const JsonTable *table, Slice *ret_texts)
{
    JsonScanner *scanner = reader->scanner;
    size_t next = 0;
    Slice name;
    Slice text;
    for (bool is_open = json_object_begin(scanner); is_open && json_object_next(scanner, &name);) {
        const JsonMember *member = find_member(reader->dialect, table, name, &next);
        if (member == NULL) {
            note_member(reader->call, name, "is not a member that is known here");
        }
        bool is_null = json_peek(scanner) == JSON_NULL;
        if (json_skip(scanner, &text) && member != NULL && !is_null) {
            ret_texts[member - table->members] = text;
        }
    }
    return json_scan_end(reader->call, scanner);
}

static Status
sum_up_notes(Call *call)
{
    if (call->error.detail_count == 0) {
        return STATUS_OK;
    }
    const ErrorDetail *first = &call->error.details[0];
    return call_fail(call, STATUS_INVALID_ARGUMENT, "%d fault%s in the document, first: %s: %s",
        call->error.detail_count, call->error.detail_count == 1 ? "" : "s", first->pointer, first->detail);
}

Status
json_document_read(Call *call, Slice text, const JsonTable *table, void *ret_struct)
{
    assert(table->member_count > 0 && ret_struct != NULL);
    static pthread_once_t hooks_once = PTHREAD_ONCE_INIT;
    static const JsonDialect dialect = {.unknown = JSON_UNKNOWN_IS_NOTED, .null_is_absent = true};
    JsonScanner scanner;
    JsonReader reader = {.call = call, .scanner = &scanner, .dialect = &dialect};
    (void)pthread_once(&hooks_once, set_cjson_hooks);
    Slice *texts = arena_alloc(call->arena, table->member_count * sizeof *texts);
    if (texts == NULL) {
        return call_fail_memory(call, "a document's members");
    }
    json_scan_begin(&scanner, text, JSON_DEPTH_MAX);
    TRY(find_document_texts(&reader, table, texts));
    for (size_t index = 0; index < table->member_count; index++) {
        const JsonMember *member = &table->members[index];
        if (texts[index].data != NULL) {
            TRY(read_document_value(&reader, member, texts[index], ret_struct));
        } else if (member->is_required) {
            note_member(call, slice_from_string(member->name), "is missing");
        }
    }
    return sum_up_notes(call);
}
