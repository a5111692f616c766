#include "shared/config/setting.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shared/base/buffer.h"
#include "shared/base/text.h"

typedef struct Unit {
    Slice suffix;
    int64_t factor;
} Unit;

#define UNIT(text, factor_)                                                                                  \
    {                                                                                                        \
        .suffix = {.data = (text), .size = sizeof(text) - 1}, .factor = (factor_)                            \
    }

/* A longer suffix stands before the one that it ends with. */
static const Unit duration_units[] = {
    UNIT("ms", 1),
    UNIT("s", 1000),
    UNIT("m", INT64_C(60) * 1000),
    UNIT("h", INT64_C(3600) * 1000),
    UNIT("d", INT64_C(86400) * 1000),
};
static const Unit byte_units[] = {
    UNIT("KiB", INT64_C(1) << 10),
    UNIT("MiB", INT64_C(1) << 20),
    UNIT("GiB", INT64_C(1) << 30),
    UNIT("TiB", INT64_C(1) << 40),
    UNIT("", 1),
};
static const Unit plain_units[] = {UNIT("", 1)};

typedef struct NumberForm {
    const Unit *units;
    size_t unit_count;
    const char *expected;
} NumberForm;

static const NumberForm number_forms[] = {
    [SETTING_INTEGER] = {plain_units, COUNT_OF(plain_units), "a number"},
    [SETTING_DURATION] = {duration_units, COUNT_OF(duration_units),
        "a duration such as 250ms, 10s, 5m or 24h"},
    [SETTING_BYTES] = {byte_units, COUNT_OF(byte_units), "a size such as 4096, 64KiB or 2GiB"},
};

static bool
number_read(const NumberForm *form, Slice text, int64_t *ret_value)
{
    for (size_t index = 0; index < form->unit_count; index++) {
        const Unit *unit = &form->units[index];
        int64_t value = 0;
        if (slice_ends_with(text, unit->suffix) &&
            slice_to_int64(slice_part(text, 0, text.size - unit->suffix.size), &value)) {
            return !__builtin_mul_overflow(value, unit->factor, ret_value);
        }
    }
    return false;
}

static Status
number_parse(Call *call, const SettingDefinition *definition, Slice text, Setting *setting)
{
    const NumberForm *form = &number_forms[definition->type];
    if (!number_read(form, text, &setting->integer)) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "expected %s, not '%.*s'", form->expected, SLICE_PRINT(text));
    }
    bool is_unbounded = definition->minimum == 0 && definition->maximum == 0;
    int64_t maximum = is_unbounded ? INT64_MAX : definition->maximum;
    if (setting->integer < definition->minimum || setting->integer > maximum) {
        const char *unit = definition->type == SETTING_DURATION ? " ms"
                           : definition->type == SETTING_BYTES  ? " bytes"
                                                                : "";
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'%.*s' is not between %lld and %lld%s",
            SLICE_PRINT(text), (long long)definition->minimum, (long long)maximum, unit);
    }
    return STATUS_OK;
}

static Status
string_parse(Call *call, const SettingDefinition *definition, Slice text, Setting *setting)
{
    (void)call;
    (void)definition;
    (void)text;
    (void)setting;
    return STATUS_OK;
}

static Status
choice_parse(Call *call, const SettingDefinition *definition, Slice text, Setting *setting)
{
    (void)setting;
    Slice rest = slice_from_string(definition->choices);
    Slice choice;
    while (slice_split(&rest, '|', &choice)) {
        if (slice_equal(choice, text)) {
            return STATUS_OK;
        }
    }
    return call_fail(call, STATUS_INVALID_ARGUMENT, "expected one of %s, not '%.*s'", definition->choices,
        SLICE_PRINT(text));
}

static Status
boolean_parse(Call *call, const SettingDefinition *definition, Slice text, Setting *setting)
{
    (void)definition;
    setting->integer = slice_equals_string(text, "true");
    if (setting->integer == 0 && !slice_equals_string(text, "false")) {
        return call_fail(
            call, STATUS_INVALID_ARGUMENT, "expected true or false, not '%.*s'", SLICE_PRINT(text));
    }
    return STATUS_OK;
}

static Status
list_parse(Call *call, const SettingDefinition *definition, Slice text, Setting *setting)
{
    (void)definition;
    size_t capacity = 1;
    for (size_t index = 0; index < text.size; index++) {
        capacity += text.data[index] == ',';
    }
    Slice *items = arena_alloc(call->arena, capacity * sizeof *items);
    if (items == NULL) {
        return call_fail_memory(call, "a setting");
    }
    Slice rest = text;
    Slice item;
    while (slice_split(&rest, ',', &item)) {
        item = slice_trim(item);
        if (item.size > 0) {
            items[setting->item_count++] = item;
        }
    }
    setting->items = items;
    return STATUS_OK;
}

