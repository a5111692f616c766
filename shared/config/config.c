/* Loads in this order: defaults; the file, whose path may come from a flag or the environment; the
 * environment; the flags. Each source writes over the ones before, so that the strongest has the last
 * word. */
#include "shared/config/config.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/base/text.h"

struct Config {
    const ConfigTable *table;
    Setting *settings; /* one for each definition */
    const char **words;
    size_t word_count;
    const char *file_path;
    bool wants_help;
    bool wants_version;
};

static const SettingDefinition config_definition = {
    .name = "config", .type = SETTING_STRING, .meaning = "a file of settings, one 'name = value' a line"};
static const SettingDefinition help_definition = {
    .name = "help", .type = SETTING_BOOLEAN, .meaning = "print the settings and stop"};
static const SettingDefinition version_definition = {
    .name = "version", .type = SETTING_BOOLEAN, .meaning = "print the program's version and stop"};

static bool
is_flag_of(const SettingDefinition *definition, Slice flag)
{
    char own[SETTING_VARIABLE_SIZE];
    setting_flag(definition, own);
    return slice_equals_string(flag, own);
}

static const SettingDefinition *
definition_find(const ConfigTable *table, Slice flag)
{
    for (size_t index = 0; index < table->count; index++) {
        if (is_flag_of(&table->definitions[index], flag)) {
            return &table->definitions[index];
        }
    }
    static const SettingDefinition *const built_in[] = {
        &config_definition, &help_definition, &version_definition};
    for (size_t index = 0; index < COUNT_OF(built_in); index++) {
        if (is_flag_of(built_in[index], flag)) {
            return built_in[index];
        }
    }
    return NULL;
}

static bool
is_built_in(const SettingDefinition *definition)
{
    return definition == &config_definition || definition == &help_definition ||
           definition == &version_definition;
}

static bool
is_secret_name(const ConfigTable *table, Slice name)
{
    assert(table->definitions != NULL);

    for (size_t index = 0; index < table->count; index++) {
        const SettingDefinition *definition = &table->definitions[index];
        if (definition->type == SETTING_SECRET && slice_equals_string(name, definition->name)) {
            return true;
        }
    }
    return false;
}

static size_t
smallest(size_t first, size_t second, size_t third)
{
    size_t smaller = first < second ? first : second;
    return smaller < third ? smaller : third;
}

/* Returns Levenshtein's distance, computed one row at a time. */
static size_t
edit_distance(Slice left, Slice right)
{
    size_t row[SETTING_VARIABLE_SIZE + 1];
    for (size_t column = 0; column <= right.size; column++) {
        row[column] = column;
    }
    for (size_t line = 1; line <= left.size; line++) {
        size_t diagonal = row[0];
        row[0] = line;
        for (size_t column = 1; column <= right.size; column++) {
            size_t above = row[column];
            size_t change = left.data[line - 1] == right.data[column - 1] ? 0 : 1;
            row[column] = smallest(above + 1, row[column - 1] + 1, diagonal + change);
            diagonal = above;
        }
    }
    return row[right.size];
}

/* Finds the flag with the smallest edit distance; returns false when that is more than a third of the
 * name's length. */
static bool
nearest_name(const ConfigTable *table, Slice name, char ret_nearest[SETTING_VARIABLE_SIZE])
{
    size_t best = name.size / 3 + 1;
    bool is_found = false;
    for (size_t index = 0; index < table->count; index++) {
        char flag[SETTING_VARIABLE_SIZE];
        setting_flag(&table->definitions[index], flag);
        size_t distance = edit_distance(name, slice_from_string(flag));
        if (distance < best) {
            best = distance;
            is_found = true;
            memcpy(ret_nearest, flag, sizeof flag);
        }
    }
    return is_found;
}

