/* Writes a step's signature as --feed, --fetch and --target give it: which tensors are fed, which fetched,
 * which nodes run.
 *
 * Errors: INVALID_ARGUMENT names the feed or the fetch. */
#pragma once

#include "gateway/cli/fetch.h"
#include "shared/json/writer.h"

/* Write members of an open object; "targets" only when there are any. */
void signature_write_targets(const Cli *cli, JsonWriter *writer);
void signature_write_fetches(const Fetch *fetches, size_t count, JsonWriter *writer);

/* Writes all members, "feeds" as descriptions. A feed gives its name, and a dtype when it is NAME=DTYPE;
 * values as for `sluice run` are allowed, and no file is read. */
MUST_USE Status signature_write(Cli *cli, JsonWriter *writer);
