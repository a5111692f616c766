"""The graphs that are measured. All take the scalar x and give one scalar, a sum of whole numbers that float32 holds,
so that each system's answer can be checked to the bit. Each graph is there as GraphDef JSON (for Sluice and TensorFlow,
the same document), as a partition for Sluice's bare executor, and as an ONNX model of the same operations."""

import copy

import onnx_writer
from graph_builder import GraphBuilder, Type

NODES = 1000  # of the chain and the wide graph
PASSES_OFF = ["elementwise_fusion"]  # the nodes are counted
WIDE_BASE = 44  # nodes of the wide graph that the others are made of
TURNS = 1000  # of the loop
FLOAT = Type("float32")
INT = Type("int32")


class Case:
    """`units`: what one run is divided by, `unit_name`: what such a part is called; each is at least one run of a node.
    `value`: of the fetch when x is 1."""

    def __init__(self, name, builder, fetch, onnx, units, unit_name, value):
        self.name = name
        self.document = builder.document()
        self.fetch = fetch
        self.onnx = onnx
        self.units = units
        self.unit_name = unit_name
        self.value = value

    def partition(self):
        """The document as a worker gets it: feeds and fetches are nodes. Each node runs for itself."""
        document = copy.deepcopy(self.document)
        document["passesOff"] = PASSES_OFF
        x = next(node for node in document["node"] if node["name"] == "x")
        x["op"] = "_Arg"
        x["attr"] = {"T": {"type": "DT_FLOAT"}, "index": {"i": "0"}}
        document["node"].append({"name": "out", "op": "_Retval", "input": [self.fetch],
                                 "attr": {"T": {"type": "DT_FLOAT"}, "index": {"i": "0"}}})
        return document


def null_step():
    graph = GraphBuilder()
    x = graph.placeholder("x", "float32", [])
    y = graph.add("Add", x, x, name="y", T=FLOAT)
    onnx = onnx_writer.model([onnx_writer.node("Add", ["x", "x"], ["y"])], "y")
    return Case("null step", graph, y, onnx, 1, "run", 2)


def chain_name(index):
    """The node of the chain whose value is index + 1 times x."""
    return f"n{index}" if index else "x"


def chain():
    graph = GraphBuilder()
    x = graph.placeholder("x", "float32", [])
    for index in range(1, NODES + 1):
        graph.add("Add", chain_name(index - 1), x, name=chain_name(index), T=FLOAT)
    nodes = [onnx_writer.node("Add", [chain_name(index - 1), "x"], [chain_name(index)])
             for index in range(1, NODES + 1)]
    fetch = chain_name(NODES)
    return Case(f"chain of {NODES} Adds", graph, fetch, onnx_writer.model(nodes, fetch), NODES, "node", NODES + 1)


def wide():
    """A short chain, then one Add over each pair of its nodes, and one sum. No two Adds are equal: Sluice's gateway
    makes one node of equal ones, and then there would be nothing to count."""
    graph = GraphBuilder()
    x = graph.placeholder("x", "float32", [])
    inputs = [(chain_name(index - 1), x) for index in range(1, WIDE_BASE + 1)]
    pairs = [(left, right) for right in range(1, WIDE_BASE + 1) for left in range(1, right + 1)]
    pairs = pairs[:NODES - WIDE_BASE]
    inputs += [(chain_name(left), chain_name(right)) for left, right in pairs]
    names = [graph.add("Add", *both, name=chain_name(index), T=FLOAT) for index, both in enumerate(inputs, 1)]
    ends = names[WIDE_BASE:]
    graph.add("AddN", *ends, name="sum", T=FLOAT, N=len(ends))
    nodes = [onnx_writer.node("Add", both, [name]) for both, name in zip(inputs, names)]
    nodes.append(onnx_writer.node("Sum", ends, ["sum"]))
    return Case(f"{len(ends)} Adds side by side, one sum", graph, "sum", onnx_writer.model(nodes, "sum"), NODES, "node",
                sum(left + right + 2 for left, right in pairs))


def loop():
    """i = 0, v = x; while i < TURNS: i = i + 1, v = v + x."""
    graph = GraphBuilder()
    x = graph.placeholder("x", "float32", [])
    frame = {"frame_name": "loop", "parallel_iterations": 10}

    def enter(source, dtype, is_constant=False):
        return graph.add("Enter", source, name="enter", T=dtype, is_constant=is_constant, **frame)

    zero, one, limit = (graph.constant("int32", [], [value]) for value in (0, 1, TURNS))
    count = graph.add("Merge", enter(zero, INT), name="i_merge", T=INT, N=2)
    value = graph.add("Merge", enter(x, FLOAT), name="v_merge", T=FLOAT, N=2)
    less = graph.add("Less", count, enter(limit, INT, True), T=INT)
    condition = graph.add("LoopCond", less)
    for merge, dtype, step in ((count, INT, enter(one, INT, True)), (value, FLOAT, enter(x, FLOAT, True))):
        switch = graph.add("Switch", merge, condition, name="switch", T=dtype)
        added = graph.add("Add", f"{switch}:1", step, name="add", T=dtype)
        graph.add_input(merge, graph.add("NextIteration", added, name="next", T=dtype))
        result = graph.add("Exit", switch, name="exit", T=dtype)
    return Case(f"loop of {TURNS} turns: test and two Adds", graph, result, onnx_writer.loop_model(TURNS), TURNS,
                "turn", TURNS + 1)
