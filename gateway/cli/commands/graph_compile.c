/* sluice graph compile: plans a signature and registers it on workers, ahead of its first step. */
#include "gateway/cli/api.h"
#include "gateway/cli/command.h"
#include "gateway/cli/plan.h"

static Status
compile_graph(Cli *cli)
{
    PlanQuestion question = {.suffix = ":compile", .accept = "application/json"};
    AUTO_REPLY reply = {0};
    TRY(plan_request(cli, &question, &reply));
    return compilation_show(cli, buffer_slice(&reply.body));
}

static const char *const settings[] = {"session", "feed", "fetch", "target", NULL};

COMMAND(graph_compile) = {
    .name = "graph compile",
    .arguments = "GRAPH",
    .summary = "have workers ready for a step, which then waits for nothing",
    .details = "feeds:\n"
               "  --feed x                             that it is fed is enough\n"
               "  --feed x=float32                     with its dtype\n"
               "  What 'sluice run' takes will do, too.\n",
    .settings = settings,
    .argument_min = 1,
    .argument_max = 1,
    .run = compile_graph,
};
