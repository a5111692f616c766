/* sluice step watch: waits for the end of a step; its exit code is the step's. */
#include <time.h>

#include "gateway/cli/api.h"
#include "gateway/cli/command.h"
#include "gateway/cli/progress.h"
#include "gateway/cli/screen.h"
#include "gateway/cli/step.h"
#include "shared/base/clock.h"

static const uint64_t PAUSE_FIRST_MS = 50;
static const uint64_t PAUSE_MAX_MS = 1000;
static const uint64_t TICK_MS = 50;

/* Sleeps while the clock on the terminal turns; ends early when interrupted or out of time. */
static Status
pause_ms(Cli *cli, Progress *progress, uint64_t duration_ms)
{
    static const HttpClientProgress nothing = {0};
    const uint64_t end_ns = clock_monotonic_ns() + duration_ms * CLOCK_NS_PER_MS;
    for (uint64_t now_ns = clock_monotonic_ns(); now_ns < end_ns; now_ns = clock_monotonic_ns()) {
        const struct timespec tick = {.tv_nsec = (long)(TICK_MS * CLOCK_NS_PER_MS)};
        (void)nanosleep(&tick, NULL);
        progress_show(progress, &nothing);
        const Status status = call_check(cli->call, clock_monotonic_ns());
        if (status == STATUS_CANCELLED) {
            return cli_fail(
                cli, EXIT_INTERRUPTED, call_fail(cli->call, status, "interrupted; the step goes on"));
        }
        if (status != STATUS_OK) {
            return cli_fail(cli, EXIT_TIMED_OUT,
                call_fail(cli->call, status, "the step has not ended in time; it goes on"));
        }
    }
    return STATUS_OK;
}

/* Asks ever less often. The last answer is left in the reply. */
static Status
await_end(Cli *cli, const char *path, Progress *progress, HttpClientResponse *reply, Step *step)
{
    for (uint64_t wait_ms = PAUSE_FIRST_MS;; wait_ms = wait_ms < PAUSE_MAX_MS ? wait_ms * 2 : PAUSE_MAX_MS) {
        http_client_response_done(reply);
        TRY(api_get(cli, path, reply));
        TRY(step_read(cli->call, buffer_slice(&reply->body), step));
        if (step_has_ended(step)) {
            return STATUS_OK;
        }
        TRY(pause_ms(cli, progress, wait_ms));
    }
}

static Status
run(Cli *cli)
{
    const char *path = NULL;
    Step step;
    AUTO_REPLY reply = {0};
    TRY(step_path(cli, "", &path));
    if (config_is_set(cli->config, "timeout")) {
        cli->call->deadline_ns =
            clock_monotonic_ns() + (uint64_t)config_integer(cli->config, "timeout") * CLOCK_NS_PER_MS;
    }
    Progress progress = progress_begin(cli_argument(cli, 0));
    const Status status = await_end(cli, path, &progress, &reply, &step);
    progress_end(&progress);
    TRY(status);
    TRY(step_show(cli, buffer_slice(&reply.body), &step));
    return step_check(cli, &step);
}

static const char *const settings[] = {"session", "timeout", NULL};

COMMAND(step_watch) = {
    .name = "step watch",
    .arguments = "STEP",
    .summary = "wait for the end of a step",
    .details =
        "The exit code is 0 when the step succeeded, 4 when it failed or was cancelled, 5 when its time,\n"
        "or that of --timeout, was up. Ctrl-C stops the waiting, not the step.\n",
    .settings = settings,
    .argument_min = 1,
    .argument_max = 1,
    .run = run,
};
