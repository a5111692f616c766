/* sluice session delete: removes a session and its graphs. */
#include "gateway/cli/api.h"
#include "gateway/cli/command.h"
#include "gateway/cli/session.h"
#include "shared/base/text.h"

static Status
delete_session(Cli *cli)
{
    char id[ID_TEXT_SIZE];
    AUTO_REPLY reply = {0};
    TRY(session_find(cli, cli_argument(cli, 0), id));
    const char *path = text_format(cli->call->arena, "/api/v1/sessions/%s", id);
    if (path == NULL) {
        return call_fail_memory(cli->call, "a request");
    }
    return api_send(cli, &(ApiRequest){.method = "DELETE", .path = path}, &reply);
}

COMMAND(session_delete) = {
    .name = "session delete",
    .arguments = "SESSION",
    .summary = "delete a session (name or id), its graphs, and what it has queued",
    .argument_min = 1,
    .argument_max = 1,
    .run = delete_session,
};
