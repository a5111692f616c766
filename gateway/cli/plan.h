/* Plans and compilations as the API describes them, for a reader. */
#pragma once

#include "gateway/cli/command.h"

/* What is asked of the graph and the signature that the command line gives. */
typedef struct PlanQuestion {
    const char *suffix; /* of the graph's path: ":plan" */
    const char *accept; /* the media type of the answer */
    bool wants_costs;   /* what the nodes have cost in traced steps */
} PlanQuestion;

/* The reply is the caller's to free. */
MUST_USE Status plan_request(Cli *cli, const PlanQuestion *question, HttpClientResponse *ret_reply);

/* Prints it: slots, partitions, transfers, what the passes changed, every node's slot and why, costs. */
MUST_USE Status plan_show(Cli *cli, Slice json);

/* … which worker has which partition now, and what that took. */
MUST_USE Status compilation_show(Cli *cli, Slice json);
