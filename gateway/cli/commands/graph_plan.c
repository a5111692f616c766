/* sluice graph plan: the plan of a step, without running it. */
#include "gateway/cli/api.h"
#include "gateway/cli/command.h"
#include "gateway/cli/plan.h"
#include "gateway/cli/screen.h"

static Status
plan_graph(Cli *cli)
{
    bool is_dot = config_boolean(cli->config, "dot");
    PlanQuestion question = {
        .suffix = ":plan",
        .accept = is_dot ? "text/vnd.graphviz" : "application/json",
        .wants_costs = !is_dot,
    };
    AUTO_REPLY reply = {0};
    TRY(plan_request(cli, &question, &reply));
    return is_dot ? screen_write(cli, &reply.body) : plan_show(cli, buffer_slice(&reply.body));
}

static const char *const settings[] = {"session", "feed", "fetch", "target", "dot", NULL};

COMMAND(graph_plan) = {
    .name = "graph plan",
    .arguments = "GRAPH",
    .summary = "print where a step's nodes would run and why, and what they have cost",
    .details = "feeds:\n"
               "  --feed x                             that it is fed is enough\n"
               "  --feed x=float32                     with its dtype\n"
               "  What 'sluice run' takes will do, too.\n"
               "drawing:\n"
               "  sluice graph plan GRAPH --feed x --fetch y --dot | dot -Tsvg -o plan.svg\n",
    .settings = settings,
    .argument_min = 1,
    .argument_max = 1,
    .run = plan_graph,
};
