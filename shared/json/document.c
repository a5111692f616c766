/* The scanner goes first: it checks the whole text (depth, UTF-8, names that come twice) and finds each
 * member's own text. cJSON then decodes the members that are strings, booleans and numbers one at a time, so
 * that what is large (a member read RAW) never becomes a tree. Its numbers are doubles: integers are read
 * from the member's text. */
#include "shared/json/document.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "shared/base/memory.h"
#include "shared/base/text.h"
#include "shared/json/scanner.h"

enum { POINTER_SIZE = 128 };

typedef struct Member {
    const JsonField *field;
    Slice text;
    void *target;
} Member;

static void *
cjson_allocate(size_t size)
{
    return memory_new(1, size);
}

static void
cjson_hooks_set(void)
{
    cJSON_Hooks hooks = {.malloc_fn = cjson_allocate, .free_fn = memory_free};
    cJSON_InitHooks(&hooks);
}

static void
cjson_deletep(cJSON **item)
{
    cJSON_Delete(*item);
}

/* "/name" by RFC 6901: '~' and '/' are escaped. */
static const char *
pointer_to(Slice name, char ret_pointer[POINTER_SIZE])
{
    size_t size = 0;
    ret_pointer[size++] = '/';
    for (size_t index = 0; index < name.size && size + 3 < POINTER_SIZE; index++) {
        const char byte = name.data[index];
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

#define MEMBER_NOTE(call, member, ...)                                                                       \
    call_note(                                                                                               \
        call, pointer_to(slice_from_string((member)->field->name), (char[POINTER_SIZE]){0}), __VA_ARGS__)

static Status
string_read(Call *call, const Member *member, const cJSON *item)
{
    const JsonField *const field = member->field;
    if (!cJSON_IsString(item)) {
        MEMBER_NOTE(call, member, "expected a string");
        return STATUS_OK;
    }
    const size_t size = strlen(item->valuestring);
    const bool is_bounded = field->minimum != 0 || field->maximum != 0;
    if (is_bounded && (size < (size_t)field->minimum || size > (size_t)field->maximum)) {
        MEMBER_NOTE(call, member, "has %zu bytes, expected %lld to %lld", size, (long long)field->minimum,
            (long long)field->maximum);
        return STATUS_OK;
    }
    const char *const copy = text_copy(call->arena, slice_of(item->valuestring, size));
    if (copy == NULL) {
        return call_fail_memory(call, "a document's string");
    }
    *(const char **)member->target = copy;
    return STATUS_OK;
}

static Status
boolean_read(Call *call, const Member *member, const cJSON *item)
{
    if (!cJSON_IsBool(item)) {
        MEMBER_NOTE(call, member, "expected true or false");
        return STATUS_OK;
    }
    *(bool *)member->target = cJSON_IsTrue(item) != 0;
    return STATUS_OK;
}

static Status
int64_read(Call *call, const Member *member, const cJSON *item)
{
    const JsonField *const field = member->field;
    int64_t value = 0;
    if (!cJSON_IsNumber(item) || !slice_to_int64(member->text, &value)) {
        MEMBER_NOTE(call, member, "expected an integer");
        return STATUS_OK;
    }
    const bool is_bounded = field->minimum != 0 || field->maximum != 0;
    if (is_bounded && (value < field->minimum || value > field->maximum)) {
        MEMBER_NOTE(call, member, "is %lld, expected %lld to %lld", (long long)value,
            (long long)field->minimum, (long long)field->maximum);
        return STATUS_OK;
    }
    *(int64_t *)member->target = value;
    return STATUS_OK;
}

static Status
double_read(Call *call, const Member *member, const cJSON *item)
{
    if (!cJSON_IsNumber(item) || isinf(item->valuedouble)) {
        MEMBER_NOTE(call, member, "expected a number");
        return STATUS_OK;
    }
    *(double *)member->target = item->valuedouble;
    return STATUS_OK;
}

/* A reader notes what is wrong with the value; it fails only when memory is short. */
typedef Status (*MemberRead)(Call *call, const Member *member, const cJSON *item);

static const MemberRead member_reads[] = {
    [JSON_FIELD_STRING] = string_read,
    [JSON_FIELD_BOOLEAN] = boolean_read,
    [JSON_FIELD_INT64] = int64_read,
    [JSON_FIELD_DOUBLE] = double_read,
};

/* A string with a character 0 would be cut by its readers: the scanner lets it pass, C strings do not. Of
 * the backslashes in front of an escape an even number are escaped themselves. */
static bool
holds_zero(Slice text)
{
    const Slice zero = SLICE("\\u0000");
    Slice rest = text;
    for (;;) {
        const char *const found = memmem(rest.data, rest.size, zero.data, zero.size);
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
member_read(Call *call, const Member *member)
{
    if (member->field->type == JSON_FIELD_RAW) {
        *(Slice *)member->target = member->text;
        return STATUS_OK;
    }
    if (member->text.data[0] == '{' || member->text.data[0] == '[') {
        return member_reads[member->field->type](call, member, NULL);
    }
    if (holds_zero(member->text)) {
        MEMBER_NOTE(call, member, "holds the character 0");
        return STATUS_OK;
    }
    CLEANUP(cjson_deletep) cJSON *item = cJSON_ParseWithLength(member->text.data, member->text.size);
    if (item == NULL) {
        return call_fail_memory(call, "a document's member");
    }
    return member_reads[member->field->type](call, member, item);
}

static const JsonField *
field_find(const JsonField *fields, size_t field_count, Slice name)
{
    for (size_t index = 0; index < field_count; index++) {
        if (slice_equals_string(name, fields[index].name)) {
            return &fields[index];
        }
    }
    return NULL;
}

/* Fills `ret_texts`, one for each field; a member that is absent or null has no data. */
static Status
members_find(Call *call, Slice text, const JsonField *fields, size_t field_count, Slice *ret_texts)
{
    JsonScanner scanner;
    json_scan_begin(&scanner, text, JSON_DEPTH_MAX);
    Slice name;
    if (json_object_begin(&scanner)) {
        while (json_object_next(&scanner, &name)) {
            const JsonField *const field = field_find(fields, field_count, name);
            char pointer[POINTER_SIZE];
            if (field == NULL) {
                call_note(call, pointer_to(name, pointer), "is not a member that is known here");
            }
            const bool is_null = json_peek(&scanner) == JSON_NULL;
            Slice value;
            if (json_skip(&scanner, &value) && field != NULL && !is_null) {
                ret_texts[field - fields] = value;
            }
        }
    }
    return json_scan_end(call, &scanner);
}

static Status
sum_up(Call *call)
{
    if (call->error.detail_count == 0) {
        return STATUS_OK;
    }
    const ErrorDetail *const first = &call->error.details[0];
    return call_fail(call, STATUS_INVALID_ARGUMENT, "%d fault%s in the document, first: %s: %s",
        call->error.detail_count, call->error.detail_count == 1 ? "" : "s", first->pointer, first->detail);
}

Status
json_document_read(Call *call, Slice text, const JsonField *fields, size_t field_count, void *ret_struct)
{
    static pthread_once_t hooks_once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&hooks_once, cjson_hooks_set);

    Slice *const texts = arena_alloc(call->arena, field_count * sizeof *texts);
    if (texts == NULL) {
        return call_fail_memory(call, "a document's members");
    }
    TRY(members_find(call, text, fields, field_count, texts));
    for (size_t index = 0; index < field_count; index++) {
        const JsonField *const field = &fields[index];
        const Member member = {
            .field = field, .text = texts[index], .target = (char *)ret_struct + field->offset};
        if (member.text.data != NULL) {
            TRY(member_read(call, &member));
        } else if (field->is_required) {
            MEMBER_NOTE(call, &member, "is missing");
        }
    }
    return sum_up(call);
}
