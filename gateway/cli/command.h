/* A command of `sluice`: its row in the table and the function that does it. A file of gateway/cli/commands
 * defines one, and the build collects the directory into command_table. */
#pragma once

#include <stddef.h>

#include "gateway/cli/cli.h"

struct Command {
    const char *name;            /* one or two words: "graph push" */
    const char *arguments;       /* as help shows them: "FILE"; "" for none */
    const char *summary;         /* one line */
    const char *details;         /* whole lines; NULL: nothing to add */
    const char *const *settings; /* that it takes beside the global ones, NULL-terminated; NULL: none */
    size_t argument_min;
    size_t argument_max;
    MUST_USE Status (*run)(Cli *cli);
};

#define COMMAND(symbol)                                                                                      \
    extern const Command command_##symbol;                                                                   \
    const Command command_##symbol

extern const Command *const command_table[];
extern const size_t command_table_count;

/* The command whose words these arguments begin with; NULL when there is none. */
const Command *command_find(const Config *config, size_t first_word);
size_t command_word_count(const Command *command);
