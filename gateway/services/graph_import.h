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

/* What GET …/graphs/{graph} tells about it: "nodes", "ops", "inputs", "outputs", "functions", "warnings". */
void graph_write_summary(Buffer *buffer, const Graph *graph);
