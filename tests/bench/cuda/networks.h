/* The graphs that the bench measures, as graph literals (graph_literals.h) with weights that are drawn. A
 * network reads its input from a session's variable, so that a step sends nothing: its graph "set" assigns
 * the variables, "run" computes r.
 *
 * Ownership: the caller's, to be done with network_done(). */
#pragma once

#include "shared/base/buffer.h"

typedef struct Network {
    Buffer set;
    Buffer run;
} Network;

/* Sizes of a network: real ones, or so small that a CPU plays a card. */
typedef struct NetworkSize {
    const char *dtype; /* "float32", "bfloat16" */
    int batch;
    bool is_tiny;
} NetworkSize;

/* Convolutions of 224 x 224 images, NCHW, as exporters to ONNX write them. */
Network network_resnet50(const NetworkSize *size);

/* The encoder of texts of 128 words. */
Network network_bert(const NetworkSize *size);

/* A step of training of four wide layers by plain gradient descent, float32. */
Network network_training(const NetworkSize *size);

void network_done(Network *network);

/* Appends `name`, a variable of this dtype and these dimensions ("8,8"), to the graph that assigns it numbers
 * from -scale to scale. */
void network_set_variable(
    Network *network, const char *name, const char *dtype, const char *dims, double scale);

/* Appends `name`, the variable's value. */
void network_read_variable(Network *network, const char *name, const char *dtype);
