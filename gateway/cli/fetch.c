#include "gateway/cli/fetch.h"

#include "gateway/cli/local_file.h"
#include "gateway/cli/reply.h"
#include "gateway/cli/screen.h"
#include "gateway/cli/tensor_text.h"
#include "shared/base/text.h"
#include "shared/tensor/npy.h"
#include "shared/tensor/tensor_json.h"

static const size_t fetch_size_max = (size_t)4 << 30;

Status
fetch_parse(Call *call, Slice text, Fetch *ret_fetch)
{
    const size_t equals = slice_find(text, '=');
    const Slice path = slice_part(text, equals + 1, text.size);
    Fetch fetch = {.name = slice_part(text, 0, equals)};
    if (fetch.name.size == 0 || (equals < text.size && !slice_ends_with(path, SLICE(".npy")))) {
        return call_fail(call, STATUS_INVALID_ARGUMENT, "'%.*s' is no fetch: expected NAME or NAME=FILE.npy",
            SLICE_PRINT(text));
    }
    if (equals < text.size) {
        fetch.path = text_copy(call->arena, path);
        if (fetch.path == NULL) {
            return call_fail_memory(call, "a fetch");
        }
    }
    *ret_fetch = fetch;
    return STATUS_OK;
}

static Status
tensor_save(Call *call, const char *path, const Tensor *tensor)
{
    AUTO_BUFFER header = {0};
    TRY(npy_write_header(call, tensor, &header));
    if (!buffer_is_ok(&header)) {
        return call_fail_memory(call, "a .npy file");
    }
    AUTO_LOCAL_FILE file = {0};
    TRY(local_file_begin(call, path, &file));
    TRY(local_file_append(call, &file, buffer_slice(&header)));
    TRY(local_file_append(call, &file, slice_of(tensor->data, tensor_byte_size(tensor))));
    return local_file_keep(call, &file);
}

Status
fetch_save(Call *call, const Fetch *fetch, Slice json)
{
    JsonScanner scanner;
    AUTO_TENSOR tensor = {0};
    Slice ref = {0};
    json_scan_begin(&scanner, json, JSON_DEPTH_MAX);
    const TensorJsonOptions options = {.byte_size_max = fetch_size_max};
    Status status = tensor_json_read(call, &scanner, options, &tensor, &ref);
    if (status == STATUS_OK) {
        status = tensor_save(call, fetch->path, &tensor);
    }
    return status == STATUS_OK ? STATUS_OK : call_wrap(call, "fetch '%.*s'", SLICE_PRINT(fetch->name));
}

Status
fetch_append(Call *call, const Fetch *fetch, Slice tensor, Buffer *text)
{
    screen_append(text, fetch->name);
    buffer_append_string(text, ": ");
    TRY(tensor_text_append_type(call, tensor, text));
    if (fetch->path != NULL) {
        buffer_append_format(text, " in %s\n", fetch->path);
        return STATUS_OK;
    }
    buffer_append_byte(text, '\n');
    return tensor_text_append(call, tensor, text);
}

static Status
deliver(Call *call, const Fetch *fetch, Slice outputs, Buffer *text)
{
    const char *const name = text_copy(call->arena, fetch->name);
    Slice tensor = {0};
    if (name == NULL) {
        return call_fail_memory(call, "a fetch");
    }
    const JsonMember member = {.name = name, .type = JSON_TEXT};
    TRY(reply_read(call, outputs, &member, 1, &tensor));
    if (tensor.size == 0) {
        return call_fail(call, STATUS_DATA_LOSS, "the gateway's answer lacks the fetch '%s'", name);
    }
    if (fetch->path != NULL) {
        TRY(fetch_save(call, fetch, tensor));
    }
    return text == NULL ? STATUS_OK : fetch_append(call, fetch, tensor, text);
}

Status
fetches_deliver(Call *call, const Fetch *fetches, size_t count, Slice outputs, Buffer *text)
{
    for (size_t index = 0; index < count; index++) {
        TRY(deliver(call, &fetches[index], outputs, text));
    }
    return STATUS_OK;
}

Status
fetches_parse(Cli *cli, Fetch **ret_fetches, size_t *ret_count)
{
    const Slice *texts = NULL;
    const size_t count = config_list(cli->config, "fetch", &texts);
    Fetch *const fetches = arena_alloc(cli->call->arena, (count + 1) * sizeof *fetches);
    if (fetches == NULL) {
        return call_fail_memory(cli->call, "the fetches");
    }
    for (size_t index = 0; index < count; index++) {
        const Status status = fetch_parse(cli->call, texts[index], &fetches[index]);
        if (status != STATUS_OK) {
            return cli_fail(cli, EXIT_USAGE, status);
        }
    }
    *ret_fetches = fetches;
    *ret_count = count;
    return STATUS_OK;
}
