/* sluice session create: makes a session, the scope of graphs and steps. */
#include "gateway/cli/api.h"
#include "gateway/cli/command.h"
#include "gateway/cli/reply.h"
#include "gateway/cli/screen.h"
#include "gateway/cli/session.h"

static Status
options_check(Cli *cli, const char *options)
{
    JsonScanner scanner;
    Slice ignored;
    json_scan_begin(&scanner, slice_from_string(options), JSON_DEPTH_MAX);
    (void)json_skip(&scanner, &ignored);
    if (json_scan_end(cli->call, &scanner) == STATUS_OK) {
        return STATUS_OK;
    }
    return cli_fail(cli, EXIT_USAGE, call_wrap(cli->call, "'--options' is no JSON"));
}

static Status
create_session(Cli *cli)
{
    const char *options = config_string(cli->config, "options");
    AUTO_REPLY reply = {0};
    AUTO_BUFFER text = {0};
    Slice id = {0};
    TRY(options_check(cli, options));
    TRY(session_make(cli, cli_argument(cli, 0), options, &reply));
    Slice body = buffer_slice(&reply.body);
    if (cli->is_json) {
        return screen_write_json(cli, body);
    }
    TRY(reply_text(cli->call, body, "id", &id));
    screen_append(&text, id);
    buffer_append_byte(&text, '\n');
    return screen_write(cli, &text);
}

static const char *const settings[] = {"options", NULL};

COMMAND(session_create) = {
    .name = "session create",
    .arguments = "NAME",
    .summary = "make a session and print its id",
    .settings = settings,
    .argument_min = 1,
    .argument_max = 1,
    .run = create_session,
};
