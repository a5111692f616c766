/* Where an image has its channels: behind the batch, or as the last dimension. TensorFlow's ops say it by
 * their attribute data_format; ONNX's have channels first. A worker may turn a node around
 * (Node.is_channels_last, worker/runtime/partition/layout.c); attributes that list one number a dimension
 * stay as they were written. Threads: any. */
#pragma once

#include "shared/graph/graph.h"

/* Returns whether the node's author has the channels first. */
static inline bool
layout_is_written_channels_first(const Node *node)
{
    const AttrValue *format = node_attr(node, "data_format");
    return format != NULL && slice_starts_with(format->value.s, SLICE("NC"));
}

/* Returns whether the channels of a node with the attribute data_format are first. */
static inline bool
layout_is_channels_first(const Node *node)
{
    return layout_is_written_channels_first(node) && !node->is_channels_last;
}

/* Returns the dimension of the channels, of a node with the attribute data_format. */
static inline int
layout_channel(const Node *node, int rank)
{
    return layout_is_channels_first(node) ? 1 : rank - 1;
}

/* Returns the dimension of the channels, of a node of ONNX. */
static inline int
layout_onnx_channel(const Node *node, int rank)
{
    return node->is_channels_last ? rank - 1 : 1;
}

/* Returns the first dimension behind the batch that is none of channels. */
static inline int
layout_space(int channel)
{
    return channel == 1 ? 2 : 1;
}
