#include "gateway/cli/help.h"

#include "gateway/cli/command.h"
#include "gateway/cli/screen.h"
#include "gateway/cli/settings.h"

static void
append_command_line(Buffer *text, const Command *command)
{
    enum { USAGE_WIDTH = 28 };
    const size_t start = text->size;
    buffer_append_format(text, "  %s %s", command->name, command->arguments);
    const size_t width = text->size - start;
    const bool is_long = width > USAGE_WIDTH;
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

Status
help_write(Cli *cli)
{
    AUTO_BUFFER text = {0};
    TRY(cli->command == NULL ? append_program(cli->call, &text)
                             : append_command(cli->call, &text, cli->command));
    return screen_write(cli, &text);
}
