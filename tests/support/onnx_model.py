#!/usr/bin/env python3
"""Writes ONNX models of any size, whose weights lie in the model or in a file beside it, with the standard library only.

    python3 tests/support/onnx_model.py FOLDER --gib 4

makes FOLDER/model.onnx and FOLDER/model.onnx.data: a chain of matrix products whose answers are known. Nearly all weights are
zero, so that the large file is sparse and made at once; with --dense they are noise."""

import argparse
import array
import itertools
import os
import random
import struct

FLOAT, INT64 = 1, 7
ATTRIBUTE_FLOAT, ATTRIBUTE_INT, ATTRIBUTE_INTS = 1, 2, 7
EXTERNAL = 1
ALIGNMENT = 4096  # "offset SHOULD be a multiple of 4096", so that files can be mapped


def _varint(value):
    text = bytearray()
    value %= 1 << 64  # as int64s less than zero are written
    while value >= 0x80:
        text.append(value & 0x7F | 0x80)
        value >>= 7
    text.append(value)
    return bytes(text)


def number(field, value):
    return _varint(field << 3) + _varint(value)


def text(field, value):
    data = value if isinstance(value, (bytes, bytearray)) else value.encode()
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _entry(key, value):
    return text(13, text(1, key) + text(2, str(value)))


def tensor(name, dims, raw, dtype=FLOAT):
    """An initializer that holds its data."""
    return b"".join(number(1, dim) for dim in dims) + number(2, dtype) + text(8, name) + text(9, raw)


def external_tensor(name, dims, location, offset, length, dtype=FLOAT):
    """An initializer whose data lies in another file."""
    head = b"".join(number(1, dim) for dim in dims) + number(2, dtype) + text(8, name)
    return head + _entry("location", location) + _entry("offset", offset) + _entry("length", length) + number(14, EXTERNAL)


def named_tensor(name, dims, location, dtype=FLOAT):
    """An initializer that is the tensor of its name in a .safetensors file."""
    head = b"".join(number(1, dim) for dim in dims) + number(2, dtype) + text(8, name)
    return head + _entry("location", location) + number(14, EXTERNAL)


def _attribute(name, value):
    """A whole number, a list of such, or a number with a point."""
    if isinstance(value, list):
        return text(1, name) + b"".join(number(8, item) for item in value) + number(20, ATTRIBUTE_INTS)
    if isinstance(value, float):
        return text(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, ATTRIBUTE_FLOAT)
    return text(1, name) + number(3, value) + number(20, ATTRIBUTE_INT)


def node(kind, inputs, outputs, **attributes):
    ports = b"".join(text(1, name) for name in inputs) + b"".join(text(2, name) for name in outputs)
    return ports + text(4, kind) + b"".join(text(5, _attribute(*one)) for one in attributes.items())


def value(name, dims, dtype=FLOAT):
    """A ValueInfoProto; a dimension of -1 is open, and with None for `dims` all is."""
    shape = b"" if dims is None else text(2, b"".join(text(1, b"" if dim < 0 else number(1, dim)) for dim in dims))
    return text(1, name) + text(2, text(1, number(1, dtype) + shape))


def model(nodes, initializers, inputs, outputs, opset=17):
    graph = b"".join(text(1, item) for item in nodes) + text(2, "g")
    graph += b"".join(text(5, item) for item in initializers)
    graph += b"".join(text(11, item) for item in inputs) + b"".join(text(12, item) for item in outputs)
    return number(1, 8) + text(7, graph) + text(8, number(2, opset))


def _read_varint(data, at):
    value = shift = 0
    while data[at] >= 0x80:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
    return value | data[at] << shift, at + 1


def fields(data):
    """(number, wire type, value) of each field of a message; a message or a text is bytes, as is a number of fixed width."""
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        kind = key & 7
        if kind == 0:
            item, at = _read_varint(data, at)
        else:
            size, at = _read_varint(data, at) if kind == 2 else ({1: 8, 5: 4}[kind], at)
            item, at = data[at:at + size], at + size
        yield key >> 3, kind, item


def edit(data, path, change):
    """The message with `change` made to each field that is found at this path, of field numbers."""
    edited = bytearray()
    for field, kind, item in fields(data):
        if field == path[0]:
            item = change(item) if len(path) == 1 else edit(item, path[1:], change)
        edited += _varint(field << 3 | kind)
        if kind == 0:
            edited += _varint(item)
        else:
            edited += (_varint(len(item)) if kind == 2 else b"") + item
    return bytes(edited)


def floats(values):
    return array.array("f", values).tobytes()


KEPT = 4  # numbers of a vector that a layer passes on; all else in its matrix is zero, so that files are sparse
NOISE_SIZE = 1 << 16


