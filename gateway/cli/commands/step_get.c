/* sluice step get: a step as it is now. */
#include "gateway/cli/api.h"
#include "gateway/cli/command.h"
#include "gateway/cli/step.h"

static Status
run(Cli *cli)
{
    const char *path = NULL;
    Step step;
    AUTO_REPLY reply = {0};
    TRY(step_path(cli, "", &path));
    TRY(api_get(cli, path, &reply));
    return step_show(cli, buffer_slice(&reply.body), &step);
}

static const char *const settings[] = {"session", NULL};

COMMAND(step_get) = {
    .name = "step get",
    .arguments = "STEP",
    .summary = "print a step's state",
    .settings = settings,
    .argument_min = 1,
    .argument_max = 1,
    .run = run,
};
