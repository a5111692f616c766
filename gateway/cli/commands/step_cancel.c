/* sluice step cancel: asks for a step's end. It is no error when the step has been cancelled or has ended. */
#include "gateway/cli/api.h"
#include "gateway/cli/command.h"
#include "gateway/cli/step.h"

static Status
cancel_step(Cli *cli)
{
    const char *path = NULL;
    Step step;
    AUTO_REPLY reply = {0};
    TRY(cli_step_path(cli, ":cancel", &path));
    TRY(api_send(cli, &(ApiRequest){.method = "POST", .path = path}, &reply));
    return step_show(cli, buffer_slice(&reply.body), &step);
}

static const char *const settings[] = {"session", NULL};

COMMAND(step_cancel) = {
    .name = "step cancel",
    .arguments = "STEP",
    .summary = "cancel a step",
    .settings = settings,
    .argument_min = 1,
    .argument_max = 1,
    .run = cancel_step,
};
