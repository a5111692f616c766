/* Shows a graph as the API describes it. */
#pragma once

#include "gateway/cli/command.h"

/* Makes the path "/api/v1/sessions/…/graphs/…" and `suffix`, of the id that is the command's first
 * argument. */
MUST_USE Status graph_path(Cli *cli, const char *suffix, const char **ret_path);

/* Prints the graph's document: the id on a line of its own, then what the graph has. */
MUST_USE Status graph_show(Cli *cli, Slice json);
