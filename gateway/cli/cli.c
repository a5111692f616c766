/* From arguments to an exit code: settings are loaded, the command is found, what it does not take is
 * refused, it runs; one line says what went wrong. */
#include "gateway/cli/cli.h"

#include <stdio.h>

#include "gateway/cli/command.h"
#include "gateway/cli/help.h"
#include "gateway/cli/screen.h"
#include "gateway/cli/settings.h"

static const char user_agent[] = "sluice";

Status
cli_fail(Cli *cli, ExitCode exit_code, Status status)
{
    cli->exit_code = exit_code;
    return status;
}

const char *
cli_argument(const Cli *cli, size_t index)
{
    return config_word(cli->config, command_word_count(cli->command) + index);
}

/* --- Finding the command -------------------------------------------------------------------------------- */

size_t
command_word_count(const Command *command)
{
    return strchr(command->name, ' ') == NULL ? 1 : 2;
}

static bool
is_named(const Command *command, const Config *config, size_t first_word)
{
    Slice rest = slice_from_string(command->name);
    Slice word;
    for (size_t index = first_word; slice_split(&rest, ' ', &word); index++) {
        const char *const given = config_word(config, index);
        if (given == NULL || !slice_equals_string(word, given)) {
            return false;
        }
    }
    return true;
}

const Command *
command_find(const Config *config, size_t first_word)
{
    for (size_t index = 0; index < command_table_count; index++) {
        if (is_named(command_table[index], config, first_word)) {
            return command_table[index];
        }
    }
    return NULL;
}

static Status
unknown_command(Cli *cli, size_t first_word)
{
    const char *const first = config_word(cli->config, first_word);
    const char *const second = config_word(cli->config, first_word + 1);
    return cli_usage(cli, "there is no command '%s%s%s': 'sluice --help' lists them", first,
        second == NULL ? "" : " ", second == NULL ? "" : second);
}

/* --- Checking it ---------------------------------------------------------------------------------------- */

/* A setting of another command is harmless in the environment, on the command line it is a mistake. */
static Status
flags_check(Cli *cli)
{
    for (size_t index = 0; index < cli_settings.count; index++) {
        const SettingDefinition *const definition = &cli_settings.definitions[index];
        if (config_is_flag(cli->config, definition->name) &&
            !cli_settings_contain(cli_global_settings, definition->name) &&
            !cli_settings_contain(cli->command->settings, definition->name)) {
            return cli_usage(cli, "'sluice %s' does not take '--%s'", cli->command->name, definition->name);
        }
    }
    return STATUS_OK;
}

static Status
arguments_check(Cli *cli)
{
    const Command *const command = cli->command;
    size_t count = 0;
    while (cli_argument(cli, count) != NULL) {
        count++;
    }
    if (count >= command->argument_min && count <= command->argument_max) {
        return STATUS_OK;
    }
    return cli_usage(cli, "usage: sluice %s%s%s; 'sluice help %s' says more", command->name,
        command->arguments[0] == '\0' ? "" : " ", command->arguments, command->name);
}

/* --- Running it ----------------------------------------------------------------------------------------- */

static Status
run_command(Cli *cli)
{
    const HttpClientOptions options = {
        .user_agent = user_agent,
        .certificates = config_string(cli->config, "certificates"),
    };
    TRY(flags_check(cli));
    TRY(arguments_check(cli));
    AUTO_HTTP_CLIENT client = http_client_new(&options);
    if (client == NULL) {
        return call_fail_memory(cli->call, "the client");
    }
    cli->client = client;
    const Status status = cli->command->run(cli);
    cli->client = NULL;
    return status;
}

static Status
run(Cli *cli, const ConfigInput *input)
{
    Config *config = NULL;
    const Status status = config_load(cli->call, &cli_settings, input, &config);
    if (status != STATUS_OK) {
        return cli_fail(cli, EXIT_USAGE, status);
    }
    if (config_wants_version(config)) {
        (void)printf("sluice %s\n", config_version);
        return STATUS_OK;
    }
    const char *const first = config_word(config, 0);
    const bool wants_help = first != NULL && (strcmp(first, "help") == 0 || strcmp(first, "-h") == 0);
    const size_t first_word = wants_help ? 1 : 0;
    cli->config = config;
    cli->is_json = config_boolean(config, "json");
    cli->command = command_find(config, first_word);
    if (cli->command == NULL && config_word(config, first_word) != NULL) {
        return unknown_command(cli, first_word);
    }
    if (wants_help || config_wants_help(config)) {
        return help_write(cli);
    }
    return cli->command == NULL ? cli_usage(cli, "which command? 'sluice --help' lists them")
                                : run_command(cli);
}

ExitCode
cli_run(Call *call, const ConfigInput *input)
{
    Cli cli = {.call = call, .exit_code = EXIT_REFUSED};
    if (run(&cli, input) == STATUS_OK) {
        return EXIT_DONE;
    }
    screen_error(call);
    return cli.exit_code;
}
