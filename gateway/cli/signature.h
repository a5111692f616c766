/* What a step is apart from its tensors, as --feed, --fetch and --target say: which tensors are fed, which
 * fetched, which nodes run.
 *
 * Errors: INVALID_ARGUMENT names the feed or the fetch. */
#pragma once

#include "gateway/cli/fetch.h"
#include "shared/json/writer.h"

/* Members of an open object: "targets" when there are any. */
void signature_write_targets(const Cli *cli, JsonWriter *writer);
void signature_write_fetches(const Fetch *fetches, size_t count, JsonWriter *writer);

/* … and all of them, "feeds" as descriptions. Of a feed its name counts, and its dtype when that is all that
 * is said, NAME=DTYPE; what `sluice run` takes will do, and no file is read. */
MUST_USE Status signature_write(Cli *cli, JsonWriter *writer);
