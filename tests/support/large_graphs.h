/* Large graphs as JSON, for what must grow no faster than the graph. In each of them "x" is to be fed and "y"
 * to be fetched. */
#pragma once

#include "shared/base/buffer.h"

/* Writes a graph of `count` Adds. Each reads the one before it and an older one, so that many edges cross
 * between slots. */
void large_graph_layers(Buffer *json, unsigned count);

/* Writes a chain of `count` nodes with attributes of bytes: the colocation of each eight of them, a list of
 * `list_size` strings, and 300 bytes. */
void large_graph_attributes(Buffer *json, unsigned count, unsigned list_size);

/* Writes a While of `count` variables: the first counts the turns to 3, each other one becomes its sum with
 * the one before it. "x" is the first value of these, "y" the sum of what they are in the end. */
void large_graph_while(Buffer *json, unsigned count);

/* Writes a function of `count` arguments and outputs that calls another such function by its name and negates
 * what that gives. "y" is the sum of its outputs. */
void large_graph_call(Buffer *json, unsigned count);
