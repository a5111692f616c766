"""As much of TensorFlow's binary GraphDef as a driver needs: the nodes, and the same graph with devices asked for."""

from dataclasses import dataclass, field

GRAPH_NODE = 1
NODE_NAME, NODE_OP, NODE_INPUT, NODE_DEVICE, NODE_ATTR = 1, 2, 3, 4, 5
ATTR_KEY, ATTR_VALUE = 1, 2
VALUE_LIST, VALUE_STRING, VALUE_TYPE = 1, 2, 6
LIST_STRING = 2
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
TYPE_RESOURCE = 20


class Malformed(Exception):
    """Bytes that are no GraphDef."""


@dataclass
class Node:
    name: str
    op: str = ""
    inputs: list = field(default_factory=list)
    types: dict = field(default_factory=dict)    # attribute → number of its DataType
    classes: list = field(default_factory=list)  # the names in "_class": ["loc:@name"]

    def sources(self):
        """The names of the nodes it reads or waits for, with the port; port −1 is a control input."""
        for text in self.inputs:
            if text.startswith("^"):
                yield text[1:], -1
            else:
                name, _, port = text.partition(":")
                yield name, int(port) if port.isdigit() else 0


def _varint(data, at):
    result = shift = 0
    while shift < 70:
        if at >= len(data):
            raise Malformed("the graph ends within a number")
        byte = data[at]
        at += 1
        result |= (byte & 127) << shift
        if byte < 128:
            return result, at
        shift += 7
    raise Malformed("a number of the graph is too long")


def _fields(data):
    """(field number, value, bytes of the whole field) of a message."""
    at = 0
    while at < len(data):
        begin = at
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == VARINT:
            value, at = _varint(data, at)
        else:
            if kind == BYTES:
                size, at = _varint(data, at)
            else:
                size = {FIXED64: 8, FIXED32: 4}.get(kind, -1)
            if size < 0 or at + size > len(data):
                raise Malformed("a field of the graph is cut off")
            value = data[at:at + size]
            at += size
        yield tag >> 3, value, data[begin:at]


def _first(data, number, default):
    return next((value for found, value, _ in _fields(data) if found == number), default)


def _read_attr(node, data):
    key = _first(data, ATTR_KEY, b"").decode()
    value = _first(data, ATTR_VALUE, b"")
    if key == "_class":
        texts = [text.decode() for number, text, _ in _fields(_first(value, VALUE_LIST, b"")) if number == LIST_STRING]
        node.classes += [text.removeprefix("loc:@") for text in texts if text.startswith("loc:@")]
    kind = _first(value, VALUE_TYPE, None)
    if kind is not None:
        node.types[key] = kind


def _read_node(data):
    node = Node("")
    for number, value, _ in _fields(data):
        if number == NODE_NAME:
            node.name = value.decode()
        elif number == NODE_OP:
            node.op = value.decode()
        elif number == NODE_INPUT:
            node.inputs.append(value.decode())
        elif number == NODE_ATTR:
            _read_attr(node, value)
    return node


def read_nodes(data):
    """The graph's nodes by name, in its order."""
    try:
        nodes = [_read_node(value) for number, value, _ in _fields(data) if number == GRAPH_NODE]
    except (UnicodeDecodeError, TypeError, AttributeError) as error:
        raise Malformed(f"the graph cannot be read: {error}") from None
    if not nodes:
        raise Malformed("the graph has no nodes")
    return {node.name: node for node in nodes}


def _encode_varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _encode(number, data):
    return _encode_varint(number << 3 | BYTES) + _encode_varint(len(data)) + data


def with_devices(data, devices):
    """The same graph, its nodes asking for `devices` (by name) or for nothing."""
    out = bytearray()
    for number, value, whole in _fields(data):
        if number != GRAPH_NODE:
            out += whole
            continue
        node = b"".join(part for found, _, part in _fields(value) if found != NODE_DEVICE)
        device = devices.get(_first(value, NODE_NAME, b"").decode())
        out += _encode(GRAPH_NODE, node + (_encode(NODE_DEVICE, device.encode()) if device else b""))
    return bytes(out)


