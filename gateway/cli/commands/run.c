/* sluice run: sends feeds, prints or saves fetches. */
#include <stdio.h>

#include "gateway/cli/api.h"
#include "gateway/cli/command.h"
#include "gateway/cli/feed.h"
#include "gateway/cli/fetch.h"
#include "gateway/cli/reply.h"
#include "gateway/cli/screen.h"
#include "gateway/cli/session.h"
#include "gateway/cli/signature.h"
#include "gateway/cli/step.h"
#include "shared/base/text.h"

enum { HTTP_ACCEPTED = 202 };

/* A step may take a day; its reply gets this much more time to arrive. */
static const uint64_t timeout_grace_ms = 10000;
static const uint64_t timeout_max_ms = UINT64_C(24) * 3600 * 1000;

/* A request's body: JSON alone, or a form whose first part is the JSON. */
typedef struct StepForm {
    Buffer json;
    HttpClientPart *parts;
    size_t part_count;
} StepForm;

static void
form_done(StepForm *form)
{
    buffer_done(&form->json);
}

static Status
write_feeds(Cli *cli, StepForm *form, JsonWriter *writer)
{
    const Slice *texts = NULL;
    size_t count = config_list(cli->config, "feed", &texts);
    form->parts = arena_alloc(cli->call->arena, (count + 1) * sizeof *form->parts);
    if (form->parts == NULL) {
        return call_fail_memory(cli->call, "the feeds");
    }
    form->part_count = 1; /* the first one is for the JSON */
    json_write_name(writer, "feeds");
    json_write_object_begin(writer);
    for (size_t index = 0; index < count; index++) {
        Feed feed;
        bool is_part = false;
        TRY(feed_parse(cli->call, texts[index], &feed));
        TRY(feed_part(cli->call, &feed, &is_part, &form->parts[form->part_count]));
        if (is_part) {
            form->part_count++;
        } else {
            json_write_name_slice(writer, feed.name);
            TRY(feed_write(cli->call, &feed, writer));
        }
    }
    json_write_object_end(writer);
    return STATUS_OK;
}

static void
write_options(const Cli *cli, JsonWriter *writer)
{
    json_write_name(writer, "options");
    json_write_object_begin(writer);
    if (config_is_set(cli->config, "timeout")) {
        json_member_int64(writer, "timeout_ms", config_integer(cli->config, "timeout"));
    }
    json_member_string(writer, "trace", config_string(cli->config, "trace"));
    json_write_object_end(writer);
}

static Status
write_body(Cli *cli, const Fetch *fetches, size_t fetch_count, StepForm *form)
{
    const char *graph = config_string(cli->config, "graph");
    JsonWriter writer = json_writer(&form->json);
    json_write_object_begin(&writer);
    if (graph != NULL) {
        json_member_string(&writer, "graph", graph);
    }
    TRY(write_feeds(cli, form, &writer));
    signature_write_fetches(fetches, fetch_count, &writer);
    signature_write_targets(cli, &writer);
    write_options(cli, &writer);
    json_write_object_end(&writer);
    if (!buffer_is_ok(&form->json)) {
        return call_fail_memory(cli->call, "the feeds");
    }
    form->parts[0] = (HttpClientPart){
        .name = "request", .content_type = "application/json", .head = buffer_slice(&form->json)};
    return STATUS_OK;
}

/* Returns true for a single fetch into a file: then the gateway sends the file's bytes. */
static bool
is_download(const Cli *cli, const Fetch *fetches, size_t count)
{
    return count == 1 && fetches[0].path != NULL && !cli->is_json;
}

static Status
send_step(
    Cli *cli, const char *session, const StepForm *form, const char *save_path, HttpClientResponse *ret_reply)
{
    static const char *const async_headers[] = {"Prefer: respond-async", NULL};
    static const char *const npy_headers[] = {"Accept: application/x-npy", NULL};
    int64_t timeout_ms = config_integer(cli->config, "timeout");
    const char *path = text_format(cli->call->arena, "/api/v1/sessions/%s/steps", session);
    if (path == NULL) {
        return call_fail_memory(cli->call, "a request");
    }
    ApiRequest request = {
        .method = "POST",
        .path = path,
        .body = buffer_slice(&form->json),
        .parts = form->part_count > 1 ? form->parts : NULL,
        .part_count = form->part_count,
        .headers = config_boolean(cli->config, "async") ? async_headers
                   : save_path != NULL                  ? npy_headers
                                                        : NULL,
        .save_path = save_path,
        .timeout_ms = (timeout_ms == 0 ? timeout_max_ms : (uint64_t)timeout_ms) + timeout_grace_ms,
        .label = "the step",
    };
    return api_send(cli, &request, ret_reply);
}

