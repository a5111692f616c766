/* sluice container reset: drops the variables that a session keeps in some containers. */
#include "gateway/cli/api.h"
#include "gateway/cli/command.h"
#include "gateway/cli/reply.h"
#include "gateway/cli/screen.h"
#include "gateway/cli/session.h"
#include "shared/json/writer.h"

enum { CONTAINERS_MAX = 256 };

typedef struct Outcome {
    int64_t resources;
    int64_t failed;
} Outcome;

static void
write_request(Buffer *body, Cli *cli, const char *session)
{
    JsonWriter writer = json_writer(body);
    json_write_object_begin(&writer);
    json_member_string(&writer, "session", session);
    json_write_name(&writer, "containers");
    json_write_array_begin(&writer);
    for (size_t index = 1; cli_argument(cli, index) != NULL; index++) {
        json_write_string(&writer, cli_argument(cli, index));
    }
    json_write_array_end(&writer);
    json_write_object_end(&writer);
}

static Status
show_outcome(Cli *cli, Slice json)
{
    static const JsonMember members[] = {
        {"resources", JSON_INT64, .offset = offsetof(Outcome, resources)},
        {"failed", JSON_INT64, .offset = offsetof(Outcome, failed)},
    };
    AUTO_BUFFER text = {0};
    Outcome outcome = {0};
    TRY(reply_read(cli->call, json, members, COUNT_OF(members), &outcome));
    if (outcome.failed > 0) {
        return call_fail(cli->call, STATUS_UNAVAILABLE,
            "%lld dropped, but %lld of the session's workers failed: %.*s", (long long)outcome.resources,
            (long long)outcome.failed, SLICE_PRINT(json));
    }
    buffer_append_format(&text, "%lld dropped\n", (long long)outcome.resources);
    return screen_write(cli, &text);
}

static Status
reset_container(Cli *cli)
{
    char session[ID_TEXT_SIZE];
    AUTO_BUFFER body = {0};
    AUTO_REPLY reply = {0};
    TRY(session_find(cli, cli_argument(cli, 0), session));
    write_request(&body, cli, session);
    ApiRequest request = {.method = "POST", .path = "/api/v1/containers:reset", .body = buffer_slice(&body)};
    TRY(api_send(cli, &request, &reply));
    Slice json = buffer_slice(&reply.body);
    return cli->is_json ? screen_write_json(cli, json) : show_outcome(cli, json);
}

COMMAND(container_reset) = {
    .name = "container reset",
    .arguments = "SESSION [CONTAINER…]",
    .summary = "drop the variables that a session keeps",
    .details = "Without a container it is the default one, where variables are that name none.\n",
    .argument_min = 1,
    .argument_max = 1 + CONTAINERS_MAX,
    .run = reset_container,
};
