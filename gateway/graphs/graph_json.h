/* Graphs as the REST API shows them. */
#pragma once

#include "gateway/http/response.h"
#include "gateway/store/graphs.h"
#include "shared/json/writer.h"

/* Writes the graph as the whole body, with its ETag. */
void graph_write(Response *response, const StoredGraph *graph);
void graph_write_location(Response *response, const StoredGraph *graph);

/* Writes the graph as an item of a list. */
void graph_write_item(JsonWriter *writer, const StoredGraph *graph);
