#include "gateway/cli/command.h"

#include <assert.h>
#include <string.h>

size_t
command_word_count(const Command *command)
{
    assert(command != NULL);
    return strchr(command->name, ' ') == NULL ? 1 : 2;
}

static bool
is_named(const Command *command, const Config *config, size_t first_word)
{
    Slice rest = slice_from_string(command->name);
    Slice word;
    for (size_t index = first_word; slice_split(&rest, ' ', &word); index++) {
        const char *given = config_word(config, index);
        if (given == NULL || !slice_equals_string(word, given)) {
            return false;
        }
    }
    return true;
}

const Command *
command_find(const Config *config, size_t first_word)
{
    assert(config != NULL);
    for (size_t index = 0; index < command_table_count; index++) {
        if (is_named(command_table[index], config, first_word)) {
            return command_table[index];
        }
    }
    return NULL;
}

Status
cli_fail(Cli *cli, ExitCode exit_code, Status status)
{
    assert(status != STATUS_OK && exit_code != EXIT_DONE);
    cli->exit_code = exit_code;
    return status;
}

const char *
cli_argument(const Cli *cli, size_t index)
{
    return config_word(cli->config, command_word_count(cli->command) + index);
}
