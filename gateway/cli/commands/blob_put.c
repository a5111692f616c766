/* sluice blob put: uploads a file of any size, and prints the reference that stands for it. */
#include "gateway/cli/api.h"
#include "gateway/cli/blob.h"
#include "gateway/cli/command.h"
#include "gateway/cli/screen.h"
#include "shared/json/writer.h"

static Status
put_blob(Cli *cli)
{
    UploadedBlob blob;
    AUTO_BUFFER text = {0};
    char ref[SHA256_REF_SIZE];
    AUTO_CONTENT content = {.count = 0};
    const char *path = cli_argument(cli, 0);
    Status found = content_add_file(cli->call, &content, path);
    if (found != STATUS_OK) {
        return cli_fail(cli, EXIT_USAGE, found);
    }
    TRY(blob_upload(cli, &content, path, &blob));
    sha256_to_ref(&blob.digest, ref);
    if (cli->is_json) {
        JsonWriter writer = json_writer(&text);
        json_write_object_begin(&writer);
        json_member_string(&writer, "ref", ref);
        json_member_uint64(&writer, "size", blob.size);
        json_write_object_end(&writer);
        return screen_write_json(cli, buffer_slice(&text));
    }
    buffer_append_format(&text, "%s\n", ref);
    screen_append_bytes(&text, blob.size);
    buffer_append_string(&text, blob.was_there ? ", was there already\n" : "\n");
    return screen_write(cli, &text);
}

COMMAND(blob_put) = {
    .name = "blob put",
    .arguments = "FILE",
    .summary = "upload a file and print the reference that stands for it",
    .details =
        "An upload that was broken off goes on where it was when the command is given again; while it\n"
        "runs, lost connections and a busy gateway are waited for.\n",
    .argument_min = 1,
    .argument_max = 1,
    .run = put_blob,
};
