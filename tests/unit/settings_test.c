/* A setting has a row in its program's table, is read by the program and given by a test. Nothing else tells
 * when one of them is forgotten: a row suffices for --help, for docs/settings.md and for a flag that does
 * nothing. */
#include <stdio.h>
#include <string.h>

#include "gateway/app/settings.h"
#include "gateway/cli/settings.h"
#include "shared/base/buffer.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/files.h"
#include "worker/serve/settings.h"

static const struct {
    const ConfigTable *table;
    const char *file;   /* of the table */
    const char *folder; /* of the program's code */
} programs[] = {
    {&gateway_settings, "gateway/app/settings.c", "gateway"},
    {&worker_settings, "worker/serve/settings.c", "worker"},
    {&cli_settings, "gateway/cli/settings.c", "gateway/cli"},
};

/* Settings that no test gives to a program, neither as a flag nor as a variable of the environment. A new
 * setting is not added here: it gets a test. The list only shrinks. */
static const struct {
    const char *name;
    const char *reason;
} without_test[] = {
    {"loops", "the programs of the tests have one loop"},
    {"trace-cache", "unit/gateway/traces/trace_cache_test.c makes a small cache"},
    {"history-days", "integration/queue/upkeep_test.c hands them to the upkeep"},
    {"blob-age", "integration/queue/upkeep_test.c hands it to the upkeep"},
    {"blob-cache", "unit/worker/runtime/partition/partition_test.c makes a small cache"},
    {"certificates", "the gateways of the tests speak http"},
};

/* Shared modules do not know the programs' settings: their tests name others, sometimes alike. A file with a
 * NUL is no text and would hide those behind it. */
static void
append_file(const char *path, void *context)
{
    if (strncmp(path, "tests/unit/shared/", strlen("tests/unit/shared/")) == 0) {
        return;
    }
    TensorBuffer *file = file_read(path);
    assert_non_null(file);
    if (memchr(file->data, '\0', file->size) == NULL) {
        buffer_append(context, file->data, file->size);
    }
    tensor_buffer_unref(file);
}

static const char *
text_of(Buffer *buffer)
{
    const char *text = buffer_string(buffer);
    assert_non_null(text);
    return text;
}

static bool
is_read(const char *code, const SettingDefinition *definition)
{
    char call[SETTING_VARIABLE_SIZE + sizeof "config, \"\""];
    (void)snprintf(call, sizeof call, "config, \"%s\"", definition->name);
    return strstr(code, call) != NULL;
}

/* Returns whether the text holds the word, and not only as the beginning of a longer one. */
static bool
has_word(const char *text, const char *word)
{
    const char *found = strstr(text, word);
    while (found != NULL && strchr("abcdefghijklmnopqrstuvwxyz-_", found[strlen(word)]) != NULL) {
        found = strstr(found + 1, word);
    }
    return found != NULL;
}

static bool
is_given(const char *tests, const SettingDefinition *definition, const char *flag)
{
    char dashed_flag[SETTING_VARIABLE_SIZE + sizeof "--"];
    char variable[SETTING_VARIABLE_SIZE];
    (void)snprintf(dashed_flag, sizeof dashed_flag, "--%s", flag);
    setting_variable(definition, variable);
    return has_word(tests, dashed_flag) || has_word(tests, variable);
}

static bool
is_without_test(const char *name)
{
    for (size_t index = 0; index < COUNT_OF(without_test); index++) {
        if (strcmp(name, without_test[index].name) == 0) {
            return true;
        }
    }
    return false;
}

static void
every_setting_is_read_by_its_program(void **state)
{
    (void)state;
    size_t lacking = 0;
    for (size_t program = 0; program < COUNT_OF(programs); program++) {
        AUTO_BUFFER code = {0};
        (void)files_each(programs[program].folder, ".c", append_file, &code);
        for (size_t index = 0; index < programs[program].table->count; index++) {
            const SettingDefinition *definition = &programs[program].table->definitions[index];
            if (!is_read(text_of(&code), definition)) {
                print_error("'%s' (%s) is read nowhere in %s: call config_…(config, \"%s\")\n",
                    definition->name, programs[program].file, programs[program].folder, definition->name);
                lacking++;
            }
        }
    }
    assert_int_equal(lacking, 0);
}

static bool
is_setting(Slice name)
{
    for (size_t program = 0; program < COUNT_OF(programs); program++) {
        const ConfigTable *table = programs[program].table;
        for (size_t index = 0; index < table->count; index++) {
            if (slice_equals_string(name, table->definitions[index].name)) {
                return true;
            }
        }
    }
    return false;
}

/* A program that asks for another one dies of it, but only when the line is reached. */
static void
what_a_program_reads_is_a_setting(void **state)
{
    (void)state;
    static const char asking[] = "(config, \"";
    size_t lacking = 0;
    for (size_t program = 0; program < COUNT_OF(programs); program++) {
        AUTO_BUFFER code = {0};
        (void)files_each(programs[program].folder, ".c", append_file, &code);
        const char *found = text_of(&code);
        while ((found = strstr(found, asking)) != NULL) {
            found += sizeof asking - 1;
            Slice name = slice_of(found, strcspn(found, "\""));
            if (!is_setting(name)) {
                print_error("'%.*s' is read in %s, but is no setting: add a row to %s\n", SLICE_PRINT(name),
                    programs[program].folder, programs[program].file);
                lacking++;
            }
        }
    }
    assert_int_equal(lacking, 0);
}

static void
every_setting_is_given_by_a_test(void **state)
{
    (void)state;
    AUTO_BUFFER tests = {0};
    size_t lacking = 0;
    (void)files_each("tests", ".c", append_file, &tests);
    (void)files_each("tests", ".py", append_file, &tests);
    (void)files_each("tools", "", append_file, &tests);
    for (size_t program = 0; program < COUNT_OF(programs); program++) {
        for (size_t index = 0; index < programs[program].table->count; index++) {
            const SettingDefinition *definition = &programs[program].table->definitions[index];
            char flag[SETTING_VARIABLE_SIZE];
            setting_flag(definition, flag);
            bool has_test = is_given(text_of(&tests), definition, flag);
            if (has_test && is_without_test(definition->name)) {
                print_error("'%s' has a test: take it off the list in %s\n", definition->name, __FILE__);
                lacking++;
            } else if (!has_test && !is_without_test(definition->name)) {
                print_error("'%s' (%s) is given by no test: no file of tests/ or tools/ has --%s\n",
                    definition->name, programs[program].file, flag);
                lacking++;
            }
        }
    }
    assert_int_equal(lacking, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_setting_is_read_by_its_program),
        cmocka_unit_test(what_a_program_reads_is_a_setting),
        cmocka_unit_test(every_setting_is_given_by_a_test),
    };
    return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