static Status
unknown_name(Call *call, const ConfigTable *table, const char *prefix, Slice name)
{
    if (is_secret_name(table, name)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "'%s%.*s' is a secret and comes from a file only: use '%s%.*s-file'", prefix, SLICE_PRINT(name),
            prefix, SLICE_PRINT(name));
    }
    char nearest[SETTING_VARIABLE_SIZE];
    if (nearest_name(table, name, nearest)) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "there is no setting '%s%.*s': did you mean '%s%s'",
            prefix, SLICE_PRINT(name), prefix, nearest);
    }
    return call_fail(
        call, STATUS_INVALID_ARGUMENT, "there is no setting '%s%.*s'", prefix, SLICE_PRINT(name));
}

/* Tells whether two sources are of one kind, as "flag --feed" and "flag --fetch" are: their first words
 * are the same. */
static bool
is_same_kind(const char *left, const char *right)
{
    size_t size = strcspn(left, " ");
    return size == strcspn(right, " ") && memcmp(left, right, size) == 0;
}

/* Puts the items that this source gave before in front of the new one. */
static Status
items_join(Call *call, const Setting *before, Setting *setting)
{
    size_t count = before->item_count + setting->item_count;
    Slice *items = arena_alloc(call->arena, count * sizeof *items);
    if (items == NULL) {
        return call_fail_memory(call, "a setting");
    }
    memcpy(items, before->items, before->item_count * sizeof *items);
    memcpy(items + before->item_count, setting->items, setting->item_count * sizeof *items);
    setting->items = items;
    setting->item_count = count;
    return STATUS_OK;
}

static Status
config_assign(
    Call *call, Config *config, const SettingDefinition *definition, const char *text, const char *source)
{
    Setting setting;
    if (source == NULL) {
        return call_fail_memory(call, "a setting");
    }
    if (setting_parse(call, definition, text, &setting) != STATUS_OK) {
        char flag[SETTING_VARIABLE_SIZE];
        setting_flag(definition, flag);
        return call_wrap(call, "setting '%s' (%s)", flag, source);
    }
    if (definition == &config_definition) {
        config->file_path = setting.text;
    } else if (definition == &help_definition) {
        config->wants_help = setting.integer != 0;
    } else if (definition == &version_definition) {
        config->wants_version = setting.integer != 0;
    } else {
        Setting *present = &config->settings[definition - config->table->definitions];
        if (definition->type == SETTING_REPEATED && is_same_kind(present->source, source)) {
            TRY(items_join(call, present, &setting));
        }
        setting.source = source;
        *present = setting;
    }
    return STATUS_OK;
}

static Status
load_defaults(Call *call, Config *config)
{
    for (size_t index = 0; index < config->table->count; index++) {
        const SettingDefinition *definition = &config->table->definitions[index];
        config->settings[index].source = "default";
        if (definition->default_value != NULL) {
            TRY(config_assign(call, config, definition, definition->default_value, "default"));
        }
    }
    return STATUS_OK;
}

/* Returns NULL when the variable is unset or empty. */
static const char *
variable_find(const ConfigInput *input, const char *name)
{
    size_t length = strlen(name);
    for (const char *const *entry = input->environment; entry != NULL && *entry != NULL; entry++) {
        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') {
            return (*entry)[length + 1] == '\0' ? NULL : *entry + length + 1;
        }
    }
    return NULL;
}

static Status
load_variable(Call *call, Config *config, const ConfigInput *input, const SettingDefinition *definition)
{
    char name[SETTING_VARIABLE_SIZE];
    setting_variable(definition, name);
    const char *text = variable_find(input, name);
    if (text == NULL) {
        return STATUS_OK;
    }
    return config_assign(call, config, definition, text, text_format(call->arena, "environment %s", name));
}

static Status
load_environment(Call *call, Config *config, const ConfigInput *input)
{
    for (size_t index = 0; index < config->table->count; index++) {
        TRY(load_variable(call, config, input, &config->table->definitions[index]));
    }
    return STATUS_OK;
}

