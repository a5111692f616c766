/* Graphs with functions written down in a test (graph_literals.h), expanded. */
#pragma once

#include "shared/base/call.h"
#include "shared/graph/graph.h"

/* The nodes of the expanded graph as text; it also has to link. */
const char *expand_text(Call *call, const char *text);

/* Linked; the caller's reference. */
Graph *expand_literal(Call *call, const char *text);

void expect_expand_fails(Call *call, const char *text, Status status, const char *message);
