/* sluice graph show: what the gateway knows of a graph. */
#include "gateway/cli/api.h"
#include "gateway/cli/command.h"
#include "gateway/cli/graph.h"
#include "gateway/cli/session.h"
#include "shared/base/text.h"

static Status
run(Cli *cli)
{
    const char *const id = cli_argument(cli, 0);
    char session[ID_TEXT_SIZE];
    Uuid uuid;
    AUTO_REPLY reply = {0};
    if (!id_from_text("grf", slice_from_string(id), &uuid)) {
        return cli_usage(cli, "'%s' is no id of a graph, which begins with 'grf_'", id);
    }
    TRY(session_resolve(cli, false, session));
    const char *const path = text_format(cli->call->arena, "/api/v1/sessions/%s/graphs/%s", session, id);
    if (path == NULL) {
        return call_fail_memory(cli->call, "a request");
    }
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
    .run = run,
};
