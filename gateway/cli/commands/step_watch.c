/* sluice step watch: waits for the end of a step; its exit code is the step's. */
#include <time.h>

#include "gateway/cli/api.h"
#include "gateway/cli/command.h"
#include "gateway/cli/progress.h"
#include "gateway/cli/screen.h"
#include "gateway/cli/step.h"
#include "shared/base/clock.h"

static const uint64_t pause_first_ms = 50;
static const uint64_t pause_max_ms = 1000;
static const uint64_t tick_ms = 50;

/* Fails with words that say what becomes of the step, by the reason why the waiting ended. */
static Status
watch_fail(Cli *cli, Status status)
{
    bool is_late =
        status == STATUS_DEADLINE_EXCEEDED && call_time_left_ns(cli->call, clock_monotonic_ns()) == 0;
    if (is_late) {
        return cli_fail(
            cli, EXIT_TIMED_OUT, call_fail(cli->call, status, "the step has not ended in time; it goes on"));
    }
    if (status == STATUS_CANCELLED) {
        return cli_fail(cli, EXIT_INTERRUPTED, call_fail(cli->call, status, "interrupted; the step goes on"));
    }
    return status;
}

/* Sleeps while the clock on the terminal turns; ends early when interrupted or out of time. */
static Status
pause_ms(Call *call, Progress *progress, uint64_t duration_ms)
{
    static const HttpClientProgress nothing = {0};
    uint64_t end_ns = clock_monotonic_ns() + duration_ms * CLOCK_NS_PER_MS;
    while (clock_monotonic_ns() < end_ns) {
        struct timespec tick = {.tv_nsec = (long)(tick_ms * CLOCK_NS_PER_MS)};
        (void)nanosleep(&tick, NULL);
        progress_show(progress, &nothing);
        TRY(call_check(call, clock_monotonic_ns()));
    }
    return STATUS_OK;
}

/* Asks until the step has ended. Each answer waits for that at the gateway; one that does not wait is
 * asked less and less often. The last answer is left in the reply. */
static Status
await_end(Cli *cli, const char *path, Progress *progress, HttpClientResponse *reply, Step *step)
{
    static const char *const headers[] = {"Prefer: wait=20", NULL};
    ApiRequest request = {.path = path, .headers = headers, .progress = progress};
    for (uint64_t wait_ms = pause_first_ms;; wait_ms = wait_ms < pause_max_ms ? wait_ms * 2 : pause_max_ms) {
        http_client_response_done(reply);
        TRY(api_send(cli, &request, reply));
        TRY(cli_step_read(cli->call, buffer_slice(&reply->body), step));
        if (step_has_ended(step)) {
            return STATUS_OK;
        }
        if (http_client_header(reply, "Preference-Applied").size == 0) {
            TRY(pause_ms(cli->call, progress, wait_ms));
        }
    }
}

static Status
watch_step(Cli *cli)
{
    const char *path = NULL;
    Step step;
    AUTO_REPLY reply = {0};
    TRY(cli_step_path(cli, "", &path));
    if (config_is_set(cli->config, "timeout")) {
        cli->call->deadline_ns =
            clock_monotonic_ns() + (uint64_t)config_integer(cli->config, "timeout") * CLOCK_NS_PER_MS;
    }
    Progress progress = progress_begin(cli_argument(cli, 0));
    Status status = await_end(cli, path, &progress, &reply, &step);
    progress_end(&progress);
    if (status != STATUS_OK) {
        return watch_fail(cli, status);
    }
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
    .run = watch_step,
};
