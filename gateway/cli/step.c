#include "gateway/cli/step.h"

#include <assert.h>

#include "gateway/cli/reply.h"
#include "gateway/cli/screen.h"
#include "gateway/cli/session.h"
#include "shared/base/text.h"

Status
cli_step_read(Call *call, Slice json, Step *ret_step)
{
    static const JsonMember members[] = {
        {"id", JSON_SLICE, .offset = offsetof(Step, id)},
        {"session", JSON_SLICE, .offset = offsetof(Step, session)},
        {"graph", JSON_SLICE, .offset = offsetof(Step, graph)},
        {"state", JSON_SLICE, .offset = offsetof(Step, state)},
        {"attempts", JSON_INT64, .offset = offsetof(Step, attempts)},
        {"elapsed_us", JSON_INT64, .offset = offsetof(Step, elapsed_us)},
        {"partitions", JSON_TEXT, .offset = offsetof(Step, partitions)},
        {"outputs", JSON_TEXT, .offset = offsetof(Step, outputs)},
        {"error", JSON_TEXT, .offset = offsetof(Step, error)},
    };
    *ret_step = (Step){.elapsed_us = -1};
    return reply_read(call, json, members, COUNT_OF(members), ret_step);
}

Status
cli_step_path(Cli *cli, const char *suffix, const char **ret_path)
{
    assert(suffix != NULL && ret_path != NULL);
    const char *id = cli_argument(cli, 0);
    char session[ID_TEXT_SIZE];
    Uuid uuid;
    if (!id_from_text("stp", slice_from_string(id), &uuid)) {
        return cli_usage(cli, "'%s' is no id of a step, which begins with 'stp_'", id);
    }
    TRY(session_resolve(cli, false, session));
    *ret_path = text_format(cli->call->arena, "/api/v1/sessions/%s/steps/%s%s", session, id, suffix);
    return *ret_path == NULL ? call_fail_memory(cli->call, "a request") : STATUS_OK;
}

typedef struct StateExit {
    const char *state;
    Status status;
    ExitCode exit_code;
} StateExit;

static const StateExit ends[] = {
    {"succeeded", STATUS_OK, EXIT_DONE},
    {"failed", STATUS_UNKNOWN, EXIT_STEP_FAILED},
    {"dead", STATUS_UNKNOWN, EXIT_STEP_FAILED},
    {"cancelled", STATUS_CANCELLED, EXIT_STEP_FAILED},
    {"expired", STATUS_DEADLINE_EXCEEDED, EXIT_TIMED_OUT},
};

/* Returns what follows from the state of a step that has ended, or NULL while it goes on. */
static const StateExit *
step_end(const Step *step)
{
    for (size_t index = 0; index < COUNT_OF(ends); index++) {
        if (slice_equals_string(step->state, ends[index].state)) {
            return &ends[index];
        }
    }
    return NULL;
}

bool
step_has_ended(const Step *step)
{
    return step_end(step) != NULL;
}

typedef struct StepError {
    Slice code;
    Slice detail;
    Slice message;
    Slice node;
} StepError;

static Status
error_read(Call *call, Slice json, StepError *ret_error)
{
    static const JsonMember members[] = {
        {"code", JSON_SLICE, .offset = offsetof(StepError, code)},
        {"detail", JSON_SLICE, .offset = offsetof(StepError, detail)},
        {"message", JSON_SLICE, .offset = offsetof(StepError, message)},
        {"node", JSON_SLICE, .offset = offsetof(StepError, node)},
    };
    *ret_error = (StepError){0};
    return json.size == 0 ? STATUS_OK : reply_read(call, json, members, COUNT_OF(members), ret_error);
}

Status
step_check(Cli *cli, const Step *step)
{
    const StateExit *end = step_end(step);
    StepError error;
    if (end == NULL || end->status == STATUS_OK) {
        return STATUS_OK;
    }
    TRY(error_read(cli->call, step->error, &error));
    Status status = end->status;
    bool has_code = status_from_name(error.code, &status) && status != STATUS_OK;
    Slice cause = error.detail.size > 0 ? error.detail : error.message;
    AUTO_BUFFER text = {0};
    buffer_append_format(&text, "step '%.*s' %s", SLICE_PRINT(step->id), end->state);
    if (error.node.size > 0) {
        buffer_append_format(&text, ": node '%.*s'", SLICE_PRINT(error.node));
    }
    if (cause.size > 0) {
        buffer_append_format(&text, ": %.*s", SLICE_PRINT(cause));
    }
    return cli_fail(cli, end->exit_code,
        call_fail(cli->call, has_code ? status : end->status, "%.*s", SLICE_PRINT(buffer_slice(&text))));
}

typedef struct Partition {
    int64_t task;
    int64_t nodes;
    int64_t elapsed_us;
} Partition;

static Status
partition_append(Call *call, void *context, Slice json)
{
    static const JsonMember members[] = {
        {"task", JSON_INT64, .offset = offsetof(Partition, task)},
        {"nodes", JSON_INT64, .offset = offsetof(Partition, nodes)},
        {"elapsed_us", JSON_INT64, .offset = offsetof(Partition, elapsed_us)},
    };
    Partition partition = {0};
    Buffer *text = context;
    TRY(reply_read(call, json, members, COUNT_OF(members), &partition));
    buffer_append_format(text, "; task %lld: %lld %s in ", (long long)partition.task,
        (long long)partition.nodes, partition.nodes == 1 ? "node" : "nodes");
    screen_append_duration(text, (uint64_t)partition.elapsed_us);
    return STATUS_OK;
}

Status
step_append_line(Call *call, const Step *step, Buffer *text)
{
    screen_append(text, step->id);
    buffer_append_byte(text, ' ');
    screen_append(text, step->state);
    if (step->elapsed_us >= 0) {
        buffer_append_string(text, " in ");
        screen_append_duration(text, (uint64_t)step->elapsed_us);
    }
    TRY(reply_each(call, step->partitions, NULL, partition_append, text));
    buffer_append_byte(text, '\n');
    return STATUS_OK;
}

Status
step_show(Cli *cli, Slice json, Step *ret_step)
{
    AUTO_BUFFER text = {0};
    TRY(cli_step_read(cli->call, json, ret_step));
    if (cli->is_json) {
        return screen_write_json(cli, json);
    }
    TRY(step_append_line(cli->call, ret_step, &text));
    return screen_write(cli, &text);
}
