"""Graphs for test drivers, written as GraphDef JSON.

    graph = GraphBuilder()
    x = graph.placeholder("x", "float32", [2, 3])
    y = graph.add("MatMul", x, graph.constant("float32", [3, 1], [1, 2, 3]), T=Type("float32"))
    client.graph(session, graph.document())

An endpoint is a text, "node" or "node:port"; a control input "^node". Names count on from the op's own.
"""

import base64
import struct

DTYPES = {"float32": ("DT_FLOAT", "f"), "float64": ("DT_DOUBLE", "d"), "int32": ("DT_INT32", "i"),
          "int64": ("DT_INT64", "q"), "bool": ("DT_BOOL", "?"), "uint8": ("DT_UINT8", "B"),
          "resource": ("DT_RESOURCE", None), "string": ("DT_STRING", None), "variant": ("DT_VARIANT", None)}


class Type(str):
    """An attribute's value that is a dtype, by our name."""


class Shape(list):
    """An attribute's value that is a shape."""


class Function(str):
    """An attribute's value that is a function of the graph's library."""


def tensor(dtype, shape, values):
    """TensorProto as JSON; `values` are as many as the shape asks for, or one for all."""
    name, code = DTYPES[dtype]
    data = struct.pack(f"<{len(values)}{code}", *values)
    return {"dtype": name, "tensorShape": _shape(shape), "tensorContent": base64.b64encode(data).decode()}


def _shape(sizes):
    return {"dim": [{"size": str(size)} for size in sizes]}


def _item(value):
    """(field of AttrValue, its JSON) of one value."""
    if isinstance(value, Type):
        return "type", DTYPES[value][0]
    if isinstance(value, Shape):
        return "shape", _shape(value)
    if isinstance(value, Function):
        return "func", {"name": value}
    if isinstance(value, bool):
        return "b", value
    if isinstance(value, int):
        return "i", str(value)
    if isinstance(value, float):
        return "f", value
    if isinstance(value, str):
        return "s", base64.b64encode(value.encode()).decode()
    return "tensor", value


def _attr(value):
    if isinstance(value, list) and not isinstance(value, Shape):
        items = [_item(item) for item in value]
        return {"list": {items[0][0]: [item for _, item in items]} if items else {}}
    kind, item = _item(value)
    return {kind: item}


# What outputs are called in a function's body; a list of tensors is one output.
OUTPUTS = {
    **{op: ["z"] for op in ("Add", "AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference", "RealDiv", "Less",
                            "Greater", "LessEqual", "GreaterEqual", "FloorDiv")},
    **{op: ["y"] for op in ("Neg", "Abs", "Tanh", "Sigmoid", "Floor", "Sin", "Square", "Exp", "Sign", "Transpose", "Cast")},
    **{op: ["activations"] for op in ("Relu", "Softplus")},
    **{op: ["value"] for op in ("ReadVariableOp", "TensorArrayGatherV3", "TensorArrayReadV3")},
    "Cumsum": ["out"], "MatMul": ["product"], "Merge": ["output", "value_index"], "Softmax": ["softmax"],
    "Switch": ["output_false", "output_true"], "TensorArrayV3": ["handle", "flow"], "TensorArrayWriteV3": ["flow_out"],
    "VarHandleOp": ["resource"],
}


def body_form(body, outputs):
    """Turns "node:port" into "node:output:index" in a body's nodes; the outputs in the same form."""
    ops = {node["name"]: node["op"] for node in body.nodes}

    def turned(source):
        name, _, port = source.partition(":")
        if name in body.arguments:
            return source
        names = OUTPUTS.get(ops[name], ["output"])
        return f"{name}:{names[int(port or 0)]}:0" if len(names) > 1 else f"{name}:{names[0]}:{int(port or 0)}"

    for node in body.nodes:
        node["input"] = [source if source.startswith("^") else turned(source) for source in node["input"]]
    return [turned(source) for source in outputs]


class GraphBuilder:
    """`arguments`: the names that the nodes of a function's body may read beside each other."""

    def __init__(self, arguments=()):
        self.nodes = []
        self.functions = []
        self.arguments = list(arguments)
        self._used = set(arguments)

    def _name(self, wanted):
        name, count = wanted, 0
        while name in self._used:
            count += 1
            name = f"{wanted}_{count}"
        self._used.add(name)
        return name

    def add(self, op, *inputs, name=None, device="", control=(), **attrs):
        """Adds a node; the name of its output 0."""
        controls = (f"^{source.partition(':')[0]}" for source in control)
        node = {"name": self._name(name or op.rpartition("::")[2]), "op": op, "input": [*inputs, *controls],
                "attr": {key: _attr(value) for key, value in attrs.items()}}
        if device:
            node["device"] = device
        self.nodes.append(node)
        return node["name"]

    def constant(self, dtype, shape, values, name="Const", control=()):
        return self.add("Const", name=name, control=control, dtype=Type(dtype), value=tensor(dtype, shape, values))

    def placeholder(self, name, dtype, shape):
        return self.add("Placeholder", name=name, dtype=Type(dtype), shape=Shape(shape))

    def add_input(self, name, source):
        """One more input of a node that stands already: the edge back of a loop."""
        next(node for node in self.nodes if node["name"] == name)["input"].append(source)

    def add_function(self, name, inputs, outputs, body, effects=()):
        """A function: `inputs` and `outputs` as (name, dtype), with a reference into the body ("node:out:0") behind the
        outputs'; `body` is a GraphBuilder; `effects` are nodes of it that must run."""
        self.functions.append({
            "signature": {"name": name,
                          "inputArg": [{"name": each, "type": DTYPES[dtype][0]} for each, dtype in inputs],
                          "outputArg": [{"name": each, "type": DTYPES[dtype][0]} for each, dtype, _ in outputs],
                          "controlOutput": list(effects)},
            "nodeDef": body.nodes,
            "ret": {each: source for each, _, source in outputs},
            "controlRet": {each: each for each in effects}})
        return Function(name)

    def document(self):
        library = {"library": {"function": self.functions}} if self.functions else {}
        return {"node": self.nodes, "versions": {"producer": 134}, **library}