/* Finds a flag's value: after '=', or the next argument; a boolean alone is true. */
static Status
flag_value(Call *call, const SettingDefinition *definition, const ConfigInput *input, size_t *index,
    const char **ret_text)
{
    const char *argument = input->arguments[*index];
    const char *equals = strchr(argument, '=');
    if (equals != NULL) {
        *ret_text = equals + 1;
    } else if (definition->type == SETTING_BOOLEAN) {
        *ret_text = "true";
    } else if (*index + 1 < input->argument_count) {
        *index += 1;
        *ret_text = input->arguments[*index];
    } else {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'%s' needs a value", argument);
    }
    return STATUS_OK;
}

static Status
load_flag(Call *call, Config *config, const ConfigInput *input, size_t *index, bool is_early)
{
    const char *argument = input->arguments[*index];
    Slice whole = slice_from_string(argument + 2);
    Slice name = slice_part(whole, 0, slice_find(whole, '='));
    const SettingDefinition *definition = definition_find(config->table, name);
    if (definition == NULL) {
        return unknown_name(call, config->table, "--", name);
    }
    const char *text = NULL;
    TRY(flag_value(call, definition, input, index, &text));
    if (is_built_in(definition) != is_early) {
        return STATUS_OK;
    }
    return config_assign(
        call, config, definition, text, text_format(call->arena, "flag --%.*s", SLICE_PRINT(name)));
}

/* Reads the flags. It runs twice: early for --config, which decides what the file says, late for
 * everything else. */
static Status
load_flags(Call *call, Config *config, const ConfigInput *input, bool is_early)
{
    bool takes_flags = true;
    config->word_count = 0;
    for (size_t index = 0; index < input->argument_count; index++) {
        const char *argument = input->arguments[index];
        if (takes_flags && strcmp(argument, "--") == 0) {
            takes_flags = false;
        } else if (takes_flags && strncmp(argument, "--", 2) == 0) {
            TRY(load_flag(call, config, input, &index, is_early));
        } else {
            config->words[config->word_count++] = argument;
        }
    }
    return STATUS_OK;
}

static Slice
without_comment(Slice line)
{
    for (size_t index = 0; index < line.size; index++) {
        bool follows_space = index == 0 || line.data[index - 1] == ' ' || line.data[index - 1] == '\t';
        if (line.data[index] == '#' && follows_space) {
            return slice_part(line, 0, index);
        }
    }
    return line;
}

static Status
load_line(Call *call, Config *config, Slice line, int number)
{
    size_t equals = slice_find(line, '=');
    if (equals == line.size) {
        return call_fail(call, STATUS_INVALID_ARGUMENT,
            "file '%s' line %d: expected 'name = value', not '%.*s'", config->file_path, number,
            SLICE_PRINT(line));
    }
    Slice name = slice_trim(slice_part(line, 0, equals));
    Slice value = slice_trim(slice_part(line, equals + 1, line.size));
    const SettingDefinition *definition = definition_find(config->table, name);
    if (definition == NULL || is_built_in(definition)) {
        (void)unknown_name(call, config->table, "", name);
        return call_wrap(call, "file '%s' line %d", config->file_path, number);
    }
    const char *text = text_copy(call->arena, value);
    if (text == NULL) {
        return call_fail_memory(call, "a setting");
    }
    const char *source = text_format(call->arena, "file %s line %d", config->file_path, number);
    return config_assign(call, config, definition, text, source);
}

static Status
load_file(Call *call, Config *config)
{
    if (config->file_path == NULL) {
        return STATUS_OK;
    }
    Slice rest;
    TRY(setting_read_file(call, config->file_path, SETTING_FILE_SIZE_MAX, &rest));
    Slice line;
    for (int number = 1; slice_split(&rest, '\n', &line); number++) {
        if (line.size > 0 && line.data[line.size - 1] == '\r') {
            line.size--;
        }
        line = slice_trim(without_comment(line));
        if (line.size > 0) {
            TRY(load_line(call, config, line, number));
        }
    }
    return STATUS_OK;
}

