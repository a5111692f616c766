/* Graphs (GraphDef JSON) that tests of steps run. */
#pragma once

/* The graph y = x·w + b; x [n,2]; w = [[1,2],[3,4]], b = [10,20]: x = [[1,2]] gives y = [[17,30]]. */
#define STEP_GRAPH_AFFINE                                                                                    \
    "{\"node\":["                                                                                            \
    "{\"name\":\"x\",\"op\":\"Placeholder\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"}}},"                  \
    "{\"name\":\"w\",\"op\":\"Const\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"},\"value\":{\"tensor\":"    \
    "{\"dtype\":\"DT_FLOAT\",\"tensorShape\":{\"dim\":[{\"size\":\"2\"},{\"size\":\"2\"}]},"                 \
    "\"floatVal\":[1,2,3,4]}}}},"                                                                            \
    "{\"name\":\"b\",\"op\":\"Const\",\"attr\":{\"dtype\":{\"type\":\"DT_FLOAT\"},\"value\":{\"tensor\":"    \
    "{\"dtype\":\"DT_FLOAT\",\"tensorShape\":{\"dim\":[{\"size\":\"2\"}]},\"floatVal\":[10,20]}}}},"         \
    "{\"name\":\"xw\",\"op\":\"MatMul\",\"input\":[\"x\",\"w\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}},"  \
    "{\"name\":\"y\",\"op\":\"Add\",\"input\":[\"xw\",\"b\"],\"attr\":{\"T\":{\"type\":\"DT_FLOAT\"}}}]}"

/* A step of STEP_GRAPH_AFFINE. */
#define STEP_BODY_AFFINE "{\"feeds\":{\"x\":[[1,2]]},\"fetches\":[\"y\"]}"
