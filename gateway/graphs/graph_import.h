/* Import of graphs: bytes that a user sent become a validated graph, whatever the format.
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

/* Finds the format by the query parameter `format` ("json", "graphdef", "onnx", "saved_model"), or without
 * one by media type. */
GraphFormat graph_format_find(Slice media_type, Slice format);
const char *graph_format_media_type(GraphFormat format);

/* Imports a graph from one source, which is kept as long as the graph lives. */
MUST_USE Status graph_import(
    Call *call, GraphFormat format, TensorBuffer *source, uint64_t node_count_max, Graph **ret_graph);

typedef struct GraphSource {
    GraphFormat format;
    TensorBuffer *bytes;
} GraphSource;

/* Imports a graph that was extended: each part from its own source. */
MUST_USE Status graph_import_parts(
    Call *call, const GraphSource *sources, size_t count, uint64_t node_count_max, Graph **ret_graph);

/* Imports a source and adds it to a graph that exists. */
MUST_USE Status graph_extend(
    Call *call, const Graph *base, const GraphSource *added, uint64_t node_count_max, Graph **ret_graph);

/* Writes the summary that getGraph shows: "nodes", "ops", "inputs", "outputs", "functions", "warnings". */
void graph_write_summary(Buffer *buffer, const Graph *graph);
