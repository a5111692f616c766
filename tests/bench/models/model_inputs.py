"""What a model is fed: inputs of the shapes that it declares, or that inputs.json beside it names; and how outputs are compared.

inputs.json: {"yolo.onnx": {"images": [1, 3, 640, 640]}, "bert.onnx": {"input_ids": {"shape": [1, 128], "below": 30522}},
"vad.onnx": {"sr": {"value": 16000}}}. A dimension that neither tells is 1. Floats are drawn from a normal distribution, integers
are below `below` (2), unless all elements have a `value`. INPUTS names another file, for a folder that cannot be written to."""

import json
import math
import os

import numpy

# Sums in another order: relative to the largest number of an output.
TOLERANCE = 1e-3


class Unsupported(Exception):
    """A model that cannot be fed, with the reason."""


def read_given(folder):
    path = os.environ.get("INPUTS") or os.path.join(folder, "inputs.json")
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def make_inputs(declared, given):
    """Arrays by name, for declared inputs: (name, NumPy's type or None, shape) each."""
    generator = numpy.random.default_rng(1)
    return {name: _make_input(name, dtype, shape, given.get(name), generator) for name, dtype, shape in declared}


def _make_input(name, dtype, declared, given, generator):
    if dtype is None:
        raise Unsupported(f"the input '{name}' has no numbers")
    given = {"shape": given} if isinstance(given, list) else given or {}
    shape = given.get("shape") or [size if isinstance(size, int) and size > 0 else 1 for size in declared]
    if "value" in given:
        return numpy.full(shape, given["value"], dtype)
    if numpy.issubdtype(dtype, numpy.floating):
        return generator.standard_normal(shape).astype(dtype)
    return generator.integers(0, given.get("below", 2), shape).astype(dtype)


def differences(ours, theirs):
    """The largest distance between two outputs, relative to the largest number."""
    worst = 0.0
    for mine, other in zip(ours, theirs):
        if mine.shape != other.shape:
            return math.inf
        if other.size and numpy.issubdtype(other.dtype, numpy.number):
            scale = max(1e-6, float(numpy.nanmax(numpy.abs(other.astype(numpy.float64)))))
            worst = max(worst, float(numpy.nanmax(numpy.abs(mine.astype(numpy.float64) - other.astype(numpy.float64)))) / scale)
    return worst
