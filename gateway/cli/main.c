/* The program sluice, a REST client for people and scripts: one run is one command.
 *
 * The way from arguments to an exit code: settings are loaded, the command is found, arguments and settings
 * that it does not take are refused, it runs, and one line says what went wrong. Ctrl-C cancels the Call from
 * a signal handler. */
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gateway/cli/command.h"
#include "gateway/cli/screen.h"
#include "gateway/cli/settings.h"

static const char user_agent[] = "sluice";

static void
append_command_line(Buffer *text, const Command *command)
{
    enum { USAGE_WIDTH = 28 };
    size_t start = text->size;
    buffer_append_format(text, "  %s %s", command->name, command->arguments);
    size_t width = text->size - start;
    bool is_long = width > USAGE_WIDTH;
    buffer_append_format(text, "%s%*s %s\n", is_long ? "\n" : "",
        (int)(is_long ? USAGE_WIDTH : USAGE_WIDTH - width), "", command->summary);
}

static void
append_exit_codes(Buffer *text)
{
    buffer_append_string(text, "\nexit codes:\n");
#define X(name, number, meaning) buffer_append_format(text, "  %3d  %s\n", (number), (meaning));
    EXIT_CODES(X)
#undef X
}

static Status
append_settings(Call *call, Buffer *text, const char *title, const char *const *names)
{
    ConfigTable table;
    if (names == NULL) {
        return STATUS_OK;
    }
    if (!cli_settings_select(call->arena, names, &table)) {
        return call_fail_memory(call, "the help");
    }
    buffer_append_format(text, "\n%s:\n", title);
    config_write_help(&table, text);
    return STATUS_OK;
}

static Status
append_program(Call *call, Buffer *text)
{
    buffer_append_string(text, "sluice: runs tensor graphs on a Sluice gateway\n\n"
                               "usage: sluice COMMAND [ARGUMENTS] [SETTINGS]\n\n"
                               "commands:\n");
    for (size_t index = 0; index < command_table_count; index++) {
        append_command_line(text, command_table[index]);
    }
    buffer_append_string(text, "  help COMMAND               more about one of them\n");
    TRY(append_settings(call, text, "settings of every command", cli_global_settings));
    buffer_append_string(text,
        "  --config <path>\n        a file of settings, one 'name = value' a line\n"
        "A setting also comes from the environment: SLUICE_URL, SLUICE_KEY_FILE, SLUICE_SESSION, …\n");
    append_exit_codes(text);
    return STATUS_OK;
}

static Status
append_command(Call *call, Buffer *text, const Command *command)
{
    buffer_append_format(text, "usage: sluice %s%s%s [SETTINGS]\n\n%s\n", command->name,
        command->arguments[0] == '\0' ? "" : " ", command->arguments, command->summary);
    if (command->details != NULL) {
        buffer_append_format(text, "\n%s", command->details);
    }
    TRY(append_settings(call, text, "settings", command->settings));
    return append_settings(call, text, "settings of every command", cli_global_settings);
}

static Status
write_help(Cli *cli)
{
    AUTO_BUFFER text = {0};
    TRY(cli->command == NULL ? append_program(cli->call, &text)
                             : append_command(cli->call, &text, cli->command));
    return screen_write(cli, &text);
}

/* Appends the second words of the commands that begin with this one: "get, put". */
static void
append_second_words(Buffer *text, const char *first)
{
    for (size_t index = 0; index < command_table_count; index++) {
        Slice second = slice_from_string(command_table[index]->name);
        Slice word;
        if (slice_split(&second, ' ', &word) && slice_equals_string(word, first) && second.size > 0) {
            buffer_append_string(text, text->size == 0 ? "" : ", ");
            buffer_append_slice(text, second);
        }
    }
}

static Status
unknown_command(Cli *cli, size_t first_word)
{
    const char *first = config_word(cli->config, first_word);
    const char *second = config_word(cli->config, first_word + 1);
    AUTO_BUFFER seconds = {0};
    append_second_words(&seconds, first);
    if (second == NULL && seconds.size > 0) {
        return cli_usage(cli, "'%s' needs a second word: %.*s", first, SLICE_PRINT(buffer_slice(&seconds)));
    }
    return cli_usage(cli, "there is no command '%s%s%s': 'sluice --help' lists them", first,
        second == NULL ? "" : " ", second == NULL ? "" : second);
}

/* Refuses flags of other commands. Such a setting is harmless in the environment, on the command line it
 * is a mistake. */
static Status
flags_check(Cli *cli)
{
    for (size_t index = 0; index < cli_settings.count; index++) {
        const SettingDefinition *definition = &cli_settings.definitions[index];
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
    const Command *command = cli->command;
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

static Status
run_command(Cli *cli)
{
    assert(cli->config != NULL && cli->command != NULL && cli->client == NULL);
    HttpClientOptions options = {
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
    Status status = cli->command->run(cli);
    cli->client = NULL;
    return status;
}

static Status
run_program(Cli *cli, const ConfigInput *input)
{
    Config *config = NULL;
    Status status = config_load(cli->call, &cli_settings, input, &config);
    if (status != STATUS_OK) {
        return cli_fail(cli, EXIT_USAGE, status);
    }
    if (config_wants_version(config)) {
        (void)printf("sluice %s\n", config_version);
        return STATUS_OK;
    }
    const char *first = config_word(config, 0);
    bool wants_help = first != NULL && (strcmp(first, "help") == 0 || strcmp(first, "-h") == 0);
    size_t first_word = wants_help ? 1 : 0;
    cli->config = config;
    cli->is_json = config_boolean(config, "json");
    cli->command = command_find(config, first_word);
    if (cli->command == NULL && config_word(config, first_word) != NULL) {
        return unknown_command(cli, first_word);
    }
    if (wants_help || config_wants_help(config)) {
        return write_help(cli);
    }
    return cli->command == NULL ? cli_usage(cli, "which command? 'sluice --help' lists them")
                                : run_command(cli);
}

/* Runs the command that the arguments name, and returns what main() returns. `input` begins behind the
 * program's name. */
static ExitCode
cli_run(Call *call, const ConfigInput *input)
{
    assert(call != NULL && input != NULL);
    Cli cli = {.call = call, .exit_code = EXIT_REFUSED};
    if (run_program(&cli, input) == STATUS_OK) {
        return EXIT_DONE;
    }
    screen_error(call);
    if (cli.is_json && cli.problem.size > 0 && screen_write_json(&cli, cli.problem) != STATUS_OK) {
        screen_error(call);
    }
    return cli.exit_code;
}

enum { ARENA_SIZE_MAX = 256 << 20 };

static Call program_call;

/* Cancels the command; a second Ctrl-C ends the program at once. */
static void
on_interrupt(int number)
{
    call_cancel(&program_call); /* a single atomic store */ // NOLINT(bugprone-signal-handler)
    (void)signal(number, SIG_DFL);
}

int
main(int argc, char **argv)
{
    AUTO_ARENA arena = arena_new(ARENA_SIZE_MAX);
    ConfigInput input = {
        .arguments = (const char *const *)argv + 1,
        .argument_count = (size_t)argc - 1,
        .environment = (const char *const *)environ,
    };
    if (arena == NULL) {
        (void)fputs("sluice: no memory left\n", stderr);
        return EXIT_REFUSED;
    }
    program_call.arena = arena;
    (void)signal(SIGINT, on_interrupt);
    (void)signal(SIGTERM, on_interrupt);
    return (int)cli_run(&program_call, &input);
}
