/* A graph as the API describes it, for a reader. */
#pragma once

#include "gateway/cli/cli.h"

/* Prints the graph's document: the id first, on a line of its own, then what is in it. */
MUST_USE Status graph_show(Cli *cli, Slice json);