static Status
show_queued(Cli *cli, Slice json)
{
    AUTO_BUFFER text = {0};
    Step step;
    if (cli->is_json) {
        return screen_write_json(cli, json);
    }
    TRY(cli_step_read(cli->call, json, &step));
    screen_append(&text, step.id);
    buffer_append_byte(&text, '\n');
    return screen_write(cli, &text);
}

static Status
show_result(Cli *cli, const Fetch *fetches, size_t fetch_count, Slice json)
{
    AUTO_BUFFER text = {0};
    Step step;
    TRY(cli_step_read(cli->call, json, &step));
    Status status =
        fetches_deliver(cli->call, fetches, fetch_count, step.outputs, cli->is_json ? NULL : &text);
    if (status != STATUS_OK) {
        return status == STATUS_DATA_LOSS ? status : cli_fail(cli, EXIT_USAGE, status);
    }
    if (cli->is_json) {
        return screen_write_json(cli, json);
    }
    TRY(step_append_line(cli->call, &step, &text));
    return screen_write(cli, &text);
}

/* Shows a step whose reply went into a file; its id is the end of the Location. */
static Status
show_saved(Cli *cli, const Fetch *fetch, const HttpClientResponse *reply)
{
    AUTO_BUFFER text = {0};
    Slice location = http_client_header(reply, "Location");
    size_t slash = slice_find_last(location, '/');
    screen_append(&text, fetch->name);
    buffer_append_format(&text, " in %s\n", fetch->path);
    if (slash < location.size) {
        screen_append(&text, slice_part(location, slash + 1, location.size));
        buffer_append_string(&text, " succeeded\n");
    }
    return screen_write(cli, &text);
}

static Status
check_signature(Cli *cli, const Fetch *fetches, size_t fetch_count)
{
    for (size_t index = 0; index < fetch_count; index++) {
        if (fetches[index].path != NULL && config_boolean(cli->config, "async")) {
            return cli_usage(cli, "fetch '%.*s' has a file, which '--async' does not wait for",
                SLICE_PRINT(fetches[index].name));
        }
    }
    return STATUS_OK;
}

static Status
run_step(Cli *cli)
{
    Fetch *fetches = NULL;
    size_t fetch_count = 0;
    char session[ID_TEXT_SIZE];
    CLEANUP(form_done) StepForm form = {0};
    AUTO_REPLY reply = {0};
    TRY(fetches_parse(cli, &fetches, &fetch_count));
    TRY(check_signature(cli, fetches, fetch_count));
    Status status = write_body(cli, fetches, fetch_count, &form);
    if (status != STATUS_OK) {
        return cli_fail(cli, EXIT_USAGE, status);
    }
    bool is_saved = is_download(cli, fetches, fetch_count);
    TRY(session_resolve(cli, true, session));
    TRY(send_step(cli, session, &form, is_saved ? fetches[0].path : NULL, &reply));
    Slice json = buffer_slice(&reply.body);
    if (is_saved) {
        return show_saved(cli, &fetches[0], &reply);
    }
    return reply.status == HTTP_ACCEPTED ? show_queued(cli, json)
                                         : show_result(cli, fetches, fetch_count, json);
}

static const char *const settings[] = {
    "session", "graph", "feed", "fetch", "target", "timeout", "async", "trace", NULL};

COMMAND(run) = {
    .name = "run",
    .arguments = "",
    .summary = "run a step: feeds in, fetches out",
    .details = "feeds:\n"
               "  --feed 'x=[[1, 2]]'                  JSON, as the API takes it; a string is '\"text\"'\n"
               "  --feed x=@input.npy                  a NumPy file\n"
               "  --feed x=@input.json                 JSON in a file\n"
               "  --feed x=@input.bin:float32:1x2      elements as they lie in memory, dtype and shape\n"
               "  Files of 1 MiB and more are sent as they are, read on the way.\n"
               "fetches:\n"
               "  --fetch y                            to the screen\n"
               "  --fetch y=result.npy                 into a NumPy file\n",
    .settings = settings,
    .run = run_step,
};
