"""The blocks of tests/bench/networks_bench.c as ONNX models: the same operations with the same weights, channels first."""

import numpy

import onnx_writer


def _repeated(numbers, shape):
    return numpy.resize(numpy.array(numbers, numpy.float32), shape)


class Block:
    """Nodes one behind the other, and their constants."""

    def __init__(self, name, shape):
        self.name = name
        self.shape = shape
        self._nodes = []
        self._constants = {}

    def model(self):
        return onnx_writer.tensor_model(self._nodes, self.shape, self._constants)

    def number(self, name, value):
        self._constants[name] = numpy.array(value, numpy.float32)

    def _weights(self, name, shape):
        return _repeated([0.02, -0.03, 0.01], shape)

    def add(self, op, inputs, output, **attributes):
        self._nodes.append(onnx_writer.node(op, inputs, [output], **attributes))

    def convolve(self, source, name, size, inputs, outputs):
        filters = self._weights(name, (size, size, inputs, outputs))
        self._constants[f"{name}_w"] = numpy.ascontiguousarray(filters.transpose(3, 2, 0, 1))
        self.add("Conv", [source, f"{name}_w"], name, kernel_shape=[size, size], pads=[size // 2] * 4)

    def convolve_each(self, source, name, size, channels):
        filters = self._weights(name, (size, size, channels, 1))
        self._constants[f"{name}_w"] = numpy.ascontiguousarray(filters.transpose(2, 3, 0, 1))
        self.add("Conv", [source, f"{name}_w"], name, kernel_shape=[size, size], pads=[size // 2] * 4, group=channels)

    def normalise(self, source, name, channels):
        """With an epsilon of 0.001: the op's own, 0.00001, and the rest in the variance."""
        self._constants[f"{name}_s"] = self._weights(name, (channels,))
        self._constants[f"{name}_v"] = _repeated([1.5, 0.5], (channels,)) + numpy.float32(0.00099)
        self.add("BatchNormalization", [source, *[f"{name}_s"] * 3, f"{name}_v"], name)

    def multiply(self, source, name, rows, columns):
        self._constants[f"{name}_w"] = self._weights(name, (rows, columns))
        self._constants[f"{name}_b"] = self._weights(name, (columns,))
        self.add("MatMul", [source, f"{name}_w"], f"{name}_m")
        self.add("Add", [f"{name}_m", f"{name}_b"], name)


def _residual():
    block = Block("ResNet-50 block 56x56x256", (1, 256, 56, 56))
    source = "x"
    for name, size, inputs, outputs in (("a", 1, 256, 64), ("b", 3, 64, 64)):
        block.convolve(source, name, size, inputs, outputs)
        block.normalise(name, f"{name}n", outputs)
        block.add("Relu", [f"{name}n"], f"{name}r")
        source = f"{name}r"
    block.convolve(source, "c", 1, 64, 256)
    block.normalise("c", "cn", 256)
    block.add("Add", ["cn", "x"], "d")
    block.add("Relu", ["d"], "r")
    return block


def _inverted():
    block = Block("MobileNetV2 block 56x56x24", (1, 24, 56, 56))
    block.number("zero", 0)
    block.number("six", 6)
    block.convolve("x", "a", 1, 24, 144)
    block.normalise("a", "an", 144)
    block.add("Clip", ["an", "zero", "six"], "ar")
    block.convolve_each("ar", "b", 3, 144)
    block.normalise("b", "bn", 144)
    block.add("Clip", ["bn", "zero", "six"], "br")
    block.convolve("br", "c", 1, 144, 24)
    block.normalise("c", "cn", 24)
    block.add("Add", ["cn", "x"], "r")
    return block


def _feed_forward():
    block = Block("BERT-base feed-forward 128x768", (128, 768))
    for name, value in (("root", 1.41421356), ("one", 1), ("half", 0.5)):
        block.number(name, value)
    block.multiply("x", "a", 768, 3072)
    block.add("Div", ["a", "root"], "q")
    block.add("Erf", ["q"], "e")
    block.add("Add", ["e", "one"], "s")
    block.add("Mul", ["a", "half"], "h")
    block.add("Mul", ["h", "s"], "g")
    block.multiply("g", "b", 3072, 768)
    block.add("Add", ["b", "x"], "r")
    return block


def blocks():
    return [_residual(), _inverted(), _feed_forward()]
