/* The table of settings in --help and in docs/settings.md. */
#include <assert.h>

#include "shared/config/config.h"
#include "shared/config/describe.h"

static const char *const type_words[] = {
    [SETTING_STRING] = "text",
    [SETTING_CHOICE] = "",
    [SETTING_INTEGER] = "number",
    [SETTING_DURATION] = "duration",
    [SETTING_BYTES] = "size",
    [SETTING_BOOLEAN] = "true|false",
    [SETTING_LIST] = "list",
    [SETTING_REPEATED] = "text",
    [SETTING_SECRET] = "path",
};

const char *
setting_value_word(const SettingDefinition *definition)
{
    if (definition->type == SETTING_CHOICE) {
        return definition->choices;
    }
    return definition->unit != NULL ? definition->unit : type_words[definition->type];
}

void
config_write_help(const ConfigTable *table, Buffer *buffer)
{
    assert(table->count == 0 || table->definitions != NULL);

    for (size_t index = 0; index < table->count; index++) {
        const SettingDefinition *definition = &table->definitions[index];
        char flag[SETTING_VARIABLE_SIZE];
        setting_flag(definition, flag);
        buffer_append_format(buffer, definition->type == SETTING_BOOLEAN ? "  --%s[=%s]\n" : "  --%s <%s>\n",
            flag, setting_value_word(definition));
        buffer_append_format(buffer, "        %s", definition->meaning);
        if (definition->default_value != NULL) {
            buffer_append_format(buffer, " (default %s)", definition->default_value);
        }
        buffer_append_byte(buffer, '\n');
    }
}

/* Escapes '|', which would end the table's cell. */
static void
append_cell(Buffer *buffer, const char *text)
{
    for (; *text != '\0'; text++) {
        buffer_append_string(buffer, *text == '|' ? "\\" : "");
        buffer_append_byte(buffer, *text);
    }
}

void
config_write_markdown(const ConfigTable *table, Buffer *buffer)
{
    buffer_append_string(
        buffer, "| flag | environment | value | default | meaning |\n|---|---|---|---|---|\n");
    for (size_t index = 0; index < table->count; index++) {
        const SettingDefinition *definition = &table->definitions[index];
        char flag[SETTING_VARIABLE_SIZE];
        char variable[SETTING_VARIABLE_SIZE];
        setting_flag(definition, flag);
        setting_variable(definition, variable);
        buffer_append_format(buffer, "| `--%s` | `%s` | ", flag, variable);
        append_cell(buffer, setting_value_word(definition));
        buffer_append_string(buffer, " | ");
        if (definition->default_value != NULL && definition->default_value[0] != '\0') {
            buffer_append_byte(buffer, '`');
            append_cell(buffer, definition->default_value);
            buffer_append_byte(buffer, '`');
        }
        buffer_append_string(buffer, " | ");
        append_cell(buffer, definition->meaning);
        buffer_append_string(buffer, " |\n");
    }
}
