/* Expanded graphs, from functions written down in a test (graph_literals.h). */
#pragma once

#include "shared/base/call.h"
#include "shared/graph/graph.h"

/* Returns the nodes of the expanded graph as text; the test fails when the graph does not link. */
const char *expand_text(Call *call, const char *text);

/* Returns the expanded graph, linked; the caller owns a reference. */
Graph *expand_literal(Call *call, const char *text);

void expect_expand_fails(Call *call, const char *text, Status status, const char *message);
