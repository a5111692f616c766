/* Nodes of GraphDef JSON, for graphs written down in tests. */
#pragma once

#define T_FLOAT "\"T\":{\"type\":\"DT_FLOAT\"}"
#define NODE(name, op, input, attr)                                                                          \
    "{\"name\":\"" name "\",\"op\":\"" op "\",\"input\":[" input "],\"attr\":{" attr "}}"
#define SCALAR(name, value)                                                                                  \
    NODE(name, "Const", "",                                                                                  \
        "\"dtype\":{\"type\":\"DT_FLOAT\"},\"value\":{\"tensor\":{\"dtype\":\"DT_FLOAT\",\"tensorShape\":{}" \
        ",\"floatVal\":[" value "]}}")
#define PLACEHOLDER(name) NODE(name, "Placeholder", "", "\"dtype\":{\"type\":\"DT_FLOAT\"}")
