#!/usr/bin/env python3
"""A convolutional network for 8 × 8 images of digits, with its training: forward, gradients and update as one graph,
because the server never differentiates. As a program it writes the graph as GraphDef JSON.

    digits_network.py [--optimizer momentum|adam] [--variables reference|resource] [--seed N] >graph.json

Feeds     x [N,8,8,1] float32, labels [N] int32; for the update, rate [] float32
Fetches   loss, accuracy (of the batch, before the update)
Targets   init (once), train (the update)
"""

import argparse
import json
import math
import random

from graph_builder import GraphBuilder, Shape, Type

FLOAT, INT, RESOURCE = Type("float32"), Type("int32"), Type("resource")
CLASSES = 10
CONVOLUTION = {"strides": [1, 1, 1, 1], "padding": "SAME"}
POOLING = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
MOMENTUM = 0.9
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-7


class ReferenceVariables:
    """Variables of TensorFlow 1: an op's first input is the variable itself."""

    def __init__(self, graph):
        self._graph = graph

    def variable(self, name, shape):
        return self._graph.add("VariableV2", name=name, dtype=FLOAT, shape=Shape(shape), container="", shared_name="")

    def assign(self, variable, value):
        return self._graph.add("Assign", variable, value, name=f"{variable}/set", T=FLOAT)

    def read(self, variable):
        return self._graph.add("Identity", variable, name=f"{variable}/read", T=FLOAT)

    def apply(self, op, variables, *inputs, control=(), **attrs):
        return self._graph.add(op, *variables, *inputs, name=f"{variables[0]}/train", control=control, T=FLOAT, **attrs)


class ResourceVariables:
    """Variables by handle."""

    def __init__(self, graph):
        self._graph = graph

    def variable(self, name, shape):
        return self._graph.add("VarHandleOp", name=name, dtype=FLOAT, shape=Shape(shape), container="", shared_name=name)

    def assign(self, variable, value):
        return self._graph.add("AssignVariableOp", variable, value, name=f"{variable}/set", dtype=FLOAT)

    def read(self, variable):
        return self._graph.add("ReadVariableOp", variable, name=f"{variable}/read", dtype=FLOAT)

    def apply(self, op, variables, *inputs, control=(), **attrs):
        return self._graph.add(f"Resource{op}", *variables, *inputs, name=f"{variables[0]}/train", control=control,
                               T=FLOAT, **attrs)


VARIABLES = {"reference": ReferenceVariables, "resource": ResourceVariables}


