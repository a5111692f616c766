#include "gateway/plan/device_name.h"

static bool
is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

static bool
word_parse(Slice text, Slice *ret_word)
{
    if (slice_equal(text, SLICE("*"))) {
        *ret_word = SLICE("");
        return true;
    }
    for (size_t index = 0; index < text.size; index++) {
        char byte = text.data[index];
        bool is_inner = (byte >= '0' && byte <= '9') || byte == '_';
        if (!is_letter(byte) && (index == 0 || !is_inner)) {
            return false;
        }
    }
    *ret_word = text;
    return text.size > 0;
}

static bool
number_parse(Slice text, int32_t *ret_number)
{
    uint64_t number = 0;
    if (slice_equal(text, SLICE("*"))) {
        *ret_number = DEVICE_PART_NONE;
        return true;
    }
    if (!slice_to_uint64(text, &number) || number > INT32_MAX) {
        return false;
    }
    *ret_number = (int32_t)number;
    return true;
}

/* Reads "GPU:0", "GPU:*" or "GPU". */
static bool
device_parse(Slice text, DeviceName *name)
{
    size_t colon = slice_find(text, ':');
    name->id = DEVICE_PART_NONE;
    return word_parse(slice_part(text, 0, colon), &name->type) &&
           (colon == text.size || number_parse(slice_part(text, colon + 1, text.size), &name->id));
}

static bool
part_parse(Slice part, DeviceName *name)
{
    size_t colon = slice_find(part, ':');
    Slice key = slice_part(part, 0, colon);
    Slice value = slice_part(part, colon + 1, part.size);
    if (slice_equals_string(key, "job")) {
        return word_parse(value, &name->job);
    }
    if (slice_equals_string(key, "replica")) {
        return number_parse(value, &name->replica);
    }
    if (slice_equals_string(key, "task")) {
        return number_parse(value, &name->task);
    }
    if (slice_equals_string(key, "device")) {
        return device_parse(value, name);
    }
    static const Slice short_types[] = {{.data = "CPU", .size = 3}, {.data = "GPU", .size = 3}};
    for (size_t index = 0; index < COUNT_OF(short_types); index++) {
        if (slice_equal_ignoring_case(key, short_types[index])) {
            name->type = short_types[index];
            return number_parse(value, &name->id);
        }
    }
    return false;
}

bool
device_name_parse(Slice text, DeviceName *ret_name)
{
    DeviceName name = {.replica = DEVICE_PART_NONE,
        .task = DEVICE_PART_NONE,
        .id = DEVICE_PART_NONE,
        .job = SLICE(""),
        .type = SLICE("")};
    if (text.size > 0 && text.data[0] != '/') {
        return false;
    }
    Slice rest = slice_part(text, 1, text.size);
    Slice part;
    while (rest.size > 0 && slice_split(&rest, '/', &part)) {
        if (!part_parse(part, &name)) {
            return false;
        }
    }
    *ret_name = name;
    return true;
}
