"""ONNX models as bytes, without the package onnx: as much of the format as the bench's graphs need. Field numbers are
those of onnx.proto."""

import struct

FLOAT, INT32, INT64, BOOL = 1, 6, 7, 9
IR_VERSION = 8
OPSET = 17
ATTRIBUTE_INT, ATTRIBUTE_GRAPH, ATTRIBUTE_INTS = 2, 5, 7


def _varint(value):
    data = bytearray()
    while value >= 0x80:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)


def _field(number, value):
    """A whole number, a text or the bytes of a message."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _fields(number, values):
    return b"".join(_field(number, value) for value in values)


def _attribute(name, value):
    """A whole number or a list of such."""
    if isinstance(value, int):
        return _field(1, name) + _field(3, value) + _field(20, ATTRIBUTE_INT)
    return _field(1, name) + _fields(8, value) + _field(20, ATTRIBUTE_INTS)


def node(op, inputs, outputs, body=None, **attributes):
    """`body`: the bytes of the graph that the op runs."""
    data = _fields(1, inputs) + _fields(2, outputs) + _field(4, op)
    data += _fields(5, (_attribute(*one) for one in attributes.items()))
    if body is not None:
        data += _field(5, _field(1, "body") + _field(6, body) + _field(20, ATTRIBUTE_GRAPH))
    return data


def _port(name, dtype, shape=()):
    dimensions = _fields(1, (_field(1, size) for size in shape))
    return _field(1, name) + _field(2, _field(1, _field(1, dtype) + _field(2, dimensions)))


def _constant(name, dtype, data, shape=()):
    return _fields(1, shape) + _field(2, dtype) + _field(8, name) + _field(9, data)


def _graph(nodes, inputs, outputs, constants=()):
    """`inputs` and `outputs`: name, dtype and, but for scalars, shape."""
    return (_fields(1, nodes) + _field(2, "bench") + _fields(5, constants)
            + _fields(11, (_port(*one) for one in inputs)) + _fields(12, (_port(*one) for one in outputs)))


def _model(graph):
    return _field(1, IR_VERSION) + _field(7, graph) + _field(8, _field(1, "") + _field(2, OPSET))


def model(nodes, fetch):
    return _model(_graph(nodes, [("x", FLOAT)], [(fetch, FLOAT)]))


def tensor_model(nodes, shape, constants):
    """From x to r, both of this shape; `constants`: float32 arrays by name."""
    arrays = [_constant(name, FLOAT, array.tobytes(), array.shape) for name, array in constants.items()]
    return _model(_graph(nodes, [("x", FLOAT, shape)], [("r", FLOAT, shape)], arrays))


def loop_model(turns):
    """i = 0, v = x; while i < turns: i = i + 1, v = v + x; the test stands at the end of a turn."""
    body = _graph([node("Add", ["i", "one"], ["i_new"]), node("Add", ["v", "x"], ["v_new"]),
                   node("Less", ["i_new", "limit"], ["goes_on"])],
                  [("turn", INT64), ("went_on", BOOL), ("i", INT32), ("v", FLOAT)],
                  [("goes_on", BOOL), ("i_new", INT32), ("v_new", FLOAT)])
    constants = [_constant(name, INT32, struct.pack("<i", value))
                 for name, value in (("zero", 0), ("one", 1), ("limit", turns))]
    constants.append(_constant("true", BOOL, b"\1"))
    loop = node("Loop", ["", "true", "zero", "x"], ["i_last", "out"], body)
    return _model(_graph([loop], [("x", FLOAT)], [("out", FLOAT)], constants))
