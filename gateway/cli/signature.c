#include "gateway/cli/signature.h"

#include "shared/tensor/dtype.h"

void
signature_write_targets(const Cli *cli, JsonWriter *writer)
{
    const Slice *targets = NULL;
    size_t count = config_list(cli->config, "target", &targets);
    if (count > 0) {
        json_write_name(writer, "targets");
        json_write_array_begin(writer);
        for (size_t index = 0; index < count; index++) {
            json_write_slice(writer, targets[index]);
        }
        json_write_array_end(writer);
    }
}

void
signature_write_fetches(const Fetch *fetches, size_t count, JsonWriter *writer)
{
    json_write_name(writer, "fetches");
    json_write_array_begin(writer);
    for (size_t index = 0; index < count; index++) {
        json_write_slice(writer, fetches[index].name);
    }
    json_write_array_end(writer);
}

static Status
describe_feed(Cli *cli, Slice feed, JsonWriter *writer)
{
    size_t equals = slice_find(feed, '=');
    Slice dtype = slice_part(feed, equals + 1, feed.size);
    if (equals == 0) {
        return cli_usage(cli, "'%.*s' is no feed: expected NAME or NAME=DTYPE", SLICE_PRINT(feed));
    }
    json_write_name_slice(writer, slice_part(feed, 0, equals));
    json_write_object_begin(writer);
    if (dtype_from_name(dtype) != DTYPE_INVALID) {
        json_member_slice(writer, "dtype", dtype);
    }
    json_write_object_end(writer);
    return STATUS_OK;
}

Status
signature_write(Cli *cli, JsonWriter *writer)
{
    const Slice *feeds = NULL;
    size_t feed_count = config_list(cli->config, "feed", &feeds);
    Fetch *fetches = NULL;
    size_t fetch_count = 0;
    TRY(fetches_parse(cli, &fetches, &fetch_count));
    json_write_name(writer, "feeds");
    json_write_object_begin(writer);
    for (size_t index = 0; index < feed_count; index++) {
        TRY(describe_feed(cli, feeds[index], writer));
    }
    json_write_object_end(writer);
    signature_write_fetches(fetches, fetch_count, writer);
    signature_write_targets(cli, writer);
    return STATUS_OK;
}
