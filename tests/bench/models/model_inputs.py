"""What a model is fed: inputs of the shapes that it declares, or that inputs.json beside it names.

inputs.json: {"yolo.onnx": {"images": [1, 3, 640, 640]}, "bert.onnx": {"input_ids": {"shape": [1, 128], "below": 30522}},
"vad.onnx": {"sr": {"value": 16000}}}. A dimension that neither tells is 1. Floats are drawn from a normal distribution, integers
are below `below` (2), unless all elements have a `value`. INPUTS names another file, for a folder that cannot be written to."""

import json
import os

import numpy

DTYPES = {
    "tensor(float)": numpy.float32, "tensor(double)": numpy.float64, "tensor(float16)": numpy.float16,
    "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32, "tensor(uint8)": numpy.uint8, "tensor(int8)": numpy.int8,
    "tensor(bool)": numpy.bool_,
}


class Unsupported(Exception):
    """A model that cannot be fed, with the reason."""


def read_given(folder):
    path = os.environ.get("INPUTS") or os.path.join(folder, "inputs.json")
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def make_inputs(declared, given):
    """Arrays by name, for ONNX Runtime's declared inputs."""
    generator = numpy.random.default_rng(1)
    return {node.name: _make_input(node, given.get(node.name), generator) for node in declared}


def _make_input(node, given, generator):
    if node.type not in DTYPES:
        raise Unsupported(f"the input '{node.name}' is {node.type}")
    given = {"shape": given} if isinstance(given, list) else given or {}
    shape = given.get("shape") or [size if isinstance(size, int) and size > 0 else 1 for size in node.shape]
    dtype = DTYPES[node.type]
    if "value" in given:
        return numpy.full(shape, given["value"], dtype)
    if numpy.issubdtype(dtype, numpy.floating):
        return generator.standard_normal(shape).astype(dtype)
    return generator.integers(0, given.get("below", 2), shape).astype(dtype)
