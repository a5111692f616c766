#include "tests/support/expand_literals.h"

#include "gateway/expand/expand.h"
#include "shared/ops/registry.h"
#include "tests/support/cmocka_all.h"
#include "tests/support/graph_literals.h"

enum { NODES_MAX = 1000 };

Graph *
expand_literal(Call *call, const char *text)
{
    AUTO_GRAPH_DEF def = graph_literal(text);
    AUTO_GRAPH_DEF expanded = NULL;
    Graph *graph = NULL;
    assert_non_null(def);
    assert_status(call, STATUS_OK, graph_expand(call, def, NODES_MAX, &expanded));
    assert_status(call, STATUS_OK, graph_link(call, expanded, op_find, (GraphLimits){0}, &graph));
    return graph;
}

const char *
expand_text(Call *call, const char *text)
{
    AUTO_GRAPH graph = expand_literal(call, text);
    return graph_literal_text(call->arena, graph->def);
}

void
expect_expand_fails(Call *call, const char *text, Status status, const char *message)
{
    AUTO_GRAPH_DEF def = graph_literal(text);
    GraphDef *expanded = NULL;
    assert_non_null(def);
    assert_status(call, status, graph_expand(call, def, NODES_MAX, &expanded));
    assert_null(expanded);
    assert_string_equal(call->error.message, message);
}
