/* sluice graph push: sends a model as it lies on this machine. A small one is the request's body; of a large
 * one, and of one of several files, each file becomes a blob first, which a broken upload goes on with, and
 * the request names them. */
#include <stdio.h>

#include "gateway/cli/api.h"
#include "gateway/cli/blob.h"
#include "gateway/cli/command.h"
#include "gateway/cli/graph.h"
#include "gateway/cli/model.h"
#include "gateway/cli/screen.h"
#include "gateway/cli/session.h"
#include "shared/base/text.h"
#include "shared/json/writer.h"

enum {
    BODY_SIZE_MAX = 8 << 20,         /* of a model that is sent as a body */
    IMPORT_TIMEOUT_MS = 3600 * 1000, /* the gateway reads every byte of the files, and sends none meanwhile */
};

static Status
read_body(Call *call, void *context, uint64_t offset, char *room, size_t size, size_t *ret_count)
{
    return content_read(call, context, offset, room, size, ret_count);
}

static Status
send_body(Cli *cli, const char *target, const Model *model, HttpClientResponse *ret_reply)
{
    ModelFile *file = &model->files[0];
    HttpClientSource source = {.size = file->content.size, .read = read_body, .context = &file->content};
    ApiRequest request = {
        .method = "POST",
        .path = target,
        .content_type = model->format->media_type,
        .source = &source,
        .label = file->name,
    };
    return api_send(cli, &request, ret_reply);
}

static void
write_ref(JsonWriter *writer, const UploadedBlob *blob)
{
    char ref[SHA256_REF_SIZE];
    sha256_to_ref(&blob->digest, ref);
    json_write_object_begin(writer);
    json_member_string(writer, "ref", ref);
    json_write_object_end(writer);
}

static void
write_references(Buffer *body, const Model *model, const UploadedBlob *blobs)
{
    JsonWriter writer = json_writer(body);
    json_write_object_begin(&writer);
    json_write_name(&writer, "source");
    write_ref(&writer, &blobs[0]);
    json_member_string(&writer, "format", model->format->name);
    json_write_name(&writer, "files");
    json_write_object_begin(&writer);
    for (size_t index = 1; index < model->count; index++) {
        json_write_name(&writer, model->files[index].name);
        write_ref(&writer, &blobs[index]);
    }
    json_write_object_end(&writer);
    json_write_object_end(&writer);
}

static Status
send_references(Cli *cli, const char *target, const Model *model, const UploadedBlob *blobs,
    HttpClientResponse *ret_reply)
{
    AUTO_BUFFER body = {0};
    write_references(&body, model, blobs);
    if (!buffer_is_ok(&body)) {
        return call_fail_memory(cli->call, "a request");
    }
    ApiRequest request = {
        .method = "POST",
        .path = target,
        .body = buffer_slice(&body),
        .timeout_ms = IMPORT_TIMEOUT_MS,
        .label = text_format(cli->call->arena, "%s: the gateway reads it", model->files[0].name),
    };
    return api_send(cli, &request, ret_reply);
}

static Status
upload_files(Cli *cli, const Model *model, UploadedBlob *blobs)
{
    for (size_t index = 0; index < model->count; index++) {
        ModelFile *file = &model->files[index];
        TRY(blob_upload(cli, &file->content, file->name, &blobs[index]));
    }
    return STATUS_OK;
}

/* Says of each file what was sent. */
static Status
show_files(Cli *cli, const Model *model, const UploadedBlob *blobs)
{
    AUTO_BUFFER text = {0};
    for (size_t index = 0; index < model->count; index++) {
        buffer_append_string(&text, "  file ");
        screen_append(&text, slice_from_string(model->files[index].name));
        buffer_append_byte(&text, ' ');
        screen_append_bytes(&text, blobs[index].size);
        buffer_append_string(&text, blobs[index].was_there ? ", was there already\n" : "\n");
    }
    return cli->is_json ? STATUS_OK : screen_write(cli, &text);
}

static Status
push_files(Cli *cli, const char *target, const Model *model)
{
    AUTO_REPLY reply = {0};
    UploadedBlob *blobs = arena_alloc(cli->call->arena, model->count * sizeof *blobs);
    if (blobs == NULL) {
        return call_fail_memory(cli->call, "a list of files");
    }
    TRY(upload_files(cli, model, blobs));
    TRY(send_references(cli, target, model, blobs, &reply));
    TRY(graph_show(cli, buffer_slice(&reply.body)));
    return show_files(cli, model, blobs);
}

static Status
push_body(Cli *cli, const char *target, const Model *model)
{
    AUTO_REPLY reply = {0};
    TRY(send_body(cli, target, model, &reply));
    return graph_show(cli, buffer_slice(&reply.body));
}

static Status
push_graph(Cli *cli)
{
    char session[ID_TEXT_SIZE];
    AUTO_MODEL model = {.count = 0};
    TRY(model_open(cli, &model));
    TRY(session_resolve(cli, true, session));
    const char *target = text_format(cli->call->arena, "/api/v1/sessions/%s/graphs", session);
    if (target == NULL) {
        return call_fail_memory(cli->call, "a request");
    }
    bool is_small = model.size <= BODY_SIZE_MAX || model_is_text(&model);
    return model.count == 1 && is_small ? push_body(cli, target, &model) : push_files(cli, target, &model);
}

static const char *const settings[] = {"session", "format", NULL};

COMMAND(graph_push) = {
    .name = "graph push",
    .arguments = "FILE [FILE...]",
    .summary = "send a graph and print what the gateway read",
    .details =
        "The name tells the format: .json (GraphDef as JSON), .pb or .graphdef (GraphDef or a\n"
        "SavedModel as protobuf), .onnx, .tar (a SavedModel's directory, or an ONNX model with its\n"
        "files). A directory is a SavedModel, sent with its variables, or has one .onnx file. Files\n"
        "that an ONNX model keeps tensors in are found beside it; more FILEs are sent with the first.\n"
        "The same bytes sent again are the same graph, and files that are there are not sent again.\n"
        "When a large one is broken off, the same command goes on where it was.\n",
    .settings = settings,
    .argument_min = 1,
    .argument_max = 64,
    .run = push_graph,
};
