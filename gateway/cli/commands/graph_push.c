/* sluice graph push: sends a graph's file as it is, reading while it sends. */
#include <stdio.h>

#include "gateway/cli/api.h"
#include "gateway/cli/command.h"
#include "gateway/cli/graph.h"
#include "gateway/cli/pack.h"
#include "gateway/cli/screen.h"
#include "gateway/cli/session.h"
#include "shared/base/text.h"

typedef struct GraphFormat {
    const char *name;
    const char *media_type;
    const char *extensions[4]; /* NULL-terminated */
} GraphFormat;

static const GraphFormat formats[] = {
    {"json", "application/json", {".json"}},
    {"graphdef", "application/x-protobuf", {".pb", ".graphdef"}},
    {"onnx", "application/onnx", {".onnx"}},
    {"saved_model", "application/x-tar", {".tar"}},
};

static bool
has_extension(const GraphFormat *format, Slice path)
{
    for (const char *const *extension = format->extensions; *extension != NULL; extension++) {
        if (slice_ends_with(path, slice_from_string(*extension))) {
            return true;
        }
    }
    return false;
}

/* Returns the format of --format or of the file's name; NULL when neither says one. */
static const GraphFormat *
format_find(const Cli *cli, const char *path)
{
    const char *given = config_string(cli->config, "format");
    const char *name = given == NULL && path_is_directory(path) ? "saved_model" : given;
    for (size_t index = 0; index < COUNT_OF(formats); index++) {
        const GraphFormat *format = &formats[index];
        if (name == NULL ? has_extension(format, slice_from_string(path)) : strcmp(name, format->name) == 0) {
            return format;
        }
    }
    return NULL;
}

static Status
send_graph(
    Cli *cli, const char *session, const char *path, const char *media_type, HttpClientResponse *ret_reply)
{
    AUTO_PACKED_FILE packed = NULL;
    if (path_is_directory(path)) {
        TRY(pack_saved_model(cli->call, path, &packed));
    }
    const char *target = text_format(cli->call->arena, "/api/v1/sessions/%s/graphs", session);
    if (target == NULL) {
        return call_fail_memory(cli->call, "a request");
    }
    ApiRequest request = {
        .method = "POST",
        .path = target,
        .content_type = media_type,
        .body_path = packed == NULL ? path : packed,
        .label = path,
    };
    return api_send(cli, &request, ret_reply);
}

static Status
push_graph(Cli *cli)
{
    const char *path = cli_argument(cli, 0);
    const GraphFormat *format = format_find(cli, path);
    char session[ID_TEXT_SIZE];
    AUTO_REPLY reply = {0};
    if (format == NULL) {
        return cli_usage(cli,
            "the name '%s' does not tell the graph's format: add --format json|graphdef|onnx|saved_model",
            path);
    }
    TRY(session_resolve(cli, true, session));
    TRY(send_graph(cli, session, path, format->media_type, &reply));
    return graph_show(cli, buffer_slice(&reply.body));
}

static const char *const settings[] = {"session", "format", NULL};

COMMAND(graph_push) = {
    .name = "graph push",
    .arguments = "FILE",
    .summary = "send a graph and print what the gateway read",
    .details = "The name tells the format: .json (GraphDef as JSON), .pb or .graphdef (GraphDef or a\n"
               "SavedModel as protobuf), .onnx, .tar (a SavedModel's directory). A directory is a\n"
               "SavedModel, sent with its variables. The same bytes sent again are the same graph.\n",
    .settings = settings,
    .argument_min = 1,
    .argument_max = 1,
    .run = push_graph,
};
