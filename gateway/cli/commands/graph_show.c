/* sluice graph show: a graph as the gateway knows it. */
#include "gateway/cli/api.h"
#include "gateway/cli/command.h"
#include "gateway/cli/graph.h"

static Status
show_graph(Cli *cli)
{
    const char *path = NULL;
    AUTO_REPLY reply = {0};
    TRY(graph_path(cli, "", &path));
    TRY(api_get(cli, path, &reply));
    return graph_show(cli, buffer_slice(&reply.body));
}

static const char *const settings[] = {"session", NULL};

COMMAND(graph_show) = {
    .name = "graph show",
    .arguments = "GRAPH",
    .summary = "print what is in a graph",
    .settings = settings,
    .argument_min = 1,
    .argument_max = 1,
    .run = show_graph,
};
