#include "gateway/cli/settings.h"

#include <assert.h>

static const int64_t step_timeout_max_ms = INT64_C(24) * 3600 * 1000;

static const SettingDefinition definitions[] = {
    {.name = "url",
        .type = SETTING_STRING,
        .default_value = "http://127.0.0.1:8470",
        .meaning = "the gateway"},
    {.name = "key", .type = SETTING_SECRET, .meaning = "file that holds the API key, as 'slk_…'"},
    {.name = "certificates",
        .type = SETTING_STRING,
        .meaning = "file of the authorities that https is checked by, instead of the system's"},
    {.name = "json",
        .type = SETTING_BOOLEAN,
        .default_value = "false",
        .meaning = "print the API's own JSON, also that of an error"},
    {.name = "session",
        .type = SETTING_STRING,
        .default_value = "default",
        .meaning = "name or id of the session; 'default' is made when it is missing"},
    {.name = "graph", .type = SETTING_STRING, .meaning = "id of the graph; without it the session's newest"},
    {.name = "format",
        .type = SETTING_CHOICE,
        .choices = "json|graphdef|onnx|saved_model",
        .meaning = "what the file holds, when its name does not tell"},
    {.name = "feed", .type = SETTING_REPEATED, .meaning = "NAME=VALUE, an input; may stand many times"},
    {.name = "fetch",
        .type = SETTING_REPEATED,
        .meaning = "NAME or NAME=FILE.npy, an output; may stand many times"},
    {.name = "target", .type = SETTING_REPEATED, .meaning = "node to run without fetching it"},
    {.name = "options",
        .type = SETTING_STRING,
        .default_value = "{}",
        .meaning = "options of the session as JSON: {\"slots\": 2, \"placement\": \"spread\"}"},
    {.name = "timeout",
        .type = SETTING_DURATION,
        .minimum = 1,
        .maximum = step_timeout_max_ms,
        .meaning = "how long it may take"},
    {.name = "async",
        .type = SETTING_BOOLEAN,
        .default_value = "false",
        .meaning = "queue the step and print its id instead of waiting"},
    {.name = "dot",
        .type = SETTING_BOOLEAN,
        .default_value = "false",
        .meaning = "print the partitions as Graphviz draws them"},
    {.name = "trace",
        .type = SETTING_CHOICE,
        .default_value = "none",
        .choices = "none|partition|node",
        .meaning = "what 'sluice step trace' can tell of the step"},
};

const ConfigTable cli_settings = {.definitions = definitions, .count = COUNT_OF(definitions)};
const char *const cli_global_settings[] = {"url", "key", "certificates", "json", NULL};

bool
cli_settings_contain(const char *const *names, const char *name)
{
    for (; names != NULL && *names != NULL; names++) {
        if (strcmp(*names, name) == 0) {
            return true;
        }
    }
    return false;
}

bool
cli_settings_select(Arena *arena, const char *const *names, ConfigTable *ret_table)
{
    assert(names != NULL && ret_table != NULL);
    SettingDefinition *chosen = arena_alloc(arena, sizeof definitions);
    size_t count = 0;
    for (size_t index = 0; chosen != NULL && index < COUNT_OF(definitions); index++) {
        if (cli_settings_contain(names, definitions[index].name)) {
            chosen[count++] = definitions[index];
        }
    }
    *ret_table = (ConfigTable){.definitions = chosen, .count = count};
    return chosen != NULL;
}
