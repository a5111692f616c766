/* From the bytes a user sent to a validated graph, whatever the format.
 *
 * Errors: INVALID_ARGUMENT with up to 20 details; OUT_OF_RANGE above the limit of nodes. */
#pragma once

#include "shared/graph/graph.h"

typedef enum GraphFormat {
    GRAPH_FORMAT_UNKNOWN,
    GRAPH_FORMAT_JSON,        /* application/json: GraphDef */
    GRAPH_FORMAT_GRAPHDEF,    /* application/x-protobuf: GraphDef or SavedModel */
    GRAPH_FORMAT_ONNX,        /* application/onnx */
    GRAPH_FORMAT_SAVED_MODEL, /* application/x-tar: a SavedModel's directory */
} GraphFormat;

/* By media type, or by the query parameter `format` ("json", "graphdef", "onnx", "saved_model") when there is
 * one. */
GraphFormat graph_format_find(Slice media_type, Slice format);
const char *graph_format_media_type(GraphFormat format);

/* `source` is kept as long as the graph lives. */
MUST_USE Status graph_import(
    Call *call, GraphFormat format, TensorBuffer *source, uint64_t node_count_max, Graph **ret_graph);

typedef struct GraphSource {
    GraphFormat format;
    TensorBuffer *bytes;
} GraphSource;

/* A graph with what was added to it later, each part in its own bytes. */
MUST_USE Status graph_import_parts(
    Call *call, const GraphSource *sources, size_t count, uint64_t node_count_max, Graph **ret_graph);

/* The same, of a graph that is there already and what is added now. */
MUST_USE Status graph_extend(
    Call *call, const Graph *base, const GraphSource *added, uint64_t node_count_max, Graph **ret_graph);

/* What GET …/graphs/{graph} tells about it: "nodes", "ops", "inputs", "outputs", "functions", "warnings". */
void graph_write_summary(Buffer *buffer, const Graph *graph);
