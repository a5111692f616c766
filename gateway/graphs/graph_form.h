/* Models of several files as one body of multipart/form-data: each part is a file, named by its path in the
 * model's folder. The parts are read as they pass by, for where they lie in the body; the body itself is kept
 * as a whole, and the files are ranges of it, as those of an archive are.
 *
 * Ownership: lives in the arena of the call that began it.
 * Threads:   one at a time.
 * Errors:    INVALID_ARGUMENT for a body that is no form, and for names that stand there twice; OUT_OF_RANGE
 *            above GRAPH_FILES_MAX parts. */
#pragma once

#include "gateway/graphs/graph_files.h"
#include "gateway/http/request.h"

typedef struct GraphForm GraphForm;

/* Begins a form if the request's body is one; *ret_form is NULL else. Reads the request's headers. */
MUST_USE Status graph_form_begin(Call *call, const Request *request, GraphForm **ret_form);
MUST_USE Status graph_form_take(Call *call, GraphForm *form, Slice bytes);

/* Returns the files of a body that has ended. */
MUST_USE Status graph_form_end(Call *call, const GraphForm *form, GraphFileParts *ret_parts);
