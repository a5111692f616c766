/* Shows plans and compilations as the API describes them. */
#pragma once

#include "gateway/cli/command.h"

/* A request about the graph and signature that the command line gives. */
typedef struct PlanQuestion {
    const char *suffix; /* of the graph's path: ":plan" */
    const char *accept; /* media type of the answer */
    bool wants_costs;   /* asks for the costs of nodes in traced steps */
} PlanQuestion;

/* Sends the request. The caller frees the reply. */
MUST_USE Status plan_request(Cli *cli, const PlanQuestion *question, HttpClientResponse *ret_reply);

/* Prints a plan: slots, partitions, transfers, what the passes changed, every node's slot and why, costs. */
MUST_USE Status plan_show(Cli *cli, Slice json);

/* Prints a compilation: which worker has which partition, and how long that took. */
MUST_USE Status compilation_show(Cli *cli, Slice json);
