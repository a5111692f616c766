#!/usr/bin/env python3
"""A service whose inputs have another shape in each step, as texts and images have, keeps its memory: what is planned for shapes
is forgotten again."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from group import run_group  # noqa: E402  (before all else: it keeps Python from writing files)
import sluice  # noqa: E402
from graph_builder import GraphBuilder, Type  # noqa: E402
from process_memory import resident_mib  # noqa: E402

FIRST_STEPS = 100
STEPS = 1000
GROWTH_MIB = 16  # what 900 more shapes may cost a process; plans of 70 KiB that stay would cost 62
CHANNELS = 16
PRIME, PRIME_STEP = 1009, 419  # more than STEPS, and how far places of steps that follow each other are apart


def _graph():
    """Images of the shape that is fed, through a convolution, a pool and a product of matrices."""
    kind = Type("float32")
    graph = GraphBuilder()
    shape = graph.placeholder("shape", "int32", [4])
    images = graph.add("Fill", shape, graph.constant("float32", [], [0.5]), T=kind, index_type=Type("int32"))
    filters = graph.constant("float32", [3, 3, 3, CHANNELS], [0.01] * (27 * CHANNELS))
    image = graph.add("Relu", graph.add("Conv2D", images, filters, T=kind, strides=[1, 1, 1, 1], padding="SAME"), T=kind)
    pooled = graph.add("MaxPool", image, T=kind, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    rows = graph.add("Reshape", pooled, graph.constant("int32", [2], [-1, CHANNELS]), T=kind, Tshape=Type("int32"))
    weights = graph.constant("float32", [CHANNELS, CHANNELS], [0.1] * CHANNELS**2)
    product = graph.add("MatMul", rows, weights, T=kind)
    graph.add("Max", product, graph.constant("int32", [2], [0, 1]), name="largest", T=kind, Tidx=Type("int32"),
              keep_dims=False)
    graph.add("Shape", pooled, name="extent", T=kind, out_type=Type("int32"))
    return graph.document()


def _shape(step):
    """Different for each of the steps; large ones among the first as among the last."""
    place = step * PRIME_STEP % PRIME
    return [1 + step % 3, 8 + place % 37, 8 + place // 37, 3]


def _run(client, session, steps):
    for step in steps:
        batch, height, width, _ = shape = _shape(step)
        outputs = client.step(session, {"feeds": {"shape": shape}, "fetches": ["extent", "largest"]})["outputs"]
        assert outputs["extent"]["data"] == [batch, (height + 1) // 2, (width + 1) // 2, CHANNELS], (shape, outputs)


def a_thousand_shapes_cost_no_more_memory_than_a_hundred():
    with sluice.Cluster(threads=(2,)) as cluster:
        client = cluster.client()
        session = client.session()
        client.graph(session, _graph())
        pids = {"gateway": cluster.gateway.pid, "worker": cluster.workers[0].pid}
        _run(client, session, range(FIRST_STEPS))
        before = {name: resident_mib(pid) for name, pid in pids.items()}
        _run(client, session, range(FIRST_STEPS, STEPS))
        for name, pid in pids.items():
            grown = resident_mib(pid) - before[name]
            print(f"{name}: {before[name]:.1f} MiB, {grown:+.1f}")
            assert grown < GROWTH_MIB, f"the {name} has grown by {grown:.1f} MiB"
        client.close()


run_group([a_thousand_shapes_cost_no_more_memory_than_a_hundred])
