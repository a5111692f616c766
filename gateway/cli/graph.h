/* A graph as the API describes it, for a reader. */
#pragma once

#include "gateway/cli/command.h"

/* "/api/v1/sessions/…/graphs/…" and `suffix`, of the id that is the command's first argument. */
MUST_USE Status graph_path(Cli *cli, const char *suffix, const char **ret_path);

/* Prints the graph's document: the id first, on a line of its own, then what is in it. */
MUST_USE Status graph_show(Cli *cli, Slice json);
