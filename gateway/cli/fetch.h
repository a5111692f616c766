/* Reads values of --fetch, NAME or NAME=FILE.npy, and delivers fetched tensors to files and to the screen.
 *
 * Ownership: texts live in call->arena or in the text that was parsed.
 * Errors:    INVALID_ARGUMENT names the fetch. */
#pragma once

#include "gateway/cli/command.h"

typedef struct Fetch {
    Slice name;
    const char *path; /* NULL: the screen */
} Fetch;

MUST_USE Status fetch_parse(Call *call, Slice text, Fetch *ret_fetch);

/* Writes the tensor, which is the API's JSON, into the fetch's file. */
MUST_USE Status fetch_save(Call *call, const Fetch *fetch, Slice tensor);

/* Appends "y: float32 [1,2]" and the elements, or the name of the file that has them. */
MUST_USE Status fetch_append(Call *call, const Fetch *fetch, Slice tensor, Buffer *text);

/* Delivers those members of `outputs`, the step's JSON object, that were fetched, in this order: into
 * their files and, when `text` is not NULL, appended to it. */
MUST_USE Status fetches_deliver(Call *call, const Fetch *fetches, size_t count, Slice outputs, Buffer *text);

/* Reads all values of --fetch. */
MUST_USE Status fetches_parse(Cli *cli, Fetch **ret_fetches, size_t *ret_count);

/* Appends a tensor, {"dtype", "shape", "data"} as the API has it, for a reader: nested as its shape says, a
 * row a line, and of a large one the edges. DATA_LOSS when the elements do not fill the shape. */
MUST_USE Status fetch_append_elements(Call *call, Slice tensor, Buffer *text);

/* Appends "float32 [1,2]". */
MUST_USE Status fetch_append_type(Call *call, Slice tensor, Buffer *text);