class DigitsNetwork:
    def __init__(self, optimizer="momentum", variables="resource", seed=1):
        self.graph = GraphBuilder()
        self._variables = VARIABLES[variables](self.graph)
        self._random = random.Random(seed)
        self._set = []       # what `init` waits for
        self._weights = []   # (variable, its shape, its gradient), the last layer's first
        self._build()
        updates = {"momentum": self._momentum, "adam": self._adam}[optimizer]()
        self.graph.add("NoOp", name="train", control=updates)
        self.graph.add("NoOp", name="init", control=self._set)

    # --- Small parts ----------------------------------------------------------------------------------------

    def _float(self, value):
        return self.graph.constant("float32", [], [value])

    def _ints(self, values):
        return self.graph.constant("int32", [len(values)], values)

    def _new(self, name, shape, values):
        """A variable and the node that sets it first."""
        variable = self._variables.variable(name, shape)
        value = self.graph.constant("float32", shape, values, name=f"{name}/first")
        self._set.append(self._variables.assign(variable, value))
        return variable

    def _weight(self, name, shape, fan_in):
        """He's uniform initialisation."""
        bound = math.sqrt(6 / fan_in)
        values = [self._random.uniform(-bound, bound) for _ in range(math.prod(shape))]
        return self._new(name, shape, values)

    def _bias(self, name, size):
        return self._new(name, [size], [0.0] * size)

    def _gradient(self, variable, shape, gradient):
        self._weights.append((variable, shape, gradient))

    # --- Layers: forward now, backward by the function that is given back ------------------------------------

    def _convolution(self, name, x, inputs, outputs):
        add = self.graph.add
        shape = [3, 3, inputs, outputs]
        weight, bias = self._weight(f"{name}/weight", shape, 9 * inputs), self._bias(f"{name}/bias", outputs)
        kernel = self._variables.read(weight)
        sums = add("Conv2D", x, kernel, name=name, T=FLOAT, **CONVOLUTION)
        sums = add("BiasAdd", sums, self._variables.read(bias), T=FLOAT)
        active = add("Relu", sums, T=FLOAT)

        def backward(gradient, needs_input):
            gradient = add("ReluGrad", gradient, active, T=FLOAT)
            self._gradient(bias, [outputs], add("BiasAddGrad", gradient, T=FLOAT))
            self._gradient(weight, shape, add("Conv2DBackpropFilter", x, self._ints(shape), gradient, T=FLOAT,
                                              **CONVOLUTION))
            if not needs_input:
                return None
            size = add("Shape", x, T=FLOAT, out_type=INT)
            return add("Conv2DBackpropInput", size, kernel, gradient, T=FLOAT, **CONVOLUTION)

        return active, backward

    def _pool(self, x):
        add = self.graph.add
        pooled = add("MaxPool", x, T=FLOAT, **POOLING)

        def backward(gradient, _):
            return add("MaxPoolGrad", x, pooled, gradient, T=FLOAT, **POOLING)

        return pooled, backward

    def _flatten(self, x, count):
        add = self.graph.add
        flat = add("Reshape", x, self._ints([-1, count]), T=FLOAT, Tshape=INT)

        def backward(gradient, _):
            return add("Reshape", gradient, add("Shape", x, T=FLOAT, out_type=INT), T=FLOAT, Tshape=INT)

        return flat, backward

    def _dense(self, name, x, inputs, outputs, is_active):
        add = self.graph.add
        shape = [inputs, outputs]
        weight, bias = self._weight(f"{name}/weight", shape, inputs), self._bias(f"{name}/bias", outputs)
        matrix = self._variables.read(weight)
        sums = add("MatMul", x, matrix, name=name, T=FLOAT, transpose_a=False, transpose_b=False)
        sums = add("BiasAdd", sums, self._variables.read(bias), T=FLOAT)
        active = add("Relu", sums, T=FLOAT) if is_active else sums

        def backward(gradient, _):
            gradient = add("ReluGrad", gradient, active, T=FLOAT) if is_active else gradient
            self._gradient(bias, [outputs], add("BiasAddGrad", gradient, T=FLOAT))
            self._gradient(weight, shape, add("MatMul", x, gradient, T=FLOAT, transpose_a=True, transpose_b=False))
            return add("MatMul", gradient, matrix, T=FLOAT, transpose_a=False, transpose_b=True)

        return active, backward

    def _loss(self, logits, labels):
        """The gradient of the mean of the batch's cross entropies."""
        add = self.graph.add
        entropy = add("SparseSoftmaxCrossEntropyWithLogits", logits, labels, T=FLOAT, Tlabels=INT)
        add("Mean", entropy, self._ints([0]), name="loss", T=FLOAT, Tidx=INT, keep_dims=False)
        chosen = add("ArgMax", logits, self.graph.constant("int32", [], [1]), T=FLOAT, Tidx=INT, output_type=INT)
        hits = add("Cast", add("Equal", chosen, labels, T=INT), SrcT=Type("bool"), DstT=FLOAT)
        add("Mean", hits, self._ints([0]), name="accuracy", T=FLOAT, Tidx=INT, keep_dims=False)
        count = add("Cast", add("Size", labels, T=INT, out_type=INT), SrcT=INT, DstT=FLOAT)
        return add("RealDiv", f"{entropy}:1", count, T=FLOAT)

    def _build(self):
        x = self.graph.placeholder("x", "float32", [-1, 8, 8, 1])
        labels = self.graph.placeholder("labels", "int32", [-1])
        self._rate = self.graph.placeholder("rate", "float32", [])
        layers = []
        for make in (lambda x: self._convolution("conv1", x, 1, 16), lambda x: self._convolution("conv2", x, 16, 32),
                     self._pool, lambda x: self._flatten(x, 512), lambda x: self._dense("dense1", x, 512, 64, True),
                     lambda x: self._dense("dense2", x, 64, CLASSES, False)):
            x, backward = make(x)
            layers.append(backward)
        gradient = self._loss(x, labels)
        for backward in reversed(layers):
            gradient = backward(gradient, backward is not layers[0])

    # --- Updates --------------------------------------------------------------------------------------------

    def _momentum(self):
        momentum = self._float(MOMENTUM)
        return [self._variables.apply("ApplyMomentum", [variable, self._zeros(variable, shape, "momentum")], self._rate,
                                      gradient, momentum, use_locking=False, use_nesterov=False)
                for variable, shape, gradient in self._weights]

    def _zeros(self, variable, shape, what):
        return self._new(f"{variable}/{what}", shape, [0.0] * math.prod(shape))

    def _adam(self):
        epsilon = self._float(EPSILON)
        betas = [self._float(BETA1), self._float(BETA2)]
        powers = [self._new("beta1_power", [], [BETA1]), self._new("beta2_power", [], [BETA2])]
        reads = [self._variables.read(power) for power in powers]
        updates = [self._variables.apply(
            "ApplyAdam", [variable, self._zeros(variable, shape, "mean"), self._zeros(variable, shape, "square")], *reads,
            self._rate, *betas, epsilon, gradient, use_locking=False, use_nesterov=False)
            for variable, shape, gradient in self._weights]
        for power, read, beta in zip(powers, reads, betas):
            following = self.graph.add("Mul", read, beta, T=FLOAT, control=updates)
            updates.append(self._variables.assign(power, following))
        return updates


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--optimizer", choices=["momentum", "adam"], default="momentum")
    parser.add_argument("--variables", choices=sorted(VARIABLES), default="resource")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    network = DigitsNetwork(options.optimizer, options.variables, options.seed)
    print(json.dumps(network.graph.document()))


if __name__ == "__main__":
    main()