class _Groups:
    """Union-find over names."""

    def __init__(self):
        self._parents = {}

    def root(self, name):
        while self._parents.setdefault(name, name) != name:
            name = self._parents[name]
        return name

    def unite(self, left, right):
        self._parents[self.root(left)] = self.root(right)


SOURCES = {"Const", "Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "NoOp"}
# Ops that make something which lives where they run; what reads it through output 0 is there as well.
MAKERS = {"VarHandleOp", "Variable", "VariableV2", "TemporaryVariable", "TensorArray", "TensorArrayV2", "TensorArrayV3",
          "Stack", "StackV2", "HashTable", "HashTableV2", "MutableHashTable", "MutableHashTableV2", "FIFOQueueV2"}
VARIABLES = {"Variable", "VariableV2", "TemporaryVariable"}
PASSED_ON = {"Identity", "Enter", "Exit", "Switch", "Merge", "NextIteration", "RefIdentity", "RefEnter", "RefExit",
             "RefSwitch", "RefMerge", "RefNextIteration"}

MERGES = {"Merge", "RefMerge"}
ROUND = {"Enter", "RefEnter", "NextIteration", "RefNextIteration"}


def _changes_reference(node):
    return node.op.startswith(("Assign", "Scatter", "Apply", "SparseApply", "CountUpTo", "Ref", "IsVariableInit",
                               "DestroyTemporaryVariable"))


def topological_order(nodes):
    """Names so that each comes after what it reads; a NextIteration's edge back is left out, and so is what a broken
    graph names but lacks."""
    waits = {name: 0 for name in nodes}
    readers = {name: [] for name in nodes}
    for node in nodes.values():
        for source, _ in node.sources():
            if source in nodes and nodes[source].op not in ("NextIteration", "RefNextIteration"):
                waits[node.name] += 1
                readers[source].append(node.name)
    order = [name for name in nodes if waits[name] == 0]
    for name in order:
        for reader in readers[name]:
            waits[reader] -= 1
            if waits[reader] == 0:
                order.append(reader)
    return order


def _join_handles(nodes, order, groups):
    handles = {}  # node whose output 0 is a handle → whether it is a reference to a variable
    for name in order:
        node = nodes[name]
        if node.op in MAKERS:
            handles[name] = node.op in VARIABLES
        for source, port in node.sources():
            if port != 0 or source not in handles:
                continue
            is_reference = handles[source]
            groups.unite(name, source)
            if _changes_reference(node) if is_reference else node.op in PASSED_ON:
                handles[name] = is_reference


def _join_loops(nodes, groups):
    """What goes round a loop without a value in every iteration cannot be cut: Enter → Merge and NextIteration → Merge."""
    for node in nodes.values():
        for source, _ in node.sources():
            if node.op in MERGES and source in nodes and nodes[source].op in ROUND:
                groups.unite(node.name, source)


def spread(nodes, tasks):
    """Devices for compute nodes that alternate between the tasks in topological order. Nodes that belong together
    (colocation classes, whoever reads a handle, the ends of a loop's variable) take one turn."""
    order = topological_order(nodes)
    groups = _Groups()
    for node in nodes.values():
        for name in node.classes:
            groups.unite(node.name, name)
    _join_handles(nodes, order, groups)
    _join_loops(nodes, groups)
    turns = {}
    devices = {}
    for name in order:
        if nodes[name].op not in SOURCES:
            task = turns.setdefault(groups.root(name), len(turns) % tasks)
            devices[name] = f"/job:worker/task:{task}"
    return devices


def ancestors(nodes, names):
    """The names of all that these nodes need, themselves included."""
    found = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in nodes and name not in found:
            found.add(name)
            waiting.extend(source for source, _ in nodes[name].sources())
    return found
