/* sluice step trace: when the slots and nodes of a step ran, for Perfetto or chrome://tracing. */
#include "gateway/cli/api.h"
#include "gateway/cli/command.h"
#include "gateway/cli/screen.h"
#include "gateway/cli/step.h"

static Status
trace_step(Cli *cli)
{
    const char *path = NULL;
    AUTO_REPLY reply = {0};
    TRY(cli_step_path(cli, "/trace", &path));
    TRY(api_get(cli, path, &reply));
    return screen_write_json(cli, buffer_slice(&reply.body));
}

static const char *const settings[] = {"session", NULL};

COMMAND(step_trace) = {
    .name = "step trace",
    .arguments = "STEP",
    .summary = "print when a step's nodes ran, as Chrome trace events, if it was run with a trace",
    .settings = settings,
    .argument_min = 1,
    .argument_max = 1,
    .run = trace_step,
};