class Chain:
    """A chain of `layers` products of a vector of `width` numbers with a matrix, and a bias behind each.

    `dense`: where a matrix would be zero it has noise, which no store can compress, and which meets only zeros: the first KEPT
    numbers of the vector that is fed may differ from zero, and of the biases too."""

    def __init__(self, layers, width, dense=False):
        self.layers, self.width, self.dense = layers, width, dense

    @classmethod
    def of_size(cls, size, width, dense=False):
        return cls(max(1, round(size / (4 * width**2))), width, dense)

    @property
    def size(self):
        """The bytes of all matrices."""
        return self.layers * self.width * self.width * 4

    def _elements(self, layer):
        """The elements of a layer's matrix that are not zero, by position. All layers' matrices differ."""
        places = {index * self.width + index: 2 if layer == 0 else 1 for index in range(KEPT)}
        places[1] = layer + 1
        return places

    def _rows(self, layer):
        """The bytes of a layer's matrix, some rows at a time."""
        elements = array.array("f", bytes(4 * self.width * KEPT))
        for place, element in self._elements(layer).items():
            elements[place] = element
        yield elements.tobytes()
        left = 4 * self.width * (self.width - KEPT)
        noise = random.Random(layer)
        filling = floats(noise.random() for _ in range(NOISE_SIZE)) if self.dense else bytes(4 * NOISE_SIZE)
        while left > 0:
            yield filling[:left]
            left -= len(filling)

    def matrix(self, layer):
        return b"".join(self._rows(layer))

    def _biases(self, layer):
        return [layer / 8] * KEPT + [0 if self.dense else layer / 8] * (self.width - KEPT)

    def bias(self, layer):
        return floats(self._biases(layer))

    def feed(self):
        """A vector whose answer is known."""
        passed = KEPT if self.dense else self.width
        return [float(index % 7) - 2.5 for index in range(passed)] + [0.0] * (self.width - passed)

    def expected(self, x):
        """The answer for a vector."""
        y = list(x)
        for layer in range(self.layers):
            passed = [number * (2 if layer == 0 else 1) for number in y[:KEPT]]
            passed[1] += y[0] * (layer + 1)
            y = [number + bias for number, bias in zip(passed + [0] * (self.width - KEPT), self._biases(layer))]
        return y

    def graph(self, weights, inputs=()):
        """The model; `weights` makes an initializer of each layer's matrix, or is None: the matrices are inputs."""
        nodes, inits, last = [], [], "x"
        for layer in range(self.layers):
            inits += [weights(layer)] if weights else []
            inits.append(tensor(f"b{layer}", [self.width], self.bias(layer)))
            nodes.append(node("MatMul", [last, f"w{layer}"], [f"m{layer}"]))
            nodes.append(node("Add", [f"m{layer}", f"b{layer}"], [f"y{layer}"]))
            last = f"y{layer}"
        nodes.append(node("Identity", [last], ["y"]))
        return model(nodes, inits, [value("x", [1, self.width]), *inputs], [value("y", [1, self.width])])

    def whole(self):
        """The model with all its weights, as bytes."""
        shape = [self.width, self.width]
        return self.graph(lambda layer: tensor(f"w{layer}", shape, self.matrix(layer)))

    def parted(self, location):
        """The model without its weights, and where each lies in the other file."""
        size = self.width * self.width * 4
        step = -(-size // ALIGNMENT) * ALIGNMENT
        shape = [self.width, self.width]
        offsets = [layer * step for layer in range(self.layers)]
        return self.graph(lambda layer: external_tensor(f"w{layer}", shape, location, offsets[layer], size)), offsets

    def write(self, folder, name="model.onnx"):
        """Writes both files, the large one sparse unless it is dense; returns their paths."""
        document, offsets = self.parted(f"{name}.data")
        path, data_path = os.path.join(folder, name), os.path.join(folder, f"{name}.data")
        with open(path, "wb") as file:
            file.write(document)
        with open(data_path, "wb") as file:
            for layer, offset in enumerate(offsets):
                file.seek(offset)
                rows = self._rows(layer)
                file.writelines(rows if self.dense else itertools.islice(rows, 1))
            file.truncate(offsets[-1] + self.width * self.width * 4)
        return path, data_path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--gib", type=float, default=1)
    parser.add_argument("--dense", action="store_true", help="full of noise, instead of mostly zero")
    parser.add_argument("--width", type=int, default=8192, help="of each layer: a weight has 4 * width * width bytes")
    arguments = parser.parse_args()
    os.makedirs(arguments.folder, exist_ok=True)
    chain = Chain.of_size(int(arguments.gib * 2**30), arguments.width, arguments.dense)
    for path in chain.write(arguments.folder):
        print(path, os.path.getsize(path))


if __name__ == "__main__":
    main()
