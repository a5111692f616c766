/* sluice step get: the step's state and its stored outputs. */
#include "gateway/cli/api.h"
#include "gateway/cli/command.h"
#include "gateway/cli/fetch.h"
#include "gateway/cli/screen.h"
#include "gateway/cli/step.h"

static Status
output_path(Cli *cli, const char *step, Slice name, Buffer *path)
{
    buffer_append_format(path, "%s/outputs/", step);
    buffer_append_escaped(path, name);
    return buffer_string(path) == NULL ? call_fail_memory(cli->call, "a request") : STATUS_OK;
}

/* Gets an output of a queued step, into its file or to the screen. */
static Status
output_get(Cli *cli, const char *step, const Fetch *fetch)
{
    static const char *const npy_headers[] = {"Accept: application/x-npy", NULL};
    AUTO_BUFFER path = {0};
    AUTO_BUFFER text = {0};
    AUTO_REPLY reply = {0};
    TRY(output_path(cli, step, fetch->name, &path));
    ApiRequest request = {
        .path = path.data,
        .headers = fetch->path == NULL ? NULL : npy_headers,
        .save_path = fetch->path,
        .label = fetch->path,
    };
    TRY(api_send(cli, &request, &reply));
    Slice json = buffer_slice(&reply.body);
    if (cli->is_json) {
        return fetch->path == NULL ? screen_write_json(cli, json) : STATUS_OK;
    }
    if (fetch->path == NULL) {
        TRY(fetch_append(cli->call, fetch, json, &text));
    } else {
        screen_append(&text, fetch->name);
        buffer_append_format(&text, " in %s\n", fetch->path);
    }
    return screen_write(cli, &text);
}

static Status
get_step(Cli *cli)
{
    const char *path = NULL;
    Fetch *fetches = NULL;
    size_t fetch_count = 0;
    Step step;
    AUTO_REPLY reply = {0};
    TRY(fetches_parse(cli, &fetches, &fetch_count));
    TRY(cli_step_path(cli, "", &path));
    if (fetch_count == 0) {
        TRY(api_get(cli, path, &reply));
        return step_show(cli, buffer_slice(&reply.body), &step);
    }
    for (size_t index = 0; index < fetch_count; index++) {
        TRY(output_get(cli, path, &fetches[index]));
    }
    return STATUS_OK;
}

static const char *const settings[] = {"session", "fetch", NULL};

COMMAND(step_get) = {
    .name = "step get",
    .arguments = "STEP",
    .summary = "print a step's state, or with --fetch what a queued step has left",
    .settings = settings,
    .argument_min = 1,
    .argument_max = 1,
    .run = get_step,
};
