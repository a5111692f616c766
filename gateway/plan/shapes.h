/* Questions about shapes that later stages ask (shapes.c). */
#pragma once

#include "gateway/plan/compile.h"

/* Returns the shape that the endpoint's placeholder allows; unknown for the output of any other node. */
Shape feed_declared_shape(const Graph *graph, Endpoint endpoint);

/* Fills the attribute that tells the receiver of an output how its dimensions follow from the size that feeds
 * leave open: a list of scale and offset for each dimension, whose items are NULL without memory. Returns
 * false when the shape is known, or when no rule was found. */
bool growth_attr(const Compile *compile, Endpoint endpoint, Attr *ret_attr);