/* Makes one item of the text; config.c joins the items of a source. */
static Status
item_parse(Call *call, const SettingDefinition *definition, Slice text, Setting *setting)
{
    (void)definition;
    Slice *item = arena_alloc(call->arena, sizeof *item);
    if (item == NULL) {
        return call_fail_memory(call, "a setting");
    }
    *item = text;
    setting->items = item;
    setting->item_count = 1;
    return STATUS_OK;
}

static Status
secret_parse(Call *call, const SettingDefinition *definition, Slice text, Setting *setting)
{
    (void)definition;
    (void)text;
    Slice content = {0};
    TRY(setting_read_file(call, setting->text, SETTING_SECRET_SIZE_MAX, &content));
    while (content.size > 0 && strchr("\r\n", content.data[content.size - 1]) != NULL) {
        content.size--;
    }
    if (content.size == 0 || memchr(content.data, '\0', content.size) != NULL) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "file '%s' %s", setting->text,
            content.size == 0 ? "is empty, a secret was expected" : "holds a zero byte, text was expected");
    }
    setting->secret = text_copy(call->arena, content);
    return setting->secret == NULL ? call_fail_memory(call, "a secret") : STATUS_OK;
}

typedef Status (*Parse)(Call *call, const SettingDefinition *definition, Slice text, Setting *setting);

static const Parse parsers[] = {
    [SETTING_STRING] = string_parse,
    [SETTING_CHOICE] = choice_parse,
    [SETTING_INTEGER] = number_parse,
    [SETTING_DURATION] = number_parse,
    [SETTING_BYTES] = number_parse,
    [SETTING_BOOLEAN] = boolean_parse,
    [SETTING_LIST] = list_parse,
    [SETTING_REPEATED] = item_parse,
    [SETTING_SECRET] = secret_parse,
};

Status
setting_parse(Call *call, const SettingDefinition *definition, const char *text, Setting *ret_setting)
{
    assert(text != NULL);
    assert((size_t)definition->type < COUNT_OF(parsers));

    Setting setting = {.text = text_copy(call->arena, slice_from_string(text))};
    if (setting.text == NULL) {
        return call_fail_memory(call, "a setting");
    }
    TRY(parsers[definition->type](call, definition, slice_from_string(setting.text), &setting));
    *ret_setting = setting;
    return STATUS_OK;
}

static Status
descriptor_read(Call *call, int descriptor, const char *path, size_t size_max, Slice *ret_content)
{
    AUTO_BUFFER buffer = {.size_max = size_max + 1};
    for (;;) {
        enum { PART_SIZE = 4096 };
        char part[PART_SIZE];
        ssize_t size = read(descriptor, part, sizeof part);
        if (size < 0 && errno == EINTR) {
            continue;
        }
        if (size < 0) {
            return call_fail(
                call, STATUS_INVALID_ARGUMENT, "file '%s' cannot be read: %s", path, strerrordesc_np(errno));
        }
        if (size == 0) {
            break;
        }
        buffer_append(&buffer, part, (size_t)size);
        if (!buffer_is_ok(&buffer) || buffer.size > size_max) {
            return call_fail(
                call, STATUS_RESOURCE_EXHAUSTED, "file '%s' is larger than %zu bytes", path, size_max);
        }
    }
    const char *copy = text_copy(call->arena, buffer_slice(&buffer));
    if (copy == NULL) {
        return call_fail_memory(call, "a file's content");
    }
    *ret_content = slice_of(copy, buffer.size);
    return STATUS_OK;
}

Status
setting_read_file(Call *call, const char *path, size_t size_max, Slice *ret_content)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return call_fail(
            call, STATUS_NOT_FOUND, "file '%s' cannot be opened: %s", path, strerrordesc_np(errno));
    }
    Status status = descriptor_read(call, descriptor, path, size_max, ret_content);
    (void)close(descriptor);
    return status;
}

void
setting_flag(const SettingDefinition *definition, char ret_flag[SETTING_VARIABLE_SIZE])
{
    assert(strlen(definition->name) <= SETTING_NAME_MAX);
    const char *suffix = definition->type == SETTING_SECRET ? "-file" : "";
    (void)snprintf(ret_flag, SETTING_VARIABLE_SIZE, "%s%s", definition->name, suffix);
}

void
setting_variable(const SettingDefinition *definition, char ret_variable[SETTING_VARIABLE_SIZE])
{
    char flag[SETTING_VARIABLE_SIZE];
    setting_flag(definition, flag);
    int start = snprintf(ret_variable, SETTING_VARIABLE_SIZE, "SLUICE_");
    for (const char *from = flag, *end = flag + strlen(flag) + 1; from < end; from++) {
        bool is_letter = *from >= 'a' && *from <= 'z';
        ret_variable[start + (from - flag)] = (char)(is_letter      ? *from - 'a' + 'A'
                                                     : *from == '-' ? '_'
                                                                    : *from);
    }
}