Status
config_load(Call *call, const ConfigTable *table, const ConfigInput *input, Config **ret_config)
{
    assert(table->count == 0 || table->definitions != NULL);
    assert(input->argument_count == 0 || input->arguments != NULL);

    Config *config = arena_alloc(call->arena, sizeof *config);
    Setting *settings = arena_alloc(call->arena, (table->count + 1) * sizeof *settings);
    const char **words = arena_alloc(call->arena, (input->argument_count + 1) * sizeof *words);
    if (config == NULL || settings == NULL || words == NULL) {
        return call_fail_memory(call, "the settings");
    }
    *config = (Config){.table = table, .settings = settings, .words = words};
    TRY(load_defaults(call, config));
    TRY(load_variable(call, config, input, &config_definition));
    TRY(load_flags(call, config, input, true));
    TRY(load_file(call, config));
    TRY(load_environment(call, config, input));
    TRY(load_flags(call, config, input, false));
    *ret_config = config;
    return STATUS_OK;
}

/* The table is part of the program: asking for a setting that it lacks is a defect, not an input error. */
static const Setting *
setting_find(const Config *config, const char *name, unsigned types)
{
    const SettingDefinition *definitions = config->table->definitions;
    size_t index = 0;
    while (index < config->table->count && strcmp(definitions[index].name, name) != 0) {
        index++;
    }
    if (index == config->table->count) {
        (void)fprintf(stderr, "there is no setting '%s'\n", name);
        abort();
    }
    if ((types & 1u << definitions[index].type) == 0) {
        (void)fprintf(stderr, "setting '%s' is of another type than is asked for\n", name);
        abort();
    }
    return &config->settings[index];
}

const char *
config_string(const Config *config, const char *name)
{
    return setting_find(config, name, 1u << SETTING_STRING | 1u << SETTING_CHOICE)->text;
}

int64_t
config_integer(const Config *config, const char *name)
{
    unsigned types = 1u << SETTING_INTEGER | 1u << SETTING_DURATION | 1u << SETTING_BYTES;
    return setting_find(config, name, types)->integer;
}

bool
config_boolean(const Config *config, const char *name)
{
    return setting_find(config, name, 1u << SETTING_BOOLEAN)->integer != 0;
}

size_t
config_list(const Config *config, const char *name, const Slice **ret_items)
{
    const Setting *setting = setting_find(config, name, 1u << SETTING_LIST | 1u << SETTING_REPEATED);
    *ret_items = setting->items;
    return setting->item_count;
}

const char *
config_secret(const Config *config, const char *name)
{
    return setting_find(config, name, 1u << SETTING_SECRET)->secret;
}

bool
config_is_set(const Config *config, const char *name)
{
    return strcmp(setting_find(config, name, UINT32_MAX)->source, "default") != 0;
}

bool
config_is_flag(const Config *config, const char *name)
{
    return is_same_kind(setting_find(config, name, UINT32_MAX)->source, "flag");
}

bool
config_wants_version(const Config *config)
{
    return config->wants_version;
}

bool
config_wants_help(const Config *config)
{
    return config->wants_help;
}

const char *
config_word(const Config *config, size_t index)
{
    return index < config->word_count ? config->words[index] : NULL;
}

static void
items_write(const Setting *setting, const char *flag, Buffer *buffer)
{
    for (size_t index = 0; index < setting->item_count; index++) {
        buffer_append_format(
            buffer, "%s = %.*s  # %s\n", flag, SLICE_PRINT(setting->items[index]), setting->source);
    }
}

void
config_write(const Config *config, Buffer *buffer)
{
    for (size_t index = 0; index < config->table->count; index++) {
        const SettingDefinition *definition = &config->table->definitions[index];
        const Setting *setting = &config->settings[index];
        char flag[SETTING_VARIABLE_SIZE];
        setting_flag(definition, flag);
        if (definition->type == SETTING_REPEATED && setting->text != NULL) {
            items_write(setting, flag, buffer);
        } else if (setting->text == NULL) {
            buffer_append_format(buffer, "# %s is not set\n", flag);
        } else {
            buffer_append_format(buffer, "%s = %s  # %s\n", flag, setting->text, setting->source);
        }
    }
}
