#include "gateway/graphs/graph_forget.h"

#include "gateway/app/gateway.h"

void
graph_forget(const Gateway *gateway, const GraphName *graph)
{
    char text[ID_TEXT_SIZE];
    id_to_text("grf", graph->id.value, text);
    graph_cache_drop(gateway->graphs, graph->tenant, graph->session);
    graph_cache_drop_graph(gateway->graphs, graph->tenant, graph->session, graph->id);
    plan_cache_forget_graph(gateway->plans, slice_from_string(text));
}
