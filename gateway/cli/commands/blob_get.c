/* sluice blob get: fetches a blob into a file, and checks its digest. */
#include "gateway/cli/api.h"
#include "gateway/cli/blob.h"
#include "gateway/cli/command.h"
#include "shared/base/text.h"

static Status
get_blob(Cli *cli)
{
    Sha256 digest;
    char hex[SHA256_HEX_SIZE];
    AUTO_REPLY reply = {0};
    TRY(blob_digest_parse(cli, cli_argument(cli, 0), &digest));
    sha256_to_hex(&digest, hex);
    ApiRequest request = {
        .path = text_format(cli->call->arena, "/api/v1/blobs/%s", hex),
        .save_path = cli_argument(cli, 1),
        .digest = &digest,
        .label = cli_argument(cli, 1),
    };
    return request.path == NULL ? call_fail_memory(cli->call, "a request") : api_send(cli, &request, &reply);
}

COMMAND(blob_get) = {
    .name = "blob get",
    .arguments = "REF FILE",
    .summary = "fetch a blob (sha256:…) into a file, which appears when all of it is there",
    .argument_min = 2,
    .argument_max = 2,
    .run = get_blob,
};
