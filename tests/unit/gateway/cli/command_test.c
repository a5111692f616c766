/* The table of commands, and how a command is found among the words of a command line. */
#include "gateway/cli/command.h"
#include "gateway/cli/settings.h"
#include "tests/support/call_fixture.h"

static Config *
load(Call *call, const char *const *arguments)
{
    Config *config = NULL;
    size_t count = 0;
    while (arguments[count] != NULL) {
        count++;
    }
    ConfigInput input = {.arguments = arguments, .argument_count = count};
    assert_status(call, STATUS_OK, config_load(call, &cli_settings, &input, &config));
    return config;
}

#define LOAD(call, ...) load(call, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static void
every_command_explains_itself_and_names_settings_that_exist(void **state)
{
    Call *call = *state;
    assert_true(command_table_count > 0);
    for (size_t index = 0; index < command_table_count; index++) {
        const Command *command = command_table[index];
        assert_non_null(command->run);
        assert_true(strlen(command->summary) > 0);
        assert_true(command_word_count(command) <= 2);
        assert_true(command->argument_min <= command->argument_max);
        assert_int_equal(command->arguments[0] == '\0', command->argument_max == 0);
        for (const char *const *name = command->settings; name != NULL && *name != NULL; name++) {
            const char *const one[] = {*name, NULL};
            ConfigTable table;
            assert_true(cli_settings_select(call->arena, one, &table));
            assert_int_equal(table.count, 1);
            assert_false(cli_settings_contain(cli_global_settings, *name));
        }
    }
}

static void
every_setting_is_taken_by_some_command(void **state)
{
    (void)state;
    for (size_t setting = 0; setting < cli_settings.count; setting++) {
        const char *name = cli_settings.definitions[setting].name;
        bool is_taken = cli_settings_contain(cli_global_settings, name);
        for (size_t index = 0; index < command_table_count && !is_taken; index++) {
            is_taken = cli_settings_contain(command_table[index]->settings, name);
        }
        if (!is_taken) {
            fail_msg("nothing takes '--%s'", name);
        }
    }
}

static void
a_command_is_found_by_its_words(void **state)
{
    Call *call = *state;
    const Command *push = command_find(LOAD(call, "graph", "push", "a.onnx"), 0);
    assert_non_null(push);
    assert_string_equal(push->name, "graph push");
    assert_string_equal(command_find(LOAD(call, "--json", "run", "--fetch", "y"), 0)->name, "run");
    assert_string_equal(command_find(LOAD(call, "help", "step", "watch"), 1)->name, "step watch");
    assert_null(command_find(LOAD(call, "graph"), 0));
    assert_null(command_find(LOAD(call, "push", "graph"), 0));
    assert_null(command_find(LOAD(call), 0));
}

static void
feeds_and_fetches_are_collected_in_their_order(void **state)
{
    Call *call = *state;
    const Slice *items = NULL;
    const Config *config =
        LOAD(call, "run", "--feed", "x=[1,2]", "--fetch", "y", "--feed=z={\"a\":1}", "--timeout", "2s");
    assert_int_equal(config_list(config, "feed", &items), 2);
    assert_true(slice_equals_string(items[0], "x=[1,2]"));
    assert_true(slice_equals_string(items[1], "z={\"a\":1}"));
    assert_int_equal(config_integer(config, "timeout"), 2000);
    assert_false(config_boolean(config, "async"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(every_command_explains_itself_and_names_settings_that_exist),
        CALL_TEST(every_setting_is_taken_by_some_command),
        CALL_TEST(a_command_is_found_by_its_words),
        CALL_TEST(feeds_and_fetches_are_collected_in_their_order),
    };
    return cmocka_run_group_tests_name("gateway/cli/command", tests, NULL, NULL);
}
